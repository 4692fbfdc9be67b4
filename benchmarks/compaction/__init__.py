"""The parts of the benchmark `compact`: changes of tables, shares by step, and 10M on Spark."""
