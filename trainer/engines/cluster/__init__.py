"""Ranks on the machines of a Ray cluster: this process is the driver, and every rank an actor."""
