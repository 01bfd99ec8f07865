"""Finds personal data in texts with Presidio, which `hone mask add` installs."""
