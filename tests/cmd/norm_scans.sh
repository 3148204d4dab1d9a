#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome norm of a ring from several scans, and with scatter in its model.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

cat >ring.yaml <<'END'
kind: cylinder
radius_mm: 80
rings: 2
ring_pitch_mm: 6
crystals_per_ring: 48
crystal_mm: [9.5, 6, 10]
min_crystal_distance: 8
END
cat >arrays.py <<'END'
import random
import struct


def write(path, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack("<%df" % len(values), *values))


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    at = 10 + struct.unpack("<H", data[8:10])[0]
    kind, size = ("f", 4) if b"<f4" in data[:at] else ("d", 8)
    return struct.unpack("<%d%s" % ((len(data) - at) // size, kind), data[at:])
END
check "efficiencies" <<'END'
import random
import sys
sys.path.insert(0, ".")
import arrays
draw = random.Random(3)
eps = [max(.3, draw.gauss(1, .15)) for _ in range(96)]
eps[17] = 0
arrays.write("eps.npy", eps)
END
# Two scans in one fit: both have the same factors, and each a place and a scale of its own. A cylinder on the left and one on
# the right fix what neither fixes alone, and errors are smaller than those of one.
half=$(size 100000 40000)
for side in -25 25; do
	cat >side.yaml <<END
shapes:
  - {type: cylinder, centre_mm: [$side, 0, 0], radius_mm: 25, length_mm: 20, activity: 1, mu_per_mm: 0.0096}
END
	run phantom side.yaml -o "side$side.nii" --mu "mu$side.nii" --voxel 2,2,2
	run simulate ring.yaml "side$side.nii" --counts "$half" --norm eps.npy --randoms 0.1 --delayed "late$side.lmdT" -o "e$side.lmdT"
done
left=cylinder:-25,0,0,25,20 right=cylinder:25,0,0,25,20
run norm ring.yaml e-25.lmdT --source "$left" --delayed late-25.lmdT --relative -o left.norm.json
run norm ring.yaml e-25.lmdT,e25.lmdT --source "$left,$right" --delayed late-25.lmdT,late25.lmdT --relative -o both.norm.json
run norm ring.yaml e-25.lmdT,e25.lmdT --source "$left,side25.nii" --delayed late-25.lmdT,late25.lmdT --relative -o image.norm.json
check "two scans" <<'END'
import json
import math
import sys
sys.path.insert(0, ".")
import arrays

true = arrays.read("eps.npy")
one, two, image = (json.load(open(name + ".norm.json")) for name in ("left", "both", "image"))
assert abs(two["counts"] / image["counts"] - 1) < .1
assert two["counts"] > 1.8 * one["counts"] and two["mean_sd"] < .75 * one["mean_sd"], (one["mean_sd"], two["mean_sd"])
assert two["harmonics"]["error"][1] < .75 * one["harmonics"]["error"][1]
found, sd, other = arrays.read("both.crystals.npy"), arrays.read("both.sd.npy"), arrays.read("image.crystals.npy")
alive = [a for a in range(96) if true[a] > 0]
scale = sum(true[a] for a in alive) / sum(found[a] for a in alive)
pulls = [(scale * found[a] / true[a] - 1) / sd[a] for a in alive]
rms = math.sqrt(sum(p * p for p in pulls) / len(pulls))
assert .78 < rms < 1.22, rms  # of 95: within 0.07, three times of that
assert max(abs(other[a] / found[a] - 1) / sd[a] for a in alive) < 1.5
END
expect 2 norm ring.yaml e-25.lmdT,e25.lmdT --source "$left" -o no.norm.json
err_has "--source names 1 sources, expected one for each of 2"
expect 2 norm ring.yaml e-25.lmdT --source "$left" --delayed late-25.lmdT,late25.lmdT -o no.norm.json
err_has "--delayed names 2 files"

# Scatter is a part of what a pair expects, and is told.
sed 's/min_crystal_distance.*/&\nenergy: {window_kev: [435, 650], resolution: 0.11}/' ring.yaml >window.yaml
one=(e-25.lmdT --source "$left" --delayed late-25.lmdT --relative --place given)
run norm window.yaml "${one[@]}" --mu mu-25.nii --scatter sss -o s.norm.json
err_has "of them scattered"
run norm ring.yaml "${one[@]}" --mu mu-25.nii -o p.norm.json
check "scatter" <<'END'
import json
with_it, without = (json.load(open(name + ".norm.json")) for name in "sp")
assert .005 < with_it["scattered"] / with_it["counts"] < .3 and without["scattered"] == 0, with_it["scattered"]
END
expect 2 norm window.yaml "${one[@]}" --scatter sss -o no.norm.json
err_has "--scatter needs --mu"
expect 2 norm ring.yaml "${one[@]}" --mu mu-25.nii --scatter sss -o no.norm.json
err_has "does not say which energies it counts"
expect 2 norm window.yaml "${one[@]}" --scatter-error .1 -o no.norm.json
err_has "--scatter-error"
[ ! -e no.norm.json ] || fail "a refused run left files"
