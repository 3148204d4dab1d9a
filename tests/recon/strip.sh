#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The two-strip model through the command line: its reference vectors (tests/data/README.md has
# their meaning and tolerances), forms, shapes of files, warnings, refusals.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

export DATA=$TEST_DATA/jpet
scanner=(--scanner "$SOURCE/examples/scanners/bialas2015.yaml")
events=(--events "$DATA/events.f32")
recon() { # NAME ARGS...
	local name=$1
	shift
	run recon strip "${scanner[@]}" "${events[@]}" -o "$name" "$@"
}

# ---- reference images ----
LAST=$(size 5 1)
export LAST
five=(--iterations "$LAST" --save-every 1)
recon eq7_ml.npy "${five[@]}"
err_has '2735 of 100000 events have a hit beyond the ends of the strips, by up to 37.2 mm'
recon tan_ml.npy "${five[@]}" --kernel tan
recon eq7_raw.npy "${five[@]}" --form raw
recon gauss_raw.npy "${five[@]}" --form raw --kernel gauss
recon direct.npy --method direct
err_has '301 of 100000 events lie outside the image'
run sens strip "${scanner[@]}" -o center.npy
run sens strip "${scanner[@]}" --sens-rule 5point -o 5point.npy
check "reference vectors" <<'PY'
import os
from checks import *
data, last = os.environ["DATA"], int(os.environ["LAST"])
reference = lambda name: np.fromfile(f"{data}/{name}.f64", "<f8").reshape(65, 75)
log = [line.split() for line in open(f"{data}/log.txt")]
for name in "eq7_ml", "tan_ml", "eq7_raw", "gauss_raw":
    for iteration in sorted({1, last}):
        got = np.load(name + (".npy" if iteration == last else "_it001.npy")).astype(float)
        want = reference(f"image_{name}_it{iteration}")
        off = np.linalg.norm(got - want) / np.linalg.norm(want)
        require(off < 1e-4, f"{name} after {iteration}: relative L2 {off:.2g}")
        near(f"{name} after {iteration}", got, want, 1e-3 * want.max())
    results = record(name + ".npy.json")["results"]
    s = reference("sens_center") if "ml" in name else np.ones((65, 75))
    require(results["events"]["used"] == 100000, f"{name}: {results['events']}")
    near(f"{name}: sum of s x image", (got * s).sum(), 1e5, .1)
    # ours has the term - sum s rho, of the image before the update
    expected = [s.sum()] + (last - 1) * [1e5]
    want = [float(r[12]) - e for r, e in zip((r for r in log if r[0] == name), expected)]
    near(f"{name}: log-likelihood", results["loglik"], want, 1e-6 * np.abs(want))
require(np.abs(np.load("direct.npy") - reference("direct")).sum() <= 20, "direct image")
for rule in "center", "5point":
    near(f"sensitivity, {rule}", np.load(f"{rule}.npy"), reference(f"sens_{rule}"), 1e-6)
PY

EVENTS=$(size 100000 10000)
export EVENTS
head -c $((12 * EVENTS)) "$DATA/events.f32" >some.f32
events=(--events some.f32)

# ---- eq. 3 is the raw iteration of s rho, from s; subsets take their share of the events ----
recon eq3.npy --form eq3 --iterations 3 --save-every 2
recon twin.npy --form raw --iterations 3 --save-every 2 --start center.npy
seven=(--method osem --subsets 7 --iterations 1)
recon osem_ml.npy "${seven[@]}" --kernel tan --edge
recon osem_raw.npy "${seven[@]}" --form raw
recon osem_eq3.npy "${seven[@]}" --form eq3
check "forms" <<'PY'
import os
from checks import *
events = int(os.environ["EVENTS"])
s = np.load("center.npy").astype(float)
for end in "", "_it002":
    got, want = np.load(f"eq3{end}.npy"), np.load(f"twin{end}.npy") / s
    near("eq3", got, want, 2e-6 * want.max())
require(not np.allclose(np.load("eq3.npy"), np.load("twin.npy")), "eq3 is not divided by s")
for name, weight in ("ml", s), ("raw", 1), ("eq3", s):
    near(f"osem, {name}", (np.load(f"osem_{name}.npy") * weight).sum(), events, .1 * events / 1e5)
PY

# ---- files: one plane as NIfTI, (ny, nz) as .npy; both come back in ----
recon x.nii --iterations 2
recon x.npy --iterations 2
recon again.npy --start x.nii --iterations 1
recon again2.npy --start x.npy --iterations 1
same again.npy again2.npy
run recon --like x.json -o y.nii
same x.nii y.nii
run recon --like direct.npy.json -o direct2.npy
same direct.npy direct2.npy
head -c 120000 "$DATA/events.f32" >few.f32
"$PYTHON" - <<'PY'
import numpy as np
e = np.fromfile("few.f32", "<f4").reshape(-1, 3)
np.save("few.npy", e)
np.savetxt("few.txt", e, "%.9g")
(e / np.float32(10)).tofile("cm.f32")
(e / np.array([1, 1, .299792458])).astype("<f4").tofile("ps.f32")
rng = np.random.default_rng(1)
np.save("image.npy", rng.random((65, 75), "f4"))
np.save("rows.npy", rng.random(10000, "f4"))
e[::1000] = np.nan			# 10 of them
e[1:20:2] = [0, 0, 1e5]			# 10 far above the image
e.tofile("bad.f32")
PY
few=("${scanner[@]}" --iterations 2)
run recon strip --events few.f32 "${few[@]}" -o f32.npy
for kind in npy txt; do
	run recon strip --events few.$kind "${few[@]}" -o $kind.npy
	same f32.npy $kind.npy
done
run recon strip --events cm.f32 --event-unit-mm 10 "${few[@]}" -o cm.npy
run recon strip --events ps.f32 --dl-is-time "${few[@]}" -o ps.npy
run recon strip --events bad.f32 "${few[@]}" -o bad.npy
err_has '10 of 10000 events hold values that are not finite'
err_has '20 of 10000 events meet no activity and are left out'
run recon strip --events few.f32 "${few[@]}" --grid 31,21 --pixel 8 -o coarse.npy
run project strip image.npy --events few.f32 "${scanner[@]}" -o forward.npy
run project strip x.nii --events few.f32 "${scanner[@]}" -o of_nii.npy
run project strip x.npy --events few.f32 "${scanner[@]}" -o of_npy.npy
same of_nii.npy of_npy.npy
run backproject strip rows.npy --events few.f32 "${scanner[@]}" -o back.npy
check "files" <<'PY'
from checks import *
x = np.load("x.npy")
nii = nibabel.load("x.nii")
require(x.shape == (65, 75) and nii.shape == (75, 65, 1), f"{x.shape}, {nii.shape}")
near("NIfTI", image("x.nii")[0], x, 0)
near("place of the first pixel", nii.affine[:2, 3], [-148, -128], 1e-4)
near("pixel", np.diag(nii.affine)[:2], [4, 4], 1e-6)
r = record("x.json")
require(r["strip_image"]["nifti"].startswith("(nz, ny, 1)") and r["Units"] == "emissions", r)
want = np.load("f32.npy")
for name in "cm", "ps":
    near(name, np.load(name + ".npy"), want, 1e-3 * want.max())
require(np.load("coarse.npy").shape == (21, 31), "--grid is nz, ny")
require(record("bad.npy.json")["results"]["events"]["used"] == 9980, "bad events are used")
a = np.dot(np.load("forward.npy").astype(float), np.load("rows.npy"))
b = np.vdot(np.load("image.npy").astype(float), np.load("back.npy"))
require(a > 0 and abs(a / b - 1) < 1e-5, f"<Ax, y> is {a}, <x, A*y> is {b}")
PY

# ---- refusals ----
no() { expect 2 recon strip -q "${scanner[@]}" "${events[@]}" -o no.npy "$@"; }
no --kernel eq7 --edge
err_has '--edge goes with --kernel tan, not eq7'
no --method direct --iterations 3
err_has '--iterations does not go with --method direct'
no --frames 0,1,2
err_has 'events of strips have no times'
no --kernel square
no --form eq4
no --block 5000
err_has '--block needs --follow'
no --method osem --subsets 200000
expect 2 recon strip "${events[@]}" -o no.npy
err_has '--scanner is missing'
expect 2 recon strip "${scanner[@]}" -o no.npy
err_has '--events is missing'
small_ring >ring.yaml
expect 3 recon strip --scanner ring.yaml "${events[@]}" -o no.npy
err_has 'expected kind: strips'
expect 2 recon ray --method direct --events e.lmdT -o no.npy
err_has "--method is 'direct', must be one of mlem, osem, svrg"
expect 2 recon ray --follow --events e.lmdT -o no.npy
run phantom spheres -o spheres.nii
expect 3 project strip spheres.nii "${events[@]}" "${scanner[@]}" -o no.npy
err_has 'expected one of square pixels'
[ ! -e no.npy ] || fail "a refused run wrote an image"

# ---- the benchmark, at a tiny size: work and sums, no times ----
run bench strip --events 3000 --repeats 2 --device cpu --json -q
check "bench strip" <<'PY'
from checks import *
r = record("out")["results"]
require([row["kernel"] for row in r["rows"]] == ["eq7", "tan", "gauss"], r["rows"])
for row in r["rows"]:
    require(row["events_used"] == 3000 and row["strategy"] == "cpu", row)
    near("sum of the image", row["sum_of_image"], 3000, .01)
    near("pixels an event", row["pixels_per_event"], 224.7, 4)
    require(row["limit_s"] > 0 and row["operations_per_s"] > 1e7, row)
PY
run bench strip --kernel tan --events 1000 --repeats 1 --pixel 8 --device cpu
out_has 'tan cpu 38x33'
expect 2 bench strip --strategy warp --device cpu
echo "all passed"
