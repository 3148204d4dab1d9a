# SPDX-License-Identifier: BSD-3-Clause
"""Two-strip J-PET: each event where it most likely came from, and maximum likelihood.

Two scintillator strips measure times alone. An event is z_up, z_down, dl: where the photons hit the strips,
and by how much one way was longer (Bialas et al. 2015; the scanner and the phantom are the paper's). Its row
of A is the density P(event | y, z), an ellipse of some 200 pixels; MLEM undoes that blur:

    x  <-  x / s  A* ( 1 / (A x) )

The picture is jpet.png. SIZE=0.1 in the environment takes a tenth of the events.
"""

import os
from pathlib import Path

import numpy as np

import isotome

SIZE = float(os.environ.get("SIZE", 1))

# ## A scan of ellipses

Path("strips.yaml").write_text(
    "{kind: strips, radius_mm: 130, length_mm: 300, sigma_z_mm: 10, sigma_dl_mm: 40}"
)
truth = isotome.phantom("ellipses", grid=(75, 65, 1), voxel=4, centre=(0, 0, 0))
events = isotome.simulate_strip("ellipses", "strips.yaml", counts=int(5e5 * SIZE))

# ## Two images
#
# Events beyond the ends of the strips are told of by a warning: measured places are blurred by 10 mm.

direct = isotome.strip(events, scanner="strips.yaml", method="direct").reconstruct()
mlem = isotome.strip(events, scanner="strips.yaml", kernel="tan", iterations=10).reconstruct()

# ## Both beside the truth

images = [x.reshape(truth.shape) * (truth.sum() / x.sum()) for x in (direct, mlem)]
errors = [np.sqrt(((x - truth) ** 2).mean() / (truth**2).mean()) for x in images]
print(f"rms error: {errors[0]:.2f} direct, {errors[1]:.2f} MLEM")
isotome.show(
    [truth, *(isotome.Image(x, truth.grid) for x in images)],
    titles=["Truth", "Each event where it came from", "MLEM, 10 iterations"],
    kind="slice", labels="none", window=(0, 0.7), path="jpet.png",
)
