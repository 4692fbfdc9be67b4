"""The compiled loops of tables. Private."""
