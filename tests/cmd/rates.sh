#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome rates: both dead times, simulated event by event with randoms, and fitted; recon --rates; the reference's series;
# what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >ring.yaml <<'YAML'
kind: cylinder
radius_mm: 150
rings: 3
ring_pitch_mm: 16
crystals_per_ring: 48
crystal_mm: [16, 16, 20]
min_crystal_distance: 12
time: {coincidence_ns: 2}
YAML
"$PYTHON" - "$TEST_DATA/timing/dead.json" <<'END'
import json
import sys

import nibabel as nib
import numpy as np

f = np.zeros((12, 12, 6), np.float32)
f[3:9, 3:9, 1:5] = 1
affine = np.diag([-8., -8., 8., 1.])
affine[:3, 3] = 44, 44, -20
nib.save(nib.Nifti1Image(f, affine), "flat.nii")
d = json.load(open(sys.argv[1]))
of = d["with_randoms"]["paralysable"]
with open("series.csv", "w") as s:
    print("start_s,length_s,counts,singles,randoms", file=s)
    for t1, t2, p, n, r in zip(d["t1"], d["t2"], of["prompts"], d["nonparalysable"]["counts"], of["delayed"]):
        print(f"{t1!r},{t2 - t1!r},{p!r},{n!r},{r!r}", file=s)
END

run rates series.csv --half-life-s 6586.2 -o ring.rates.json
err_has "coincidences, paralysable: dead time 1.2044"
check "the reference's series" <<'END'
from checks import *

r = record("ring.rates.json")
require(r["kind"] == "rates" and r["model"] == "paralysable" and r["singles"]["model"] == "non-paralysable", "models")
near("tau", r["tau_s"], 1.2043635503560255e-06, 2e-12)
near("singles", r["singles"]["tau_s"], 1.5002981323263373e-06, 2e-12)
near("chi-square", r["chi2"], 14.82, .02)
require(len(r["frames"]) == 20, "frames")
END

# half-life 60 s, randoms of a half of the trues at the start, a dead time of 300 us
n=$(size 250000 120000)
for model in non-paralysable paralysable; do
	simulate() { run simulate ring.yaml flat.nii --counts "$n" --randoms 0.22 --duration-s 300 --half-life-s 60 "$@"; }
	simulate --dead-time $model:100 -o $model.Cdh --delayed $model-late.Cdh
	[ $model = paralysable ] || simulate --dead-time $model:100 -o again.Cdh --threads 3
	run rates $model.Cdh --delayed $model-late.Cdh --frames 0:20:300 --half-life-s 60 -o $model.json
	# without randoms an image has all counts after one iteration
	run simulate ring.yaml flat.nii --counts "$n" --seed 7 --duration-s 300 --half-life-s 60 --dead-time $model:100 -o trues.Cdh --force
	recon() {
		run recon ray trues.Cdh --scanner ring.yaml --grid 12,12,6 --voxel 8 --iterations 1 --half-life-s 60 \
			--frames 0:30:300 "$@"
	}
	recon --rates $model.json -o $model-right.nii
	recon -o $model-wrong.nii
done
same non-paralysable.Cdf again.Cdf
check "both models" "$(size 0.03 0.06)" <<'END'
from checks import *

for model in ("non-paralysable", "paralysable"):
    r, run = record(model + ".json"), record(model + "-right.json")
    require(r["model"] == model, f"{model}: {r['model']} fits better")
    off = r["tau_s"] / 1e-4 - 1
    require(abs(off) < float(sys.argv[1]) and abs(off) < 4 * r["tau_sd_s"] / 1e-4, f"{model}: tau {off:+.4f}")
    live = run["results"]["live_shares"]
    require(len(live) == 10 and all(b > a for a, b in zip(live, live[1:])), f"{model}: {live}")
    right, wrong = (image(f"{model}-{k}.nii").reshape(10, -1).sum(1) for k in ("right", "wrong"))
    early, late = right[:2].mean(), right[3:6].mean()
    require(abs(early / late - 1) < float(sys.argv[1]), f"{model}: {early / late - 1:+.4f} with --rates")
    require(wrong[:2].mean() / wrong[3:6].mean() < .9, f"{model}: without --rates it makes no difference")
END

# what is refused
e() { expect "$1" rates "${@:2}" -o none.json; }
e 2 series.csv
err_has "half-life"
e 2 series.csv --half-life-s 60 --frames 0:1:9
e 2 paralysable.Cdh --half-life-s 60
err_has "--frames"
head -3 series.csv >few.csv
e 3 few.csv --half-life-s 6586.2
cut -d, -f1,2 series.csv >lengths.csv
e 3 lengths.csv --half-life-s 6586.2
err_has "'counts' is missing"
sed 's/singles/sngles/' series.csv >typo.csv
e 3 typo.csv --half-life-s 6586.2
err_has "sngles"
[ ! -e none.json ] || fail "a refused run wrote"
expect 2 recon ray paralysable.Cdh --scanner ring.yaml --rates ring.rates.json --live-share 0.5 -q -o none.nii
err_has "exclude each other"
expect 3 recon ray paralysable.Cdh --scanner ring.yaml --rates paralysable-right.json -o none.nii --grid 6,6,4 -q
err_has 'is of kind not said'
