#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome norm of a ring, from end to end: events of crystals with efficiencies, dead ones and randoms are simulated; the
# efficiencies and the place of the source are found again within their errors, and recon and sens take them; what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

cat >ring.yaml <<'END'
kind: cylinder
radius_mm: 80
rings: 4
ring_pitch_mm: 6
crystals_per_ring: 48
crystal_mm: [9.5, 6, 10]
block: {crystals: 6, gap_mm: 1, rings: 2}
min_crystal_distance: 8
END
cat >source.yaml <<'END'
shapes:
  - {type: cylinder, centre_mm: [1.5, -1, 0], radius_mm: 45, length_mm: 40, activity: 1, mu_per_mm: 0.0096}
END
run phantom source.yaml -o source.nii --mu mu.nii --voxel 2,2,2
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


def efficiencies():
    draw = random.Random(3)
    eps = [max(.3, draw.gauss(1, .15)) for _ in range(192)]
    eps[17] = eps[100] = 0
    return eps
END
check "efficiencies" <<'END'
import sys
sys.path.insert(0, ".")
import arrays
arrays.write("eps.npy", arrays.efficiencies())
END
counts=$(size 1000000 200000)
run simulate ring.yaml source.nii --mu mu.nii --counts "$counts" --norm eps.npy --randoms 0.2 --delayed late.lmdT -o e.lmdT
run norm ring.yaml e.lmdT --source cylinder:0,0,0,45,40 --mu mu.nii --delayed late.lmdT --relative --threads 1 -o a.norm.json
run norm ring.yaml e.lmdT --source cylinder:0,0,0,45,40 --mu mu.nii --delayed late.lmdT --relative --threads 3 --resume -o b.norm.json
[ ! -e b.norm.json.ckpt ] || fail "a checkpoint is left of a fit that came to its end"
same a.crystals.npy b.crystals.npy
same a.sd.npy b.sd.npy

# Pulls are 1 on average: of 190 crystals their rms is within 0.05 of it, three times of that is allowed. The first harmonic
# belongs to the source's place.
check "efficiencies found" <<'END'
import json
import math
import sys
sys.path.insert(0, ".")
import arrays

true, found, sd = arrays.read("eps.npy"), arrays.read("a.crystals.npy"), arrays.read("a.sd.npy")
norm = json.load(open("a.norm.json"))
assert norm["dead"] == [17, 100], norm["dead"]
alive = [a for a in range(192) if true[a] > 0]
scale = sum(true[a] for a in alive) / sum(found[a] for a in alive)
off = {a: scale * found[a] / true[a] - 1 for a in alive}
for wave in (math.cos, math.sin):
    turn = {a: wave(2 * math.pi * (a % 48 + .5) / 48) for a in alive}
    part = sum(off[a] * turn[a] for a in alive) * 2 / len(alive)
    off = {a: off[a] - part * turn[a] for a in alive}
pulls = [off[a] / sd[a] for a in alive]
rms = math.sqrt(sum(p * p for p in pulls) / len(pulls))
assert .85 < rms < 1.2, rms
assert max(map(abs, pulls)) < 5.5
for place, error, want in zip(norm["place_mm"], norm["place_sd_mm"], (1.5, -1)):
    assert abs(place - want) < 4 * error < 1.5, (place, error)
chi2 = norm["chi2"]
assert abs(chi2["mean"] - chi2["expected"]) < 4 * chi2["sd"], chi2
END

# The norm is what reconstruction takes, with the weight that it was made with: as the same efficiencies from an array.
sed 's/min_crystal_distance: 8/&\npair_weight: solid-angle/' ring.yaml >weighted.yaml
grid=(--grid 12,12,4 --voxel 8,8,6)
run sens ray --scanner ring.yaml --norm a.norm.json "${grid[@]}" -o s1.npy
run sens ray --scanner weighted.yaml --norm a.crystals.npy "${grid[@]}" -o s2.npy
same s1.npy s2.npy
run recon ray e.lmdT --scanner ring.yaml --norm a.norm.json --mu mu.nii --iterations 2 "${grid[@]}" -o x1.npy
err_has "weighted by solid angle"
run recon ray e.lmdT --scanner weighted.yaml --norm a.crystals.npy --mu mu.nii --iterations 2 "${grid[@]}" -o x2.npy
same x1.npy x2.npy

# Factors of pairs: m of two crystals in the sensitivity and in the events; here they are 1 within their errors.
run norm ring.yaml e.lmdT --source cylinder:0,0,0,45,40 --mu mu.nii --delayed late.lmdT --relative \
	--components crystal,transaxial,axial -o all.norm.json
run recon ray e.lmdT --scanner ring.yaml --norm all.norm.json --mu mu.nii --iterations 2 "${grid[@]}" -o x3.npy
check "factors of pairs" <<'END'
import sys
sys.path.insert(0, ".")
import arrays

t, z = arrays.read("all.transaxial.npy"), arrays.read("all.axial.npy")
assert len(t) == 59 and len(z) == 10, (len(t), len(z))
assert all(.8 < v < 1.2 for v in z), z
one, two = arrays.read("x1.npy"), arrays.read("x3.npy")
assert one != two
assert abs(sum(one) / sum(two) - 1) < .05, (sum(one), sum(two))
END

# Events with factors of pairs: the fit finds the factors again.
check "strong axial factors" <<'END'
import sys
sys.path.insert(0, ".")
import arrays

z = arrays.read("all.axial.npy")
arrays.write("strong.axial.npy", [.3 + .7 * i / (len(z) - 1) for i in range(len(z))])
for name in ("crystals", "sd", "transaxial"):
    open("strong.%s.npy" % name, "wb").write(open("all.%s.npy" % name, "rb").read())
open("strong.norm.json", "w").write(open("all.norm.json").read().replace('"all.', '"strong.'))
END
run simulate ring.yaml source.nii --mu mu.nii --counts "$(size 400000 100000)" --norm strong.norm.json --seed 9 -o thin.lmdT
grep -q '"thinned_by_pair_factors": [1-9]' thin.lmdT.json || fail "the record does not tell how many events were thinned out"
run simulate ring.yaml source.nii --mu mu.nii --counts "$(size 400000 100000)" --norm strong.norm.json --seed 9 --threads 1 -o again.lmdT
same thin.lmdT again.lmdT
run norm ring.yaml thin.lmdT --source cylinder:0,0,0,45,40 --mu mu.nii --relative --components crystal,transaxial,axial -o found.norm.json
check "the factors that thinned the events" <<'END'
import json
import sys
sys.path.insert(0, ".")
import arrays



def rings(name):  # m of each pair of rings; what is common to a ring's pairs may be in its crystals
    eps, z = arrays.read(name + ".crystals.npy"), arrays.read(name + ".axial.npy")
    mean = [sum(eps[48 * i : 48 * i + 48]) / 48 for i in range(4)]
    keys = json.load(open(name + ".norm.json"))["axial"]["keys"]
    return [mean[key // 4] * mean[key % 4] * z[i] for i, key in enumerate(keys)]


ratio = [f / t for f, t in zip(rings("found"), rings("strong"))]
mean = sum(ratio) / len(ratio)
assert all(abs(r / mean - 1) < .1 for r in ratio), ratio
END

# A PETSIRD file with the norm in its header: the same image from the file alone.
run simulate ring.yaml source.nii --mu mu.nii --counts "$(size 200000 50000)" --norm strong.norm.json --tof-fwhm-ps 0 --seed 9 -o flat.lmdT
run convert flat.lmdT flat.petsird --scanner ring.yaml --norm strong.norm.json
run convert flat.lmdT weighted.petsird --scanner weighted.yaml --norm strong.norm.json
! grep -q "no place for pair_weight" err || fail "the weight is in the efficiencies"
run recon ray flat.petsird --mu mu.nii --iterations 2 "${grid[@]}" -o p1.npy
run recon ray flat.lmdT --scanner ring.yaml --norm strong.norm.json --mu mu.nii --iterations 2 "${grid[@]}" -o p2.npy
run recon ray flat.lmdT --scanner weighted.yaml --mu mu.nii --iterations 2 "${grid[@]}" -o p3.npy
check "an image by the efficiencies of a PETSIRD file" <<'END'
import sys
sys.path.insert(0, ".")
import arrays

one, two, without = (arrays.read(name) for name in ("p1.npy", "p2.npy", "p3.npy"))
most = max(two)
assert max(abs(a - b) for a, b in zip(one, two)) < 2e-3 * most, max(abs(a - b) for a, b in zip(one, two)) / most
assert max(abs(a / sum(without) - b / sum(two)) for a, b in zip(without, two)) > .05 * most / sum(two)
END

# A normalisation file of CASToR and back: the same m of every pair, the same image. Events on lines that it does not list
# count nothing.
run convert all.norm.json castor.Cdh --scanner ring.yaml
check "normalisation file of CASToR" <<'END'
import json
import struct
import sys
sys.path.insert(0, ".")
import arrays

eps, t, z = (arrays.read("all.%s.npy" % name) for name in ("crystals", "transaxial", "axial"))
norm = json.load(open("all.norm.json"))
of_t = {key: t[i] for i, key in enumerate(norm["transaxial"]["keys"])}
of_z = {key: z[i] for i, key in enumerate(norm["axial"]["keys"])}


def key(x, y):
    i = x % 6
    return i * 48 + (y - (x - i)) % 48


data = open("castor.Cdf", "rb").read()
lines = set()
for at in range(0, len(data), 12):
    factor, a, b = struct.unpack("<fII", data[at:at + 12])
    x, y = a % 48, b % 48
    k = min(key(x, y), key(y, x), key(47 - x, 47 - y), key(47 - y, 47 - x))
    rings = sorted((a // 48, b // 48))
    m = eps[a] * eps[b] * of_t[k] * of_z[rings[0] * 4 + rings[1]]
    assert abs(m * factor - 1) < 1e-6, (a, b, m, factor)
    lines.add((a, b))
head = dict(line.split(": ") for line in open("castor.Cdh").read().splitlines())
assert head["Data mode"] == "normalization" and int(head["Number of events"]) == len(lines), head
# each crystal has 33 partners in every ring; the two dead ones are a pair too
assert len(lines) == 4 * 24 * 33 + 6 * 48 * 33 - 2 * 4 * 33 + 1, len(lines)
with open("few.Cdf", "wb") as f:
    f.write(data[:12 * 5000])
with open("few.Cdh", "w") as f:
    f.write(open("castor.Cdh").read().replace("castor.Cdf", "few.Cdf").replace(str(len(lines)), "5000"))
for name, bytes_ in (("twice", data[:24] + data[:12]), ("dark", struct.pack("<fII", 0, 0, 24)),
                     ("near", struct.pack("<fII", 1, 0, 1)), ("high", struct.pack("<fII", 1, 0, 192))):
    open(name + ".Cdf", "wb").write(bytes_)
    with open(name + ".Cdh", "w") as f:
        f.write(open("castor.Cdh").read().replace("castor.Cdf", name + ".Cdf")
                .replace(str(len(lines)), str(len(bytes_) // 12)))
END
run recon ray e.lmdT --scanner weighted.yaml --norm castor.Cdh --mu mu.nii --iterations 2 "${grid[@]}" -o x4.npy
run measure rmse x3.npy x4.npy --below 1e-6
run sens ray --scanner weighted.yaml --norm few.Cdh "${grid[@]}" -o few.npy
run recon ray e.lmdT --scanner weighted.yaml --norm few.Cdh --mu mu.nii --iterations 2 "${grid[@]}" -o x5.npy
err_has "meet no activity and are left out"
check "lines that are not there" <<'END'
import sys
sys.path.insert(0, ".")
import arrays
assert 0 < sum(arrays.read("few.npy")) < .9 * sum(arrays.read("s2.npy"))
END
for bad in twice:"come a second time" dark:"must be above 0" near:"are no pair of scanner" high:"scanner ring has 192"; do
	expect 3 sens ray --scanner ring.yaml --norm "${bad%%:*}.Cdh" "${grid[@]}" -o no.npy
	err_has "${bad#*:}"
done
expect 2 convert all.norm.json no.Cdh
err_has "needs --scanner"
expect 2 convert all.norm.json no.npy --scanner ring.yaml
err_has "a norm is written as .Cdh"
expect 3 recon ray castor.Cdh --scanner ring.yaml "${grid[@]}" --iterations 1 -q -o no.npy
err_has "Data mode is 'normalization'"

# An image as source says the same as the shape, and a given place leaves out the fit.
run norm ring.yaml e.lmdT --source source.nii --mu mu.nii --delayed late.lmdT --relative --place given -o i.norm.json
run norm ring.yaml e.lmdT --source cylinder:1.5,-1,0,45,40 --mu mu.nii --delayed late.lmdT --relative --place given -o c.norm.json
! grep -q "rather lies" err || fail "the source is where it was said"
# Little memory: events in pieces and no tables of pairs, and the same files.
run norm ring.yaml e.lmdT --source cylinder:1.5,-1,0,45,40 --delayed late.lmdT --place given -o whole.norm.json
run norm ring.yaml e.lmdT --source cylinder:1.5,-1,0,45,40 --delayed late.lmdT --place given --memory-limit "$(size .012 .0078)" -o pieces.norm.json
err_has "events are read in pieces"
same whole.crystals.npy pieces.crystals.npy
same whole.sd.npy pieces.sd.npy
run norm ring.yaml e.lmdT --source cylinder:0,0,0,45,40 --mu mu.nii --delayed late.lmdT --place given -o o.norm.json
err_has "the source of scan 1 rather lies +1."
check "image as source" <<'END'
import sys
sys.path.insert(0, ".")
import arrays

one, two, sd = (arrays.read(name) for name in ("i.crystals.npy", "c.crystals.npy", "c.sd.npy"))
worst = max(abs(a / b - 1) / s for a, b, s in zip(one, two, sd) if b > 0)
assert worst < 1, worst
END

solid_ring >other.yaml
expect 3 recon ray e.lmdT --scanner other.yaml --norm a.norm.json "${grid[@]}" --iterations 1 -q -o no.npy
err_has "is a norm of a scanner of 192 crystals"
sed 's/radius_mm: 80/radius_mm: 81/' ring.yaml >wide.yaml
expect 3 sens ray --scanner wide.yaml --norm a.norm.json "${grid[@]}" -o no.npy
err_has "is a norm of another scanner"
expect 3 simulate ring.yaml source.nii --pair-factors a.norm.json -o no.lmdT
err_has "has no factors of pairs"
expect 2 simulate ring.yaml source.nii --norm all.norm.json --randoms 0.2 --duration-s 10 --singles no.npy -o no.lmdT
err_has "write delayeds with --delayed"
[ ! -e no.npy ] && [ ! -e no.lmdT ] || fail "a refused simulation left files"
run simulate ring.yaml source.nii --norm a.norm.json --counts 1000 --randoms 0.2 --duration-s 10 --singles s.npy -o s.lmdT
expect 2 simulate ring.yaml source.nii --norm all.norm.json --pair-factors all.norm.json -o no.lmdT
err_has "both bring factors of pairs"
expect 2 convert e.lmdT no.Cdh --scanner ring.yaml --norm a.norm.json
err_has "has no place for a norm"
expect 2 convert e.lmdT no.petsird --norm a.norm.json
err_has "--norm needs --scanner"
expect 2 norm ring.yaml e.lmdT -o no.norm.json
err_has "--source is missing"
expect 2 norm ring.yaml e.lmdT --source cylinder:0,0,0,45 -o no.norm.json
err_has "expected 5 numbers"
expect 2 norm ring.yaml e.lmdT --source cylinder:0,0,0,45,40 --components crystal,block -o no.norm.json
err_has "--components is 'crystal,block'"
expect 2 norm ring.yaml e.lmdT --source cylinder:0,0,0,45,40 --place here -o no.norm.json
err_has "--place is 'here'"
expect 2 norm ring.yaml e.lmdT --source cylinder:0,0,0,45,40 --expected eps.npy -o no.norm.json
err_has "--expected is of two panels"
expect 2 norm ring.yaml e.lmdT --source cylinder:0,0,0,45,40 -o no.npy
err_has "--source is of rings"
expect 3 norm ring.yaml e.lmdT --source cylinder:0,0,900,45,40 -o no.norm.json
err_has "outside the scanner's pairs"
expect 3 norm ring.yaml e.lmdT --source cylinder:0,0,0,20,40 --delayed late.lmdT -q -o no.norm.json
err_has "whose lines miss the source"
expect 3 norm ring.yaml e.lmdT --source cylinder:0,0,0,45,40 --mask eps.npy -o no.norm.json
err_has "must be 0 or 1"
expect 2 norm ring.yaml e.lmdT --source cylinder:0,0,0,45,40 -o a.norm.json
err_has "a.norm.json exists"
[ ! -e no.norm.json ] && [ ! -e no.norm.json.ckpt ] && [ ! -e no.crystals.npy ] && [ ! -e no.npy ] || fail "a refused run left files"
