"""The parts of bench/run.py: inputs, cases, a process for each peer, and the report."""
