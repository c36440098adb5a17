"""Every deliberate refusal of SWEEP: what was given, what was expected, what to do.

Each class also derives from the builtin kind that a caller would expect, so ``except ValueError`` keeps working.
"""


class SweepError(Exception):
    """Base of every deliberate refusal."""


class DomainError(SweepError, ValueError):
    """A value lies outside what the problem admits (a position, a parameter, a spacing)."""


class ShapeError(SweepError, ValueError):
    """An array does not have the shape that the problem asks for."""


class DtypeError(SweepError, TypeError):
    """An array or argument is of the wrong type."""


class OptionError(SweepError, ValueError):
    """An option is unknown, contradictory, or does not apply here."""


class UnknownOptionError(OptionError, TypeError):
    """An option of that name does not exist; the message says which do."""


class StabilityError(SweepError, ValueError):
    """The time step is too large for the model and the stencil (Courant-Friedrichs-Lewy condition)."""


class NotFiniteError(SweepError, ArithmeticError):
    """A record holds NaN or infinite numbers: waves outgrew their dtype, or grew without bound."""


class UnsupportedError(SweepError, NotImplementedError):
    """The request is understood and not supported here; the message says by whom and why."""


class DeviceError(SweepError, RuntimeError):
    """A device is missing, or arrays live on another one than was asked for."""


class NativeError(SweepError, RuntimeError):
    """The compiled library is missing, stale, or refused a call."""


class PluginError(SweepError, RuntimeError):
    """A plugin could not be found or loaded; the message carries its own reason."""


class DistributedError(SweepError, RuntimeError):
    """A process group is missing or its ranks disagree."""


class CheckpointError(SweepError, ValueError):
    """A saved run or model file cannot be read, belongs to another run, or is in use."""


class DataError(SweepError, ValueError):
    """A file of field data cannot be read: it is damaged, contradicts itself, or is of another kind."""


class StorageError(SweepError, OSError):
    """A file could not be written (a full disk, no permission)."""


class MemoryLimitError(SweepError, MemoryError):
    """Memory for a call could not be allocated; the message says what takes less."""


class SweepWarning(UserWarning):
    """An unlikely input, such as wrong units, a coarse grid or a silent wavelet.

    A solver warns once; ``solver.certify(...)`` looks closer.
    """


class MemoryLimitWarning(UserWarning):
    """A call is about to use more memory than is left: Linux kills a process for that, without a word."""
