"""SWEEP's backend-neutral core: the physics, the protocols, and the plugins that execute them."""

from .acquisition.call_shape import CallShape
from .acquisition.shots import Shots
from .acquisition.snapshots import Snapshots
from .acquisition.wavelets import ricker
from .distribution import Distributor, SerialDistributor, ShotPlan
from .equations import (
    SH,
    Acoustic,
    AcousticVariableDensity,
    Elastic,
    ElasticImpedance,
    ElasticLame,
    ElasticLogarithm,
    ElasticOrthorhombic,
    ElasticTTI,
    ElasticVTI,
)
from .equations.equation import Equation, Field, Parameter
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
from .execution.call_checks import check_arrays, check_call, check_record, check_survey, check_values
from .memory import BoundaryOptions, CkptOptions, MemoryOptions
from .memory.options import CUDAOptions
from .misfit import check_like_record, least_squares
from .native.prepare import NumpyRun, compiled_support
from .numerics.resampling import sampled
from .plugins import (
    BackendRecord,
    DistributorRecord,
    EquationRecord,
    Executor,
    Observation,
    ObserverRecord,
    Support,
    backend,
    backends,
    distributor,
    distributors,
    equations,
    impl,
)
from .problem import Problem, make_problem

__version__ = "0.1.0"

__all__ = [
    "SH",
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
    "DistributorRecord",
    "DomainError",
    "DtypeError",
    "Elastic",
    "ElasticImpedance",
    "ElasticLame",
    "ElasticLogarithm",
    "ElasticOrthorhombic",
    "ElasticTTI",
    "ElasticVTI",
    "Equation",
    "EquationRecord",
    "Executor",
    "Field",
    "MemoryLimitError",
    "MemoryLimitWarning",
    "MemoryOptions",
    "NativeError",
    "NotFiniteError",
    "NumpyRun",
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
    "check_arrays",
    "check_call",
    "check_like_record",
    "check_record",
    "check_survey",
    "check_values",
    "compiled_support",
    "distributor",
    "distributors",
    "equations",
    "impl",
    "least_squares",
    "make_problem",
    "ricker",
    "sampled",
]
