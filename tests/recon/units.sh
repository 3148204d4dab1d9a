#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Units: a uniform phantom of known activity calibrates a scanner; a scan of another activity, isotope and length,
# on another grid, comes out in Bq/ml; SUV; what is refused; PET-BIDS.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

{ solid_ring 8; echo 'time: {coincidence_ns: 4}'; } >ring.yaml
cat >phantom.yaml <<'END'
shapes:
  - {type: cylinder, centre_mm: [0, 0, 0], radius_mm: 45, length_mm: 60, axis: z, activity: 1, mu_per_mm: 0.0096}
END
run phantom phantom.yaml --grid '24,24,14' --voxel 5 -o x.nii --mu mu.nii
"$PYTHON" -c 'import numpy as np
np.save("eff.npy", (.5 + .5 * np.random.default_rng(1).random(1152)).astype("f4"))'

simulate() { # NAME COUNTS ARGS...
	run simulate ring.yaml x.nii --mu mu.nii --norm eff.npy --counts "$2" --randoms 0.25 \
		--tof-fwhm-ps 0 "${@:3}" -o "$1.Cdh" --delayed "$1_d.Cdh"
}
recon() { # SCAN OUTPUT ARGS...
	run recon ray --events "$1.Cdh" --delayed "$1_d.Cdh" --scanner ring.yaml --mu mu.nii --norm eff.npy \
		--tof-fwhm-ps 0 --method osem --subsets 4 --iterations 4 --device cpu -o "$2" "${@:3}"
}
grid=(--grid '24,24,14' --voxel 5)
other=(--grid '30,30,18' --voxel 4)
simulate first "$(size 500000 40000)" --duration-s 600 --isotope F-18 --seed 1
simulate second "$(size 500000 40000)" --duration-s 1800 --isotope C-11 --seed 2

# ---- what is true: decays that gave photons, over volume, time, decay and branching ----
cat >truth.py <<'END'
from checks import *
import nibabel

def activity(scan, duration, half_life, branching):
    """Bq/ml at the start of the scan."""
    x = nibabel.load("x.nii")
    ml = np.asarray(x.dataobj).sum() * np.prod(x.header.get_zooms()[:3]) / 1000
    k = np.log(2) / half_life
    mean = -np.expm1(-k * duration) / (k * duration)
    return record(scan + ".Cdh.json")["results"]["events"]["decays"] / (ml * duration * mean * branching)

def inside(path, radius=30, half=18):
    """The mean in a cylinder, of each frame."""
    x = nibabel.load(path)
    v = np.asarray(x.dataobj, float)
    at = [x.affine[a, 3] + x.affine[a, a] * np.arange(v.shape[a]) for a in range(3)]
    r = np.hypot(at[0][:, None, None], at[1][None, :, None])
    return v[(r <= radius) & (np.abs(at[2]) <= half)].mean(0)
END
export PYTHONPATH=$PYTHONPATH:$PWD
true_first=$("$PYTHON" -c 'from truth import *
print(repr(float(activity("first", 600, 6586.2, .9673))))')

# ---- a calibration ----
recon first phantom.nii "${grid[@]}" --isotope F-18 --started-at 2026-11-16T23:50:00
run info phantom.nii
out_has 'counts/mm'
run calibrate phantom.nii --concentration "$true_first" --roi 'cylinder:0,0,0,30,36' -o ring.json
err_has "of scanner 'ring'"
run info ring.json
out_has 'calibration of a scanner'
# the same concentration, measured two half lives earlier, on the day before
earlier=$("$PYTHON" -c "print(4 * $true_first)")
run calibrate phantom.nii --concentration "$earlier" --at 20:10:27.6 --roi 'cylinder:0,0,0,30,36' -o early.json
run calibrate phantom.nii --concentration "$earlier" --at 2026-11-16T20:10:27.6 --roi 'cylinder:0,0,0,30,36' \
	-o dated.json --json
check "the calibration" <<'END'
from truth import *
c, early, dated = (record(n)["calibration"] for n in ("ring.json", "early.json", "dated.json"))
a = activity("first", 600, 6586.2, .9673)
near("K", c["K"], a * 600 * .9673 / inside("phantom.nii"), 1e-6 * c["K"])
near("K of the earlier time", early["K"], c["K"], 1e-9 * c["K"])
near("K of the date", dated["K"], c["K"], 1e-9 * c["K"])
require(0 < c["standard_error"] < .02 * c["K"], f"error {c['standard_error']} of {c['K']}")
require(c["made_with"]["scanner"] == "ring" and c["made_with"]["crystals"] == 1152, "scanner")
near("K on stdout", record("out")["results"]["calibration"]["K"], c["K"], 1e-9 * c["K"])
END

# ---- another scan ----
c11=(--isotope C-11 --calibration ring.json)
recon second second.nii "${other[@]}" "${c11[@]}"
recon second plain.nii "${other[@]}" --isotope C-11
recon second frames.nii "${other[@]}" "${c11[@]}" --frames 0,600,1800
k=$("$PYTHON" -c 'import json; print(repr(json.load(open("ring.json"))["calibration"]["K"]))')
recon second number.nii "${other[@]}" --isotope C-11 --calibration "$k"
sed "s/^Calibration factor: 1$/Calibration factor: $k/" second.Cdh >factor.Cdh
run recon ray --events factor.Cdh --delayed second_d.Cdh --scanner ring.yaml --mu mu.nii --norm eff.npy --tof-fwhm-ps 0 \
	--method osem --subsets 4 --iterations 4 --device cpu "${other[@]}" --isotope C-11 --calibration events -o events.nii
expect 3 recon ray --events second.Cdh --scanner ring.yaml --mu mu.nii --norm eff.npy --tof-fwhm-ps 0 "${grid[@]}" \
	--isotope C-11 --calibration events -o no.nii
err_has 'second.Cdh: holds no calibration factor'
recon second steps.nii "${other[@]}" "${c11[@]}" --save-every 2
recon second again.nii "${other[@]}" "${c11[@]}" --start second.nii --iterations 1
export TOLERANCE
TOLERANCE=$(size .01 .08)
check "Bq/ml" <<'END'
from truth import *
import os
tolerance = float(os.environ["TOLERANCE"])
a = activity("second", 1800, 1221.8, .9977)
near("Bq/ml", inside("second.nii"), a, tolerance * a)
near("Bq/ml of the frames", inside("frames.nii"), [a, a], 2 * tolerance * a)
k = record("ring.json")["calibration"]["K"]
plain, got = (np.asarray(nibabel.load(n).dataobj, float) for n in ("plain.nii", "second.nii"))
near("K f / (T b)", got, plain * k / (1800 * .9977), 1e-4 * got.max())
near("K of the file", np.asarray(nibabel.load("events.nii").dataobj), got, 1e-6 * got.max())
near("K by number", np.asarray(nibabel.load("number.nii").dataobj), got, 1e-6 * got.max())
step = inside("steps_it002.nii")
near("an image between iterations", step, a, 3 * tolerance * a)
near("from an image in Bq/ml", inside("again.nii"), a, 2 * tolerance * a)
for name, unit in ("plain", "counts/mm"), ("second", "Bq/mL"), ("frames", "Bq/mL"), ("steps_it002", "Bq/mL"):
    require(record(name + ".json")["Units"] == unit, f"unit of {name}")
    require(unit in nibabel.load(name + ".nii").header["descrip"].item().decode(), f"header of {name}")
r = record("second.json")["results"]
near("decay", r["decay_and_live_factor"], record("plain.json")["results"]["decay_and_live_factor"], 1e-12)
near("counts", r["events"]["sum_of_sensitivity_times_image"],
     record("plain.json")["results"]["events"]["sum_of_sensitivity_times_image"], 10)
near("K of the record", r["calibration"]["K"], k, 1e-9 * k)
END

# ---- PETSIRD's factor is in the model already: annihilations per mm^3 ----
scan=$TEST_DATA/petsird/point-0.9.1.petsird
run recon "$scan" --device cpu -o point.nii
run recon "$scan" --device cpu --duration-s 100 --branching 0.5 --calibration events -o point_bq.nii
err_has 'Bq/ml are means over the frame'
check "PETSIRD's factor" <<'END'
from truth import *
plain, got = (np.asarray(nibabel.load(n).dataobj, float) for n in ("point.nii", "point_bq.nii"))
near("Bq/ml", got, plain * 1000 / (100 * .5), 1e-4 * got.max())
END

# ---- SUV: over midnight ----
suv=(--suv --weight-kg 70 --dose-mbq 370 --residual-mbq 20 --injected-at 23:50 --started-at 00:10:21.8)
recon second suv.nii "${other[@]}" "${c11[@]}" "${suv[@]}"
check "SUV" <<'END'
from truth import *
got, want = (np.asarray(nibabel.load(n).dataobj, float) for n in ("suv.nii", "second.nii"))
# one half life after the injection
near("SUV", got, want * 70e3 / 175e6, 1e-4 * got.max())
require(record("suv.json")["Units"] == "g/mL", "unit")
END

run recon --like suv.json -o suv_again.nii
same suv.nii suv_again.nii

# ---- refused ----
refused() { # CODE TEXT ARGS...
	expect "$1" recon ray --events second.Cdh --scanner ring.yaml --mu mu.nii --norm eff.npy --tof-fwhm-ps 0 \
		"${grid[@]}" -o no.nii "${@:3}"
	err_has "$2"
}
sed 's/radius_mm: 120/radius_mm: 120.5/' ring.yaml >wide.yaml
sed '$a name: other' ring.yaml >other.yaml
refused 2 "made with --projector slice, this run has joseph" "${c11[@]}" --projector joseph
refused 2 "made with --scanner ring, this run has wide" "${c11[@]}" --scanner wide.yaml
mkdir moved
cp wide.yaml moved/ring.yaml
refused 2 "made with 'radius_mm' 120.0, this run has 120.5" "${c11[@]}" --scanner moved/ring.yaml
"$PYTHON" -c 'import numpy as np; np.save("eff2.npy", np.load("eff.npy") * np.float32(.5))'
refused 2 "made with --norm xxh64" "${c11[@]}" --norm eff2.npy
expect 2 recon ray --events second.Cdh --scanner ring.yaml --norm eff.npy --tof-fwhm-ps 0 "${grid[@]}" \
	"${c11[@]}" -o no.nii
err_has "made with 'attenuation' map, this run has none"
refused 2 "made with --sens scanner, this run has none" "${c11[@]}" --sens none
refused 2 "--calibration needs the branching fraction" --calibration ring.json
refused 2 "must be above 0" --calibration -3 --isotope F-18
refused 3 "missing.json" --calibration missing.json --isotope F-18
echo '{"calibration": {"K": "much"}}' >bad.json
refused 3 "bad.json: is no calibration" --calibration bad.json --isotope F-18
refused 2 "--suv needs --weight-kg, --injected-at" "${c11[@]}" --suv --dose-mbq 300 --started-at 10:00
refused 2 "--started-at is 'noon'" --started-at noon
refused 2 "the dose must be the larger" "${c11[@]}" "${suv[@]}" --residual-mbq 400
expect 2 recon strip --events e.f32 --calibration 3 -o no.nii
err_has '--calibration does not go with model strip'
for args in "x.nii" "second.nii" "frames.nii"; do
	expect 3 calibrate "$args" --concentration 1 --roi 'sphere:0,0,0,9' -o no.json
done
expect 2 calibrate phantom.nii --concentration 1 --roi 'ball:0,0,0,9' -o no.json
expect 3 calibrate phantom.nii --concentration 1 --roi 'sphere:900,0,0,9' -o no.json
expect 2 calibrate phantom.nii --concentration 1 --roi 'sphere:0,0,0,9' -o ring.json
err_has 'ring.json exists'
[ ! -e no.nii ] && [ ! -e no.json ] || fail "a refused run has left a file"

# ---- PET-BIDS ----
expect 3 bids plain.nii --subject 01 -o study
err_has 'is in counts/mm, PET-BIDS takes Bq/mL'
expect 2 bids suv.nii --subject 01 -o study
err_has 'also asks for --manufacturer, --tracer-name, --injected-mass, --injected-mass-units, --specific-radio'
expect 2 bids suv.nii --subject 0_1 -o study
err_has "--subject is '0_1'"
[ ! -e study ] || fail "a refused image has left a data set"
said=(--manufacturer simulated --tracer-name FDG --injected-mass n/a --specific-radioactivity n/a)
bolus=(--mode-of-administration bolus)
recon second dosed.nii "${other[@]}" "${c11[@]}" "${suv[@]:1}" --iterations 1
run bids dosed.nii --subject 01 -o study "${said[@]}" "${bolus[@]}"
out_has study/sub-01/pet/sub-01_pet.nii.gz
run bids suv.nii --subject 01 -o study "${said[@]}" "${bolus[@]}"
out_has study/derivatives/isotome/sub-01/pet/sub-01_desc-SUV_pet.nii.gz
printf 'participant_id\tage\nsub-01\t34' >study/participants.tsv
echo '{"ModeOfAdministration": "bolus", "TimeZero": "23:50:00", "InjectionStart": 0}' >with.json
run bids frames.nii --subject 02 --session base --run 1 --with with.json -o study "${said[@]}" \
	--injected-radioactivity 350 --scan-start 60
expect 2 bids frames.nii --subject 02 --session base --run 1 --with with.json -o study "${said[@]}" \
	--injected-radioactivity 350 --scan-start 60
err_has 'exists'
expect 2 bids dosed.nii --subject 03 -o study "${said[@]}" --mode-of-administration bolus-infusion
err_has 'also asks for --infusion-radioactivity, --infusion-start'
check "PET-BIDS" <<'END'
from truth import *
s = record("study/sub-01/pet/sub-01_pet.json")
for key, want in dict(Units="Bq/mL", TracerRadionuclide="C11", InjectedRadioactivity=350, InjectedRadioactivityUnits="MBq",
                      InjectedMassUnits="n/a", TimeZero="00:10:21", ScanStart=0, FrameTimesStart=[0],
                      FrameDuration=[1800], ImageDecayCorrected=True, ImageDecayCorrectionTime=0,
                      ReconMethodName="osem", ReconFilterType="none", ManufacturersModelName="ring").items():
    require(s[key] == want, f"{key} is {s[key]}, expected {want}")
near("injection", s["InjectionStart"], -1221.8, 1e-6)
got, want = nibabel.load("study/sub-01/pet/sub-01_pet.nii.gz"), nibabel.load("dosed.nii")
require((got.affine == want.affine).all(), "affine")
near("image", np.asarray(got.dataobj), np.asarray(want.dataobj), 0)
s = record("study/sub-02/ses-base/pet/sub-02_ses-base_run-1_pet.json")
require(s["FrameTimesStart"] == [60, 660] and s["ImageDecayCorrectionTime"] == 60, "times from the time zero")
require(record("study/derivatives/isotome/sub-01/pet/sub-01_desc-SUV_pet.json")["Units"] == "g/mL", "SUV")
require(open("study/participants.tsv").read() == "participant_id\tage\nsub-01\t34\nsub-02\tn/a\n", "participants")
END
if command -v bids-validator-deno >/dev/null; then
	for set in study study/derivatives/isotome; do
		bids-validator-deno "$set" >out 2>err || fail "bids-validator-deno of $set"
	done
fi
echo "all passed"
