"""The learned metric: divergence of the futures of a state, read from its history in one forward pass."""
