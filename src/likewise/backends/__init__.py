"""Judges and encoders, the rules beside them, and the store of what they said."""
