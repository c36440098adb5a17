"""Names of the fields in records and snapshots."""

from typing import Any

from ..errors import DtypeError, OptionError, ShapeError
from ..io.gathers import Gathers
from ..problem.problem import PRESSURES, Problem
from .inputs import check_index

UNNAMED = "amplitude"


def field_label(solver: Any, field: str) -> str:
    """Return the name of a field, or of a quantity computed from fields, with its unit.

    Parameters
    ----------
    solver : PropTorch, PropJax or Problem
        Solver or problem that has the field.
    field : str
        Name of the field or quantity.

    Returns
    -------
    str
        Name and unit.

    Raises
    ------
    DtypeError, OptionError
        The field does not exist, or `solver` is not a solver.

    Examples
    --------
    >>> from sweep_core import Acoustic, make_problem
    >>> field_label(make_problem(Acoustic(), (40, 60), 10.0, 0.001), "h1")
    'pressure h1 (Pa)'
    """
    problem = _problem(solver)
    if not isinstance(field, str):
        raise DtypeError(f"field is {field!r}; expected a name, such as {problem.receiver_type[0]!r}")
    units = {each.name: each.unit for each in problem.fields}
    parts = problem.parts(field)
    if not parts.keys() <= units.keys():
        names = [*units, *problem.equation.derived(problem.grid.ndim)]
        raise OptionError(f"field is {field!r}; expected one of {problem.equation.name}: {', '.join(names)}")
    return f"{'pressure ' * (field in PRESSURES)}{field} ({units[next(iter(parts))]})"


def component(count: int | None, solver: Any, field: Any, label: str | None) -> tuple[int, str]:
    """Return the number and the label of the field to draw, one of the `count` fields of a record.

    `count` is None if the record has no axis of fields; `field` then names the field that it holds.
    """
    names = recorded_names(solver) if solver is not None else []
    if names and count is not None and count != len(names):
        raise ShapeError(f"the record has {count} fields; expected {len(names)}, of the solver: {', '.join(names)}")
    if field is None:
        several = len(names) if count is None else count
        if several > 1:
            which = f": one of {', '.join(names)}" if names else ", counted from 0"
            raise ShapeError(f"the record has {several} fields; choose a field by field={which}")
        field = 0
    if isinstance(field, str):
        if field not in names:
            expected = f"one that the solver records: {', '.join(names)}" if names else "its number, or solver= as well"
            raise OptionError(f"field is {field!r}; expected {expected}")
        field = names.index(field)
    index = check_index(field, "field", count or len(names) or 1, "the record")
    return index, label or (field_label(solver, names[index]) if names else UNNAMED)


def shot_title(gathers: Gathers, shot: int) -> str:
    """Return the title of a shot: its index, and its number in the acquisition if the two differ."""
    number = gathers.shots[shot]
    return f"{gathers.name}, shot {shot}" + f" (number {number})" * bool(number != shot)


def recorded_names(solver: Any) -> list[str]:
    """Return the fields that receivers record."""
    return list(_problem(solver).receiver_type)


def _problem(solver: Any) -> Problem:
    problem = getattr(solver, "problem", solver)
    if not isinstance(problem, Problem):
        raise OptionError(f"solver is {type(solver).__name__}; expected a PropTorch, PropJax or Problem")
    return problem
