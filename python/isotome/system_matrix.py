# SPDX-License-Identifier: BSD-3-Clause
"""System matrices of two panels: made by transport or in closed form, read, written, used.

    m = isotome.Matrix.transport("meng2019.yaml", pairs=1e6)
    m.write("meng.srm")
    image = isotome.srm(lors, srm=m).reconstruct()     # or srm="meng.srm"
    A = m.operator()                                   # the matrix itself, as an operator
"""

from __future__ import annotations

import ctypes
import os
import threading
from contextlib import contextmanager
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Iterator, NamedTuple, Union

import numpy as np

from . import _abi, _arrays, errors
from ._abi import declare, handle, lib, out
from ._call import Handle, check
from ._checks import integer, number
from ._inputs import context_of, run
from .context import Context, Tell
from .files import path_of
from .grid import Grid
from .operator import ModelOperator, _Shared
from .scanner import Panels, PanelsStruct, Scanner, panels_grid
from .transport import Transport, TransportOptions, transport_options

Path = Union[str, "os.PathLike[str]"]

SYMMETRIES = ("auto", "all", "mirror", "none")  # enum iso_srm_symmetry
RULES = {"random": 2, "mod": 3, "groups": 4}  # enum iso_subset_rule


class _Options(ctypes.Structure):  # srm.h
    _c_name_ = "iso_srm_options"
    _fields_ = [
        ("size", c_size_t),
        ("symmetry", c_int),
        ("seed", c_uint64),
        ("outcomes", c_int),
        ("transport", TransportOptions),
    ]


class _Bound(ctypes.Structure):  # srm.h
    _c_name_ = "iso_srm_bound"
    _fields_ = [
        ("share", c_double),
        ("min_weight", c_double),
        ("per_column", c_double),
        ("max_offset", c_int),
    ]


class _Info(ctypes.Structure):  # srm.h
    _c_name_ = "iso_srm_info"
    _fields_ = [
        ("size", c_size_t),
        ("panels", PanelsStruct),
        ("source", c_char_p),
        ("options", _Options),
        ("swap", c_bool),
        ("voxels", c_int),
        ("classes", c_int),
        ("pairs", c_int64),
        ("runs", c_int),
        ("columns", c_int64),
        ("elements", c_int64),
        ("bound", _Bound),
        ("least_weight", c_double),
        ("recorded", c_double),
        ("usable", c_double),
        ("kept", c_double),
        ("lost", c_double),
        ("lost_least", c_double),
        ("lost_most", c_double),
        ("core_counts", c_double),
        ("core_elements", c_double),
        ("once", c_double),
        ("usable_elements", c_int64),
        ("bytes_full", c_double),
        ("bytes_row", c_double),
        ("bytes_column", c_double),
        ("bytes_tap", c_double),
        ("has_counts", c_bool),
        ("can_cut", c_bool),
        ("command", c_char_p),
    ]


class _Model(ctypes.Structure):  # srm.h
    _c_name_ = "iso_srm_model"
    _fields_ = [
        ("size", c_size_t),
        ("srm", c_void_p),
        ("n_sub", c_int),
        ("rule", c_int),
        ("seed", c_uint64),
        ("deal", c_void_p),
    ]


declare(
    {
        "iso_srm_create": (c_int, [out, POINTER(PanelsStruct), POINTER(_Options)]),
        "iso_srm_free": (None, [handle]),
        "iso_srm_simulate": (c_int, [handle, handle, c_int64, c_int64, c_double]),
        "iso_srm_add": (c_int, [handle, handle]),
        "iso_srm_analytic": (c_int, [out, handle, POINTER(PanelsStruct)]),
        "iso_srm_import": (c_int, [out, POINTER(PanelsStruct), POINTER(_abi.Array)]),
        "iso_srm_export": (c_int, [POINTER(_abi.Array), handle]),
        "iso_srm_threshold": (c_int, [handle, handle, POINTER(_Bound)]),
        "iso_srm_write": (c_int, [c_char_p, handle, c_bool, c_char_p, c_char_p]),
        "iso_srm_write_check": (c_int, [c_char_p, c_bool]),
        "iso_srm_read_within": (c_int, [out, handle, c_char_p, c_bool]),
        "iso_srm_info": (c_int, [POINTER(_Info), handle]),
        "iso_srm_next": (c_int64, [handle]),
        "iso_srm_op_create": (c_int, [out, handle, POINTER(_Model)]),
        "iso_problem_set_srm": (c_int, [handle, handle]),
    }
)


class MatrixInfo(NamedTuple):
    """What a matrix was made of, and holds."""

    source: str  # "transport", "analytic", "import"
    voxels: int  # simulated
    pairs: int  # of each of them
    seed: int
    columns: int  # of the folded table
    elements: int
    least_weight: float  # kept
    recorded: float  # probability of a coincidence in heads without end, mean over columns
    usable: float  # of one that fits the scanner
    kept: float  # share of the scanner's sensitivity
    core_counts: float  # mean counts of the elements that hold half of `usable`
    once: float  # share of the usable elements that were hit once
    bytes_full: float  # of storages, at 8 an element: every voxel
    bytes_row: float  # rows of unsigned directions
    bytes_column: float  # columns of all phases and half the planes
    has_counts: bool  # it can be continued and added to
    can_cut: bool  # `threshold` has something to make the table from
    command: str  # that made it; "": not known


def _place(value: Any, words: tuple[str, ...], name: str) -> int:
    if value not in words:
        raise errors.ArgumentError(f"{name}: given {value!r}, wanted one of {', '.join(words)}")
    return words.index(value)


def _panels(scanner: Scanner | Path) -> tuple[Scanner, Any]:
    """A scanner, which must stay, and its panels."""
    scanner = Scanner._of(scanner)
    panels = lib.iso_scanner_panels(scanner._pointer)
    if not panels:
        raise errors.ArgumentError(f"scanner: given {scanner.name} of kind {scanner.kind}, wanted panels")
    return scanner, panels


class Matrix:
    """h(u, l; v): the probability that crystals u (upper) and l (lower) record a pair of photons of voxel v.

    Made by `Matrix.transport`, `.analytic`, `.from_rows` or `.read`. One call at a time may use it: a second
    thread is told by BusyError. One that was given to a problem can't be changed any more.
    """

    def __init__(self, _handle: Handle):
        if not isinstance(_handle, Handle):
            raise errors.ArgumentError(
                "a Matrix is made by Matrix.transport, Matrix.analytic, Matrix.from_rows or Matrix.read"
            )
        self._handle = _handle
        self._lock = threading.Lock()
        self._lent = False  # to a problem, that reads it at any time

    # ---- making one ----

    @classmethod
    def read(cls, path: Path, counts: bool = True, context: Context | None = None) -> Matrix:
        """From a file; without `counts` its table alone, which can't be continued or cut again."""
        context, made, file = context_of(context), Handle(lib.iso_srm_free), path_of(path)
        run(context, None, lib.iso_srm_read_within, byref(made.pointer), context._pointer, file, bool(counts))
        return cls(made)

    @classmethod
    def analytic(cls, scanner: Scanner | Path, share: float = 0.8, context: Context | None = None) -> Matrix:
        """Without noise and scatter: solid angles times the probability that both crystals stop a photon.

        share: of the scanner's sensitivity that the table keeps; `threshold` cuts it otherwise.
        """
        context, made = context_of(context), Handle(lib.iso_srm_free)
        _scanner, panels = _panels(scanner)
        share = number(share, "share", 1e-6, 1)
        run(context, None, lib.iso_srm_analytic, byref(made.pointer), context._pointer, panels)
        return cls(made).threshold(share=share, context=context)

    @classmethod
    def transport(
        cls,
        scanner: Scanner | Path,
        pairs: int = 20_000_000,
        until_counts: float = 0,
        share: float = 0.8,
        seed: int = 1,
        symmetry: str = "auto",
        outcomes: int = 1,
        transport: Transport = Transport(),
        context: Context | None = None,
        progress: Tell = None,
    ) -> Matrix:
        """By photon transport in heads without end.

        pairs: of photons in each simulated voxel; 0: none yet. until_counts: it ends before that when the
            elements that hold half of the sensitivity have so many counts on average.
        share: of the scanner's sensitivity that the table keeps; `threshold` cuts it otherwise.
        symmetry: "all", "mirror", "none": what one voxel is simulated for; "auto".
        outcomes: outcomes of each photon of a line, all combined, 1 to 8.
        progress: as in isotome.simulate.
        """
        _scanner, panels = _panels(scanner)
        o = _Options(size=ctypes.sizeof(_Options), symmetry=_place(symmetry, SYMMETRIES, "symmetry"))
        o.seed, o.outcomes = integer(seed, "seed", 0, 2**64 - 1), integer(outcomes, "outcomes", 1, 8)
        o.transport = transport_options(transport, seed)
        n, share = integer(pairs, "pairs", 0, 10**15), number(share, "share", 1e-6, 1)
        made = Handle(lib.iso_srm_free)
        check(lib.iso_srm_create(byref(made.pointer), panels, byref(o)))
        matrix = cls(made)
        if n:
            matrix.simulate(n, until_counts=until_counts, context=context, progress=progress)
            matrix.threshold(share=share, context=context)
        return matrix

    @classmethod
    def from_rows(
        cls, scanner: Scanner | Path, rows: np.ndarray, share: float = 1, context: Context | None = None
    ) -> Matrix:
        """From rows of another program: (n, 8) float32.

        Plane, phase x, phase z, upper crystal x, z, lower crystal x, z, weight, crystals counted from the
        voxel's own cell; with layers those of the upper and lower crystal before the weight: (n, 10).
        """
        _scanner, panels = _panels(scanner)
        share, made = number(share, "share", 1e-6, 1), Handle(lib.iso_srm_free)
        a = _arrays.as_struct(_arrays.given(rows, np.shape(rows), "rows"))
        check(lib.iso_srm_import(byref(made.pointer), panels, byref(a)))
        return cls(made).threshold(share=share, context=context)

    # ---- changing it ----

    @contextmanager
    def _use(self, change: bool = False) -> Iterator[c_void_p]:
        """Its pointer, which nobody else uses meanwhile."""
        if not self._lock.acquire(blocking=False):
            raise errors.BusyError("the matrix serves another call, wanted an idle one")
        try:
            if change and self._lent:
                raise errors.ArgumentError(
                    "the matrix was given to a problem, which needs it as it is, wanted one that was not"
                )
            yield self._handle.pointer
        finally:
            self._lock.release()

    def simulate(
        self,
        pairs: int,
        first: int | None = None,
        until_counts: float = 0,
        context: Context | None = None,
        progress: Tell = None,
    ) -> Matrix:
        """Adds pairs first, first + 1 ... of photons in each simulated voxel; `threshold` makes the table.

        first: None continues after the existing pairs. until_counts: it ends before that when the elements that
        hold half of the sensitivity have so many counts on average. If it is stopped, the matrix has the
        rounds that were whole.
        """
        context, n = context_of(context), integer(pairs, "pairs", 1, 10**15)
        until = number(until_counts, "until_counts", 0, 1e9)
        with self._use(change=True) as m:
            begin = lib.iso_srm_next(m) if first is None else integer(first, "first", 0, 10**15)
            run(context, progress, lib.iso_srm_simulate, m, context._pointer, begin, n, until)
        return self

    def threshold(
        self,
        share: float | None = None,
        min_weight: float | None = None,
        per_column: float | None = None,
        max_offset: int = 0,
        context: Context | None = None,
    ) -> Matrix:
        """Makes the table again from all counts, with the largest weights: one of the first three.

        share: share of the scanner's sensitivity to keep, up to 1. min_weight: keep weights of at least this.
        per_column: elements, mean over the columns. max_offset: crystals that lie farther apart along x or z
        are left out; 0: none.
        """
        given = [v for v in (share, min_weight, per_column) if v is not None]
        if len(given) != 1:
            raise errors.ArgumentError(
                f"threshold: given {len(given)} of share, min_weight and per_column, wanted one of them"
            )
        b = _Bound(max_offset=integer(max_offset, "max_offset", 0, 4096))
        if share is not None:
            b.share = number(share, "share", 1e-6, 1)
        elif min_weight is not None:
            b.min_weight = number(min_weight, "min_weight", 1e-30, 1)
        else:
            b.per_column = number(per_column, "per_column", 1, 1e9)
        context = context_of(context)
        with self._use(change=True) as m:
            run(context, None, lib.iso_srm_threshold, m, context._pointer, byref(b))
        return self

    def __iadd__(self, other: Matrix) -> Matrix:
        """Adds the counts of another run: other pairs or another seed. `threshold` then makes the table."""
        if not isinstance(other, Matrix):
            return NotImplemented
        if other is self:
            raise errors.ArgumentError("matrix: given itself to add, wanted another run")
        with self._use(change=True) as m, other._use() as n:
            check(lib.iso_srm_add(m, n))
        return self

    def __add__(self, other: Matrix) -> Matrix:
        """A matrix of the counts of both runs, in the bits of one long run; `threshold` makes its table."""
        if not isinstance(other, Matrix):
            return NotImplemented
        made, info = Handle(lib.iso_srm_free), _Info(ctypes.sizeof(_Info))
        with self._use() as m:
            check(lib.iso_srm_info(byref(info), m))
            check(lib.iso_srm_create(byref(made.pointer), byref(info.panels), byref(info.options)))
            check(lib.iso_srm_add(made.pointer, m))
        both = Matrix(made)
        both += other
        return both

    # ---- what it holds ----

    @property
    def info(self) -> MatrixInfo:
        """What it was made of, and holds."""
        i = _Info(ctypes.sizeof(_Info))
        with self._use() as m:
            check(lib.iso_srm_info(byref(i), m))
            values = {name: getattr(i, name) for name in MatrixInfo._fields if hasattr(i, name)}
            values["source"], values["command"] = i.source.decode(), i.command.decode(errors="replace")
        return MatrixInfo(seed=i.options.seed, **values)

    def _panels_struct(self) -> PanelsStruct:
        i = _Info(ctypes.sizeof(_Info))
        with self._use() as m:
            check(lib.iso_srm_info(byref(i), m))
        return i.panels

    @property
    def panels(self) -> Panels:
        """The panels of its scanner."""
        return Panels._of(self._panels_struct())

    @property
    def grid(self) -> Grid:
        """The grid of its images."""
        return panels_grid(self._panels_struct())

    def rows(self) -> np.ndarray:
        """The folded table as rows, as `from_rows` takes them."""
        with self._use() as m:
            return _arrays.made(lambda to: check(lib.iso_srm_export(to, m)))

    def write(self, path: Path, final: bool = False, force: bool = False) -> None:
        """To a file (.srm). final: without its counts, smaller, but the file can't be continued or cut again.

        force: an existing file is replaced. There is no file unless it is whole.
        """
        file = path_of(path)
        check(lib.iso_srm_write_check(file, bool(force)))
        with self._use() as m:
            check(lib.iso_srm_write(file, m, bool(final), None, None))

    # ---- using it ----

    def operator(
        self,
        subsets: int = 1,
        subset_rule: str = "groups",
        seed: int = 1,
        context: Context | None = None,
    ) -> ModelOperator:
        """Expected counts of each LOR from an image on `grid`; the matrix need not stay.

        subset_rule: "groups", "mod" or "random".
        """
        context = context_of(context)
        model = _Model(size=ctypes.sizeof(_Model))
        _place(subset_rule, tuple(RULES), "subset_rule")
        model.rule, model.seed = RULES[subset_rule], integer(seed, "seed", 0, 2**64 - 1)
        model.n_sub = integer(subsets, "subsets", 1, 2**31 - 1)
        made, grid = Handle(lib.iso_op_free, context._handle), self.grid
        with self._use() as m:
            model.srm = m
            run(context, None, lib.iso_srm_op_create, byref(made.pointer), context._pointer, byref(model))
        return ModelOperator(_Shared(made, context, None, self._lors()), grid.shape, in_grid=grid)

    def _lors(self) -> tuple[int, ...]:
        """The shape of a histogram: x, z of the upper crystal, of the lower; with layers those before."""
        p = self._panels_struct()
        return (p.layers,) * 2 * (p.layers > 1) + tuple(p.crystals) * 2

    def _lend(self, name: str, problem: Handle) -> None:
        """To a problem, as its parameter `name`: the problem keeps it."""
        if name != "srm":
            raise errors.ArgumentError(f"{name}: given Matrix, wanted it as srm=")
        with self._use() as m:
            check(lib.iso_problem_set_srm(problem.pointer, m))
            problem._needs += (self._handle,)
            self._lent = True

    def __repr__(self) -> str:
        if self._lock.locked():
            return "<isotome.Matrix: busy>"
        i = self.info
        pairs = f", {i.pairs:.4g} pairs in each of {i.voxels} voxels" if i.pairs else ""
        kept = f"{100 * i.kept:.1f} % of the sensitivity"
        return f"<isotome.Matrix {i.source}{pairs}: {i.elements} elements, {kept}>"
