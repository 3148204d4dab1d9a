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

# ---- written: the events that .npy has of the same scan, but for the bins of time; and the pairs of the scanner ----
cat >ring.yaml <<'END'
kind: cylinder
radius_mm: 120
rings: 6
ring_pitch_mm: 12
crystals_per_ring: 72
crystal_mm: [8, 10, 20]
min_crystal_distance: 18
max_ring_difference: 3
tof: {fwhm_ps: 300}
END
run phantom cylinder --grid 20,20,8 --voxel 6 -o x.nii
scan=(simulate ring.yaml x.nii --counts 30000 --duration-s 30)
run "${scan[@]}" -o rows.npy
run "${scan[@]}" -o e.petsird
# it begins as other files of PETSIRD 0.12 do: 9 bytes of yardl, 2 of a length, a schema of 12983
cmp -n 12994 e.petsird "$data/point-0.12.0.petsird" >err || fail "the schema is not that of PETSIRD 0.12"
run convert e.petsird back.npy
run info --json e.petsird
check "the same events" <<'END'
from checks import *
a, b = np.load("rows.npy"), np.load("back.npy")
require(a.shape == b.shape and abs(a[:, :6] - b[:, :6]).max() < 1e-3, "ends")
require(abs(a[:, 6] - b[:, 6]).max() <= 15.01 and abs(a[:, 6] - b[:, 6]).max() > 5, "times, to half a bin of 30 ps")
o = json.load(open("out"))[0]
require(o["crystals"] == 432 and o["duration_s"] == 30, f"{o}")
near("tof", o["tof_fwhm_ps"], 300, .01)
near("times", o["time_s"], [.05, 29.95], .2)
END
# the sensitivity of its own scanner is that of ring.yaml: the same pairs
grid=(--grid 20,20,8 --voxel 6 --iterations 2)
run recon ray --events rows.npy --scanner ring.yaml "${grid[@]}" --tof-fwhm-ps 300 -o of-rows.nii
run recon e.petsird "${grid[@]}" -o of-petsird.nii
run measure diff of-petsird.nii of-rows.nii --below 2
run recon ray --events e.petsird --scanner ring.yaml "${grid[@]}" -o of-both.nii
run measure diff of-both.nii of-petsird.nii --below 0.1
run convert rows.npy again.petsird --scanner ring.yaml
run convert again.petsird again.npy
check "converted" <<'END'
from checks import *
a, b = np.load("back.npy"), np.load("again.npy")
require((abs(a - b) < 1e-3).all(), "convert and simulate write the same events")
END
expect 2 convert rows.npy no.petsird
err_has 'PETSIRD files are written of scanners of kind cylinder, and none was given'
echo "all passed"
