#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome response, and the lines of an event that recon, project, sens and scatter take from its table.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_hdf5

cat >ring.yaml <<'YAML'
kind: cylinder
radius_mm: 120
rings: 6
ring_pitch_mm: 7
crystals_per_ring: 96
crystal_mm: [6.8, 6.9, 20]
block: {crystals: 8, gap_mm: 1, rings: 3}
interaction_depth_mm: 7
min_crystal_distance: 20
energy: {resolution: 0.12, window_kev: [435, 650]}
detector: {material: {formula: Lu2SiO5, density: 7.4}, readout: block}
YAML
sed 's/radius_mm: 120/radius_mm: 121/' ring.yaml >other.yaml
grep -v detector ring.yaml >bare.yaml
run phantom cylinder --grid 16,16,6 --voxel 10,10,7 -o x.nii
run simulate ring.yaml x.nii --counts 3000 --seed 2 -o e.lmdT

run response ring.yaml --photons "$(size 300000 100000)" -o r.h5
check "what the table holds" r.h5 r.h5.json <<'PY' || fail "r.h5"
import json, sys
import h5py, numpy as np
f, told = h5py.File(sys.argv[1]), json.load(open(sys.argv[2]))["results"]["response"]
assert f["d"].shape == (27, 10, 8 * 6) and f["u"].shape == f["v"].shape == (27, 10, 24, 160), f["d"].shape
assert f["d_energy"].shape == (23, 27, 10) and f["beyond"].shape == (27, 10, 24)
n = f["counts"][...].sum()
assert n == f.attrs["records"] == told["records"] == f["u"][...].sum() + f["beyond"][...].sum()
assert list(f.attrs["window_kev"]) == [435, 650] and f.attrs["scanner"].decode() == told["scanner"]
e = f["d_energy"][...].mean(axis=(1, 2))
assert e[0] < .02 * e[-1] and e[10] < .3 * e[-1] and .7 * e[-1] < e[-3] < 1.1 * e[-1], e
PY
run response ring.yaml --photons 30000 --no-energies --seed 4 --threads 1 -o one.h5
run response ring.yaml --photons 30000 --no-energies --seed 4 --threads 3 -o three.h5
cmp one.h5 three.h5 || fail "the number of threads shows in a table"
run response ring.yaml -o dry.h5 --dry-run
[ ! -e dry.h5 ] || fail "--dry-run wrote a table"

expect 3 response bare.yaml -o q.h5
grep -q detector err || fail "no word of the key that is missing"
expect 2 response ring.yaml -o q.npy
expect 3 recon ray --events e.lmdT --scanner other.yaml --response r.h5 --sens none -o q.nii
grep -q 'made for a scanner' err || fail "a table of another scanner"
expect 2 recon ray --events e.lmdT --scanner ring.yaml --response r.h5 --rays 9 --sens none -o q.nii
expect 2 recon ray --events e.lmdT --scanner ring.yaml --response r.h5 --response-lines 16 --sens none -o q.nii
expect 2 recon ray --events e.lmdT --scanner ring.yaml --response-lines 9 --sens none -o q.nii
run phantom cylinder --grid 16,16,6 --voxel 10,10,7 -o a.nii --mu mu.nii
expect 3 scatter ring.yaml x.nii --mu mu.nii --response one.h5 --quiet -o q.h5
grep -q 'no energies' err || fail "a table without energies"

# the same image streamed, in another number of blocks, and from a run's own record
image() { # NAME ARGS...
	run recon ray --events e.lmdT --scanner ring.yaml --response r.h5 --response-lines 9 --grid 16,16,6 --voxel 10,10,7 \
		--method osem --subsets 2 --iterations 2 --device cpu "${@:2}" -o "$1.nii"
}
same() { "$ISOTOME" measure diff "$1" "$2" --below 1e-12 >out 2>err || fail "$1 is not $2"; }
image whole --sens-share .2
image streamed --sens-share .2 --stream --block 512
same whole.nii streamed.nii
run recon ray --like whole.json -o again.nii
same whole.nii again.nii
grep -q '"scanner": "' whole.json || fail "no hash of the table in the record"
image nominal --sens-share .2 --response-lines 25
"$ISOTOME" measure rmse whole.nii nominal.nii --below 1e-6 >out 2>err && fail "--response-lines does nothing"

run sens ray --scanner ring.yaml --grid 16,16,6 --voxel 10,10,7 -o s.nii
image other --sens s.nii
err_has 'was made without --response'

# <A x, y> = <x, A* y>
run project ray --events e.lmdT --scanner ring.yaml --response r.h5 a.nii -o y.npy
"$PYTHON" -c 'import numpy as np; y = np.load("y.npy"); np.save("w.npy", (np.arange(y.size) % 7 - 3).astype("f4"))'
run backproject ray --events e.lmdT --scanner ring.yaml --response r.h5 --grid 16,16,6 --voxel 10,10,7 w.npy -o z.nii
check "the transpose" <<'PY' || fail "the transpose"
import nibabel, numpy as np
x, z = (np.asarray(nibabel.load(n).dataobj, float) for n in ("a.nii", "z.nii"))
y, w = np.load("y.npy").astype(float), np.load("w.npy").astype(float)
a, b = (y * w).sum(), (x * z).sum()
assert abs(a - b) < 1e-6 * np.linalg.norm(y) * np.linalg.norm(w), (a, b)
PY
# scatter with real crystals is more than that of an ideal surface
run scatter ring.yaml x.nii --mu mu.nii --method sss -o ideal.h5
run scatter ring.yaml x.nii --mu mu.nii --method sss --response r.h5 -o real.h5
check "scatter" <<'PY' || fail "scatter"
import h5py
a, b = (h5py.File(n)["h"][...].sum() for n in ("ideal.h5", "real.h5"))
assert 1.02 < b / a < 1.6, b / a
PY
exit 0
