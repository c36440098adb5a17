"""Images of scatterers: reverse time migration and least-squares migration."""

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from .._util.validators import check_choice, check_flag, check_whole
from ..distribution import Distributor, SerialDistributor
from ..errors import DomainError, OptionError, UnsupportedError
from .batches import batches
from .descent import DAMPING
from .illumination import illumination
from .objective import Objective, make_objective
from .solver import problem_of
from .unknowns import fixed_cells, one_earth

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
    """Migrate reflections by reverse time migration: compute the image (w F J)^T w F d.

    J is the derivative of the record in a parameter, w the weights and F the filter, as in :class:`Objective`. The
    image shows the perturbation that scattered the waves, within their frequencies. A thin fast layer is a positive
    peak, a thin slow layer a trough; at an upward jump of the parameter the image rises through zero. The image takes
    the earth under the PML as given, whatever the solver's ``edge_gradient``, so that no bright rim hides it.

    Parameters
    ----------
    solver, wavelet, sources, receivers, observed, receiver_mask
        See :func:`invert`. `observed` holds only reflections: subtract the record of the models, or mute other waves by
        weights.
    models : list of (nz, nx) or (nz, ny, nx) arrays
        Smooth models with correct travel times.
    condition : {'correlation', 'laplacian', 'impedance'}
        Imaging condition. The condition 'correlation' is the product above. If the models hold reflectors, or waves
        dive, fields that travel in the same direction leave a strong smooth image along their path.
        The condition 'laplacian' is minus the Laplacian of this image. It removes most of the smooth part, for any
        equation, and enhances fine detail (Zhang and Sun 2009, First Break 26(1)).
        The condition 'impedance' is rho times the derivative in rho at constant speeds, the image of relative changes
        of impedance. It has no smooth part, and keeps the spectrum. For constant rho it is the inverse-scattering
        condition (Douma, Yingst, Vasconcelos and Tromp 2010, Geophysics 75; Op 't Root, Stolk and de Hoop 2012;
        Whitmore and Crawley 2012).
    parameter : str, optional
        Parameter of the equation whose perturbation is imaged; the first, vp, by default.
    weights, batch, group
        See :func:`invert`.
    low, high : float, optional
        Corners of the filter F (Hz).
    precondition : bool
        Divide by the illumination, so that deep reflectors are as bright as shallow ones. This doubles the cost.

    Returns
    -------
    (nz, nx) or (nz, ny, nx) array
        The image, of the dtype of the models.

    Raises
    ------
    SweepError
        The error names the argument.
    """
    check_choice(condition, "condition", CONDITIONS)
    check_flag(precondition, "precondition")
    problem = problem_of(solver)
    if condition == "impedance":
        names = [p.name for p in problem.equation.parameters]
        if not {"vp", "rho"} <= set(names):
            raise UnsupportedError(
                f"condition is 'impedance', a derivative in rho, and {problem.equation.name} has only {names}; use "
                "AcousticVariableDensity, if necessary with a constant rho, or condition='laplacian'"
            )
        if parameter not in (None, "rho"):
            raise OptionError(f"parameter is {parameter!r}; expected 'rho' or None for condition='impedance'")
        parameter = "rho"
    objective, earth, index = _prepare(
        solver, wavelet, sources, receivers, observed, models, parameter, weights=weights, receiver_mask=receiver_mask,
        low=low, high=high, batch=batch, group=group,
    )  # fmt: skip
    unit = earth[index].astype(np.float64) if condition == "impedance" else 1.0  # for relative changes
    image = unit * objective.transposed(earth, Objective.target)[index]
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
    """Migrate reflections by least squares: find the perturbation dm that minimises ``0.5 |w F (J dm - d)|^2``.

    The image is in the unit of the parameter. Iterations remove the wavelet and the footprint of the survey from it.
    The method is conjugate gradients on the normal equations, from zero, with cells scaled by one over the root of
    their illumination. An iteration costs a gradient and a Born run of all shots. Few iterations already regularise the
    image.

    Parameters
    ----------
    solver, wavelet, sources, receivers, observed, models, parameter, weights, receiver_mask, low, high, batch, group
        See :func:`migrate`. For relative changes of impedance use ``parameter="rho"``: the perturbation of rho at
        constant speeds, over rho.
    iterations : int
        Number of iterations.
    damping : float
        Factor of the term ``0.5 damping |dm / scale|^2``. It acts like an additional illumination of each cell, in
        proportion to its own.
    fixed : (nz, nx) or (nz, ny, nx) bool array, optional
        True in cells without perturbation, such as water.
    progress : bool
        Show a bar with the misfit, on rank 0.

    Returns
    -------
    image : (nz, nx) or (nz, ny, nx) array
        The perturbation, of the dtype of the models.
    history : list of float
        The misfit without the damping term, for no perturbation and after each iteration.

    Raises
    ------
    SweepError
        The error names the argument.
    """
    from scipy.sparse.linalg import LinearOperator, cg
    from tqdm import tqdm

    check_whole(iterations, "iterations", 1)
    if isinstance(damping, bool) or not isinstance(damping, int | float) or not 0 <= damping < np.inf:
        raise OptionError(f"damping is {damping!r}; expected a finite number from 0 on")
    objective, earth, index = _prepare(
        solver, wavelet, sources, receivers, observed, models, parameter, weights=weights, receiver_mask=receiver_mask,
        low=low, high=high, batch=batch, group=group,
    )  # fmt: skip
    free = ~fixed_cells(fixed, earth[index].shape)
    if not free.any():
        raise OptionError("every cell is fixed; expected some free cells to image")
    scale = _damped(illumination(objective, earth)[index][free]) ** -0.5

    def perturbations(y):
        models = [np.zeros_like(model) for model in earth]
        models[index][free] = scale * y
        return models

    def transpose(residual):
        return scale * objective.transposed(earth, residual)[index][free]

    latest = np.zeros((2, len(scale)))  # the last direction, and the normal operator times this direction

    def normal(y):
        models = perturbations(y)
        latest[:] = y, transpose(lambda part, some: part.born(earth, models, some)) + damping * y
        return latest[1].copy()

    slope = transpose(Objective.target)
    if not slope.any():
        raise DomainError(
            f"observed holds no wave that a perturbation of {objective.problem.equation.parameters[index].name} "
            "scatters; check data, weights and mask"
        )
    every = batches(np.arange(len(objective.shots)), objective.batch)
    data = sum(float(np.sum(objective.target(some).astype(np.float64) ** 2)) for some in every)
    history, normal_image, image = [0.5 * data], np.zeros_like(slope), np.zeros_like(slope)
    with tqdm(total=iterations, unit="it", disable=not progress or objective.group.rank > 0) as bar:

        def after(y):
            nonlocal normal_image, image
            # The step is along the last direction, so the normal operator times the image needs no further run.
            length = (y - image) @ latest[0] / (latest[0] @ latest[0])
            normal_image, image = normal_image + length * latest[1], y.copy()
            history.append(float(0.5 * data - y @ slope + 0.5 * (y @ normal_image - damping * y @ y)))
            bar.set_postfix_str(f"misfit {100 * history[-1] / history[0]:.3g} %")
            bar.update()

        operator = LinearOperator((len(slope), len(slope)), normal, dtype=np.float64)
        cg(operator, slope, rtol=0, atol=0, maxiter=iterations, callback=after)
    return perturbations(image)[index], history


def _prepare(solver, wavelet, sources, receivers, observed, models, parameter, group, **options):
    """Return the objective, the models and the index of the imaged model. The earth under the PML is taken as given."""
    problem = attrs.evolve(problem_of(solver), edge_gradient="interior")
    earth = one_earth(problem, models, "model")
    names = [p.name for p in problem.equation.parameters]
    if parameter is not None and parameter not in names:
        raise OptionError(f"parameter is {parameter!r}; expected a parameter of {problem.equation.name}: {names}")
    objective = make_objective(
        solver.executor, problem, wavelet, sources, receivers, observed, earth[0].dtype,
        group=group or SerialDistributor(), **options,
    )  # fmt: skip
    return objective, earth, 0 if parameter is None else names.index(parameter)


def _damped(lit: np.ndarray) -> np.ndarray:
    """Return a damped illumination, which is nowhere zero."""
    if not lit.any():
        raise DomainError("no wave meets the cells of the image; check wavelet, survey, weights and mask")
    return lit + DAMPING * lit.mean()


def _laplacian(image: np.ndarray, spacing: Sequence[float]) -> np.ndarray:
    """Return the Laplacian (unit of the image per m2) of a field that continues its edge values."""
    from scipy.ndimage import correlate1d

    return sum(correlate1d(image, [1, -2, 1], axis, mode="nearest") / h**2 for axis, h in enumerate(spacing))
