# SPDX-License-Identifier: BSD-3-Clause
"""Problems: a model with its data and parameters, from files or arrays to the image and its record.

    image = isotome.open("scan.Cdh").reconstruct()      # of the model that the file tells

    p = isotome.ray("scan.Cdh", grid=(128, 128, 64), voxel=2, tof_fwhm_ps=400)
    image = p.reconstruct()

One function a model, made from the library's table of its parameters: a keyword is the name that
`isotome recon MODEL --help` lists, with `_` in place of `-`.
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import itertools
import json
import math
import os
import sys
import threading
import warnings
import weakref
from ctypes import byref, c_char_p, c_int64, c_void_p
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple

import numpy as np

from . import _abi, _arrays, _masks, errors
from . import context as contexts
from ._abi import lib
from ._call import Handle, call, check, refuse_fork, text
from .context import Context, Tell, listening
from .events import Events, strip_struct
from .grid import Grid
from .image import Image
from .operator import ModelOperator, _Shared
from .steps import Callback, Step, Watcher

if TYPE_CHECKING:
    from .live import Live


class Parameter(NamedTuple):
    """One parameter of a model."""

    name: str  # as a keyword: "tof_fwhm_ps"
    group: str
    type: int
    numbers: int  # in a list; 0: one
    unit: str
    words: tuple[str, ...]  # what a text may be; (): anything
    default: str
    help: str
    file: int
    takes: int  # in place of a file
    value: str  # "FILE", "FILE|none", "MM"
    or_number: bool = False  # in place of a file

    @property
    def kind(self) -> str:
        """What it takes, in words."""
        if self.words:
            return " or ".join(f"'{w}'" for w in self.words)
        if self.file == _abi.READS:
            more = ("", " or array", ", array or Events", " or array", " or Matrix")[self.takes]
            return "file" + more + (" or float" if self.or_number else "")
        if self.file != _abi.NO_FILE:
            return "file" if self.file == _abi.WRITES else "folder"
        kind = {_abi.FLAG: "bool", _abi.INTEGER: "int", _abi.REAL: "float", _abi.TEXT: "text"}[self.type]
        more = " or Grid" if self.name == "grid" and self.numbers == 3 else ""
        return f"{self.numbers} x {kind}{more}" if self.numbers else kind


class Data(NamedTuple):
    """Vectors of the rows in the order of the file; None if the problem has none."""

    y: np.ndarray | None  # counts; None: each row counts 1
    add: np.ndarray | None  # mean additive term r
    mult: np.ndarray | None  # factors m


# ---- parameters ----


#: Those that a call may say for itself; they hold for what is written alone.
_FLAGS = ("force", "resume")


def _text(value: bytes | None) -> str:
    """Paths among them may be of any bytes."""
    return os.fsdecode(value or b"")


def _words(words) -> tuple[str, ...]:
    found: list[str] = []
    while words and words[len(found)]:
        found.append(words[len(found)].decode())
    return tuple(found)


def _structs(problem: Handle):
    """struct iso_param of each parameter, in one struct that is overwritten; its texts are the problem's."""
    p, k = _abi.Param(size=ctypes.sizeof(_abi.Param)), 0
    while lib.iso_problem_param(byref(p), problem.pointer, k) == 0:
        yield p
        k += 1


def _parameters(problem: Handle) -> dict[str, Parameter]:
    """All of them, by keyword."""
    table = {}
    for p in _structs(problem):
        name = _text(p.name).replace("-", "_")
        table[name] = Parameter(
            name,
            _text(p.group),
            p.type,
            p.count,
            _text(p.unit),
            _words(p.words),
            _text(p.absent) or _text(p.value),
            _text(p.help),
            p.file,
            p.takes,
            _text(p.value_name),
            p.or_number,
        )
    return table


def _written(name: str, value: Any) -> str:
    """A value as the library takes it: "true", "2,2,4", a path."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, (tuple, list)) and not any(isinstance(v, (tuple, list)) for v in value):
        return ",".join(_written(name, v) for v in value)
    if isinstance(value, np.ndarray) and value.ndim <= 1:
        _masks.refuse(value, name)
        return _written(name, value.tolist())
    raise errors.ArgumentError(
        f"{name}: given {type(value).__name__}, wanted a number, a text or a list of them"
    )


def _set_plain(problem: c_void_p, name: str, key: bytes, value: Any) -> int:
    """Sets a number, a flag, a text or a list of them; the status."""
    if isinstance(value, (bool, np.bool_)):
        return lib.iso_problem_set_flag(problem, key, bool(value))
    if isinstance(value, (int, np.integer)) and -(2**63) <= value < 2**63:
        return lib.iso_problem_set_int(problem, key, int(value))
    if isinstance(value, (float, np.floating)):
        return lib.iso_problem_set_real(problem, key, float(value))
    return lib.iso_problem_set(problem, key, text(_written(name, value), name))


def _refuse_object(p: Parameter, value: Any) -> None:
    """In place of a file: neither a path, nor what may stand there in memory."""
    kind = type(value).__name__
    if hasattr(value, "positions") and hasattr(value, "normals"):  # isotome.Transducers
        raise errors.ArgumentError(
            f"{p.name}: given {kind}, wanted a file or an isotome.Scanner: describe them in a YAML file of kind "
            "transducers, or let isotome.write_recording write them with their traces"
        )
    if hasattr(value, "shape") or hasattr(value, "__dlpack__"):
        takes = "a NumPy array or a file" if p.takes not in (_abi.NOTHING, _abi.MATRIX) else p.kind
        raise errors.ArgumentError(f"{p.name}: given {kind} of {type(value).__module__}, wanted {takes}")


def _callers_level() -> int:
    """How many frames above Problem._call the first is that is not of this package."""
    package, level, frame = os.path.dirname(__file__), 1, sys._getframe(1)
    while frame.f_back and os.path.dirname(frame.f_code.co_filename) == package:
        frame, level = frame.f_back, level + 1
    return level


def _step(it: _abi.Iteration) -> Step:
    return Step(it.iteration, it.iterations, it.frame, _arrays.copied(it.image.contents), it.objective)


_LEADING = ("events", "data", "scanner", "srm", "grid", "voxel", "centre")  # of a repr
_LINES, _COLUMNS = 10, 100  # of a repr at most


def _shortened(value: str) -> str:
    """Of a long path the end."""
    return repr(value if len(value) <= 60 else "..." + value[-57:])


def _enclosed(head: str, pairs: list[str]) -> str:
    """`<head: a=1, b=2>` in lines, of which the last says how many pairs did not fit."""
    lines = [head + ":" if pairs else head]
    for k, pair in enumerate(pairs):
        more = pair + ("," if k + 1 < len(pairs) else "")
        if len(lines[-1]) + 1 + len(more) < _COLUMNS:
            lines[-1] += " " + more
        elif len(lines) < _LINES - 1:
            lines.append("  " + more)
        else:
            lines.append(f"  and {len(pairs) - k} more in .parameters")
            break
    return "\n".join(lines) + ">"


_WITHOUT_ITERATIONS = ("direct", "fbp")  # methods


class Problem:
    """A model with its data and parameters, as `isotome.ray(...)` and its like make it.

    Data are read when they are first needed. One thread at a time may use a problem.
    """

    def __init__(
        self,
        model: str,
        context: Context | None = None,
        like: str | os.PathLike | None = None,
        **parameters: Any,
    ):
        self.model = model
        self.context = context if context is not None else contexts.default()
        if not isinstance(self.context, Context):
            raise errors.ArgumentError(f"context: given {type(context).__name__}, wanted isotome.Context")
        self._owned: Handle | None = Handle(lib.iso_problem_free, self.context._handle)
        refuse_fork()
        check(lib.iso_problem_create(byref(self._owned.pointer), self.context._pointer, text(model, "model")))
        self._table = _parameters(self._owned)
        self.messages: list[str] = []  # what it told
        self._warned: dict[int, list[str]] = {}  # during a call, by its thread
        self._calls: dict[object, int] = {}  # the call that runs, and those about to be refused: their threads
        self._watcher: Watcher | None = None  # of the iterations of a call
        self._sensitivity: Image | None = None  # once it was asked for
        self._number = next(_numbers)
        _problems[self._number] = self
        lib.iso_problem_set_message(self._owned.pointer, _tell, self._number)
        if isinstance(parameters.get("grid"), Grid):
            for name in ("voxel", "centre"):
                if parameters.get(name) is not None:
                    raise errors.ArgumentError(f"{name}: given besides an isotome.Grid, which has its own")
        if all(name in self._table and parameters.get(name) is not None for name in _FIRST):
            raise errors.ArgumentError("events, data: given both, which name the same thing, wanted one of them")
        for name, value in parameters.items():
            if value is not None:
                self._set(name, value)
        if like is not None:
            check(lib.iso_problem_like(self._owned.pointer, text(os.fspath(like), "like")))
        self._flags = {name: self.parameters.get(name) == "true" for name in _FLAGS}  # of this problem
        self._flags_now = dict(self._flags)  # of the last call

    # ---- handle, calls ----

    @property
    def _handle(self) -> Handle:
        refuse_fork()
        handle = self._owned
        if handle is None:
            raise errors.ArgumentError("given a problem that was freed, wanted one that was not")
        return handle

    def _heard(self, kind: int, line: str) -> None:
        self.messages.append(line)
        if kind == _abi.WARNING:
            self._warned.setdefault(threading.get_ident(), []).append(line)

    def _call(self, function: Callable[..., int], *arguments: Any, to: tuple[Any, ...] = ()) -> None:
        """A call of the problem's own, which serves one at a time: results `to`, the problem, arguments. It is forgotten in
        one step, as by call."""
        handle, token = self._handle, object()
        try:
            self._calls[token] = threading.get_ident()
            if list(self._calls)[0] is not token:
                raise errors.BusyError("given a problem that serves another call, wanted an idle one")
            call(self.context, function, *to, handle.pointer, *arguments)
        finally:
            self._calls.pop(token, None)
            for line in self._warned.pop(threading.get_ident(), ()):
                warnings.warn(line, errors.IsotomeWarning, stacklevel=_callers_level())

    def _ask(self, function: Callable[..., int], to: Any) -> None:
        """A question about the problem, which a callback of its call may put too."""
        if threading.get_ident() in list(self._calls.values())[:1]:
            handle = self._handle
            call(self.context, function, to, handle.pointer)
        else:
            self._call(function, to=(to,))

    def free(self) -> None:
        """Lets its data go: now, or, as operators made of it go on working, with the last of these."""
        self._owned = self._sensitivity = None

    # ---- parameters ----

    def _set(self, name: str, value: Any) -> None:
        key = text(name.replace("_", "-"), "name of a parameter")
        handle = self._handle
        p = handle.pointer
        if hasattr(value, "_lend"):  # isotome.Matrix
            value._lend(name, handle)
            return
        if isinstance(value, Grid):
            self._set_grid(name, value)
            return
        reads = name in self._table and self._table[name].file == _abi.READS
        if isinstance(value, Events) or (reads and isinstance(value, np.ndarray)):
            self._set_arrays(p, name, key, value)
        else:
            if reads and not isinstance(value, (str, os.PathLike)):
                _refuse_object(self._table[name], value)
            check(_set_plain(p, name, key, value))

    def _set_grid(self, name: str, grid: Grid) -> None:
        """Size, voxel and centre by one Grid."""
        Grid._struct(grid)
        if name != "grid" or not {"grid", "voxel", "centre"} <= set(self._table):
            wanted = self._table[name].kind if name in self._table else "none"
            raise errors.ArgumentError(f"{name}: given isotome.Grid for model {self.model}, wanted {wanted}")
        cube = self._table["voxel"].numbers == 1
        if cube and len(set(grid.voxel)) > 1:
            raise errors.ArgumentError(f"grid: given voxels of {grid.voxel} mm, wanted cubes")
        self._set("grid", grid.n)
        self._set("voxel", grid.voxel[0] if cube else grid.voxel)
        self._set("centre", grid.centre)

    def _set_arrays(self, p: c_void_p, name: str, key: bytes, value: np.ndarray | Events) -> None:
        takes = self._table[name].takes if name in self._table else _abi.NOTHING
        if isinstance(value, np.ndarray) and takes == _abi.EVENTS:
            value = Events(value)
        if isinstance(value, Events):
            events, _kept = value._struct()
            check(lib.iso_problem_set_events(p, key, byref(events)))
        elif takes == _abi.STRIP_EVENTS:
            strips, _rows = strip_struct(value)
            check(lib.iso_problem_set_strip_events(p, byref(strips)))
        else:
            values = _arrays.converted(value, name)
            check(lib.iso_problem_set_array(p, key, byref(_arrays.as_struct(values)), False))

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters that have a value now, as the library writes them."""
        found: dict[str, str] = {}
        for p in _structs(self._handle):
            if value := _text(p.value):
                found[_text(p.name).replace("-", "_")] = value
        found.update((name, str(value).lower()) for name, value in getattr(self, "_flags", {}).items())
        return found

    # ---- work ----

    @property
    def grid(self) -> Grid:
        """The grid of the image: as set, or what the data suggest."""
        g = _abi.Grid()
        self._ask(lib.iso_problem_grid, byref(g))
        return Grid._of(g)

    def load(self, progress: Tell = None) -> Problem:
        """Reads and checks all that the parameters name; the calls below do so by themselves.

        progress: here and below as of `reconstruct`.
        """
        with listening(self.context, progress):
            self._call(lib.iso_problem_load)
        return self

    def operator(self, progress: Tell = None) -> ModelOperator:
        """The operator of all rows, in the problem's subsets, behind its PSF."""
        made = Handle(lib.iso_op_free, self._handle)
        with listening(self.context, progress):
            self._call(lib.iso_problem_op, to=(byref(made.pointer),))
        grid = self.grid
        return ModelOperator(_Shared(made, self.context, self, self._shape()), grid.shape, in_grid=grid)

    def _shape(self) -> tuple[int, ...]:
        """Of the data, after what has loaded them."""
        dim, handle = (c_int64 * 8)(), self._handle
        return tuple(dim[: lib.iso_problem_shape(dim, handle.pointer)])

    def data(self) -> Data:
        """Counts, additive term and factors, in the shape of the data; of this rank's rows, if it has its own."""
        handle = self._handle
        vectors = _arrays.made_vectors(
            lambda *to: self._call(lib.iso_problem_data, to=to), 3, lambda: lib.iso_problem_own_rows(handle.pointer)
        )
        shape = self._shape()
        return Data(*(v.reshape(shape) if v is not None and v.size == math.prod(shape) else v for v in vectors))

    def sensitivity(self, progress: Tell = None) -> Image:
        """The sensitivity image, with attenuation and efficiencies, behind the PSF.

        It is what steps of `operator()` are divided by. The parameter `sens` takes the image without the PSF,
        which is then applied to it: that of a problem of the same parameters but `psf`.
        """
        self._handle  # raises, if it was freed
        if self._sensitivity is None:
            with listening(self.context, progress):
                self._sensitivity = _arrays.made_image(lambda to: self._call(lib.iso_problem_sens, to=(to,)))
        return self._sensitivity.copy()

    def project(self, image: np.ndarray, progress: Tell = None) -> np.ndarray:
        """m A x + r: the mean of the data that an image gives."""
        x = _arrays.as_struct(_arrays.given(image, np.shape(image), "image"))
        with listening(self.context, progress):
            return _arrays.made(lambda to: self._call(lib.iso_problem_project, byref(x), to=(to,)))

    def backproject(self, data: np.ndarray, progress: Tell = None) -> Image:
        """A* (m y)."""
        y = _arrays.as_struct(_arrays.given(data, np.shape(data), "data"))
        with listening(self.context, progress):
            return _arrays.made_image(lambda to: self._call(lib.iso_problem_backproject, byref(y), to=(to,)))

    def reconstruct(
        self,
        path: str | os.PathLike | None = None,
        callback: Callback | None = None,
        progress: Tell = None,
        *,
        force: bool | None = None,
        resume: bool | None = None,
        live: Live | None = None,
    ) -> Image:
        """The image; with several frames their images, one behind the other.

        path: a file to write it to as well, with its record beside it. A run that ends too early leaves a
            checkpoint beside it, x.nii.ckpt, from which one of the same parameters with resume=True goes on;
            one that the callback ends by True has ended well, and leaves none.
        callback: called after each iteration with a Step, whose image is the callback's own. Where it returns
            True the image as it is is the result, with the frames before it. An exception ends the
            reconstruction and is raised.
        progress: True: shows bars of tqdm if it is installed, else a line on stderr. Or a function that is
            called with a Progress after each step of what takes long, such as an update. Where it returns True the
            reconstruction ends, and raises Cancelled.
        force: replaces a file that exists, with its record and checkpoint. resume: goes on from the checkpoint,
            or begins where there is none. None: as the parameters of the problem say. Where they say otherwise
            the data are loaded anew.
        live: a page that is filled meanwhile (isotome.Live).
        """
        self._switch(force=force, resume=resume)
        file = None if path is None else text(os.fspath(path), "path")
        with contextlib.ExitStack() as during:
            during.enter_context(listening(self.context, progress))
            if callback is not None:
                during.enter_context(self._shown(callback))
            if live is not None:
                during.enter_context(self._on_page(live))
            return _arrays.made_image(lambda to: self._call(lib.iso_problem_recon, to=(to, file)))

    def follow(
        self,
        source: Any = None,
        *,
        batch: int = 1,
        warm: bool = False,
        wavelengths: int = 1,
        sample_type: str = "i16",
        idle_s: float = 0,
    ) -> Any:
        """Images of frames as they come, of model svoxel: an iterator over the images of `source`, or a Stream.

        The parameters of the problem say scanner, grid, penalty, nonneg and iterations (50 if not given); its data are
        not used. Tables and plans are made once and stay on the device.

        source: arrays (transducers, samples), or (n, transducers, samples), in any iterable; the path of a file or of a
            named pipe; or a file that is open for reading bytes, such as sys.stdin.buffer. Files hold frames one behind the
            other, with or without the head of a .npy. None: returns a Stream, which is called with arrays.
        batch: frames worked on together: more of them a second, each later. The bits of an image do not depend on it.
        warm: starts from the last image of the same wavelength.
        wavelengths: their number, if frames of several take turns; for `warm`.
        sample_type: numbers of a file without a head: "i16", "u16" or "f32".
        idle_s: seconds without growth after which a file that grows has ended.
        """
        from . import following

        stream = following.Stream(self, batch, warm, wavelengths)
        return stream if source is None else following.images_of(stream, source, sample_type, idle_s)

    @contextlib.contextmanager
    def _on_page(self, live: Live) -> Iterator[None]:
        """During `with`, the page follows."""
        if live.context is not self.context:
            raise errors.ArgumentError("live: given a page of another context, wanted the problem's")
        lib.iso_problem_set_live(self._handle.pointer, live._pointer)
        try:
            yield
        finally:
            lib.iso_problem_set_live(self._handle.pointer, None)

    def _switch(self, **wanted: bool | None) -> None:
        """Flags for the call that follows. Set back by the next one, as setting them forgets the record."""
        for name, value in wanted.items():
            now = self._flags[name] if value is None else bool(value)
            if now != self._flags_now[name]:
                self._call(lib.iso_problem_set, name.encode(), b"true" if now else b"false")
                self._flags_now[name] = now

    @contextlib.contextmanager
    def _shown(self, callback: Callback) -> Iterator[None]:
        """During `with`, images go to the callback."""
        handle = self._handle
        if self.parameters.get("method") in _WITHOUT_ITERATIONS:
            raise errors.ArgumentError("callback: given to a method without iterations, wanted progress=")
        if self._watcher is not None:
            raise errors.BusyError("given a problem that serves another call, wanted an idle one")
        with Watcher(callback) as self._watcher:
            try:
                lib.iso_problem_set_each(handle.pointer, _each, self._number)
                yield
            finally:
                self._watcher = None
                lib.iso_problem_set_each(handle.pointer, _abi.ITERATION_FN(), None)

    def write(self, path: str | os.PathLike, array: np.ndarray) -> None:
        """Writes an array with the record of the problem beside it; an image lies on the problem's grid.

        One that exists is replaced if the problem has force=True.
        """
        file, values = text(os.fspath(path), "path"), _arrays.converted(array, "array")
        if values.ndim >= 3 and getattr(values, "grid", None) is None and values.shape[-3:] == self.grid.shape:
            values = Image(values, self.grid, getattr(values, "unit", ""))
        a = _arrays.as_struct(values)
        _arrays.refuse_lost(file, a)
        self._call(lib.iso_problem_write, byref(a), to=(file,))

    @property
    def record(self) -> dict[str, Any]:
        """What was done so far, from what, on what, with what outcome."""
        json_text = c_void_p()
        try:
            self._ask(lib.iso_problem_record, byref(json_text))
            return json.loads(ctypes.cast(json_text, c_char_p).value or b"{}")
        finally:
            _abi.free(json_text)

    def __repr__(self) -> str:
        if self._owned is None:
            return f"<isotome.Problem {self.model}: freed>"
        pairs = [f"{k}={_shortened(v)}" for k, v in self._chosen().items()]
        return _enclosed(f"<isotome.Problem {self.model} on {self.context.device}", pairs)

    def _chosen(self) -> dict[str, str]:
        """The parameters that are not as they are by themselves: first the data and where the image lies."""
        now = {k: v for k, v in self.parameters.items() if v != self._table[k].default}
        if "events" in now:
            now.pop("data", None)  # the same by another name
        return {name: now[name] for name in sorted(now, key=lambda name: name not in _LEADING)}


def open(  # noqa: A001
    path: str | os.PathLike, *, context: Context | None = None, like: str | os.PathLike | None = None, **parameters: Any
) -> Problem:
    """A problem of the model that a file of data tells, with that file: what `isotome recon FILE` reconstructs.

    `isotome recon FILE` of PET events chooses method, voxels and filter from the data: `preset="quick"` does so here.

    Events and histograms of lines are of model ray, strip events of strip, recordings of transducers of ubp, system
    matrices of srm. Model ray takes the scanner that the file brings (a cylinder around the events, with a warning,
    where it brings none) and the scanner's field of view as the grid, where the parameters do not say otherwise.

    path: the file. context, like, parameters: as of the function of the model, such as `isotome.ray`.
    """
    model, name = c_char_p(), c_char_p()
    check(lib.iso_problem_model_of(byref(model), byref(name), text(os.fspath(path), "path")))
    return Problem(_text(model.value), context, like, **{_text(name.value): path, **parameters})


# What the library tells its messages and iterations, for ever; it finds the problem by a number.
_numbers = itertools.count(1)
_problems: weakref.WeakValueDictionary[int, Problem] = weakref.WeakValueDictionary()


def _hear(number, kind, line) -> None:
    problem = _problems.get(number)
    if problem is not None:
        problem._heard(kind, line.decode(errors="replace"))


def _see(number, iteration) -> int:
    problem = _problems.get(number)
    watcher = problem._watcher if problem is not None else None
    return watcher.tell(lambda: _step(iteration.contents)) if watcher is not None else 0


_tell = _abi.MESSAGE_FN(_hear)
_each = _abi.ITERATION_FN(_see)


# ---- one function a model ----

# What a model is about, by position: isotome.ray("scan.Cdh"). Besides these, in the order of its table.
_FIRST = ("events", "data")


def _wrapped(words: str, width: int) -> list[str]:
    """Indented lines; at every import, for which textwrap takes too long."""
    lines, line = [], "   "
    for word in words.split():
        if len(line) + 1 + len(word) > width:
            lines.append(line)
            line = "   "
        line += " " + word
    return [*lines, line]


def _describe(model: str, table: dict[str, Parameter]) -> str:
    lines = [
        f"A problem of model {model}: `.reconstruct()` makes the image, `.operator()` the operator.",
        "",
        "context: the Context to compute with; None: that of the process.",
        "like: the record of an earlier run, a JSON file: sets what is not given here, but not what is written.",
    ]
    group = ""
    for p in table.values():
        if p.group != group:
            group = p.group
            lines += ["", group, "-" * len(group)]
        unit = f", {p.unit}" if p.unit else ""
        default = f"; default {p.default}" if p.default else ""
        lines.append(f"{p.name}: {p.kind}{unit}{default}")
        lines += _wrapped(p.help, 92)
    return "\n".join(lines)


def _function(model: str, table: dict[str, Parameter]) -> Callable[..., Problem]:
    kinds = inspect.Parameter
    first = next(name for name in _FIRST if name in table)
    signature = inspect.Signature(
        [kinds(first, kinds.POSITIONAL_OR_KEYWORD, default=None)]
        + [kinds("context", kinds.KEYWORD_ONLY, default=None, annotation="Context | None")]
        + [kinds("like", kinds.KEYWORD_ONLY, default=None, annotation="str | os.PathLike | None")]
        + [kinds(name, kinds.KEYWORD_ONLY, default=None) for name in table if name != first],
        return_annotation="Problem",
    )

    def make(*arguments: Any, context: Context | None = None, **parameters: Any) -> Problem:
        if len(arguments) > 1:
            raise TypeError(f"{model}(): only {first} goes without a name, given {len(arguments)} such")
        if arguments and first in parameters:
            raise TypeError(f"{model}() got {first} twice")
        if arguments:
            parameters = {first: arguments[0], **parameters}
        return Problem(model, context, **parameters)

    make.__name__ = make.__qualname__ = model
    make.__doc__ = _describe(model, table)
    make.__signature__ = signature  # type: ignore[attr-defined]
    make.table = table  # type: ignore[attr-defined]
    return make


def names() -> tuple[str, ...]:
    """The models of the library."""
    found: list[str] = []
    while name := lib.iso_problem_model(len(found)):
        found.append(name.decode())
    return tuple(found)


def function(model: str) -> Callable[..., Problem]:
    """The function that makes a problem of a model."""
    context = Handle(lib.iso_ctx_free)
    check(lib.iso_ctx_create(byref(context.pointer), b"cpu", 1))
    problem = Handle(lib.iso_problem_free, context)
    check(lib.iso_problem_create(byref(problem.pointer), context.pointer, model.encode()))
    return _function(model, _parameters(problem))
