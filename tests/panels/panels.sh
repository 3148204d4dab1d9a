#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Pairs of panels: what info says of them, and what the commands of other scanners make of them.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

run info --json "$SOURCE/examples/scanners/meng2019.yaml"
cp out meng.json
run info --json "$SOURCE/examples/scanners/chou2012-two-layers.yaml"
cp out chou.json
check "sizes of the papers, mu of xraylib's tables" <<'END'
import json
meng, chou = (json.load(open(f)) for f in ("meng.json", "chou.json"))
meng, chou = (o[0] if isinstance(o, list) else o for o in (meng, chou))
assert meng["crystals_per_head"] == [26, 52] and meng["lors"] == 1827904
assert meng["directions"] == {"signed": 5253, "unsigned": 1352, "pairs of layers": 1}
assert chou["directions"] == {"signed": 29601, "unsigned": 7488, "pairs of layers": 4}
assert chou["lors"] == 224280576 and chou["grid"]["n"] == [416, 119, 288]
m, l = meng["material"], chou["material"]
assert abs(m["mu_511_per_mm"] - 0.0818) < 1e-4 and abs(m["length_mm"] - 12.2) < 0.05, m
assert abs(m["photo_per_mm"] + m["compton_per_mm"] - 0.077365) < 4e-5, m
assert abs(l["mu_511_per_mm"] - 0.0868) < 1e-4 and abs(l["length_mm"] - 11.5) < 0.05, l
assert not meng["warnings"] and not chou["warnings"]
END
run info "$SOURCE/examples/scanners/meng2019.yaml"
out_has "Lu1.8Y0.2SiO5"

cat >heads.yaml <<-END
	kind: panels
	crystals: [6, 8]
	pitch_mm: [3, 2]
	crystal_mm: [2.5, 2, 20]
	gap_mm: 40
	planes: 10
	plane_mm: 4
	time: {coincidence_ns: 4}
END
grid=(--scanner heads.yaml --grid 11,10,7 --voxel 1.5,4,2)
run sens ray "${grid[@]}" -o s.npy -q
check "sensitivity has the symmetry of the heads, and pairs of crystals as events" <<'END'
import numpy as np
s = np.load("s.npy").astype(float)
for axis in range(3):
    assert np.abs(s - np.flip(s, axis)).max() < 1e-4 * s.max(), axis
assert s.min() > 0
u, l = np.meshgrid(np.arange(48), np.arange(48, 96), indexing="ij")
np.save("events.npy", np.stack([u.ravel(), l.ravel()], 1).astype(np.uint32))
np.save("ones.npy", np.ones(48 * 48, np.float32))
END
run backproject ray "${grid[@]}" --events events.npy ones.npy -o b.npy -q
check "every pair once is the sensitivity" <<'END'
import numpy as np
s, b = np.load("s.npy").astype(float), np.load("b.npy").astype(float)
assert np.abs(s - b).max() < 1e-4 * s.max(), np.abs(s - b).max()
END
run recon ray "${grid[@]}" --events events.npy --iterations 2 -o plain.npy -q
run recon ray "${grid[@]}" --events events.npy --delayed events.npy --iterations 2 -o x.npy -q
check "counts, all of them trues, or as many randoms as there are events" <<'END'
from checks import *
events = [record(f + ".npy.json")["results"]["events"] for f in ("plain", "x")]
used, sums = events[0]["used"], [e["sum_of_sensitivity_times_image"] for e in events]
near("without randoms", sums[0], used, 1e-3 * used)
require(0 < sums[1] < .9 * used, f"with randoms {sums[1]} of {used}")
END

expect 2 recon ray "${grid[@]}" --events events.npy --rays 4 --iterations 2 -o y.npy
err_has "a pair of panels"
expect 2 convert events.npy e.Cdh --scanner heads.yaml
err_has "CASToR"
run phantom point --grid 4 --voxel 2 -o p.nii -q
expect 2 simulate heads.yaml p.nii --counts 10 -o e.lmdT
err_has "add --physics"

sed 's/formula.*//; $a material: {formula: LYSO, density: 7}' heads.yaml >bad.yaml
expect 3 info bad.yaml
err_has "no known element"
echo "panels: passed"
