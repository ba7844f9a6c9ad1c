"""The owner's API over projects, notes and standards: views shape and check, services and selectors do the work."""
