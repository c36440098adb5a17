"""Images of what scatters: reverse time migration, and the least-squares image that it is the first step to."""

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from .._util.validators import check_choice, check_flag
from ..distribution import Distributor, SerialDistributor
from ..errors import DomainError, OptionError, UnsupportedError
from .descent import DAMPING
from .illumination import illumination
from .objective import make_objective, problem_of
from .unknowns import held_cells, one_earth

CONDITIONS = ("correlation", "laplacian", "impedance")


def migrate(
    solver: Any,
    wavelet: Any,
    sources: Any,
    receivers: Any,
    observed: Any,
    models: Sequence[Any],
    *,
    condition: str = "correlation",
    parameter: str | None = None,
    weights: Any = None,
    receiver_mask: Any = None,
    low: float | None = None,
    high: float | None = None,
    precondition: bool = True,
    batch: int = 4,
    group: Distributor | None = None,
) -> np.ndarray:
    """Reverse time migration: (w F J)^T w F d, the waves that were observed carried back to where they were scattered.

    J is the derivative of the record in a parameter, as in :class:`Objective`: the image is that of a perturbation that
    made the waves, as far as their frequencies show it. A thin layer that is faster than its surroundings is a positive
    peak, a slower one a trough; where the parameter jumps up, the image rises through zero. The earth under the PML is
    taken as given, whatever the solver's ``edge_gradient``, so that no rim outshines the image.

    Parameters
    ----------
    solver, wavelet, sources, receivers, observed, receiver_mask
        As of :func:`invert`. `observed` are reflections alone: less the record of the models, or muted by weights.
    models : list of (nz, nx) or (nz, ny, nx) arrays
        Smooth, right enough for travel times.
    condition : {'correlation', 'laplacian', 'impedance'}
        'correlation' is that product. Where the models hold reflectors themselves, or waves that dive, fields that go
        the same way leave a strong smooth image all along their path. 'laplacian', minus its Laplacian, has little of
        it, at any equation, and enhances fine detail (Zhang and Sun 2009, First Break 26(1)). 'impedance', rho times
        the derivative in rho at constant speeds, is the image of relative changes of impedance: no smooth part, and the
        spectrum as it is. For constant rho it is the inverse-scattering condition (Douma, Yingst, Vasconcelos and Tromp
        2010, Geophysics 75; Op 't Root, Stolk and de Hoop 2012; Whitmore and Crawley 2012).
    parameter : str, optional
        Of the equation, whose perturbation is imaged; its first, vp, by default.
    weights, batch, group
        As of :func:`invert`.
    low, high : float, optional
        Corners in Hz of the filter F.
    precondition : bool
        Over the illumination, so that deep reflectors are as bright as shallow ones; costs as much again.

    Returns
    -------
    (nz, nx) or (nz, ny, nx) array
        Of the dtype of the models.

    Raises
    ------
    SweepError
        Naming the argument.
    """
    check_choice(condition, "condition", CONDITIONS)
    check_flag(precondition, "precondition")
    problem = problem_of(solver)
    if condition == "impedance":
        names = [p.name for p in problem.equation.parameters]
        if not {"vp", "rho"} <= set(names):
            raise UnsupportedError(
                f"condition is 'impedance', a derivative in rho, and {problem.equation.name} has {names} alone; use "
                "AcousticVariableDensity, with a constant rho if need be, or condition='laplacian'"
            )
        if parameter not in (None, "rho"):
            raise OptionError(f"parameter is {parameter!r}; condition='impedance' is of rho at constant speeds")
        parameter = "rho"
    objective, earth, index = _prepared(
        solver, wavelet, sources, receivers, observed, models, parameter, weights=weights, receiver_mask=receiver_mask,
        low=low, high=high, batch=batch, group=group,
    )  # fmt: skip
    unit = earth[index].astype(np.float64) if condition == "impedance" else 1.0  # of relative changes, or absolute
    image = unit * objective.transposed(earth, objective.aim)[index]
    if condition == "laplacian":
        image = -_laplacian(image, problem.grid.spacing)
    if precondition:
        image = image / _damped(unit**2 * illumination(objective, earth)[index])
    return image.astype(earth[index].dtype)


def least_squares_migrate(
    solver: Any,
    wavelet: Any,
    sources: Any,
    receivers: Any,
    observed: Any,
    models: Sequence[Any],
    *,
    iterations: int = 10,
    damping: float = 0.0,
    parameter: str | None = None,
    fixed: Any = None,
    weights: Any = None,
    receiver_mask: Any = None,
    low: float | None = None,
    high: float | None = None,
    batch: int = 4,
    group: Distributor | None = None,
    progress: bool = True,
) -> tuple[np.ndarray, list[float]]:
    """Least-squares migration: the perturbation dm of a parameter of which ``0.5 |w F (J dm - d)|^2`` is least.

    It is in the unit of the parameter, without the wavelet and the footprint of the survey as far as the iterations
    went: conjugate gradients on the normal equations, of cells scaled by one over the root of their illumination, from
    zero. An iteration costs a gradient and a Born run of all shots. Few iterations are a regularisation by themselves.

    Parameters
    ----------
    solver, wavelet, sources, receivers, observed, models, parameter, weights, receiver_mask, low, high, batch, group
        As of :func:`migrate`. For relative changes of impedance take ``parameter="rho"``: the perturbation of rho at
        constant speeds, over rho.
    iterations : int
    damping : float
        Adds ``0.5 damping |dm / scale|^2``: cells are held as if they were lit by so much more of what they are.
    fixed : (nz, nx) or (nz, ny, nx) bool array, optional
        True in cells of no perturbation, such as water.
    progress : bool
        A bar with the misfit, on rank 0.

    Returns
    -------
    image : (nz, nx) or (nz, ny, nx) array
        Of the dtype of the models.
    history : list of float
        The misfit of the data alone, of no perturbation and after each iteration.

    Raises
    ------
    SweepError
        Naming the argument.
    """
    from scipy.sparse.linalg import LinearOperator, cg
    from tqdm import tqdm

    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise OptionError(f"iterations is {iterations!r}; expected a number from 1 on")
    if isinstance(damping, bool) or not isinstance(damping, int | float) or not 0 <= damping < np.inf:
        raise OptionError(f"damping is {damping!r}; expected a finite number from 0 on")
    objective, earth, index = _prepared(
        solver, wavelet, sources, receivers, observed, models, parameter, weights=weights, receiver_mask=receiver_mask,
        low=low, high=high, batch=batch, group=group,
    )  # fmt: skip
    free = ~held_cells(fixed, earth[index].shape)
    if not free.any():
        raise OptionError("every cell is fixed; nothing to image")
    scale = _damped(illumination(objective, earth)[index][free]) ** -0.5

    def perturbations(y):
        ways = [np.zeros_like(model) for model in earth]
        ways[index][free] = scale * y
        return ways

    def back(residual):
        return scale * objective.transposed(earth, residual)[index][free]

    latest = np.zeros((2, len(scale)))  # the direction that was last tried, and what the normal equations make of it

    def normal(y):
        ways = perturbations(y)
        latest[:] = y, back(lambda some: objective.born(earth, ways, some)) + damping * y
        return latest[1].copy()

    slope = back(objective.aim)
    if not slope.any():
        raise DomainError(
            f"no wave in observed is one that a perturbation of {objective.problem.equation.parameters[index].name} "
            "would make; check data, weights and mask"
        )
    data = float(np.sum(objective.aim(np.arange(len(objective.shots))).astype(np.float64) ** 2))
    history, reached, image = [0.5 * data], np.zeros_like(slope), np.zeros_like(slope)
    with tqdm(total=iterations, unit="it", disable=not progress or objective.group.rank > 0) as bar:

        def after(y):
            nonlocal reached, image
            # The step is along the direction that was last tried, so that this needs no run of its own.
            share = (y - image) @ latest[0] / (latest[0] @ latest[0])
            reached, image = reached + share * latest[1], y.copy()
            history.append(float(0.5 * data - y @ slope + 0.5 * (y @ reached - damping * y @ y)))
            bar.set_postfix_str(f"misfit {100 * history[-1] / history[0]:.3g} %")
            bar.update()

        operator = LinearOperator((len(slope), len(slope)), normal, dtype=np.float64)
        cg(operator, slope, rtol=0, atol=0, maxiter=iterations, callback=after)
    return perturbations(image)[index], history


def _prepared(solver, wavelet, sources, receivers, observed, models, parameter, group, **options):
    """(objective, models, which of them is imaged); the earth under the PML is taken as given."""
    problem = attrs.evolve(problem_of(solver), edge_gradient="interior")
    earth = one_earth(problem, models, "model")
    names = [p.name for p in problem.equation.parameters]
    if parameter is not None and parameter not in names:
        raise OptionError(f"parameter is {parameter!r}; the parameters of {problem.equation.name} are {names}")
    objective = make_objective(
        solver.executor, problem, wavelet, sources, receivers, observed, earth[0].dtype,
        group=group or SerialDistributor(), **options,
    )  # fmt: skip
    return objective, earth, 0 if parameter is None else names.index(parameter)


def _damped(lit: np.ndarray) -> np.ndarray:
    """An illumination that nothing is divided by zero with."""
    if not lit.any():
        raise DomainError("no wave meets the cells of the image; check wavelet, survey, weights and mask")
    return lit + DAMPING * lit.mean()


def _laplacian(image: np.ndarray, spacing: Sequence[float]) -> np.ndarray:
    """In 1/m2 of the image's unit, of a field that is continued at its edges."""
    from scipy.ndimage import correlate1d

    return sum(correlate1d(image, [1, -2, 1], axis, mode="nearest") / h**2 for axis, h in enumerate(spacing))
