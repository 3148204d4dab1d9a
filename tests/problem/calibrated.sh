#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Calibrations: what a run must share with one, and what not; dry runs, times, the standard error; docs/units.md.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

solid_ring 8 >ring.yaml
grid=(--grid '16,16,12' --voxel 6)
run phantom cylinder "${grid[@]}" -o x.nii
"$PYTHON" -c 'import numpy as np
np.save("eff.npy", (.5 + .5 * np.random.default_rng(1).random(1152)).astype("f4"))'
run simulate ring.yaml x.nii --norm eff.npy --counts 20000 --tof-fwhm-ps 0 --duration-s 600 --isotope F-18 -o e.Cdh
plain=(recon ray --events e.Cdh --scanner ring.yaml --norm eff.npy --tof-fwhm-ps 0 --iterations 2 --device cpu "${grid[@]}")
scan=("${plain[@]}" --isotope F-18)
run "${scan[@]}" -o plain.nii
run calibrate plain.nii --concentration 5000 --roi box:-40,40,-40,40,-24,24 -o ring.json

# ---- K f / (T b), and the standard error of eight slabs, which are planes here ----
run "${scan[@]}" --calibration ring.json -o bq.nii
check "Bq/ml" <<'END'
from checks import *
import nibabel
c = record("ring.json")["calibration"]
plain, bq = (np.asarray(nibabel.load(n).dataobj, float) for n in ("plain.nii", "bq.nii"))
near("K f / (T b)", bq, plain * c["K"] / (600 * .9673), 1e-4 * bq.max())
x = nibabel.load("plain.nii")
at = [x.affine[a, 3] + x.affine[a, a] * np.arange(plain.shape[a]) for a in range(3)]
inside = plain[np.ix_(abs(at[0]) < 40, abs(at[1]) < 40, abs(at[2]) < 24)]
assert inside.shape[2] == 8, inside.shape
means = inside.mean((0, 1))
near("K", c["K"], 5000 * 600 * .9673 / means.mean(), 1e-4 * c["K"])
near("error", c["standard_error"] / c["K"], means.std(ddof=1) / 8 ** .5 / means.mean(), 1e-3 * c["standard_error"] / c["K"])
END

# ---- the sensitivity: of the scanner, also where isotome sens made the file; any other image is none ----
run sens ray --scanner ring.yaml --norm eff.npy "${grid[@]}" -o sens.nii
run "${scan[@]}" --calibration ring.json --sens sens.nii -o of-sens.nii
run measure diff of-sens.nii bq.nii --below 0.1
expect 2 "${scan[@]}" --calibration ring.json --sens plain.nii -o no.nii
err_has 'made with --sens scanner, this run has file'

# ---- a dry run has not read the efficiencies ----
run "${scan[@]}" --calibration ring.json --dry-run -o no.nii

# ---- what is refused ----
mkdir near
sed 's/radius_mm: 120/radius_mm: 120.5/' ring.yaml >near/ring.yaml
expect 2 "${scan[@]}" --calibration ring.json --scanner near/ring.yaml -o no.nii
err_has "made with 'radius_mm' 120.0, this run has 120.5"
expect 2 "${scan[@]}" --calibration 0 -o no.nii
err_has '--calibration is 0, must be above 0'
suv=(--suv --weight-kg 70 --dose-mbq 370 --injected-at 10:00 --started-at 11:00)
expect 2 "${plain[@]}" --calibration ring.json --branching 0.9673 "${suv[@]}" -o no.nii
err_has '--suv needs the decay of the dose: give --isotope or --half-life-s'
run convert e.Cdh e.npy
expect 2 recon ray --events e.npy --scanner ring.yaml --norm eff.npy --tof-fwhm-ps 0 "${grid[@]}" --branching 0.9673 \
	--calibration 3 -o no.nii
err_has '--calibration needs the length of the scan, which the data do not say: give --duration-s'
[ ! -e no.nii ] || fail "a refused run has left a file"

# ---- times: an injection after the scan is told, one before is not ----
run "${scan[@]}" --calibration ring.json "${suv[@]}" -o suv.nii
! grep -q 'after --started-at' err || fail "an injection before the scan is told"
run "${scan[@]}" --calibration ring.json "${suv[@]}" --injected-at 11:30 -o late.nii
err_has '--injected-at is 1800 s after --started-at'
expect 2 calibrate plain.nii --concentration 5000 --at 10:00 --roi sphere:0,0,0,30 -o no.json
err_has 'its record does not say when the scan started: give --started-at'
# a half life of F-18, 6586.2 s, after the concentration; a start that is given goes before that of the record
run "${scan[@]}" --started-at 12:00 -o timed.nii
for image in plain timed; do
	run calibrate $image.nii --concentration 10000 --at 10:00 --started-at 11:49:46.2 --roi box:-40,40,-40,40,-24,24 \
		-o k_$image.json
done
check "the same K" <<'END'
from checks import *
k = [record(n)["calibration"]["K"] for n in ("ring.json", "k_plain.json", "k_timed.json")]
near("K", k[1:], [k[0]] * 2, 1e-6 * k[0])
END
echo "all passed"
