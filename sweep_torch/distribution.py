"""Shots over processes: the verbs of the protocol, and helpers for inversion scripts."""

from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import numpy as np
import torch
import torch.distributed as dist

from sweep_core.acquisition.shots import Shots
from sweep_core.distribution import ShotPlan, check_plan
from sweep_core.errors import DistributedError, DtypeError, ShapeError, SweepError
from sweep_core.execution.call_checks import check_forward_batchsize

from . import roll_call
from .devices import end_with_launcher, setup_distributed, teardown_distributed
from .parallel_solver import DevicesExecutor

__all__ = [
    "DevicesExecutor",
    "TorchDistributor",
    "broadcast_observed_data",
    "chunked_observed_data",
    "end_with_launcher",
    "setup_distributed",
    "split_indices_for_rank",
    "sum_gradients",
    "teardown_distributed",
]

DTYPES = (
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex128, torch.complex64),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
)
"""Dtypes that can be broadcast. Ranks send a dtype as its index in this tuple."""


def split_indices_for_rank(indices, rank: int, world_size: int):
    """Return the part of `indices` that belongs to `rank`.

    Parts are contiguous, may be empty, and their sizes differ by at most one.

    Parameters
    ----------
    indices : sequence, array or tensor
        Shots of a step.
    rank, world_size : int
        Number of this rank, and the number of ranks.

    Returns
    -------
    sequence, array or tensor
        A slice of `indices`.

    Raises
    ------
    OptionError
        `rank` is not below `world_size`.
    """
    part = ShotPlan(len(indices), world_size).part(rank)
    return indices[part[0] : part[-1] + 1] if part else indices[:0]


@contextmanager
def _collective(verb: str) -> Iterator[None]:
    """Turn a failure of the process group into a DistributedError that names the ranks that are missing."""
    roll_call.arrive()
    try:
        yield
    except RuntimeError as error:
        reason = str(error).split("\n")[0]
        raise DistributedError(
            f"rank {dist.get_rank()} of {dist.get_world_size()}: {verb} failed; {roll_call.missing_ranks()}; see its "
            f"message ({reason})"
        ) from error


def _broadcast(tensor: torch.Tensor) -> None:
    with _collective("broadcast"):
        dist.broadcast(tensor, src=0)


@attrs.frozen
class TorchDistributor:
    """The protocol of :class:`sweep_core.distribution.Distributor` over the default process group, or a group of one.

    Tensors are on `device`; under NCCL it must be this rank's GPU. NumPy arrays are copied to `device`.
    """

    device: torch.device = attrs.field(factory=lambda: torch.device("cpu"))

    @property
    def rank(self) -> int:
        return dist.get_rank() if dist.is_initialized() else 0

    @property
    def size(self) -> int:
        return dist.get_world_size() if dist.is_initialized() else 1

    def scatter(self, plan: ShotPlan, x: torch.Tensor | None) -> torch.Tensor:
        """Return this rank's part of rank 0's x, whose first axis counts shots."""
        if self.rank == 0:
            check_plan(self, plan, self._tensor(x, "scatter").shape[0])
        return self.broadcast(x)[list(plan.part(self.rank))]

    def gather(self, plan: ShotPlan, part: torch.Tensor) -> torch.Tensor | None:
        """Return the parts of all ranks in the order of the shots, on rank 0; None elsewhere."""
        whole = self.all_gather(plan, part)
        return whole if self.rank == 0 else None

    def broadcast(self, x: torch.Tensor | None) -> torch.Tensor:
        """Return rank 0's tensor; the other ranks need not know its shape."""
        if self.size == 1:
            return self._tensor(x, "broadcast")
        value, refusal = torch.empty(0), None
        if self.rank == 0:
            try:
                value = self._tensor(x, "broadcast").detach().to(self.device)
                value = value.resolve_conj().resolve_neg().contiguous()
                if value.dtype not in DTYPES:
                    raise DtypeError(f"broadcast: a tensor of {value.dtype} cannot be sent; expected one of {DTYPES}")
            except SweepError as error:
                refusal = error
        # Shape and dtype travel as numbers: an object would be unpickled, and pickles run code.
        head = torch.tensor([-1 if refusal else DTYPES.index(value.dtype), value.ndim], device=self.device)
        _broadcast(head)
        kind, ndim = head.tolist()
        if kind < 0:  # every rank raises, so none waits for the others
            raise refusal or DistributedError("broadcast: rank 0 failed; its error message states the reason")
        shape = torch.tensor(value.shape if self.rank == 0 else [0] * ndim, dtype=torch.int64, device=self.device)
        if ndim:
            _broadcast(shape)
        if self.rank:
            value = torch.empty(shape.tolist(), dtype=DTYPES[kind], device=self.device)
        if value.numel():
            # Gloo does not know every dtype, so send bytes.
            _broadcast(value.view(-1).view(torch.uint8))
        return value

    def reduce(self, x: torch.Tensor) -> torch.Tensor | None:
        """Return the sum over ranks, on rank 0; None elsewhere."""
        total = self.all_reduce(x)
        return total if self.rank == 0 else None

    def all_reduce(self, x: torch.Tensor) -> torch.Tensor:
        """Return the sum over ranks, the same bits on every rank; x itself does not change."""
        total = self._tensor(x, "all_reduce").detach().clone()
        if self.size > 1:
            with _collective("all_reduce"):
                dist.all_reduce(total)
        return total

    def all_gather(self, plan: ShotPlan, part: torch.Tensor) -> torch.Tensor:
        """Return the parts of all ranks in the order of the shots, on every rank."""
        part = self._tensor(part, "all_gather")
        check_plan(self, plan, part.shape[0], part=True)
        if self.size == 1:
            return part
        padded = part.new_zeros((plan.longest, *part.shape[1:]))
        padded[: part.shape[0]] = part.detach()
        parts = [torch.empty_like(padded) for _ in range(self.size)]
        with _collective("all_gather"):
            dist.all_gather(parts, padded)
        return plan.in_order(torch.cat([p[: len(plan.part(rank))] for rank, p in enumerate(parts)]))

    def barrier(self) -> None:
        if self.size > 1:
            with _collective("barrier"):
                dist.barrier()

    def state_work(self, work: str) -> None:
        """State the work of this rank, which errors on other ranks name if this rank ends or hangs."""
        roll_call.state_work(work)

    def _tensor(self, x, verb: str) -> torch.Tensor:
        if x is None:
            raise ShapeError(f"{verb}: rank {self.rank} passed None; expected its value")
        return x if isinstance(x, torch.Tensor) else torch.as_tensor(np.asarray(x), device=self.device)


def chunked_observed_data(
    solver, wave, sources, receivers, models=None, forward_batchsize: int = 1, receiver_mask=None
) -> torch.Tensor:
    """Model shots in batches, without a gradient; return the record of all shots, (nshots, nt, nrec, nfield).

    A batch has `forward_batchsize` shots; the other arguments are those of the solver. Without shots the record has
    length 0.

    Parameters
    ----------
    solver : PropTorch
        The solver.
    wave, sources, receivers, models, receiver_mask
        Arguments of a call of the solver, for all shots.
    forward_batchsize : int
        Shots of a batch.

    Returns
    -------
    (nshots, nt, nrec, nfield) tensor
        The record.

    Raises
    ------
    SweepError
        As a call of the solver does.
    """
    batch, problem = check_forward_batchsize(forward_batchsize), solver.problem
    shots, records = Shots(wave, sources, receivers, receiver_mask), []
    with torch.no_grad():
        for first in range(0, max(len(shots), 1), batch):
            indices = np.arange(first, min(first + batch, len(shots)))
            is_list = isinstance(models, list | tuple)  # the solver checks the rest
            earths = [m if m.ndim == problem.grid.ndim else m[indices] for m in models] if is_list else models
            some = shots.take(indices)
            records.append(solver(some.wavelet, some.sources, some.receivers, earths, some.mask))
    return torch.cat(records)


def broadcast_observed_data(rank: int, device, obs: torch.Tensor | None) -> torch.Tensor:
    """Return rank 0's observed data on every rank, on `device`; other ranks give None.

    Parameters
    ----------
    rank : int
        Number of this rank.
    device : str or torch.device
        Device of the result.
    obs : tensor, optional
        Observed data, on rank 0.

    Returns
    -------
    tensor
        The observed data.

    Raises
    ------
    DistributedError
        `rank` is not that of this process, or rank 0 has nothing that can be sent.
    """
    distributor = TorchDistributor(torch.device(device))
    if rank != distributor.rank:
        raise DistributedError(f"rank is {rank}; expected {distributor.rank}, the rank of this process")
    return distributor.broadcast(obs)


def sum_gradients(ddp: torch.nn.parallel.DistributedDataParallel) -> None:
    """Make DistributedDataParallel sum gradients over the ranks; by default it averages them.

    Every rank must run a backward for each step, also one without shots: its record is empty, its gradient zero.

    Parameters
    ----------
    ddp : torch.nn.parallel.DistributedDataParallel
        A wrapped solver, before its first backward.
    """

    # Wait here: a thread of Gloo would free a callback, and aborts if Python has ended in the meantime.
    def hook(group, bucket):
        dist.all_reduce(bucket.buffer(), group=group)
        future: torch.futures.Future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    ddp.register_comm_hook(ddp.process_group, hook)
