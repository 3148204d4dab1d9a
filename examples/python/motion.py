# SPDX-License-Identifier: BSD-3-Clause
"""Motion: a head that moves during its scan, with a tracker and without one.

A small head takes five poses in a minute. Its events are reconstructed as if it had lain still, with the poses that a
tracker would have measured, and with poses that are found from the events alone. The last image is that of the same
head lying still.

The picture is motion.png. SIZE=0.1 in the environment takes a tenth of the events.
"""

import os
from pathlib import Path

import numpy as np

import isotome

SIZE = float(os.environ.get("SIZE", 1))

# ## A scanner and a head
#
# The head has a grey rim with gyri, dark ventricles and two lesions: without structure nobody could see it turn.

Path("ring.yaml").write_text(
    "{kind: cylinder, radius_mm: 100, rings: 16, ring_pitch_mm: 7, crystals_per_ring: 120, tof: {fwhm_ps: 300}}"
)
shapes = [(0, 0, 0, 43, 53, 47, 1), (0, 3, -1, 38, 48, 41, 3), (0, 3, -1, 30, 40, 33, 1.5), (11, 6, 3, 6, 16, 9, 0.2),
          (-11, 6, 3, 6, 16, 9, 0.2), (16, -6, -8, 7, 9, 6, 6), (-22, -28, -12, 9, 7, 8, 5)]
shapes += [(34 * np.cos(2 * k), 44 * np.sin(2 * k), 4 * k - 22, 6, 6, 6, 5 if k % 2 else 0.5) for k in range(12)]
ellipsoid = "- {type: ellipsoid, centre_mm: [%g, %g, %g], radius_mm: [%g, %g, %g], activity: %g}\n"
Path("head.yaml").write_text("shapes:\n" + "".join(ellipsoid % shape for shape in shapes))
box = {"grid": (36, 42, 36), "voxel": 3}
head = isotome.phantom("head.yaml", **box)

# ## A scan of a head that moves
#
# A row of a table of poses is a time in s, a quaternion (w, x, y, z) and a shift in mm. The rule "step" holds a row
# until the next.

half = np.radians([[0, 0, 1e-9], [6, -4, 9], [-5, 7, -8], [9, 3, -5], [-3, -8, 6]]) / 2
angle = np.linalg.norm(half, axis=1, keepdims=True)
shifts = [[0, 0, 0], [4, -3, 2], [-3, 5, -2], [2, 4, 4], [-5, -2, 3]]
poses = np.hstack([12 * np.arange(5)[:, None], np.cos(angle), half * np.sin(angle) / angle, shifts])
np.savetxt("poses.csv", poses, "%.12g", ",", header="time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm", comments="# rule: step\n")

scan = {"scanner": "ring.yaml", "counts": 1.5e6 * SIZE, "duration_s": 60}
moved, still = isotome.simulate(head, poses="poses.csv", **scan), isotome.simulate(head, **scan)

# ## Poses from the events alone
#
# `track` reads a file. It reconstructs frames of six seconds, and registers them to the first two.

isotome.write_events("moved.Cdh", moved, "ring.yaml", force=True)
found = isotome.track("moved.Cdh", "ring.yaml", frame_s=6, events=0, smooth_mm=5, rounds=1, grid=head.grid)
rows = np.column_stack([found.from_s, found.poses[:, 1:]])    # a row holds from the beginning of its frame

# ## Four images

run = {"scanner": "ring.yaml", "method": "osem", "subsets": 6, "iterations": 3, "filter": "gaussian:4", **box}
fine = {"sens_budget": 0, "sens_error": 0.03, **run}
problems = {
    "No poses": isotome.ray(moved, **run),
    "Tracked": isotome.ray(moved, poses="poses.csv", **fine),
    "Found from the events": isotome.ray(moved, poses=rows, poses_rule="step", **fine),
    "Lying still": isotome.ray(still, **run),
}
truth, images = isotome.filter(head, "gaussian:4"), []
for title, problem in problems.items():
    image = problem.reconstruct()
    images.append(image * ((image * truth).sum() / (image * image).sum()))
    print(f"error, {title.lower()}: {np.sqrt(((images[-1] - truth) ** 2).sum() / (truth**2).sum()):.3f}")
isotome.show(images, titles=list(problems), kind="slice", at=(0, 0, -6), window=(0, 5), labels="none", path="motion.png")
