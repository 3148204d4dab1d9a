# SPDX-License-Identifier: BSD-3-Clause
"""What the Python parts of the command tests share."""
import json
import sys

import nibabel
import numpy as np


def require(true, text):
    if not true:
        sys.exit(f"  {text}")


def near(what, got, want, most):
    """Largest |got - want| is at most `most` (a number, or one per value)."""
    got, want = np.asarray(got, float), np.asarray(want, float)
    require(got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}")
    excess = np.abs(got - want) - most
    at = np.unravel_index(np.argmax(excess), excess.shape) if excess.ndim else ()
    require(np.isfinite(got).all() and excess[at] <= 0,
            f"{what}: {got[at]:.9g} at {at}, expected {want[at]:.9g}")


def record(path):
    with open(path) as f:
        return json.load(f)


def image(path):
    """A NIfTI image as (nz, ny, nx), through another program's eyes."""
    return np.asarray(nibabel.load(path).dataobj).T


def centres(path):
    """World coordinates x, y, z of its voxels, each as (nz, ny, nx)."""
    img = nibabel.load(path)
    index = np.indices(img.shape).reshape(3, -1)
    world = nibabel.affines.apply_affine(img.affine, index.T)
    return [world[:, a].reshape(img.shape).T for a in range(3)]
