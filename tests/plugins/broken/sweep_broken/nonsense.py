"""Answers a hook with something that is no record."""

from sweep_core import impl


@impl
def sweep_backends():
    return ["nonsense"]
