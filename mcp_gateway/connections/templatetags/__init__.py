"""What the pages of connections print."""
