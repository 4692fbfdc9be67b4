"""The fault soak of `covey stream`: processes are killed at random, every pair is checked."""
