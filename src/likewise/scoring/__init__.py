"""Measures one group of rollouts."""
