"""Algorithms: pure functions from arrays and operators to solutions and diagnostics."""
