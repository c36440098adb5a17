"""Plugins that are broken, one way each."""
