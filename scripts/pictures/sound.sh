#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the optoacoustic picture of README.md from a run of `isotome demo optoacoustic`, which is kept
# in FOLDER. Needs NumPy and nibabel. Takes about two minutes on two cores.
#
#   scripts/pictures/sound.sh FOLDER [PROGRAM]      default: build/isotome
set -euo pipefail
source=$(realpath "$(dirname "$0")/../..")
program=$(realpath "${2:-$source/build/isotome}")
[ -e "$1/tv.nii" ] || "$program" demo optoacoustic -o "$1"
cd "$1"

# The greatest values along y of each image, as the slices across y of one array.
/usr/bin/python3 - <<'END'
import nibabel
import numpy as np
mips = [np.asarray(nibabel.load(f + ".nii").dataobj).T.max(axis=1)
        for f in ("truth", "fbp", "sph", "tv")]
np.save("side-by-side.npy", np.stack(mips, axis=1))
END
"$program" view side-by-side.npy --kind montage --axis y --columns 4 --window 0,1 --zoom 5 \
	--labels none --force -o "$source/docs/pictures/optoacoustic.png" \
	--title 'Truth, back-projection, least squares, total variation'
