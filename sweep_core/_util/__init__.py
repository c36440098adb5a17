"""Helpers without physics that every room may use."""
