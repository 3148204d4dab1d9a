# SPDX-License-Identifier: BSD-3-Clause
"""The interface as a user writes it, for mypy --strict: this is checked, not run."""

from pathlib import Path
from typing import List, Optional

import numpy as np
from numpy.typing import NDArray

import isotome

steps: List[isotome.Step] = []


def look(step: isotome.Step) -> bool:
    print(step.iteration, step.iterations, step.frame, step.objective, step.image.max())
    return step.iteration == 5


def tell(progress: isotome.Progress) -> None:
    print(progress.stage, progress.done, progress.total)


context = isotome.Context("cpu", threads=2)
lines: NDArray[np.float32] = np.ones((10, 7), np.float32)
p: isotome.Problem = isotome.ray(
    isotome.Events(lines, count=np.ones(10, np.float32)),
    context=context,
    scanner=Path("scanner.yaml"),
    mu=np.ones((8, 8, 8), np.float32),
    grid=(8, 8, 8),
    voxel=4,
    centre=(0, 0, 1.5),
    psf=[4, 4, 5],
    tof_fwhm_ps=400,
    method="osem",
    subsets=4,
    iterations=2,
    additive=0.1,
    frames=[0, 10, 20],
    resume=True,
)
image: isotome.Image = p.reconstruct("x.nii", callback=look, progress=tell)
grid: Optional[isotome.Grid] = image.grid
A: isotome.ModelOperator = p.operator()
y, add, mult = p.data()
s: isotome.Solution = isotome.em(A, y, add, mult, sens=p.sensitivity(), iterations=3, callback=steps.append)
curve: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]" = s.curve
B: isotome.Operator = 2 * A @ isotome.Diagonal(np.ones(A.in_shape, np.float32))
isotome.cg(B, A(image), penalty="quadratic", mu=0.1, tolerance=1e-3, checkpoint=Path("work.ckpt"), resume=True)
isotome.fista(B, A(image), tv=0.1, nonneg=True, tv_steps=10)
isotome.sradon(np.ones((4, 8), np.float32), scanner="array.yaml", voxel=0.5, penalty="tv:0.1").reconstruct()
isotome.strip(np.ones((4, 3), np.float32), scanner="strips.yaml", kernel="gauss").reconstruct()
isotome.srm("lors.npy", srm=isotome.Matrix.read("m.srm")).reconstruct()
isotome.write("y.nii", isotome.filter(isotome.read("x.nii"), "gaussian:4"))
read_grid: Optional[isotome.Grid] = isotome.read("x.nii").grid
activity: isotome.Image = isotome.phantom("spheres", voxel=4)
both, mu = isotome.phantom("spheres", voxel=4, mu=True)
from_ct: isotome.Image = isotome.mu(Path("CT"), both, kvp=120, smooth=5, shift=(0, 0, -3))
isotome.ray("scan.Cdh", grid=both.grid, like="image.json", mu=mu).reconstruct("x.nii", force=True, resume=False)
