# SPDX-License-Identifier: BSD-3-Clause
"""Figures of three papers, redrawn from simulated data at a small size.

- Bialas et al. 2015, Fig. 3: a phantom between two strips, directly and after iterations of eq. (5), which
  makes an image of s x.
- Chou et al. 2012, Fig. 7: a Derenzo phantom between two heads, OSEM after 1 and 24 iterations; the data are
  H x with Poisson noise, as in the paper.
- Wang et al. 2013, Figs. 2 and 4: nine spheres heard from all sides, by filtered back-projection (FBP) and by
  penalised least squares (PLS-Sph), plane y = 0.

The pictures are papers_bialas.png, papers_chou.png and papers_wang.png. SIZE=0.1 in the environment takes a
tenth of the counts of the first two. `isotome reproduce` measures these and more at the papers' own size.
"""

import os
from pathlib import Path

import numpy as np

import isotome

SIZE, after = float(os.environ.get("SIZE", 1)), {}


def keep(step):
    after[step.iteration] = step.image


# ## Bialas et al. 2015, Fig. 3

Path("strips.yaml").write_text("{kind: strips,radius_mm: 130,length_mm: 300,sigma_z_mm: 10,sigma_dl_mm: 40}")
truth = isotome.phantom("ellipses", grid=(75, 65, 1), voxel=4, centre=(0, 0, 0))
events = isotome.simulate_strip("ellipses", "strips.yaml", counts=int(3e5 * SIZE))
direct = isotome.strip(events, scanner="strips.yaml", method="direct").reconstruct()
isotome.strip(events, scanner="strips.yaml", form="raw", iterations=20).reconstruct(callback=keep)
images = [x.reshape(truth.shape) / x.max() for x in (truth, direct, after[1], after[20])]
images = [isotome.Image(x, truth.grid) for x in images]
titles = ["(a) the phantom", "(b) direct", "(c) eq. (5), 1 iteration", "(d) 20 iterations"]
isotome.show(images, titles=titles, kind="slice", labels="none", columns=2, path="papers_bialas.png")

# ## Chou et al. 2012, Fig. 7
#
# Smaller heads than the paper's, and a matrix without scatter. The plane in the middle of the rods is shown.

Path("heads.yaml").write_text(
    "{kind: panels, crystals: [20, 20], pitch_mm: [2.4, 2.4], crystal_mm: [2.1, 2.1, 10], gap_mm: 60,"
    " voxels_per_pitch: [4, 4], planes: 5, plane_mm: 4, energy: {window_kev: [250, 750]}}"
)
matrix = isotome.Matrix.analytic("heads.yaml")
rods = isotome.phantom("derenzo-chou", matrix.grid)
mean = isotome.srm(srm=matrix).project(rods)
counts = np.random.default_rng(1).poisson(mean * (2e6 * SIZE / mean.sum())).astype(np.float32)
isotome.srm(counts, srm=matrix, method="osem", subsets=8, iterations=24).reconstruct(callback=keep)
valley = isotome.measure.rods(after[24], "derenzo-chou")[-1].valley
print(f"Chou: the value between rods of 2.4 mm is {valley:.2f} of theirs after 24 iterations")
images, titles = [rods, after[1], after[24]], ["The phantom", "1 iteration", "24 iterations"]
isotome.show(images, titles=titles, kind="slice", axis="y", window="each", path="papers_chou.png")

# ## Wang et al. 2013, Figs. 2 and 4

Path("array.yaml").write_text(
    "{kind: transducers, sphere: {radius_mm: 65, rings: 16, views: 24}, speed_mm_per_us: 1.54,"
    " sampling_mhz: 5, first_sample_us: 17.4, samples: 256, grueneisen: 2000}"
)
box = {"scanner": "array.yaml", "grid": (31, 31, 63), "voxel": 1}
traces = isotome.simulate_traces("nine-spheres", "array.yaml", noise=0.02)
fbp, pls = isotome.ubp(traces, **box).reconstruct(), isotome.svoxel(traces, fmax_mhz=0.7, **box).reconstruct()
images = [isotome.phantom("nine-spheres", pls.grid), fbp, pls]
print(f"Wang: rms error of PLS-Sph: {np.sqrt(((pls - images[0]) ** 2).mean()):.3f}")
isotome.show(images, titles=["The phantom", "FBP", "PLS-Sph"], kind="slice", axis="y", path="papers_wang.png")
