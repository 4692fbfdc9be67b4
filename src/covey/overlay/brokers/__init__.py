"""A tree of brokers, with covering decided link by link."""
