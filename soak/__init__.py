"""Soak test of `covey stream`: processes are killed at random, and every pair is checked."""
