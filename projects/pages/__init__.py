"""The workspace's pages of projects, notes and standards (W2, W3): thin views over selectors and services."""
