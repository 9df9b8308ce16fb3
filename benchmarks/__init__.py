"""`python -m benchmarks` measures speed; repair_cost.py is a script of its own."""
