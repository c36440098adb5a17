"""The distributor: a Dask client, and the three verbs by which SWEEP gives it tasks."""

import atexit
import uuid
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import attrs
import cloudpickle
import dask
from distributed import Client, KilledWorker, LocalCluster, WorkerPlugin
from distributed.client import FutureCancelledError

from sweep_core._util.processors import processor_count
from sweep_core.distribution import SerialDistributor
from sweep_core.errors import DistributedError, OptionError, SweepError


@attrs.frozen(eq=False, init=False)
class DaskDistributor(SerialDistributor):
    """A group of one rank whose tasks run on the workers of a Dask cluster.

    Dask decides where a task runs. It computes the tasks of a lost worker again on other workers, and gives tasks to
    workers that join. Observed data and models go to a worker once.

    Parameters
    ----------
    cluster : Cluster, Client or str, optional
        A cluster such as ``LocalCluster``, ``SLURMCluster`` or ``KubeCluster``, a client, or the address of a
        scheduler, such as ``"tcp://host:8786"``. By default a LocalCluster of this host, which ends with this process.
    workers : int, optional
        Number of processes of the default cluster, each with one thread; by default one for each processor.
    timeout : float
        Seconds to wait for the scheduler and its first worker.

    Raises
    ------
    OptionError
        For another cluster, or `workers` beside a cluster.
    DistributedError
        If the scheduler does not answer, or no worker joins it.
    """

    client: Client = attrs.field(kw_only=True, repr=False)

    def __init__(self, cluster: Any = None, workers: int | None = None, timeout: float = 60.0) -> None:
        client = _client(cluster, workers, timeout)
        try:
            client.wait_for_workers(1, timeout=timeout)
        except TimeoutError:
            address = client.scheduler_info()["address"]
            raise DistributedError(
                f"no worker has joined {address} within {timeout:g} s; start workers, such as by cluster.scale(2), or "
                "raise timeout"
            ) from None
        client.register_plugin(_Imports())
        self.__attrs_init__(client=client)

    def place(self, value: Any) -> Any:
        """Return the future of a value.

        The pickled value is the argument of a task, which the scheduler keeps and runs again if its worker is lost.
        Data of ``Client.scatter`` would be lost with their worker. The scheduler does not unpickle the value, so it
        needs no torch and no module of the user.
        """
        self._check_open()
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):
            return self.client.submit(
                cloudpickle.loads, cloudpickle.dumps(value), key=f"data-{uuid.uuid4().hex}", pure=False
            )

    def call(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return a lazy task; :meth:`fetch` sends it with all tasks that depend on it, in one graph."""
        key = f"{name}-{uuid.uuid4().hex}"
        return dask.delayed(function, pure=False)(*arguments, dask_key_name=key)

    def fetch(self, handles: Sequence[Any]) -> list[Any]:
        """Return the values of tasks, in their order.

        Raises
        ------
        SweepError
            The error of a task.
        DistributedError
            If a task has ended several workers, or the scheduler is lost.
        """
        self._check_open()
        try:
            return self.client.gather(self.client.compute(list(handles)))
        except SweepError:  # of a task; some are OSErrors, too
            raise
        except KilledWorker as error:
            name, ended = str(error.task).rpartition("-")[0], error.allowed_failures + 1
            raise DistributedError(
                f"{name} was lost with each of {ended} workers, the last of which was {error.last_worker.address}; "
                "give workers more memory, or see the log of that worker"
            ) from error
        except (FutureCancelledError, OSError) as error:
            raise DistributedError(
                f"Dask has dropped the tasks of a step ({error}); start the run again if the scheduler was lost"
            ) from error

    def _check_open(self) -> None:
        if self.client.status == "closed":
            raise DistributedError("the client of the Dask scheduler is closed; make another DaskDistributor")


class _Imports(WorkerPlugin):
    """Import the modules of tasks as a worker joins, in one thread.

    A worker unpickles tasks in several threads. Python raises an error if one of them imports a package and another a
    module of it at the same time.
    """

    name, idempotent = "sweep-imports", True

    def setup(self, worker: Any) -> None:
        import sweep_core.inversion  # noqa: F401


def _client(cluster: Any, workers: int | None, timeout: float) -> Client:
    """Return the client of a cluster, an address or the default cluster."""
    if cluster is None:
        if not (workers is None or (type(workers) is int and workers > 0)):
            raise OptionError(f"workers is {workers!r}; expected a whole number from 1 on, or None for all processors")
        return _local(workers or processor_count())
    if workers is not None:
        raise OptionError(
            f"workers is {workers}, which counts those of the default cluster; expected None beside cluster={cluster!r}"
            "; scale that cluster instead"
        )
    if isinstance(cluster, Client):
        return cluster
    if not isinstance(cluster, str) and not hasattr(cluster, "scheduler_address"):
        raise OptionError(
            f"cluster is {cluster!r}; expected a cluster of Dask, a distributed.Client, or the address of a scheduler, "
            "such as 'tcp://host:8786'"
        )
    try:
        return Client(cluster, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:
        raise DistributedError(
            f"no Dask scheduler answers at {cluster} ({error}); start one, such as by the command dask scheduler"
        ) from error


@lru_cache
def _local(workers: int) -> Client:
    """Return the client of the default cluster, which this process uses for all groups."""
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
    client = Client(cluster, set_as_default=False)
    atexit.register(_close, client, cluster)
    return client


def _close(client: Client, cluster: LocalCluster) -> None:
    """Drop the futures first, because Dask would warn of values that end with their workers."""
    client.close()
    cluster.close()
