# SPDX-License-Identifier: BSD-3-Clause
"""Isotome: PET and optoacoustic tomography, as operators and as whole reconstructions.

    import isotome

    image = isotome.open("scan.Cdh").reconstruct()     # all else from the file, as the program does it

    p = isotome.ray("scan.Cdh", grid=(128, 128, 64), voxel=2)
    image = p.reconstruct()

    A, s = p.operator(), p.sensitivity()   # or by hand: MLEM of list-mode events
    x = (s > 0).astype("float32")
    for _ in range(10):
        x = A.em_step(x, sens=s)
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import errors, problem
from ._abi import version as __version__
from .context import Context, Device, Progress, devices
from .errors import (
    ArgumentError,
    BusyError,
    Cancelled,
    DeviceError,
    InputError,
    IsotomeError,
    IsotomeWarning,
    MissingFileError,
)
from .events import Events
from .grid import Grid
from .image import Image
from .operator import Diagonal, EmStatistics, Function, ModelOperator, Operator
from .problem import Data, Parameter, Problem, open  # noqa: A004
from .steps import Step

#: Loaded when first used: name -> the module that has it, or that it is.
_LATER: dict[str, str] = {
    "Basis": "kinetics",
    "BloodInput": "kinetics",
    "Calibration": "units",
    "Curve": "kinetics",
    "FrameFit": "kinetics",
    "Live": "live",
    "Matrix": "system_matrix",
    "Norm": "normalisation",
    "Picture": "drawing",
    "Poses": "motion",
    "Prior": "priors",
    "PriorValues": "priors",
    "Psf": "filters",
    "Recording": "recordings",
    "Replicates": "dynamic",
    "Scanner": "scanner",
    "Solution": "algorithms",
    "Transducers": "transducers",
    "Transport": "transport",
    "Warp": "warps",
    "basis": "kinetics",
    "bids": "units",
    "blood": "kinetics",
    "branching": "units",
    "calibrate": "units",
    "cg": "algorithms",
    "cil": "cil",
    "deepinv": "deepinv",
    "em": "algorithms",
    "filter": "filters",
    "fista": "algorithms",
    "fit_frames": "kinetics",
    "fluence_depth": "unmixing",
    "half_life": "simulation",
    "lifetime": "lifetimes",
    "logan": "kinetics",
    "measure": "measure",
    "mu": "ct",
    "nema": "nema",
    "norm": "normalisation",
    "part": "dynamic",
    "petric": "petric",
    "phantom": "phantoms",
    "phantom_names": "phantoms",
    "picture": "drawing",
    "pictures": "drawing",
    "rates": "commissioning",
    "read": "files",
    "read_events": "eventfiles",
    "read_recording": "recordings",
    "read_strip_events": "eventfiles",
    "register": "tracking",
    "replicates": "dynamic",
    "run": "program",
    "show": "drawing",
    "simulate": "simulation",
    "simulate_panels": "panel_simulation",
    "simulate_singles": "simulation",
    "simulate_strip": "simulation",
    "simulate_traces": "sound_simulation",
    "sirf": "sirf",
    "timing": "commissioning",
    "torch": "torch",
    "track": "tracking",
    "unmix": "unmixing",
    "warp": "warps",
    "water_speed": "transducers",
    "weights": "dynamic",
    "write": "files",
    "write_events": "eventfiles",
    "write_recording": "recordings",
    "write_report": "pages",
    "write_strip_events": "eventfiles",
    "write_viewer": "pages",
}

#: Modules for other packages: what to do where the package is not there. `from isotome import *` leaves them out.
_EXTRA = {
    "cil": ". CIL is installed by conda: docs/howto/frameworks.md",
    "deepinv": ". pip install isotome[deepinv]",
    "torch": ". pip install isotome[torch]",
}

models = problem.names()

if TYPE_CHECKING:  # scripts/python-stubs.py --write lists them anew
    from ._later import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        if name in models:
            value = problem.function(name)
        elif name in _LATER:
            try:
                module = importlib.import_module("." + _LATER[name], __name__)
            except ImportError as error:  # of what isotome.torch, isotome.deepinv and isotome.cil are made for
                raise AttributeError(f"isotome.{name} cannot be loaded: {error}{_EXTRA.get(name, '')}") from error
            value = module if _LATER[name] == name else getattr(module, name)
        else:
            raise AttributeError(f"module 'isotome' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "filter"})


# `from isotome import *` hides no function of Python, and needs NumPy alone.
__all__ = [
    "ArgumentError",
    "BusyError",
    "Cancelled",
    "Context",
    "Data",
    "Device",
    "DeviceError",
    "Diagonal",
    "EmStatistics",
    "Events",
    "Function",
    "Grid",
    "Image",
    "InputError",
    "IsotomeError",
    "IsotomeWarning",
    "MissingFileError",
    "ModelOperator",
    "Operator",
    "Parameter",
    "Problem",
    "Progress",
    "Step",
    "devices",
    "errors",
    "models",
    *models,
    *(name for name in _LATER if name != "filter" and name not in _EXTRA),
]
