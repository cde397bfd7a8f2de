"""Studies of this package: whether what it says holds, counted on simulated and real data."""
