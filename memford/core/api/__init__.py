"""What every part of the owner's API shares (part 6 of the contract)."""
