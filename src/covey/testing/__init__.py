"""Oracles, contract tests and random cases, shipped so that users can test their own index."""
