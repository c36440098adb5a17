"""Random calls of the C ABI over buffers of exactly the stated sizes, each between guard pages.

``python fuzz.py SEED COUNT [FIRST]`` runs COUNT structs in this process. Access to a guard page, an abort or a call of
more than 60 seconds ends the process; the last printed line names the struct. A struct depends only on SEED and its
number. Each answer is checked: sizes hold their contents even if an intermediate number overflows, bad values are
refused, and a successful run writes all of its outputs.
"""

import ctypes as c
import json
import mmap
import random
import signal
import sys
from collections import Counter
from math import prod

import numpy as np

from sweep_core import native
from sweep_core.native import structs

LIMIT = 2**60
"""Problems of at least this number of bytes are refused."""
MOST = 2**31 - 1
EDGES = (
    0,
    -1,
    1,
    2,
    MOST,
    MOST - 1,
    -MOST - 1,
    2**30,
    2**30 + 1,
    2**30 - 1,
    2**24 + 1,
    2**20,
    2**16,
    46341,
    46340,
    255,
)
LIBRARYS = ("state", "workspace")
"""Buffers whose size depends on the operation."""
LISTED = ("_cell", "_column", "_weight")
VARIED = {name: [f"{kind}{name}" for kind in ("", "gradient_", "tangent_")] for name in ("coefficients", "wavelet")}
MAY_BE_RUN = 4 << 20
"""An accepted problem runs up to this number of bytes of all buffers, and of cell updates."""
libc = c.CDLL(None, use_errno=True)
libc.mmap.restype, libc.mmap.argtypes = c.c_void_p, (c.c_void_p, c.c_size_t, *[c.c_int] * 3, c.c_long)
libc.mprotect.argtypes, libc.munmap.argtypes = (c.c_void_p, c.c_size_t, c.c_int), (c.c_void_p, c.c_size_t)
PAGE, NONE, OPEN = mmap.PAGESIZE, 0, mmap.PROT_READ | mmap.PROT_WRITE


def is_output(need) -> bool:
    """Return True if a run writes all of a buffer."""
    return structs.ROLES[need.role] == "out" and need.type == structs.VALUES


class Fenced:
    """Bytes full of NaN that begin after a guard page, or end before one."""

    def __init__(self, size: int, at_end: bool):
        self.size, room = size, -(-size // PAGE) * PAGE
        self.length = room + 2 * PAGE
        self.base = libc.mmap(None, self.length, NONE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        assert not room or libc.mprotect(self.base + PAGE, room, OPEN) == 0
        self.address = self.base + PAGE + (room - size if at_end else 0)
        c.memset(self.address, 0xFF, size)

    def array(self, dtype) -> np.ndarray:
        return np.frombuffer((c.c_char * self.size).from_address(self.address), dtype)

    def close(self):
        libc.munmap(self.base, self.length)


class Trial:
    """One struct, its buffers, and the calls over them."""

    def __init__(self, library, equations, seed):
        self.library, self.equations, self.draw = library, equations, random.Random(seed)
        self.struct = structs.SweepProblem(bytes=c.sizeof(structs.SweepProblem))
        self.needs, self.outputs = {}, {}
        self.text, self.fenced, self.spoiled = c.create_string_buffer(256), {}, False
        self.builds = len(library.builds)
        self.everywhere = self.draw.choice((0, 0, 1, MOST))
        self._describe()
        for _ in range(self.draw.choice((0, 0, 1, 1, 2, 3, 8))):
            self._mutate()

    # --- the struct ----------------------------------------------------------------------------------------------

    def _describe(self):
        """Fill the struct with a small valid problem."""
        draw, p = self.draw, self.struct
        self.equation = draw.choice(self.equations)
        p.equation, p.dtype, p.ndim = self.equation.name, draw.randrange(2), draw.choice((2, 2, 3))
        p.order, p.shots, p.steps = draw.choice((2, 2, 4, 4, 6, 8, 8, 10, 14)), draw.randint(1, 5), draw.randint(1, 9)
        p.earths, p.last = draw.choice((1, p.shots)), p.steps
        p.chunk, p.face_low[0] = draw.choice((0, 1, 2, 3, p.steps, MOST)), draw.random() < 0.3
        for axis in range(p.ndim):
            low, high = (draw.choice((0, 0, 1, 2, 5, 17)) // (p.ndim - 1) for _ in range(2))
            low *= not (p.face_low[0] and axis == 0)
            near = 2 * p.order * (p.face_low[0] and axis == 0)
            p.pml_low[axis], p.pml_high[axis] = low, high
            p.shape[axis] = low + high + max(p.order, near) + draw.choice((0, 1, 3, 7, 30, 60)) // (p.ndim - 1) ** 2
            p.snapshot_low[axis] = draw.randrange(p.shape[axis])
            p.snapshot_high[axis] = draw.randint(p.snapshot_low[axis] + 1, p.shape[axis])
        p.snapshot_every, p.snapshot_fields = draw.choice((0, 1, 2, 3, MOST)), draw.randrange(1 << self.equation.fields)
        p.source_traces, p.source_columns = self._points(p.source_points)
        p.receiver_traces, p.receiver_columns = self._points(p.receiver_points)
        p.coefficient_limit, p.stored, p.interval = 10.0, p.dtype, 1
        for axis in p.weights:
            axis[:] = [0.01] * structs.MAX_WEIGHTS
        if draw.random() < 0.1:
            p.first = draw.randrange(p.steps)
            p.last = draw.randint(p.first + 1, p.steps)
        elif p.chunk and draw.random() < 0.3:
            p.boundary = draw.choice((structs.INTERIOR, structs.EXACT))
        if p.last - p.first == p.steps and draw.random() < 0.3:
            p.stored = draw.choice([n for n in structs.DTYPES.values() if n != structs.DTYPES["float64"] or p.dtype])
            if self.equation.levels == 2 and not p.boundary:
                p.interval = draw.choice((1, 1, 2, 3, p.steps))
        if draw.random() < 0.3:
            p.imaged_from = draw.randrange(p.shape[0])

    def _points(self, counts) -> tuple[int, int]:
        """Return (traces, columns), and write the number of points of each field to `counts`."""
        draw, traces = self.draw, self.draw.choice((0, 1, 1, 2, 3, 7))
        used = draw.sample(range(self.equation.fields), draw.randint(1, min(3, self.equation.fields)))
        for field in used:
            counts[field] = traces * draw.choice((1, 1, 2, 4, 9))
        return traces, traces * draw.choice((1, 1, 2, 3))

    def _mutate(self):
        draw, p = self.draw, self.struct
        name = draw.choice([name for name, _ in structs.SweepProblem._fields_ if name != "weights"])
        if name == "equation":
            p.equation = draw.choice([*(e.name for e in self.equations), b"", b"x" * 32])
        elif name == "coefficient_limit":
            p.coefficient_limit = draw.choice((0.0, -1.0, float("nan"), float("inf"), 1e-320, 1e300, 0.7))
        elif name == "bytes":
            p.bytes = draw.choice((0, 4, p.bytes, 2**32 - 1)) if draw.random() < 0.2 else p.bytes
        elif hasattr(getattr(p, name), "__len__"):
            values = getattr(p, name)
            at = range(len(values)) if draw.random() < 0.2 else [draw.randrange(min(len(values), 4))]
            for i in at:
                values[i] = self._edge()
        else:
            setattr(p, name, self._edge())
            if name == "steps" and draw.random() < 0.7:
                p.first, p.last = 0, p.steps

    def _edge(self) -> int:
        return self.draw.choice((self.draw.choice(EDGES), self.draw.randint(-3, 70), self.draw.getrandbits(32) - 2**31))

    # --- expected answers ----------------------------------------------------------------------------------------

    def call(self, function, *arguments) -> int:
        draw = self.draw
        wild = draw.random() < 0.1
        threads = draw.choice((MOST, MOST - 1, 17, 1000, 0, -1, -MOST - 1)) if wild else draw.choice((1, 1, 2, 3))
        isa = draw.choice((99, -1, MOST, -MOST - 1)) if wild else draw.randint(0, self.builds)
        room = draw.choice((0, 1, 20, 256))
        self.control = structs.SweepControl(cancel=draw.choice((0, 0, 0, 0, 1, -1)))
        context = structs.SweepContext(
            bytes=c.sizeof(structs.SweepContext),
            threads=threads,
            isa=isa,
            everywhere=self.everywhere,
            control=c.pointer(self.control) if draw.random() < 0.7 else None,
            error=c.cast(self.text, c.c_char_p) if draw.random() < 0.8 else None,
            error_bytes=room,
        )
        status = function(c.byref(self.struct), *arguments, c.byref(context))
        assert status in range(structs.DEVICE + 1), status
        if threads < 1:
            assert status == structs.BAD_CALL
        return status

    def query(self) -> bool:
        """Return True if the struct is accepted."""
        answers = structs.SweepNeeds(bytes=c.sizeof(structs.SweepNeeds))
        for number, operation in enumerate(structs.OPERATIONS):
            for _ in range(20):
                status = self.call(self.library.dll.sweep_buffers, number, c.byref(answers))
                if status == structs.OK:
                    break
            else:
                assert not self.needs, f"{operation} is refused, but another operation is not"
                return False
            self.needs[operation] = {n.name.decode(): n.bytes for n in answers.buffer[: answers.count]}
            self.outputs[operation] = [n.name.decode() for n in answers.buffer[: answers.count] if is_output(n)]
        p, item, needs = self.struct, 4 + 4 * self.struct.dtype, self.needs
        cells = prod(p.shape[: p.ndim])
        level = self.equation_now.fields * cells * item
        assert p.shots > 0 and 0 <= p.first < p.last <= p.steps and p.earths in (1, p.shots) and p.chunk >= 0
        assert all(min(sizes.values()) >= 0 and sum(sizes.values()) < LIMIT for sizes in needs.values())
        forward, earth = needs["forward"], p.earths * self.equation_now.coefficients * cells * item
        assert forward["state"] >= level and forward["tables"] >= sum(p.shape[: p.ndim]) * 2 * item
        assert needs["adjoint"]["state"] >= level + earth and needs["born"]["state"] >= 2 * level
        assert all(needs[operation]["workspace"] >= earth for operation in needs)
        steps, imaged = p.last - p.first, cells // p.shape[0] * (p.shape[0] - p.imaged_from)
        assert 0 <= p.imaged_from < p.shape[0]
        packed, width = p.chunk and (p.stored != p.dtype or p.interval > 1), (4, 8, 2, 2, 1)[p.stored]
        assert 0 < p.interval <= structs.MAX_STEPS and (not packed or steps == p.steps)
        assert p.boundary in (structs.NO_STRIPS, structs.INTERIOR, structs.EXACT)
        if p.boundary:
            layers = sum(p.pml_low[: p.ndim]) + sum(p.pml_high[: p.ndim])
            assert p.chunk > 0 and steps == p.steps and forward["checkpoints"] >= p.shots * level
            assert (forward["history"] > 0) == (layers > 0)
        elif packed:
            assert forward["history"] >= p.shots * ((steps - 1) // p.interval + 1) * imaged * width
            assert forward["checkpoints"] == 0
        elif 0 < p.chunk < steps - 1:
            states = (steps - 2) // p.chunk + (p.first > 0)
            assert forward["checkpoints"] >= p.shots * states * level and forward["history"] == 0
        else:
            remaining = p.shots * steps * imaged * item if p.chunk and steps > 1 else 0
            assert forward["history"] >= remaining and forward["checkpoints"] == 0
        expected = self.bytes_of()
        for operation, sizes in needs.items():
            for name, size in sizes.items():
                assert expected.get(name, size) == size, (operation, name)
        return True

    @property
    def equation_now(self):
        return next(e for e in self.library.describe(self.struct.ndim) if e.name == self.struct.equation)

    def bytes_of(self) -> dict[str, int]:
        """Return the bytes of the buffers with a public layout, of an accepted struct."""
        p, item = self.struct, 4 + 4 * self.struct.dtype
        cells = prod(p.shape[: p.ndim])
        sizes = {"flag": 4}
        for kind, points, columns in (
            ("source", p.source_points, p.source_columns),
            ("receiver", p.receiver_points, p.receiver_columns),
        ):
            for part, each in (("cell", 4), ("column", 4), ("weight", item)):
                sizes |= {f"{kind}_{what}_{part}": p.shots * sum(points) * each for what in ("inject", "gather")}
            names = ("record", "cotangent") if kind == "receiver" else VARIED["wavelet"]
            sizes |= dict.fromkeys(names, p.shots * p.steps * columns * item)
        sizes |= dict.fromkeys(VARIED["coefficients"], p.earths * self.equation_now.coefficients * cells * item)
        times = (p.steps - 1) // p.snapshot_every + 1 if p.snapshot_every else 0
        region = prod(p.snapshot_high[a] - p.snapshot_low[a] for a in range(p.ndim)) if times else 0
        sizes["snapshots"] = p.shots * times * p.snapshot_fields.bit_count() * region * item
        return sizes

    # --- the calls -----------------------------------------------------------------------------------------------

    def run(self, count: Counter):
        p = self.struct
        points, sizes = sum(p.source_points) + sum(p.receiver_points), {}
        for needs in self.needs.values():
            sizes |= {name: max(size, sizes.get(name, 0)) for name, size in needs.items()}
        work = (sum(sizes.values()) + p.shots * points * 200, prod(p.shape[: p.ndim]) * p.steps * p.shots)
        if max(work) > MAY_BE_RUN:
            return
        self.at_end = self.draw.random() < 0.7
        for name, size in sizes.items():
            if not name.endswith(LISTED) and name not in LIBRARYS:
                self.fenced[name] = Fenced(size, self.at_end)
        self._fill()
        self.points = {kind: list(self._points_of(kind)) for kind in ("source", "receiver")}
        completed = dict.fromkeys(self.needs, False)
        for operation, needs in self.needs.items():
            self.fenced |= {name: Fenced(needs[name], self.at_end) for name in LIBRARYS}
            if self._run(operation, needs):
                count[operation] += 1
                completed[operation] = p.first == 0 and p.last == p.steps
            if completed[operation] and (operation != "adjoint" or completed["forward"]):
                for name in self.outputs[operation]:
                    result = self.fenced[name].array(("float32", "float64")[self.struct.dtype])
                    if name in ("record", "gradient_wavelet"):
                        result = self._of_points("receiver" if name == "record" else "source", result)
                    assert not np.isnan(result).any(), f"{name} is not written"
            for name in LIBRARYS:
                self.fenced.pop(name).close()
        for buffer in self.fenced.values():
            buffer.close()

    def _fill(self):
        """Fill the inputs with values for which waves stay finite."""
        values = np.random.default_rng(self.draw.getrandbits(32))
        dtype = ("float32", "float64")[self.struct.dtype]
        for name in ("wavelet", "tangent_wavelet", "tangent_coefficients", "cotangent"):
            result = self.fenced[name].array(dtype)
            result[:] = values.uniform(-1, 1, result.size)
        self.fenced["coefficients"].array(dtype)[:] = 0.5
        self.fenced["tables"].array(dtype)[:] = 0.01
        if self.draw.random() < 0.05:
            result = self.fenced["coefficients"].array(dtype)
            result[self.draw.randrange(result.size)] = self.draw.choice((np.nan, np.inf, -np.inf))
            self.spoiled = True

    def _run(self, operation, names) -> bool:
        """Return True if the call succeeded."""
        draw, lists, spoiled = self.draw, [], self.spoiled
        for name in names:
            if name.endswith("_cell"):
                kind, what, _ = name.split("_")
                result, bad = self._list(kind, what == "inject")
                lists += result
                spoiled |= bad
        at = iter(lists)
        buffers = [next(at) if n.endswith(LISTED) else self.fenced[n] for n in names]
        inputs = [(b.address if b.size or draw.random() < 0.5 else None, b.size) for b in buffers]
        i, short = draw.randrange(len(inputs)), False
        if draw.random() < 0.1 and inputs[i][1]:
            address, size = inputs[i]
            inputs[i], short = draw.choice(((None, size), *((address, n) for n in (-1, 0, size - 1, -(2**63))))), True
        number = structs.OPERATIONS.index(operation)
        array = (structs.SweepBuffer * len(inputs))(*inputs)
        status = self.call(self.library.dll.sweep_run, number, array, len(inputs))
        for buffer in lists:
            buffer.close()
        begins = self.struct.last == self.struct.steps if operation == "adjoint" else self.struct.first == 0
        if status == structs.OK:  # the first call of a run checks coefficients
            assert not short and (not spoiled or not begins), (operation, short, spoiled)
        return status == structs.OK

    def _points_of(self, kind):
        """Yield (cells, columns, weights) of each shot and field, trace by trace, with random columns of the trace."""
        p, values = self.struct, np.random.default_rng(self.draw.getrandbits(32))
        counts, traces = [n for n in getattr(p, f"{kind}_points") if n], getattr(p, f"{kind}_traces")
        for _ in range(p.shots):
            for n in counts:
                cells = values.integers(0, prod(p.shape[: p.ndim]), n) // self.draw.choice((1, 1, 50, 10**9))
                columns = getattr(p, f"{kind}_columns") // traces
                column = (
                    np.sort(values.integers(0, columns, (traces, n // traces))) + columns * np.arange(traces)[:, None]
                )
                yield cells, column.ravel(), values.uniform(-1, 1, n)

    def _of_points(self, kind, samples):
        """Return the part of (shots, steps, columns) in columns that have points."""
        p, columns = self.struct, getattr(self.struct, f"{kind}_columns")
        has_points, lists = (
            np.zeros((p.shots, columns), bool),
            np.array_split(np.arange(len(self.points[kind])), p.shots),
        )
        for shot, indices in enumerate(lists):
            for i in indices:
                has_points[shot, self.points[kind][i][1]] = True
        return samples.reshape(p.shots, p.steps, columns).swapaxes(1, 2)[has_points]

    def _list(self, kind, sort):
        """Return the buffers (cells, columns, weights) of a list, and True if one of its points is invalid."""
        p, draw = self.struct, self.draw
        parts = self.points[kind]
        if sort:
            parts = [[x[np.argsort(one[0], kind="stable")] for x in one] for one in parts]
        example = [np.concatenate(x) for x in zip(*parts, strict=True)] or [np.zeros(0)] * 3
        dtypes = ("int32", "int32", ("float32", "float64")[p.dtype])
        example = [x.astype(dtype) for x, dtype in zip(example, dtypes, strict=True)]
        bad = bool(example[0].size) and draw.random() < 0.03
        if bad:
            which, end = draw.choice(((0, prod(p.shape[: p.ndim])), (1, getattr(p, f"{kind}_columns"))))
            example[which][draw.randrange(example[which].size)] = draw.choice(
                (-1, end, min(end + 7, MOST), MOST, -MOST - 1)
            )
        buffers = []
        for array in example:
            buffers.append(Fenced(array.nbytes, self.at_end))
            buffers[-1].array(array.dtype)[:] = array
        return buffers, bad


def main(seed: int, count: int, first: int = 0):
    library = native.load("cpu")
    equations, counted = library.describe(), Counter()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for number in range(first, first + count):
        print(f"struct {number} of seed {seed}", flush=True)
        signal.alarm(60)
        trial = Trial(library, equations, f"{seed} {number}")
        if trial.query():
            counted["accepted"] += 1
            trial.run(counted)
    print("done", json.dumps(counted))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
