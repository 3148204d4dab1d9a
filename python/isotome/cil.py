# SPDX-License-Identifier: BSD-3-Clause
"""Operators, data terms and penalties for CIL, the Core Imaging Library.

    K = isotome.cil.Projector(A)                    # a cil LinearOperator: images to data
    D = isotome.cil.poisson(problem)                # Kullback-Leibler of the scan, a function of images
    R = isotome.cil.Penalty(isotome.Prior("rdp", problem.grid, epsilon=0.01))
    algorithm = FISTA(initial=D.operator.domain_geometry().allocate(1), f=D + beta * R, g=IndicatorBox(lower=0), ...)

`D.on_data` is CIL's own function of projected data, for PDHG; `D.subsets()` are its parts, for SPDHG and SVRG.
Containers are CIL's ImageData and AcquisitionData; containers of SIRF, or others with as_array and fill, go as well
where you give `image_geometry` and `acquisition_geometry` something that allocates them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from cil.framework import AcquisitionGeometry, ImageGeometry, VectorGeometry  # type: ignore[import-not-found]
from cil.optimisation.functions import Function  # type: ignore[import-not-found]
from cil.optimisation.operators import LinearOperator  # type: ignore[import-not-found]

from . import errors
from .grid import Grid
from .operator import Diagonal, Operator
from .priors import Prior
from .problem import Problem


# ---- geometries ----


def geometry_of_images(grid: Grid) -> Any:
    """CIL's ImageGeometry of a grid: the same voxels, in mm."""
    (nx, ny, nz), (dx, dy, dz), (cx, cy, cz) = grid.n, grid.voxel, grid.centre
    return ImageGeometry(nx, ny, nz, dx, dy, dz, cx, cy, cz)


def geometry_of_data(A: Operator) -> Any:
    """A geometry that allocates data of A.

    CIL describes scanners of X-rays. Up to three axes are those of a parallel beam: rows count as angles, columns
    as pixels. Its angles are 0, as CIL has none for PET: only the sizes mean something. Data of more axes are
    a vector.
    """
    shape = A.out_shape
    if not 1 <= len(shape) <= 3 or 1 in shape:  # CIL leaves out axes of 1
        return VectorGeometry(math.prod(shape))
    made = AcquisitionGeometry.create_Parallel3D() if len(shape) == 3 else AcquisitionGeometry.create_Parallel2D()
    made.set_angles(np.zeros(shape[0], np.float32))
    made.set_panel((*shape[1:], 1)[0] if len(shape) < 3 else shape[:0:-1])
    if len(shape) == 3:
        made.set_labels(["angle", "vertical", "horizontal"])
    return made


def _values(container: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Of a container, in the operator's shape."""
    return np.ascontiguousarray(container.as_array(), np.float32).reshape(shape)


def _filled(geometry: Any, out: Any, values: np.ndarray) -> Any:
    if out is None:
        out = geometry.allocate(0)
    out.fill(values.reshape(out.shape))
    return out


# ---- y = A x ----


class Projector(LinearOperator):
    """y = A x as a LinearOperator of CIL.

    image_geometry: of what A takes; None: that of A.in_grid. acquisition_geometry: of what it gives; None:
    geometry_of_data(A). Its norm is A.norm(), by powers from a random start.
    """

    def __init__(self, A: Operator, image_geometry: Any = None, acquisition_geometry: Any = None):
        if not isinstance(A, Operator):
            raise errors.ArgumentError(f"given {type(A).__name__}, wanted an isotome.Operator")
        if image_geometry is None:
            if A.in_grid is None:
                raise errors.ArgumentError("given an operator without a grid, wanted image_geometry=")
            image_geometry = geometry_of_images(A.in_grid)
        if acquisition_geometry is None:
            acquisition_geometry = geometry_of_data(A)
        for name, geometry, shape in (
            ("image_geometry", image_geometry, A.in_shape),
            ("acquisition_geometry", acquisition_geometry, A.out_shape),
        ):
            if math.prod(geometry.shape) != math.prod(shape):
                raise errors.ArgumentError(f"{name}: given shape {tuple(geometry.shape)}, wanted that of {shape}")
        super().__init__(domain_geometry=image_geometry, range_geometry=acquisition_geometry)
        self.projector = A

    def direct(self, x: Any, out: Any = None) -> Any:
        """A x, into `out` if it is given."""
        return _filled(self.range_geometry(), out, self.projector(_values(x, self.projector.in_shape)))

    def adjoint(self, x: Any, out: Any = None) -> Any:
        """A* x, into `out` if it is given."""
        back = self.projector.adjoint(_values(x, self.projector.out_shape))
        return _filled(self.domain_geometry(), out, np.asarray(back))

    def calculate_norm(self) -> float:
        return self.projector.norm()

    def subset(self, k: int) -> Projector:
        """The rows of subset k."""
        return Projector(self.projector.subset(k), self.domain_geometry())


# ---- Poisson ----


class KullbackLeibler(Function):
    """D(x) = sum of y log(y / (A x + r)) - y + A x + r, a function of images.

    counts: y, an array or a container of data; None: 1 an event of a list. background: r, or a number; None: 0.
    sensitivity: an image s. With it <s, x> takes the place of the sum of A x, and the terms of x alone are counted:
    <s, x> - sum of y log(A x + r). A list of events needs that. Rows where A x + r is 0 are left out, as the library
    does, and D is infinite where such a row has counts.
    """

    def __init__(
        self,
        operator: Projector,
        counts: Any = None,
        background: Any = None,
        sensitivity: Any = None,
    ):
        if not isinstance(operator, Projector):
            raise errors.ArgumentError(f"given {type(operator).__name__}, wanted an isotome.cil.Projector")
        if counts is None and sensitivity is None:
            raise errors.ArgumentError("counts: given None, for a list of events, wanted sensitivity= as well")
        A = operator.projector
        self.operator = operator
        self._y = self._data(1 if counts is None else counts, "counts")
        self._r = self._data(0 if background is None else background, "background")
        self._s = None
        if sensitivity is not None:
            values = sensitivity.as_array() if hasattr(sensitivity, "as_array") else sensitivity
            self._s = np.ascontiguousarray(values, np.float32).reshape(A.in_shape)
        super().__init__()

    def _data(self, values: Any, name: str) -> np.ndarray:
        shape = self.operator.projector.out_shape
        values = values.as_array() if hasattr(values, "as_array") else values
        made = np.asarray(values, np.float32)
        if made.ndim and math.prod(made.shape) != math.prod(shape):
            raise errors.ArgumentError(f"{name}: given shape {made.shape}, wanted {shape}")
        made = np.broadcast_to(made, shape) if not made.ndim else made.reshape(shape)
        if made.size and not made.min() >= 0:
            raise errors.ArgumentError(f"{name}: the smallest value is {made.min()}, must not be below 0")
        return np.ascontiguousarray(made)

    def _mean(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        x = _values(x, self.operator.projector.in_shape)
        return x, self.operator.projector(x) + self._r

    def __call__(self, x: Any) -> float:
        image, mean = self._mean(x)
        y, used = self._y.astype(float), mean > 0
        if np.any(y[~used] > 0):
            return math.inf
        mean = np.where(used, mean, 1).astype(float)
        if self._s is not None:
            return float(np.vdot(self._s.astype(float), image) - (y * np.log(mean)).sum())
        of_counts = y * np.log(np.where(y > 0, y, 1) / mean) - y
        return float((of_counts + np.where(used, mean, 0)).sum())

    def gradient(self, x: Any, out: Any = None) -> Any:
        """A*(1 - y / (A x + r)), or s - A*(y / (A x + r)); by A and A* once each."""
        A = self.operator.projector
        _, mean = self._mean(x)
        ratio = np.divide(self._y, mean, out=np.zeros_like(mean), where=mean > 0)
        if self._s is None:
            values = A.adjoint(np.where(mean > 0, 1 - ratio, 0).astype(np.float32))
        else:
            values = self._s - A.adjoint(ratio)
        return _filled(self.operator.domain_geometry(), out, np.asarray(values))

    @property
    def on_data(self) -> Any:
        """CIL's KullbackLeibler of projected data, whose proximal step PDHG and SPDHG use."""
        from cil.optimisation import functions  # type: ignore[import-not-found]

        if self._s is not None:
            raise errors.ArgumentError("a function of data: a list of events has none, wanted a histogram")
        geometry = self.operator.range_geometry()
        data = (_filled(geometry, None, values) for values in (self._y, self._r))
        return functions.KullbackLeibler(b=next(data), eta=next(data))

    def subsets(self) -> list[KullbackLeibler]:
        """Functions of the operator's subsets, whose sum this is."""
        A = self.operator.projector
        parts = []
        for k in range(A.n_subsets):
            rows = A.subset(k).rows
            of = [values.reshape(-1)[rows] for values in (self._y, self._r)]
            share = None if self._s is None else self._s * np.float32(rows.size / math.prod(A.out_shape))
            parts.append(KullbackLeibler(self.operator.subset(k), *of, share))
        return parts


def poisson(problem: Problem) -> KullbackLeibler:
    """The data term of a scan: counts, additive term and factors m as the problem has them, A being m times its
    operator. Of a list of events with its sensitivity."""
    if not isinstance(problem, Problem):
        raise errors.ArgumentError(f"given {type(problem).__name__}, wanted an isotome.Problem")
    A, (y, r, m) = problem.operator(), problem.data()
    if y is None:  # factors of events are constants of the likelihood, but for those of 0
        counts = None if m is None else (m > 0)
        ratio = r if r is None or m is None else np.divide(r, m, out=np.zeros_like(r), where=m > 0)
        return KullbackLeibler(Projector(A), counts, ratio, problem.sensitivity())
    return KullbackLeibler(Projector(A if m is None else Diagonal(m) @ A), y, r)


# ---- penalties ----


class Penalty(Function):
    """An isotome.Prior as a function of CIL, with its gradient: `D + beta * Penalty(prior)`."""

    def __init__(self, prior: Prior, image_geometry: Any = None):
        if not isinstance(prior, Prior):
            raise errors.ArgumentError(f"given {type(prior).__name__}, wanted an isotome.Prior")
        self.prior = prior
        self._geometry = geometry_of_images(prior.grid) if image_geometry is None else image_geometry
        super().__init__()

    def __call__(self, x: Any) -> float:
        return self.prior(_values(x, self.prior.shape)).value

    def gradient(self, x: Any, out: Any = None) -> Any:
        values = self.prior.gradient(_values(x, self.prior.shape))
        return _filled(self._geometry, out, np.asarray(values))
