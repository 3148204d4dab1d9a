# SPDX-License-Identifier: BSD-3-Clause
"""Time of flight on and off, at equal counts.

A scanner that measures when the two photons arrive, to 250 ps, knows where along its line a decay was, to
37 mm. The same events are reconstructed twice, without their times and with them. Iterations bring contrast
and noise, so what counts is the noise at equal contrast: a callback ends both when the spheres have 70 % of
theirs.

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

# ## Until the contrast is there
#
# Hot spheres over background, 1 being the truth. A callback that returns True ends the iterations.

hot, background = truth > 3.9, np.abs(truth - 1) < 1e-3


def enough(step):
    ratio = step.image[hot].mean() / step.image[background].mean()
    return ratio - 1 > 0.7 * (truth[hot].mean() - 1)


def image_of(tof_fwhm_ps):
    problem = isotome.ray(events, scanner="ring.yaml", mu=mu, tof_fwhm_ps=tof_fwhm_ps, iterations=30, **box)
    image = problem.reconstruct(callback=enough)
    return image * (truth.sum() / image.sum())


# ## Without and with

images = [image_of(0), image_of(250)]
noise = [image[background].std() / image[background].mean() for image in images]
print(f"noise at 70 % contrast: {noise[0]:.3f} without, {noise[1]:.3f} with time of flight")
isotome.show(
    [truth, *images],
    titles=["Truth", "Without time of flight", "With 250 ps"],
    kind="slice", window=(0, 4), path="tof.png",
)
