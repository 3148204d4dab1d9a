# SPDX-License-Identifier: BSD-3-Clause
"""Folders of PETRIC, the PET Rapid Image reconstruction Challenge.

    folder = isotome.petric.read("Siemens_mMR_NEMA_IQ")
    unit, problem = isotome.petric.problem(folder, method="svrg", passes=20)
    image = problem.reconstruct() / unit                     # in the unit of the folder's images

    from isotome.submission import Submission, submission_callbacks  # main.py of a submission; needs CIL

A folder has prompts.hs, mult_factors.hs and additive_term.hs (counts y, factors m, r/m), OSEM_image.hv, kappa.hv,
penalisation_factor.txt (1/700 without it), and in PETRIC/ the converged image and masks of regions. The penalty is PETRIC's:
relative differences, gamma 2, epsilon 1e-3 of the maximum of the OSEM image.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import errors
from .context import Context
from .files import read as read_image
from .image import Image
from .problem import Data, Problem, function


class Folder(NamedTuple):
    """Data and images of a folder; what it lacks is None."""

    data: dict[str, Any]  # parameters of isotome.ray
    start: Image  # the image after OSEM
    kappa: Image
    beta: float
    reference: Image | None  # the converged image
    whole: Image | None  # masks
    background: Image | None
    regions: dict[str, Image]


def read(path: str | os.PathLike) -> Folder:
    """What a folder has."""
    folder = Path(path)
    for name in ("prompts.hs", "mult_factors.hs", "additive_term.hs", "OSEM_image.hv", "kappa.hv"):
        if not (folder / name).is_file():
            raise errors.MissingFileError(f"{folder}: a folder of PETRIC has {name}, which is not there")
    beta, converged = folder / "penalisation_factor.txt", folder / "PETRIC" / "reference_image.hv"
    masks = {p.stem[4:]: read_image(p) for p in sorted((folder / "PETRIC").glob("VOI_*.hv"))}
    return Folder(
        data={
            "events": str(folder / "prompts.hs"),
            "norm": str(folder / "mult_factors.hs"),
            "additive": str(folder / "additive_term.hs"),
            "additive_over_m": True,
        },
        start=read_image(folder / "OSEM_image.hv"),
        kappa=read_image(folder / "kappa.hv"),
        beta=float(beta.read_text()) if beta.is_file() else 1 / 700,
        reference=read_image(converged) if converged.is_file() else None,
        whole=masks.pop("whole_object", None),
        background=masks.pop("background", None),
        regions=masks,
    )


def _folder(value: object) -> Folder:
    if not isinstance(value, Folder):
        raise errors.ArgumentError(f"folder: given {type(value).__name__}, wanted what isotome.petric.read gives")
    return value


def unit_of(folder: Folder, data: Data, sensitivity: np.ndarray) -> float:
    """Counts/mm of a value of 1 in the folder's images, which are those of its own projector.

    An image after OSEM has about as many counts as the data, less the background. That tells the factor, which is
    then taken as 1 (lines in mm), as the voxel size (in voxels) or as 10 (in cm).
    """
    expected = float(np.vdot(sensitivity, _folder(folder).start))
    background = 0 if data.add is None else data.add.sum(dtype=float)
    found = (data.y.sum(dtype=float) - background) / expected
    voxel = folder.start.grid.voxel[0]
    near = min((1.0, voxel, 1 / voxel, 10.0, 0.1), key=lambda known: abs(np.log(found / known)))
    if abs(np.log(found / near)) > 0.05:
        raise errors.InputError(
            f"the folder's images have {1 / found:.4g} times the counts of the data, which is no unit known: wanted unit="
        )
    return near


def in_its_unit(image: np.ndarray, unit: float) -> np.ndarray:
    """An image of the problem, in the unit of the folder's images."""
    return np.asarray(image) / np.float32(unit)


def problem(
    folder: Folder,
    *,
    method: str = "svrg",
    passes: int = 20,
    tolerance: float = 0,
    unit: float | None = None,
    device: str = "auto",
    **options: Any,
) -> tuple[float, Problem]:
    """The unit of the folder's images, and its problem: their product is an image of the problem.

    passes: over the data, at most. tolerance: end where the image changes by less. unit: None: unit_of finds it.
    options: other parameters of isotome.ray, such as subsets.
    """
    ray, grid = function("ray"), _folder(folder).start.grid
    inputs = {"context": Context(device), "grid": grid, **folder.data}
    first = ray(**inputs)
    # kappa is 0 where PETRIC's projector sees nothing: those voxels are no part of the image
    sensitivity = Image(np.where(folder.kappa > 0, first.sensitivity(), np.float32(0)), grid)
    unit = unit or unit_of(folder, first.data(), sensitivity)
    made = ray(
        **inputs,
        sens=sensitivity,
        start=Image(folder.start * np.float32(unit), grid),
        method=method,
        # R grows as the image does: what beta is times stays the same
        penalty=f"rdp:{folder.beta / unit:.17g},gamma=2",
        kappa=folder.kappa,
        iterations=passes,
        tolerance=tolerance,
        **options,
    )
    return unit, made
