"""A module that fails at import."""

raise RuntimeError("the accelerator's driver is too old")
