"""Runs a live agent several times, serves only what holds, and says how far to trust it."""
