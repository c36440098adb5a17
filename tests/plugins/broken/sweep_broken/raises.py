"""Fails at import."""

raise RuntimeError("the accelerator's driver is too old")
