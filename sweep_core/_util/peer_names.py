"""Names of arguments in other packages, and the advice of messages about them.

The pages docs/howto/from-*.md hold the same names, and the differences between the results.
"""

NO_STEPS = "a call has as many steps as the wavelet has samples"
DEVICE = "the device is dev here, or device= of the equation"
MEMORY = "memory=MemoryOptions(...) chooses how a gradient stores the forward run"
ORDER = "the order of the differences is spatial_order= of the equation, such as Acoustic(spatial_order=8)"
SPACING = "the size of a cell is dh here, in metres: a number, or (dz, dx)"
WIDTH = "the cells of the absorbing layer are pml_width here: a number, or one for each face"
SURFACE = "a free surface on top is free_surface=True here"
SAME_STEP = "records have the samples of the wavelet: dt is never divided, and nothing is resampled"
WATCHED = "snapshots=Snapshots(fields=[...]) of a call returns wavefields"
BETWEEN = "positions of a float dtype lie between nodes, by a windowed sinc over 8 cells; integers name nodes"
MODELS = "pass a list, models=[vp], to the constructor or to each call"

SOLVER: dict[str, str] = {
    # sweep-solver
    "abcn": WIDTH,
    "ckpt_chunks": "memory=MemoryOptions('ckpt', ckpt=CkptOptions(chunks=...)) counts chunks, not the steps of a chunk",
    "ckpt_mode": "use memory=MemoryOptions('ckpt', ckpt=CkptOptions(mode=...))",
    "ckpt_num": "use memory=MemoryOptions('ckpt', ckpt=CkptOptions(mode='recursive', count=...))",
    "ckpt_storage": "use memory=MemoryOptions('ckpt', ckpt=CkptOptions(storage=...))",
    "ckpt_pinned_memory": "host memory that stores states of a GPU is always pinned",
    "use_ckpt": "use memory=MemoryOptions('ckpt') for True, memory=MemoryOptions('full') for False",
    "boundary_saving_config": "use memory=MemoryOptions('boundary', boundary=BoundaryOptions(...))",
    "boundary_buffer": "strategy 'boundary' needs no cells between model and PML here",
    "backend": "PropTorch and PropJax are the backends; impl='c' or impl='eager' chooses the implementation",
    "backend_options": "use memory=MemoryOptions(...), or cuda_options=CUDAOptions(...)",
    "eager_options": "impl='eager' has no options; impl='c' is compiled code",
    "nt": NO_STEPS,
    "B": "a call has as many shots as its sources",
    "allow_growth": MEMORY,
    "scan_unroll": "compiled code has no scan to unroll",
    "topography": "a free surface is flat here: free_surface=True",
    "topo_method": "a free surface is flat here: free_surface=True",
    "grad_illumination": "compute an illumination as a sum over snapshots: snapshots=Snapshots(fields=[...]) of a call",
    # Deepwave
    "grid_spacing": SPACING,
    "accuracy": ORDER,
    "max_vel": "pml_velocity is the design speed of the absorbing layer; dt is never divided, and refused if too large",
    "v": MODELS,
    "courant_number": "dt is never divided; a dt that is too large is refused, with the largest stable dt",
    "boundary": "pml_width=0 makes a face a wall, free_surface=True makes the top free; other faces have a PML",
    "survey_pad": "the whole model is computed; crop it before the call",
    "source_mask": "use a wavelet of zeros for a source that does nothing",
    "time_pad_frac": SAME_STEP,
    "freq_taper_frac": SAME_STEP,
    "time_taper": SAME_STEP,
    "model_gradient_sampling_interval": "use memory=MemoryOptions('full', interval=...)",
    "checkpoint_segments": "use memory=MemoryOptions('ckpt', ckpt=CkptOptions(chunks=...))",
    "check_output_finite": "use check_finite",
    **dict.fromkeys(("forward_callback", "backward_callback", "callback_frequency"), WATCHED),
    "backward_callback_needs_forward_wavefield": WATCHED,
    "python_backend": "impl='eager' runs the framework's own operations, impl='c' compiled code",
    **dict.fromkeys(("storage", "storage_mode", "storage_path", "storage_compression"), MEMORY),
    **dict.fromkeys(("location_interpolation", "location_interpolation_halfwidth"), BETWEEN),
    # Devito
    "space_order": ORDER,
    "time_order": "the steps are of second order in time; time_dispersion='corrected' removes their error from records",
    "spacing": SPACING,
    "origin": "positions are grid cells from the first cell of the model",
    "nbl": WIDTH,
    "bcs": "pml_type is the absorbing layer, pml_width its cells, and free_surface=True a free top",
    "fs": SURFACE,
    "vp": MODELS,
    "model": MODELS,
    "geometry": "the wavelet, sources and receivers are arguments of each call",
    "f0": "sweep_core.ricker(freq, nt, dt) makes a wavelet, an argument of each call",
    "t0": NO_STEPS,
    "tn": NO_STEPS,
    "opt": "impl='c' is compiled code",
    "platform": DEVICE,
    "language": "impl='c' is compiled code",
    # several packages
    "dx": SPACING,
    "order": ORDER,
    "spatial_order": ORDER,
}
"""Names of peers for arguments of a solver's constructor."""

WAVELET = "samples of the source are the argument wavelet: (nt,), (nshots, nt) or (nshots, nsrc, nt)"
SOURCES = (
    "positions of sources are the argument sources: (nshots, 2) or (nshots, nsrc, 2), columns (x, z), in grid cells"
)
RECEIVERS = (
    "positions of receivers are the argument receivers: (nrec, 2) or (nshots, nrec, 2), columns (x, z), in grid cells"
)

CALL: dict[str, str] = {
    **SOLVER,
    **dict.fromkeys(("source_amplitudes", "wavelets", "wave", "x"), WAVELET),
    **dict.fromkeys(("source_locations", "source", "src"), SOURCES),
    **dict.fromkeys(("receiver_locations", "receiver", "rec"), RECEIVERS),
    **dict.fromkeys(("wavefield_0", "wavefield_m1", "initial_state"), "a run begins at rest, at the first sample"),
    **dict.fromkeys(("return_wavefield", "save"), "use snapshots=Snapshots(fields=[...])"),
    "adj": "the gradient is that of the framework: backward(), or jax.grad",
    "wave_equation": "the equation is an argument of the constructor",
    "time_M": NO_STEPS,
    **dict.fromkeys(
        ("dt", "dh", "dev", "device", "pml_width", "pml_freq", "memory", "free_surface"), "pass it to the constructor"
    ),
}
"""Names of peers for arguments of a call, and advice for arguments of the constructor."""

EQUATION: dict[str, str] = {
    "backend": "one equation serves PropTorch, PropJax and any other backend",
    **dict.fromkeys(("space_order", "accuracy", "order"), "the order of the differences is spatial_order here"),
    "dim": "the number of dimensions is that of the solver's shape",
    "dev": "the device is device here, or dev of the solver",
}
"""Names of peers for arguments of an equation."""

RICKER: dict[str, str] = {
    "t": "ricker(freq, nt, dt, delay=...) computes its times k dt itself",
    "f": "the peak frequency is freq here, in Hz",
    "f0": "the peak frequency is freq here, in Hz",
    "length": "the number of samples is nt here",
    "peak_time": "the time of the peak is delay here, in s",
    "t0": "the time of the peak is delay here, in s",
}
"""Names of peers for arguments of :func:`sweep_core.ricker`."""
