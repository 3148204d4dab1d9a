# SPDX-License-Identifier: BSD-3-Clause
"""What of CIL isotome.cil and isotome.petric use, for machines without it: containers, geometries, and bases."""

import sys
import types

import numpy as np


class Container:
    def __init__(self, array):
        self.array = array

    @property
    def shape(self):
        return self.array.shape

    def as_array(self):
        return self.array

    def fill(self, values):
        assert np.shape(values) == self.shape
        self.array = np.array(values, np.float32)

    def clone(self):
        return Container(self.array.copy())

    copy = clone


class Geometry:
    def __init__(self, *sizes):
        self.shape = tuple(n for n in sizes if n > 1) or (1,)

    def allocate(self, value=0):
        if value == "random":
            return Container(np.random.default_rng(1).random(self.shape, dtype=np.float32))
        return Container(np.full(self.shape, value, np.float32))


class ImageGeometry(Geometry):
    def __init__(self, nx, ny, nz, dx, dy, dz, cx, cy, cz):
        super().__init__(nz, ny, nx)
        self.spacing = dz, dy, dx


class AcquisitionGeometry(Geometry):
    @staticmethod
    def create_Parallel2D():
        return AcquisitionGeometry()

    create_Parallel3D = create_Parallel2D

    def set_angles(self, angles):
        self.shape = (len(angles),)

    def set_panel(self, pixels):
        across = (pixels,) if np.ndim(pixels) == 0 else tuple(pixels)[::-1]
        self.shape += tuple(n for n in across if n > 1)

    def set_labels(self, labels):
        assert len(labels) == len(self.shape)


class LinearOperator:
    def __init__(self, domain_geometry, range_geometry):
        self._geometries = domain_geometry, range_geometry

    def domain_geometry(self):
        return self._geometries[0]

    def range_geometry(self):
        return self._geometries[1]

    def norm(self):
        return self.calculate_norm()


class Function:
    def __init__(self, L=None):
        self.L = L


class Algorithm:
    def __init__(self, update_objective_interval=1):
        self.iteration, self.loss, self.update_objective_interval = 0, [], update_objective_interval

    def run(self, iterations, callbacks=(), verbose=0):
        try:
            while self.iteration < iterations:
                self.update()
                self.iteration += 1
                self.update_objective()
                for callback in callbacks:
                    callback(self)
        except StopIteration:
            pass


def cil(monkeypatch):
    """Where CIL is not installed, as if it were. Whether it is."""
    try:
        import cil.framework  # noqa: F401

        return True
    except ImportError:
        pass
    parts = {
        "cil": {},
        "cil.framework": {c.__name__: c for c in (AcquisitionGeometry, ImageGeometry)} | {"VectorGeometry": Geometry},
        "cil.optimisation": {},
        "cil.optimisation.functions": {"Function": Function},
        "cil.optimisation.operators": {"LinearOperator": LinearOperator},
        "cil.optimisation.algorithms": {"Algorithm": Algorithm},
    }
    for name, contents in parts.items():
        module = types.ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    return False
