"""What bench/run.py is made of: inputs, cases, a process for each peer, the report."""
