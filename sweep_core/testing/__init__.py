"""The laws of equations, backends and distributors, which ``python -m sweep_core.testing NAME`` runs.

Laws are functions without a test framework. A law raises AssertionError if it does not hold, and unittest.SkipTest
(which pytest reports as a skip) if it cannot run.
"""
