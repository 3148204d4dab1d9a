# SPDX-License-Identifier: BSD-3-Clause
"""What the Python parts of the command tests share."""
import importlib.util
import json
import sys
from html.parser import HTMLParser

import numpy as np


def read_when_used(name):
    """A module: the import of NiBabel takes longer than most checks, and few open an image."""
    spec = importlib.util.find_spec(name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


nibabel = read_when_used("nibabel")


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


class Page(HTMLParser):
    """A report: text of its table rows, numbers of pictures and charts; tags must match."""
    VOID = ("meta", "img", "line", "path", "polyline", "rect", "circle", "br")

    def __init__(self, path):
        super().__init__()
        self.open, self.rows, self.images, self.charts = [], [], 0, 0
        with open(path, encoding="utf-8") as f:
            self.text = f.read()
        self.feed(self.text)
        require(not self.open, f"{path}: open at the end: {self.open}")
        require(">nan" not in self.text and ">inf" not in self.text, f"{path}: a figure is none")

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "img":
            require(attrs["src"].startswith("data:image/png;base64,") and attrs["alt"], attrs)
            self.images += 1
        self.charts += tag == "svg"
        if tag == "tr":
            self.rows.append("")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        require(tag in self.VOID or self.open.pop() == tag, f"unmatched {tag}")

    def handle_data(self, data):
        if "tr" in self.open:
            self.rows[-1] += data + "|"
