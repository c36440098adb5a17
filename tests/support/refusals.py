"""Refusals of functions that an equation lacks, in every installed framework."""

import re

from laws import case, has, variant

from sweep_core import backend


def refuses_to_run_backward(equation) -> bool:
    """Return True if boundary strips of an equation are refused with the alternative, in 2-D and 3-D.

    Compiled code and ``'auto'`` must refuse; ``'auto'`` does not fall back to eager operations either.
    """
    problems = [result.remembering("boundary").problem for result in (case(equation), variant("3-D", equation))]
    frameworks = [name for name in ("torch", "jax") if has(name)]
    results = [backend(n, impl=impl).supports(p) for n in frameworks for impl in ("c", "auto") for p in problems]
    message = f"{equation.name} cannot be run backward in time .* loses energy, has fields .*; use MemoryOptions.strategy='ckpt'."
    return not any(results) and all(re.search(message, support.reason) for support in results)
