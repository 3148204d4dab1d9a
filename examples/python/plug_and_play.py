# SPDX-License-Identifier: BSD-3-Clause
"""Plug and play: a stock denoiser of deepinv as the prior of a PET scan with attenuation and background.

Steps of proximal gradients, x <- D(x - s grad f(x)): f is the Poisson likelihood of the counts, and the denoiser D,
here that of total variation, takes the place of the proximal step of a penalty. Any denoiser of deepinv goes there.
A scan is simulated with Isotome and handed over as it is:

    physics = isotome.deepinv.of_problem(problem)          # y = Poisson(m A x + r)

The picture is plug_and_play.png. SIZE=0.1 in the environment takes a tenth of the iterations.
"""

import os

import deepinv
import numpy as np
import torch

import isotome

SIZE = float(os.environ.get("SIZE", 1))

# ## A scan: parallel lines through a disc with spots, attenuation m and background r

turns = np.exp(1j * np.pi / 96 * np.arange(96))[:, None, None]
ends = turns * (np.arange(-94.0, 95, 3)[:, None] + np.array([-150j, 150j]))  # x + i y, mm
lines = np.stack([ends.real, ends.imag, 0 * ends.real], axis=-1).reshape(-1, 6)
grid = isotome.Grid((64, 64, 1), (3, 3, 3))
A = isotome.ray(lines, grid=grid, sens="none").operator()
v, u = np.meshgrid(*2 * [np.linspace(-1, 1, 64)], indexing="ij")
body = ((u**2 + v**2) < 0.7).astype("f4")
truth = body + 2 * ((u - 0.3) ** 2 + v**2 < 0.03) + 1.5 * ((u + 0.3) ** 2 + (v - 0.2) ** 2 < 0.01)
factors = np.exp(-0.0096 * A(body[None]))  # water at 511 keV, per mm
random = np.random.default_rng(1)
mean = factors * A(truth[None]) * 0.6
events = isotome.Events(lines=lines, count=random.poisson(mean + 4), mult=factors, add=0 * mean + 4, lists_all=True)
problem = isotome.ray(events, grid=grid, method="mlem", iterations=20)

# ## Plug and play, from the image of MLEM; the step is scaled by the sensitivity and the image

physics = isotome.deepinv.of_problem(problem, planes=True)
y = isotome.deepinv.counts(problem)[0]
start = torch.from_numpy(np.array(problem.reconstruct()))[None]
step = float(start.mean() / problem.sensitivity().max())
algorithm = deepinv.optim.PGD(
    data_fidelity=physics.likelihood(),
    prior=deepinv.optim.PnP(deepinv.models.TVDenoiser(n_it_max=50)),
    stepsize=step,
    sigma_denoiser=0.02,
    max_iter=round(30 * SIZE),
    early_stop=False,
    custom_init=lambda y, physics: {"est": (start, start)},
)
with torch.no_grad():
    x = algorithm(y, physics).numpy()[0]

images = [isotome.Image(np.float32(w).reshape(grid.shape), grid) for w in (truth, start / 0.6, x / 0.6)]
errors = (np.linalg.norm(w - images[0]) / np.linalg.norm(truth) for w in images[1:])
print("error: {:.2f} MLEM, {:.2f} plug and play".format(*errors))
isotome.show(images, titles=["Truth", "MLEM", "Plug and play"], window=(0, 3), path="plug_and_play.png")
