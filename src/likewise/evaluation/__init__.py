"""Measures a set of rollouts: recorded runs in, one result out."""
