#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the rows of pictures of docs/gallery.md, docs/pictures/gallery/*.png, by the commands printed there.

    python3 scripts/pictures/gallery.py build/isotome

Needs NumPy and Pillow; about two minutes on two cores.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from front import ROOT, beside, tile, volume

BOX = re.compile(r"(<!-- not run: [^\n]*-->\n\n)?```sh\n(.*?)```", re.S)


def make(program, work):
    """Runs the boxes of the page, less those that are marked."""
    text = (ROOT / "docs" / "gallery.md").read_text()
    script = "".join(found[2] for found in BOX.finditer(text) if not found[1] and "demo" not in found[2])
    (work / "bin").mkdir()
    (work / "bin" / "isotome").symlink_to(program)
    for name in ("examples", "tests"):
        (work / name).symlink_to(ROOT / name)
    subprocess.run(["bash", "-eu"], input=f"PATH={work}/bin:$PATH\n" + script, text=True, cwd=work, check=True)


def middle(path, names, width, same=True):
    """Tiles of the middle plane of images; same: all in the window of the last."""
    planes = [volume(path / f"{file}.nii") for file in names]
    top = np.percentile(planes[-1][0], 99.95) if same else None
    return [tile(v[v.shape[0] // 2], step, width, names[f], top=top) for f, (v, step) in zip(names, planes)]


def projected(path, names, width):
    """Tiles of the greatest values along y."""
    for file, title in names.items():
        values, step = volume(path / f"{file}.nii")
        yield tile(values.max(axis=1), (step[0], step[2]), width, title, gamma=0.7)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = ROOT / "docs" / "pictures" / "gallery"
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        make(Path(sys.argv[1]).resolve(), work)
        beside(middle(work, {"no-tof": "without time of flight", "tof": "with time of flight"}, 330), out / "tof.png")
        beside(middle(work, {"osem": "OSEM", "rdp": "relative differences", "bowsher": "with anatomy"}, 330),
               out / "priors.png")
        both = {"direct": "where each event most likely was", "strips": "maximum likelihood"}
        beside(middle(work, both, 290, same=False), out / "strips.png")
        beside(list(projected(work, {"mouse": "the phantom", "castor": "4e5 events"}, 110)), out / "mouse.png")


if __name__ == "__main__":
    main()
