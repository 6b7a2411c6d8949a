"""Worlds that an agent acts in: tasks, tools, a user, and sub-goals."""
