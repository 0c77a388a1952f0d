"""One file a peer: `label`, `version()`, and `runners()`, a function a workload.

A runner takes a workload and gives a step (position -> None) and a result (-> str); the harness times the
steps.
"""
