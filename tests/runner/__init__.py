"""What tests/run.py is made of: counting results, running cases, calling other programs."""
