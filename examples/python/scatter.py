# SPDX-License-Identifier: BSD-3-Clause
"""Scatter: what it does to an image, and what correcting it takes.

Photons of a scan are followed through a water cylinder with a cold rod, so that it is known of every event how
often it was scattered. The same events are reconstructed twice, without and with `scatter`, which estimates the
scattered events from the image and the attenuation map, in rounds; the record tells their share and how the rounds
went. Nothing is fitted.

The picture is scatter.png. SIZE=0.1 in the environment takes a tenth of the events.
"""

import os
from pathlib import Path

import numpy as np

import isotome

SIZE = float(os.environ.get("SIZE", 1))

# ## A scan with scatter
#
# The energy window and resolution say how many scattered photons are counted.

Path("ring.yaml").write_text(
    "{kind: cylinder, radius_mm: 150, rings: 8, ring_pitch_mm: 12, crystals_per_ring: 96, crystal_mm: [9, 11, 20],"
    " min_crystal_distance: 12, pair_weight: solid-angle, tof: {fwhm_ps: 300},"
    " energy: {window_kev: [400, 650], resolution: 0.12}}"
)
Path("rod.yaml").write_text(
    "shapes: [{type: cylinder, radius_mm: 60, length_mm: 90, activity: 1, mu_per_mm: 0.0096},"
    " {type: cylinder, centre_mm: [25, 0, 0], radius_mm: 15, length_mm: 90, activity: 0, mu_per_mm: 0.0096}]"
)
box = {"grid": (32, 32, 22), "voxel": 5}
truth, mu = isotome.phantom("rod.yaml", mu=True, **box)
events = isotome.simulate(truth, "ring.yaml", counts=1e6 * SIZE, mu=mu, physics=True)
scattered = np.mean(events.info.order > 0)

# ## Without and with correction

run = {"scanner": "ring.yaml", "mu": mu, "method": "osem", "subsets": 5, "iterations": 4, **box}
plain = isotome.ray(events, **run).reconstruct()
problem = isotome.ray(events, scatter="sss+mc", scatter_error=0.03, **run)
image = problem.reconstruct()

# ## What the record says

told = problem.record["results"]["scatter"]
print("scattered:", round(100 * scattered, 1), "%, estimated:", round(100 * told["share"], 1), "%")
print("c of the last round:", round(told["rounds"][-1]["c"], 3))
profile = {name: np.array(v) for name, v in told["seen"]["over_s"].items() if v}    # counts over the radial offset
print("counts that trues and scatter explain:", round((profile["trues"] + profile["scatter"]).sum() / len(events), 3))

# ## The cold rod, over the rest

x, y = np.meshgrid(*(np.arange(32) * 5 - 77.5,) * 2)
rod, rest = np.hypot(x - 25, y) < 8, (np.hypot(x, y) < 45) & (np.hypot(x - 25, y) > 25)
for title, v in ("not corrected:", plain), ("corrected:", image):
    print("rod over the rest,", title, round(float(v[7:15, rod].mean() / v[7:15, rest].mean()), 3))
unit = image[7:15, rest].mean()
titles = ["Truth", "No correction", "scatter='sss+mc'"]
isotome.show([truth, plain / unit, image / unit], titles=titles, kind="slice", window=(0, 1.6), path="scatter.png")
