"""Estimation of the source wavelet from data by linear least squares (Pratt 1999, Geophysics 64)."""

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from .._util.validators import check_positive
from ..errors import DomainError, ShapeError
from ..numerics.spectra import padded
from .traces import as_traces, like_data


@attrs.frozen(eq=False)
class EstimatedWavelet:
    """An estimated wavelet and the quality of its fit.

    Attributes
    ----------
    wavelet : (nt,) or (nshots, nt) float64
        The wavelet that replaces the one of the modelled record.
    unexplained : float or (nshots,) array
        Energy of the remaining residual over the energy of the data.
    acausal : float or (nshots,) array
        Energy of the wavelet before time zero, which is cut off, over the energy of the whole wavelet. If it is not
        small, the modelled waves come too late: the model is too slow, or the data have another time zero.
    """

    wavelet: NDArray[np.float64] = attrs.field(repr=False)
    unexplained: Any
    acausal: Any


def estimate_wavelet(
    observed: Any, modelled: Any, wavelet: Any, *, weights: Any = None, shared: bool = True, damping: float = 1e-3
) -> EstimatedWavelet:
    """Estimate the wavelet with which a modelled record fits the observed record best.

    The record is linear in the wavelet, so at each frequency one factor H minimises
    ``sum |D - H M|^2 + damping |H|^2 max sum |M|^2`` over traces. D and M are the spectra of both records. The estimate
    is `wavelet`, filtered by H.

    Parameters
    ----------
    observed, modelled : (nshots, nt, nrec, nfield) array
        The observed record, and the record that the solver computes with `wavelet` in the current model. For the direct
        wave, the model must be right only in the water, or in the ground near the source.
    wavelet : (nt,) or (nshots, nt) array
        Wavelet of `modelled`. Its spectrum must cover that of the data: no factor can fill a gap in it.
    weights : (nshots, nt, nrec, 1) array, optional
        Weights that multiply both records, such as `mute_time` around the direct wave times `gathers.weights()`. A wave
        that the end of the record cuts off is not a convolution: let the weights fall to zero before it.
    shared : bool
        If True, estimate one wavelet for all shots; otherwise one for each shot.
    damping : float
        Damping relative to the largest ``sum |M|^2``. A smaller value follows the data further outside of the wavelet's
        band, and follows their noise too.

    Returns
    -------
    EstimatedWavelet
        The wavelet and the quality of its fit.

    Raises
    ------
    ShapeError
        The shapes of the records, the wavelet and the weights do not fit each other.
    DomainError, DtypeError
        An array is not real and finite, a shot or the wavelet is zero throughout, or `damping` is not positive.
    """
    data, model_data = as_traces(observed, 1), as_traces(modelled, 1)
    if data.ndim != 4 or data.shape != model_data.shape:
        raise ShapeError(
            f"observed has shape {np.shape(observed)}, modelled has shape {np.shape(modelled)}; expected "
            "(nshots, nt, nrec, nfield) for both"
        )
    nshots, nt = data.shape[0], data.shape[-1]
    first = as_traces(wavelet, -1).astype(np.float64)
    if first.shape not in ((nt,), (nshots, nt)):
        raise ShapeError(f"the wavelet has shape {first.shape}; expected ({nt},), or ({nshots}, {nt})")
    if not first.any(axis=-1).all():
        raise DomainError("the wavelet is zero throughout; expected the wavelet of `modelled`")
    if shared and first.ndim == 2 and (first != first[0]).any():
        raise ShapeError("the wavelets of the shots differ; expected one wavelet for all shots, or set shared=False")
    damping = check_positive(damping, "damping", "a fraction of the largest energy")
    if weights is not None:
        factor = as_traces(weights, 1)
        if factor.ndim != 4 or any(n not in (1, m) for n, m in zip(factor.shape, data.shape, strict=True)):
            shapes = f"weights have shape {np.shape(weights)}, observed has shape {np.shape(observed)}"
            raise ShapeError(f"{shapes}; expected weights (nshots, nt, nrec, 1), or of the record's shape")
        data, model_data = data * factor, model_data * factor
    length = padded(nt)
    spectra = [np.fft.rfft(traces, length) for traces in (data, model_data)]
    over = (0, 1, 2) if shared else (1, 2)
    cross = (np.conj(spectra[1]) * spectra[0]).sum(axis=over)
    energy = (np.abs(spectra[1]) ** 2).sum(axis=over)
    largest, total = energy.max(axis=-1, keepdims=True), (data.astype(np.float64) ** 2).sum(axis=(*over, 3))
    if not (largest > 0).all() or not np.all(total > 0):
        raise DomainError("a weighted shot is zero throughout; expected waves in both observed and modelled")
    factor = cross / (energy + damping * largest)
    whole = np.fft.irfft(factor * np.fft.rfft(first[0] if shared and first.ndim == 2 else first, length), length)
    fitted = np.fft.irfft((factor if shared else factor[:, None, None]) * spectra[1], length)[..., :nt]
    unexplained = ((data - fitted) ** 2).sum(axis=(*over, 3)) / total
    acausal = (whole[..., length // 2 :] ** 2).sum(axis=-1) / (whole**2).sum(axis=-1)
    return EstimatedWavelet(
        like_data(whole[..., :nt], -1, np.float64), _float_or_array(unexplained), _float_or_array(acausal)
    )


def _float_or_array(values: Any) -> Any:
    """Return a float, or an array of one value per shot."""
    return float(values) if np.ndim(values) == 0 else values
