"""Training agents to act alike: rewards, a trainer, environments, collection and recipes."""
