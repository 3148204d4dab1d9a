#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# System matrices through the command line: runs that add up to one, an interruption, import and
# export, what info says, refusals.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

scanner() { # NAME LINES...: two small heads; a line replaces or adds a key
	cat >"$1" <<-END
		kind: panels
		crystals: [4, 6]
		pitch_mm: [2.0, ${pitch_z:-2.0}]
		crystal_mm: [1.8, 1.8, 6]
		gap_mm: 10
		layers: 1
		${readout:-readout: head}
		voxels_per_pitch: [2, 2]
		planes: 3
		plane_mm: 2
	END
}
scanner s.yaml
info() { run info --json "$1"; }

# ---- parts, the whole, and a run that goes on, byte for byte but for the command ----
table() { # FILE: rows of the table
	run srm "$1" --share 0.9 --export "${1%.srm}.npy" -o cut.srm --force
}
run srm s.yaml --pairs 60000 -o whole.srm
err_has '6e+04 pairs in each of 2 voxels'
run srm s.yaml --pairs 20000 -o a.srm
run srm s.yaml --pairs 40000 --first 20000 --threads 1 -o b.srm
run srm a.srm --add b.srm -o ab.srm
run srm s.yaml --pairs 20000 -o c.srm
run srm s.yaml --continue --pairs 60000 -o c.srm
for name in whole ab c; do table $name.srm; done
same whole.npy ab.npy
same whole.npy c.npy
info whole.srm
cp out whole.json
info ab.srm
cp out ab.json
check "one range of pairs" <<'PY'
import json
whole, ab = (json.load(open(n + ".json"))[0] for n in ("whole", "ab"))
for key in "runs", "elements", "noise", "lost_share", "least_weight", "pairs", "storage_bytes":
    if whole[key] != ab[key]:
        raise SystemExit(f"{key}: {whole[key]} and {ab[key]}")
if whole["runs"] != [{"seed": 1, "first": 0, "n": 60000}] or whole["pairs"] != 120000:
    raise SystemExit(f"runs {whole['runs']}")
if whole["symmetry"] != "all" or not 0.75 < whole["kept_share"] <= 1:
    raise SystemExit(f"symmetry {whole['symmetry']}, kept {whole['kept_share']}")
PY
expect 2 srm a.srm --add a.srm -o aa.srm
err_has 'a.srm: srm: pairs 0 to 19999 of seed 1 are in it already'
run srm s.yaml --seed 2 --pairs 10000 -o d.srm
run srm a.srm --add b.srm,d.srm -o abd.srm
info abd.srm
out_has '"seed": 2'

# ---- an interrupted run keeps its rounds, and goes on to the matrix of an unbroken one ----
"$ISOTOME" srm s.yaml --pairs 4e8 -o stopped.srm >out 2>err &
sleep 3
kill -INT $!
code=0
wait $! || code=$?
[ "$code" = 130 ] || fail "an interrupted run ends with $code"
err_has 'pairs a voxel; the matrix so far is in stopped.srm'
info stopped.srm
pairs=$("$PYTHON" -c 'import json; print(json.load(open("out"))[0]["pairs_a_voxel"])')
more=$((pairs + 5000))
run srm s.yaml --continue --pairs $more -o stopped.srm
run srm s.yaml --pairs $more -o unbroken.srm
table stopped.srm
table unbroken.srm
same stopped.npy unbroken.npy

# ---- bounds, a final matrix ----
run srm whole.srm --share 0.5 -o half.srm
run srm whole.srm --per-column 50 --max-offset 2 --final -o final.srm
info half.srm
check "half of the sensitivity" <<'PY'
import json
kept = json.load(open("out"))[0]["kept_share"]
if not 0.5 <= kept < 0.53:
    raise SystemExit(f"kept {kept}")
PY
expect 2 srm final.srm --add a.srm -o x.srm
err_has "can't be added"
expect 2 srm final.srm --share 0.9 -o x.srm
err_has "can't be changed"
expect 2 srm final.srm --pairs 1e6 -o x.srm
err_has "can't be continued"

# ---- rows out and in ----
run srm s.yaml --analytic --share 1 --export rows.npy -o analytic.srm
run srm s.yaml --import rows.npy --share 1 --export again.npy -o imported.srm
same rows.npy again.npy
check "rows" <<'PY'
import numpy as np
r = np.load("rows.npy").astype(float)
if r.shape[1] != 8 or r[:, 0].max() != 1 or r[:, 1].max() != 0 or r[:, 2].max() != 0:
    raise SystemExit(f"folded columns: {r[:, :3].max(0)}")
spread = [np.maximum(np.maximum(r[:, 3 + i], r[:, 5 + i]), 0)
          - np.minimum(np.minimum(r[:, 3 + i], r[:, 5 + i]), 0) for i in (0, 1)]
if spread[0].max() != 3 or spread[1].max() != 5:
    raise SystemExit("an element fits no place")
if not (r[:, 7] > 0).all():
    raise SystemExit("weights")
PY

# ---- noise wanted; the swap switches itself off ----
run srm s.yaml --until-counts 300 --json -o until.srm
check "counts" <<'PY'
import json
m = json.load(open("out"))["results"]["matrix"]
if not 300 <= m["core_counts"] < 400:
    raise SystemExit(f"core has {m['core_counts']} counts")
PY
pitch_z=2.4 scanner z.yaml
run srm z.yaml --pairs 1000 -o z.srm
info z.srm
out_has '"symmetry": "mirror"'
expect 2 srm a.srm --add z.srm -o x.srm
err_has 'different scanners'

# ---- refusals, one line each ----
expect 2 srm z.yaml --symmetry all -o x.srm
err_has "x and z can't be swapped: pitch 2 and 2.4"
readout=$'block: 2\n\t\treadout: block' scanner block.yaml
sed -i 's/^\t*//' block.yaml
expect 2 srm block.yaml -o x.srm
err_has 'readout by block'
expect 2 srm s.yaml --pairs 1 -o x.srm
err_has 'x.srm: the matrix has no elements'
expect 2 srm s.yaml --share 1.5 -o x.srm
expect 2 srm s.yaml --share 0.5 --per-column 7 -o x.srm
expect 2 srm s.yaml --analytic --pairs 7 -o x.srm
err_has '--pairs is of photon transport'
expect 2 srm a.srm --seed 7 -o x.srm
expect 2 srm s.yaml -o x.npy
err_has 'a system matrix is a .srm file'
expect 2 srm s.yaml -o a.srm
err_has 'exists'
expect 2 srm "$SOURCE/examples/scanners/bialas2015.yaml" -o x.srm
err_has 'kind: panels'
expect 2 srm s.yaml --positron Fe-55 -o x.srm
head -c 2500 whole.srm >short.srm
expect 3 info short.srm
err_has '2500 bytes long'
expect 3 srm short.srm -o x.srm
[ ! -e x.srm ] || fail "a refused run left a file"
run srm "$SOURCE/examples/scanners/meng2019.yaml" --dry-run -o x.srm
out_has 'counts of all voxels'
