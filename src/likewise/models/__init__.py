"""The weights that ship with the package, with their cards; data only."""
