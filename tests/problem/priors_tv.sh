#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Total variation without smoothing through the program: counts and least squares, what is refused, recorded; resume.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

solid_ring 6 >ring.yaml
grid=(--grid '16,16,6' --voxel '12,12,12')
run phantom cylinder "${grid[@]}" -o truth.nii
run simulate ring.yaml truth.nii --counts 20000 --seed 5 --duration-s 100 -o e.lmdT
run sens ray --scanner ring.yaml "${grid[@]}" -o sens.nii
ray=(ray --events e.lmdT --scanner ring.yaml "${grid[@]}" --device cpu --threads 1 --sens sens.nii --additive 0.0001)

refused() { # MESSAGE ARGS...
	expect 2 recon "${ray[@]}" -o no.nii "${@:2}"
	err_has "$1"
	[ ! -e no.nii ] || fail "an image was written"
}
for method in pdhg spdhg; do
	refused "--method $method has tv:BETA alone; svrg has rdp" --method $method --penalty rdp:1
	refused 'does not smooth tv; without eta' --method $method --penalty tv:1,eta=0.1
	refused 'is tv:BETA, not rel=B' --method $method --penalty tv:rel=0.2
	refused '--kappa goes with --method svrg' --method $method --penalty tv:1 --kappa auto
	refused "--step goes with --method svrg, saga or bsrem, not $method" --method $method --penalty tv:1 --step 1
	refused '--nonneg does not go with model ray' --method $method --penalty tv:1 --nonneg
done
refused '--subsets is 4: pdhg has one; --method spdhg takes more' --method pdhg --penalty tv:1 --subsets 4
expect 2 recon strip --scanner "$SOURCE/examples/scanners/bialas2015.yaml" --events "$TEST_DATA/jpet/events.f32" \
	--method pdhg --penalty tv:1 --form raw -o no.nii
err_has '--form raw is another likelihood'
expect 2 recon ubp --data truth.nii --method pdhg -o no.nii
err_has "--method is 'pdhg', must be one of fbp"

expect 2 recon "${ray[@]}" --stream --method spdhg --penalty tv:1 -o no.nii
err_has '--method spdhg needs the events in memory'

# ---- counts: both find the image of smoothed tv with a small eta ----
strength=$("$PYTHON" -c "
import nibabel, numpy as np
s = np.asarray(nibabel.load('sens.nii').dataobj); print(0.1 * s[s > 0].mean())")
tv=(--penalty "tv:$strength")
run recon "${ray[@]}" --method spdhg "${tv[@]}" --subsets 8 --curve spdhg.csv -o spdhg.nii
err_has 'tv without smoothing: beta'
run recon "${ray[@]}" --method pdhg "${tv[@]}" --tolerance 0.0003 -o pdhg.nii
run recon "${ray[@]}" --method lbfgs "${tv[@]},eta=1e-7" --tolerance 0 --iterations 150 -o smooth.nii
run recon "${ray[@]}" --method spdhg "${tv[@]}" --subsets 8 --iterations 3 -o short.nii
err_has 'relative duality gap'
check "images of total variation" <<'END'
import csv
from checks import *
seen, x, y = image("sens.nii") > 0, image("spdhg.nii"), image("pdhg.nii")
require((x[~seen] == 0).all() and x.min() == 0, "voxels that no line sees, or below 0")
near("pdhg", y, x, .05 * x.max())
m, w = (record(f"{name}.json")["results"]["map"] for name in ("spdhg", "pdhg"))
require(m["converged"] and w["converged"] and m["relative_gap"] <= 1e-4 and w["relative_gap"] <= 3e-4, "gaps")
require(m["subsets"] == 8 and w["subsets"] == 1 and m["penalty"] == "tv" and m["passes"] < w["passes"], "passes")
require(abs(m["looks"]["objective"][-1] - w["looks"]["objective"][-1]) < w["gap"], "objectives")
s = record("smooth.json")["results"]["map"]["looks"]
require(s["objective"][-1] <= m["looks"]["objective"][-1] + m["gap"], f"smoothed tv: {s['objective'][-1]}")
looks = m["looks"]
near("parts", np.array(looks["loglik"]) - looks["penalty"], looks["objective"], 1e-6 * abs(looks["objective"][-1]))
rows = list(csv.DictReader(open("spdhg.csv")))
near("curve", [float(row["relative_gap"]) for row in rows], looks["relative_gap"], 1e-12)
END
run report spdhg.nii -o spdhg.html
grep -q 'Duality gap against passes' spdhg.html || fail "no gap in the report"

# ---- resume, threads, frames ----
five=(--method spdhg "${tv[@]}" --subsets 4 --iterations 3 --tolerance 0)
run recon "${ray[@]}" "${five[@]}" -o whole.nii
for _ in 1 2 3; do
	expect 143 recon "${ray[@]}" "${five[@]}" --stop-after 0.000001 --resume -o part.nii
done
run recon "${ray[@]}" "${five[@]}" --resume -o part.nii
same whole.nii part.nii
grep -q '"resumed_from_update": 3' part.json || fail "the run began anew"
run recon "${ray[@]}" "${five[@]}" --threads 3 -o threads.nii
same whole.nii threads.nii

# ---- least squares of sound: the image of cg's tv ----
cat >array.yaml <<'END'
kind: transducers
sphere: {radius_mm: 20, rings: 4, views: 8, polar_deg: [20, 160]}
speed_mm_per_us: 1.5
sampling_mhz: 10
first_sample_us: 11
samples: 40
grueneisen: 2000
END
cube=(--scanner array.yaml --grid '6,6,6' --voxel 0.5 --device cpu --threads 1)
"$PYTHON" -c "
import numpy as np
x = np.zeros((6, 6, 6), 'f4'); x[2:5, 1:4, 2:4] = 1; np.save('object.npy', x)"
run project sradon "${cube[@]}" object.npy -o traces.npy
mu=$("$PYTHON" -c "import numpy as np; y = np.load('traces.npy'); print(1e-4 * (y.astype(float) ** 2).sum())")
run recon sradon "${cube[@]}" --data traces.npy --nonneg --penalty "tv:$mu" --iterations 200 -o fista.npy
run recon sradon "${cube[@]}" --data traces.npy --nonneg --penalty "tv:$mu" --method pdhg --iterations 2000 --tolerance 1e-5 \
	--curve sound.csv -o sound.npy
check "least squares" <<'END'
from checks import *
x, y = np.load("sound.npy"), np.load("fista.npy")
near("fista", x, y, 2e-2 * y.max())
r = record("sound.npy.json")["results"]
require(r["converged"] and r["looks"]["relative_gap"][-1] <= 1e-5, "gap")
cost = record("fista.npy.json")["results"]["cost"][-1]
require(abs(r["looks"]["cost"][-1] - cost) < 1e-3 * cost, f"cost {r['looks']['cost'][-1]}, of fista {cost}")
END
expect 2 recon sradon "${cube[@]}" --data traces.npy --penalty quadratic:1 --method pdhg -o no.npy
err_has '--method pdhg has tv:MU alone; cg has quadratic'
expect 2 recon sradon "${cube[@]}" --data traces.npy --penalty tv:1 --method spdhg -o no.npy
err_has "--method is 'spdhg'; did you mean 'pdhg'? (one of cg, nncg, pdhg)"
