"""The nouns: rollouts, groups, labels, estimates, and the errors and protocols that every floor shares."""
