"""The laws that equations, backends and distributors keep: what ``python -m sweep_core.testing NAME`` runs.

They are functions without a test framework: each raises AssertionError where it does not hold, and unittest.SkipTest
(which pytest takes for a skip) where it cannot be asked.
"""
