"""Checks of a call of a solver for silent errors, in seconds."""

from .certificate import Certificate, Finding
from .run import certify

__all__ = ["Certificate", "Finding", "certify"]
