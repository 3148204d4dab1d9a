# SPDX-License-Identifier: BSD-3-Clause
"""MLEM by hand, beside the built-in one: the same image.

Hot spheres in a body are scanned by a ring of crystals. Row j of A has the chords of event j through the
voxels, and s is the sensitivity: an image x gives s x events on average. The image under which the measured
events are most likely is the limit of

    x  <-  x / s  A* ( 1 / (A x) )

The picture is mlem_by_hand.png. SIZE=0.1 in the environment takes a tenth of the events.
"""

import os
from pathlib import Path

import numpy as np

import isotome

SIZE = float(os.environ.get("SIZE", 1))

# ## A scanner, an object, a scan
#
# 20 rings of 240 crystals, voxels of 6 mm. `mu` is what the object attenuates, in 1/mm.

Path("ring.yaml").write_text(
    "{kind: cylinder, radius_mm: 330, rings: 20, ring_pitch_mm: 10, crystals_per_ring: 240,"
    " crystal_mm: [8, 9, 20], min_crystal_distance: 40, pair_weight: solid-angle}"
)
box = {"grid": (53, 42, 33), "voxel": 6}
truth, mu = isotome.phantom("spheres", mu=True, **box)
events = isotome.simulate(truth, "ring.yaml", counts=1e6 * SIZE, mu=mu)

# ## The built-in MLEM

problem = isotome.ray(events, scanner="ring.yaml", mu=mu, iterations=10, **box)
built_in = problem.reconstruct()

# ## The same by hand


def over(a, b):
    """a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros_like(b), where=b > 0)


A, s = problem.operator(), problem.sensitivity()
x = (s > 0).astype(np.float32)
for _ in range(10):
    x = over(x, s) * A.adjoint(over(1, A(x)))

# ## Both beside the truth

difference = np.abs(x - built_in).max() / built_in.max()
print(f"largest difference: {difference:.1e} of the greatest value")
scale = truth.sum() / x.sum()
isotome.show(
    [truth, scale * built_in, scale * x],
    titles=["Truth", "MLEM, built in", "MLEM by hand"],
    kind="slice", window=(0, 4), path="mlem_by_hand.png",
)
