"""Steps that prepare field data for an inversion: filters, mutes, gains and the source wavelet, on NumPy arrays."""

from .filters import bandpass, lowpass, spectrum
from .gain import agc, balance, time_gain
from .line_source import half_integral, to_line_source
from .mutes import first_breaks, mute_offset, mute_time
from .source_wavelet import EstimatedWavelet, estimate_wavelet

__all__ = [
    "EstimatedWavelet",
    "agc",
    "balance",
    "bandpass",
    "estimate_wavelet",
    "first_breaks",
    "half_integral",
    "lowpass",
    "mute_offset",
    "mute_time",
    "spectrum",
    "time_gain",
    "to_line_source",
]
