"""Subscriptions that try to disturb others, and expressions that nobody thought of."""
