# SPDX-License-Identifier: BSD-3-Clause
"""Someone else's data: a list of CASToR and a map of NumPy, read, looked at and reconstructed.

The first half stands for the other program: plain Python writes events as CASToR does, a header of text
(.Cdh) beside records of milliseconds and two crystal numbers (.Cdf), and the attenuation as an array. The
second half is all that is needed to make an image of them. isotome.read_events also takes GATE text, lmdT and
NumPy rows; isotome.read takes NIfTI, .npy and raw images; isotome.read_recording takes IPASC and MSOT.

The picture is read_other_data.png. SIZE=0.1 in the environment takes a tenth of the events.
"""

import os
from pathlib import Path

import numpy as np

import isotome

SIZE = float(os.environ.get("SIZE", 1))

# ## What the other program wrote

Path("ring.yaml").write_text(
    "{kind: cylinder, radius_mm: 330, rings: 20, ring_pitch_mm: 10, crystals_per_ring: 240,"
    " crystal_mm: [8, 9, 20], min_crystal_distance: 40, pair_weight: solid-angle}"
)
box = {"grid": (53, 42, 33), "voxel": 6}
truth, mu = isotome.phantom("spheres", mu=True, **box)
scan = isotome.simulate(truth, "ring.yaml", counts=1e6 * SIZE, mu=mu, duration_s=600)
records = np.empty(len(scan.lines), [("ms", "<u4"), ("crystals", "<u4", 2)])
records["ms"], records["crystals"] = scan.time_ms, scan.crystal
records.tofile("other.Cdf")
Path("other.Cdh").write_text(
    "Scanner name: ring\nData filename: other.Cdf\nData mode: list-mode\nData type: PET\n"
    f"Number of events: {len(records)}\nStart time (s): 0\nDuration (s): 600\nIsotope: F-18\n"
)
np.save("mu.npy", mu)

# ## Reading and looking

events = isotome.read_events("other.Cdh", scanner="ring.yaml")
moved = np.abs(events.lines - scan.lines).max()
print(f"{len(events.lines)} events of {events.duration_s:.0f} s, ends moved by at most {moved:.3f} mm")

# ## Two frames of the scan
#
# Files go where arrays go: `isotome.ray` reads both itself.

problem = isotome.ray(
    "other.Cdh", scanner="ring.yaml", mu="mu.npy", method="osem", subsets=4, iterations=2, psf=6,
    frames="0,300,600", **box
)
frames = problem.reconstruct()
isotome.write("frames.nii", frames, force=True)
error = np.sqrt(((frames.sum(axis=0) * (truth.sum() / frames.sum()) - truth) ** 2).mean() / (truth**2).mean())
print(f"rms error of both frames together: {error:.2f}")
images = [truth, *(frame * (truth.sum() / frame.sum()) for frame in isotome.read("frames.nii"))]
isotome.show(
    images, titles=["Truth", "First five minutes", "Last five minutes"],
    kind="slice", window=(0, 4), path="read_other_data.png",
)
