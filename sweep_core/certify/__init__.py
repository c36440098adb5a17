"""What goes wrong silently, said aloud: a call of a solver, looked at from all sides in seconds."""

from .certificate import Certificate, Finding
from .run import certify

__all__ = ["Certificate", "Finding", "certify"]
