"""The parts of the benchmark `attack`: hostile subscriptions, and random and real expressions."""
