"""Typed results -> terminal, JSON, HTML."""
