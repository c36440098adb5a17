"""The wavelet of the source, from what it left in the data: linear least squares (Pratt 1999, Geophysics 64)."""

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from .._util.validators import check_positive
from ..errors import DomainError, ShapeError
from ..numerics.spectra import padded
from .traces import as_traces, put_back


@attrs.frozen(eq=False)
class EstimatedWavelet:
    """A wavelet and how well it does.

    Attributes
    ----------
    wavelet : (nt,) or (nshots, nt) float64
        To be used in place of the one that the modelled record was made with.
    unexplained : float or (nshots,) array
        Energy of the residual that is left, over that of the data.
    acausal : float or (nshots,) array
        Energy of the wavelet before time zero, over all of it; it is cut off. Where it is not small the modelled waves
        come too late: the model is too slow, or the time zero of the data is another.
    """

    wavelet: NDArray[np.float64] = attrs.field(repr=False)
    unexplained: Any
    acausal: Any


def estimate_wavelet(
    observed: Any, modelled: Any, wavelet: Any, *, weights: Any = None, shared: bool = True, damping: float = 1e-3
) -> EstimatedWavelet:
    """The wavelet that makes a modelled record fit the observed one best.

    The record is linear in the wavelet, so at each frequency one factor H minimises
    ``sum |D - H M|^2 + damping |H|^2 max sum |M|^2`` over traces, D and M the spectra of both records; the wavelet is
    the one that made M, filtered by H.

    Parameters
    ----------
    observed, modelled : (nshots, nt, nrec, nfield) array
        What was measured, and what the solver made with `wavelet` in the model of the moment: of the direct wave it is
        enough that the water, or the ground near the source, is right.
    wavelet : (nt,) or (nshots, nt) array
        Its spectrum has to cover the data's: where it has none, none can be found.
    weights : (nshots, nt, nrec, 1) array, optional
        What both are multiplied by, such as `mute_time` around the direct wave times `gathers.weights()`. A wave that
        the end of the record cuts off is no convolution any more: let the weights fall to zero before it.
    shared : bool
        One wavelet for all shots; otherwise one for each.
    damping : float
        Of the largest ``sum |M|^2``: less follows the data further from the wavelet's band, and noise with it.

    Returns
    -------
    EstimatedWavelet

    Raises
    ------
    ShapeError, DomainError, DtypeError
    """
    data, made = as_traces(observed, 1), as_traces(modelled, 1)
    if data.ndim != 4 or data.shape != made.shape:
        raise ShapeError(
            f"observed has shape {np.shape(observed)}, modelled {np.shape(modelled)}; expected (nshots, nt, nrec, "
            "nfield), both"
        )
    nshots, nt = data.shape[0], data.shape[-1]
    first = as_traces(wavelet, -1).astype(np.float64)
    if first.shape not in ((nt,), (nshots, nt)):
        raise ShapeError(f"the wavelet has shape {first.shape}; expected ({nt},), or ({nshots}, {nt})")
    if not first.any(axis=-1).all():
        raise DomainError("the wavelet is zero throughout; expected the one that `modelled` was made with")
    if shared and first.ndim == 2 and (first != first[0]).any():
        raise ShapeError("each shot was modelled with a wavelet of its own; expected one, or shared=False")
    damping = check_positive(damping, "damping", "a part of the largest energy")
    if weights is not None:
        factor = as_traces(weights, 1)
        if factor.ndim != 4 or any(n not in (1, m) for n, m in zip(factor.shape, data.shape, strict=True)):
            shapes = f"weights have shape {np.shape(weights)}, observed {np.shape(observed)}"
            raise ShapeError(f"{shapes}; expected weights (nshots, nt, nrec, 1), or of a record's shape")
        data, made = data * factor, made * factor
    length = padded(nt)
    spectra = [np.fft.rfft(traces, length) for traces in (data, made)]
    over = (0, 1, 2) if shared else (1, 2)
    cross = (np.conj(spectra[1]) * spectra[0]).sum(axis=over)
    energy = (np.abs(spectra[1]) ** 2).sum(axis=over)
    largest, total = energy.max(axis=-1, keepdims=True), (data.astype(np.float64) ** 2).sum(axis=(*over, 3))
    if not (largest > 0).all() or not np.all(total > 0):
        raise DomainError("a shot is zero throughout, observed or modelled, under its weights; expected waves in both")
    factor = cross / (energy + damping * largest)
    whole = np.fft.irfft(factor * np.fft.rfft(first[0] if shared and first.ndim == 2 else first, length), length)
    fitted = np.fft.irfft((factor if shared else factor[:, None, None]) * spectra[1], length)[..., :nt]
    left = ((data - fitted) ** 2).sum(axis=(*over, 3)) / total
    before = (whole[..., length // 2 :] ** 2).sum(axis=-1) / (whole**2).sum(axis=-1)
    return EstimatedWavelet(put_back(whole[..., :nt], -1, np.float64), _plain(left), _plain(before))


def _plain(values: Any) -> Any:
    """A number, or an array of one for each shot."""
    return float(values) if np.ndim(values) == 0 else values
