"""SWEEP's backend-neutral core: the physics, the protocols, and the plugins that execute them."""

from .call import CallShape, check_call, check_record, check_survey, check_values
from .distribution import Distributor, SerialDistributor, ShotPlan
from .equation import Equation, Field, Parameter
from .equations import Acoustic, AcousticVariableDensity, Elastic
from .errors import (
    CheckpointError,
    DataError,
    DeviceError,
    DistributedError,
    DomainError,
    DtypeError,
    MemoryLimitError,
    MemoryLimitWarning,
    NativeError,
    NotFiniteError,
    OptionError,
    PluginError,
    ShapeError,
    StabilityError,
    StorageError,
    SweepError,
    SweepWarning,
    UnsupportedError,
)
from .executor import Executor, Support
from .hookspecs import BackendRecord, EquationRecord, Observation, ObserverRecord, impl
from .memory import BoundaryOptions, CkptOptions, MemoryOptions
from .options import CUDAOptions, EagerOptions
from .plugins import backend, backends, equations
from .problem import Problem, make_problem
from .resampling import sampled
from .snapshots import Snapshots
from .survey import Shots
from .wavelet import ricker

__version__ = "0.1.0"

__all__ = [
    "Acoustic",
    "AcousticVariableDensity",
    "BackendRecord",
    "BoundaryOptions",
    "CUDAOptions",
    "CallShape",
    "CheckpointError",
    "CkptOptions",
    "DataError",
    "DeviceError",
    "DistributedError",
    "Distributor",
    "DomainError",
    "DtypeError",
    "EagerOptions",
    "Elastic",
    "Equation",
    "EquationRecord",
    "Executor",
    "Field",
    "MemoryLimitError",
    "MemoryLimitWarning",
    "MemoryOptions",
    "NativeError",
    "NotFiniteError",
    "Observation",
    "ObserverRecord",
    "OptionError",
    "Parameter",
    "PluginError",
    "Problem",
    "SerialDistributor",
    "ShapeError",
    "ShotPlan",
    "Shots",
    "Snapshots",
    "StabilityError",
    "StorageError",
    "Support",
    "SweepError",
    "SweepWarning",
    "UnsupportedError",
    "backend",
    "backends",
    "check_call",
    "check_record",
    "check_survey",
    "check_values",
    "equations",
    "impl",
    "make_problem",
    "ricker",
    "sampled",
]
