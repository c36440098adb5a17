"""The choice of the library that runs a problem: an installed one, or one that is compiled on first use."""

from ..equations.equation import Equation
from ..errors import NativeError
from ..plugins import Support
from .codegen import refusal, statement
from .library import OWN, Library, load
from .on_demand import BORN, GRADIENT, cached, compiled, prospect


def installed(equation: Equation, ndim: int, kind: str) -> tuple[Library | None, str]:
    """Return the installed library with the tables of an equation, and the reason without one."""
    if reason := refusal(equation):
        return None, reason
    reasons = []
    for package in dict.fromkeys((equation.library, OWN)):
        label = f"libsweep_{kind}" if package == OWN else f"libsweep_{kind} of {package}"
        try:
            library = load(kind, package)
        except NativeError as error:
            reasons.append(str(error))
            continue
        description = library.description(equation.name, ndim)
        if library.isa is None:
            reasons.append(f"{label} finds no device that it can run on")
        elif description is None:
            reasons.append(f"{equation.name} has no compiled kernel in {label}")
        elif description.statement.decode() != statement(equation):
            reasons.append(f"{label} holds another {equation.name}, with other tables")
        else:
            return library, f"{label} ({library.isa}) holds {equation.name}"
    return None, reasons[0]


def library_of(equation: Equation, ndim: int, dtype: str, kind: str, operation: str = "forward") -> Library:
    """Return the library that runs an operation of an equation: an installed one, or one that is compiled now.

    An installed library runs all operations; Born runs are compiled apart from the others.

    Raises
    ------
    NativeError
        If no library holds the equation and none can be compiled.
    UnsupportedError
        If no compiled code can state the equation.
    """
    library, _ = installed(equation, ndim, kind)
    if library is not None or operation not in BORN:
        return library or compiled(equation, ndim, dtype, kind, GRADIENT)
    try:
        return compiled(equation, ndim, dtype, kind, BORN)
    except NativeError as error:
        raise NativeError(f"Born runs of {equation.name} cannot be compiled: {error}; use impl='eager'") from error


def supports(equation: Equation, ndim: int, kind: str, strips: bool = False, dtype: str = "float32") -> Support:
    """Return whether compiled code for ``'cpu'`` or ``'cuda'`` runs an equation here, and the reason.

    Without an installed library that holds the equation, the compiler of this machine decides.

    Parameters
    ----------
    equation : Equation
        The equation.
    ndim : {1, 2, 3}
        Number of dimensions.
    kind : {'cpu', 'cuda'}
        Kind of device.
    strips : bool
        True if compiled code must also be able to run the equation backward in time, between boundary strips.
    dtype : {'float32', 'float64'}
        Precision of the library that is compiled to answer this, if there is none yet.

    Returns
    -------
    Support
        True or False, with the reason.
    """
    library, reason = installed(equation, ndim, kind)
    if library is None:
        if refusal(equation):
            return Support(False, reason)
        if ndim not in equation.ndims:
            return Support(False, f"{equation.name} exists in {equation.ndims} dimensions, not in {ndim}")
        try:
            reason = prospect(equation, ndim, kind)
            if strips:
                library = cached(equation, ndim, kind) or compiled(equation, ndim, dtype, kind)
        except NativeError as error:
            return Support(False, f"{reason}, and none can be compiled: {error}; use impl='eager'")
    description = library and library.description(equation.name, ndim)
    if strips and description and not description.reversible:
        return Support(
            False,
            f"{equation.name} cannot be run backward in time from boundary strips, because it loses energy, has "
            "fields that exist within a step only, or couples fields of second order; use "
            "MemoryOptions(strategy='ckpt')",
        )
    return Support(True, reason)
