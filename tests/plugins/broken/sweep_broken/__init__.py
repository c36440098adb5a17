"""Broken plugins, one defect per module."""
