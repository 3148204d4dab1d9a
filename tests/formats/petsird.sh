#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# PETSIRD files by one command: the file's own scanner, grid, efficiencies, randoms and time of flight put the source
# where it is, (25, -12, 6) mm, in every version; with efficiencies a calibration factor divides the image.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python
data=$SOURCE/tests/data/petsird

run info "$data/point-0.12.0.petsird"
out_has 'PETSIRD'
out_has 'events            3000'
out_has 'delayeds          200'
for version in 0.7.2 0.9.1 0.12.0; do
	run recon "$data/point-$version.petsird" -o "$version.nii"
	err_has 'randoms are taken from its 200 delayed events'
	! grep -q 'factors per event' err || fail "$version: the sensitivity is said to be without the efficiencies"
	run recon ray --events "$data/point-$version.petsird" --grid 50,50,13 --voxel 2 --delayed none -o "plain-$version.nii"
	run recon ray --events "$data/point-$version.petsird" --grid 50,50,13 --voxel 2 --delayed none --tof-fwhm-ps 0 \
		-o "lines-$version.nii"
done
check "where the source is, and how much of it" <<'END'
import nibabel, numpy as np

for version in "0.7.2", "0.9.1", "0.12.0":
    for name in "", "plain-", "lines-":
        image = nibabel.load(name + version + ".nii")
        x = image.get_fdata()
        at = (image.affine @ [*np.unravel_index(x.argmax(), x.shape), 1])[:3]
        assert (abs(at - [25, -12, 6]) < 3).all(), (name, version, at)
old, new = (nibabel.load("plain-%s.nii" % v).get_fdata() for v in ("0.7.2", "0.12.0"))
assert abs(old.sum() / new.sum() / 2.5 - 1) < 1e-3, old.sum() / new.sum()
END
