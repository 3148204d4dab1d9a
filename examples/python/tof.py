# SPDX-License-Identifier: BSD-3-Clause
"""Time of flight on and off, at equal counts.

A scanner that measures when the two photons arrive, to 250 ps, knows where along its line a decay was to
37 mm. The same events are reconstructed twice, without their times and with them. A callback looks at every
iteration: what counts is the noise at equal contrast, since iterations bring more of both.

The picture is tof.png. SIZE=0.1 in the environment takes a tenth of the events.
"""

import os
from pathlib import Path

import numpy as np

import isotome

SIZE = float(os.environ.get("SIZE", 1))

# ## A scan with times

Path("ring.yaml").write_text(
    "{kind: cylinder, radius_mm: 330, rings: 20, ring_pitch_mm: 10, crystals_per_ring: 240,"
    " crystal_mm: [8, 9, 20], min_crystal_distance: 40, pair_weight: solid-angle, tof: {fwhm_ps: 250}}"
)
box = {"grid": (53, 42, 33), "voxel": 6}
truth, mu = isotome.phantom("spheres", mu=True, **box)
events = isotome.simulate(truth, "ring.yaml", counts=1e6 * SIZE, mu=mu)

# ## Contrast and noise after each iteration
#
# Contrast: hot spheres over background, 1 being the truth; noise: spread of the background over its mean.

hot, background = truth > 3.9, np.abs(truth - 1) < 1e-3


def figures(image):
    mean = image[background].mean()
    return (image[hot].mean() / mean - 1) / (truth[hot].mean() - 1), image[background].std() / mean


def scan(tof_fwhm_ps):
    curve = []
    how = {"method": "osem", "subsets": 4, "iterations": 8, "tof_fwhm_ps": tof_fwhm_ps}
    problem = isotome.ray(events, scanner="ring.yaml", mu=mu, **how, **box)
    image = problem.reconstruct(callback=lambda step: curve.append(figures(step.image)))
    return image * (truth.sum() / image.sum()), np.interp(0.6, *np.transpose(curve))


# ## Without and with

without, with_tof = scan(0), scan(250)
print(f"noise at 60 % contrast: {without[1]:.3f} without, {with_tof[1]:.3f} with time of flight")
isotome.show(
    [truth, without[0], with_tof[0]],
    titles=["Truth", "Without time of flight", "With 250 ps"],
    kind="slice", window=(0, 4), path="tof.png",
)
