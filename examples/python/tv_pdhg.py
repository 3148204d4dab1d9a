# SPDX-License-Identifier: BSD-3-Clause
"""Total variation for optoacoustics by PDHG, written only with operators.

Spheres are heard by 48 transducers, too few for least squares. What is wanted is flat but for edges:

    minimise over x >= 0:    1/2 |A x - y|^2 + lambda sum |G x|,    G: the gradient

Chambolle and Pock 2011 do it with A, G and their adjoints alone: p and q are the dual variables of the two
terms, x' is x pushed ahead, and sigma tau (|A|^2 + |G|^2) < 1.

    p <- (p + sigma (A x' - y)) / (1 + sigma)      q <- q + sigma G x', cut to length lambda
    x <- max(0, x - tau (A* p + G* q))             x' <- 2 x - x before

The picture is tv_pdhg.png. SIZE=0.5 in the environment takes half the iterations.
"""

import os
from pathlib import Path

import numpy as np

import isotome

SIZE = float(os.environ.get("SIZE", 1))

# ## Spheres, transducers, traces
#
# Closed forms and 10 % noise: the data do not come from A.

sphere = "{{type: sphere, centre_mm: [{}, 0, {}], radius_mm: {}, activity: {}}}".format
spheres = [sphere(-6, -6, 4, 0.6), sphere(6, -6, 3, 1), sphere(-6, 6, 2, 0.8), sphere(6, 6, 4, 0.5)]
Path("spheres.yaml").write_text(f"{{smooth_fwhm_mm: 2.4, shapes: [{', '.join(spheres)}]}}")
Path("array.yaml").write_text(
    "{kind: transducers, sphere: {radius_mm: 65, rings: 6, views: 8}, speed_mm_per_us: 1.54,"
    " sampling_mhz: 5, first_sample_us: 17.4, samples: 256, grueneisen: 2000}"
)
box = {"grid": (25, 25, 25), "voxel": 1.2}
truth = isotome.phantom("spheres.yaml", centre=(0, 0, 0), **box)
traces = isotome.simulate_traces("spheres.yaml", "array.yaml", noise=0.1)
problem = isotome.svoxel(traces, scanner="array.yaml", fmax_mhz=0.6, iterations=20, **box)
least_squares = problem.reconstruct()

# ## Two operators of norm 1

A = problem.operator()
norm = A.norm()
A, y = A * (1 / norm), problem.data().y / np.float32(norm)
G = isotome.Function(
    A.in_shape,
    (3, *A.in_shape),
    lambda x: np.stack([np.roll(x, -1, axis) - x for axis in range(3)]),
    lambda q: sum(np.roll(q[axis], 1, axis) - q[axis] for axis in range(3)),
) * 12**-0.5

# ## PDHG

tau, sigma, strength = np.float32(2), np.float32(0.24), np.float32(0.004)
x = ahead = np.zeros(A.in_shape, np.float32)
p, q = np.zeros(A.out_shape, np.float32), np.zeros(G.out_shape, np.float32)
for _ in range(int(100 * SIZE)):
    p = (p + sigma * (A(ahead) - y)) / (1 + sigma)
    q = q + sigma * G(ahead)
    q = q / np.maximum(1, np.sqrt((q**2).sum(axis=0)) / strength)
    before, x = x, np.maximum(0, x - tau * (A.adjoint(p) + G.adjoint(q)))
    ahead = 2 * x - before

# ## Both beside the truth

images = [truth, least_squares * 1, isotome.Image(x, truth.grid)]
errors = [np.sqrt(((image - truth) ** 2).mean() / (truth**2).mean()) for image in images]
print(f"rms error: {errors[1]:.2f} least squares, {errors[2]:.2f} total variation")
isotome.show(images, titles=["Truth", "Least squares", "TV"], kind="slice", axis="y", path="tv_pdhg.png")
