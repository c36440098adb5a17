"""The CPU threads of a call."""

import torch

from sweep_core.native import thread_count

_BY_DEFAULT = torch.get_num_threads()


def cpu_threads() -> int:
    """Return the CPU threads of compiled code: those of torch, unless this process has fewer by default.

    torch does not know the limits of a control group or of ranks that share a host, so its number counts only up to
    :func:`sweep_core.native.thread_count`. Another number than the one at the import of SWEEP is the script's own, and
    counts as it is.
    """
    threads = torch.get_num_threads()
    return threads if threads == 1 or has_own_number() else min(threads, thread_count())


def has_own_number() -> bool:
    """Return True if the script has called ``torch.set_num_threads`` since SWEEP was imported."""
    return torch.get_num_threads() != _BY_DEFAULT
