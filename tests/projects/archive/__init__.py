"""A project's archive."""
