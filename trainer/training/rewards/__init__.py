"""What the answers of a policy are rewarded by, and how many of them are compared."""
