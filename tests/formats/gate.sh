#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# GATE text: all its columns, those of ecat, and a mask; randoms and scattered pairs among the true
# ones; a point source where it is. The same of its ROOT files.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
# shellcheck source=events.bash
. "$SOURCE/tests/formats/events.bash"
need_python

"$PYTHON" - <<'END'
from point_source import *

n = 3000
e, other = Coincidences(n, 3), Coincidences(n, 4)
draw = np.random.default_rng(5)
kind = draw.choice(3, n, p=[.7, .15, .15])  # true, random, scattered
rows = np.zeros((n, 2, 18))
start = np.sort(draw.uniform(0, 60, n))  # s
for s, (p, t) in enumerate(((e.p1, e.t1), (e.p2, e.t2))):
    rows[:, s, 1] = np.arange(n)
    rows[:, s, 3:6] = SOURCE
    rows[:, s, 6] = start + t * 1e-12
    rows[:, s, 7] = .511
    rows[:, s, 8:11] = p
    rows[:, s, 16:18] = -1
    rows[:, s, 13] = rows[:, s, 15] = 1  # in the detector: no matter
turn = draw.permutation(n)
random, scattered = kind == 1, kind == 2
rows[random, 1, 1] += n
rows[random, 1, 8:11] = other.p2[turn][random]
rows[random, 1, 6] += draw.uniform(-1e-9, 1e-9, random.sum())
rows[scattered, 1, 12] = draw.integers(0, 3, scattered.sum())
rows[scattered, 0, 14] = rows[scattered, 1, 12] == 0  # Rayleigh, if not Compton
rows[scattered, 1, 8:11] += 5 * draw.normal(size=(scattered.sum(), 3))

write_gate("full.dat", rows)
write_gate("ecat.txt", rows, volumes=3)
mask = [1, 1, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0] * 2
write_gate("masked.dat", rows, mask, volumes=5)
bare = [0] * 8 + [1] * 3 + [0] * 7
write_gate("bare.txt", rows, bare * 2)
open("mask.txt", "w").write(" ".join(map(str, mask)))
open("bare.mask", "w").write(" ".join(map(str, bare * 2)))
want = np.hstack([rows[:, 0, 8:11], rows[:, 1, 8:11],
                  ((rows[:, 0, 6] - rows[:, 1, 6]) * 1e12)[:, None]])
np.save("want.npy", want)
np.save("true.npy", want[kind == 0])
np.save("ones.npy", np.ones(n, "<f4"))
with open("dirty.dat", "w") as f:  # a blank line, a cut one, one of letters, no end to the last
    lines = open("full.dat").read().splitlines()
    lines[10] = ""
    lines[20] = lines[20][:200]
    lines[30] = lines[30].replace(".", "x")
    f.write("\r\n".join(lines))
END

for file in full.dat ecat.txt; do
	run convert $file $file.npy
	run convert $file $file.true.npy --trues-only
	images $file ones.npy
done
run convert masked.dat masked.dat.npy --gate-mask "$(cat mask.txt)"
run convert masked.dat masked.dat.true.npy --gate-mask "$(cat mask.txt)" --trues-only
images masked.dat ones.npy --gate-mask "$(cat mask.txt)"
run convert bare.txt bare.npy --gate-mask "$(cat bare.mask)"
no_tof bare.txt ones.npy --gate-mask "$(cat bare.mask)"
run convert dirty.dat dirty.npy
err_has '2 lines can'
err_has 'first is line 21'
run convert full.dat swapped.npy --swap-dt
check "rows" <<'END'
from checks import *
want, true = np.load("want.npy"), np.load("true.npy")
# times of about 60 s in double: good to 0.01 ps
for name in "full.dat", "ecat.txt", "masked.dat":
    near(name, np.load(name + ".npy"), want, 2e-2)
    near(name + ", trues", np.load(name + ".true.npy"), true, 2e-2)
near("without times", np.load("bare.npy"), np.hstack([want[:, :6], 0 * want[:, 6:]]), 2e-5)
near("swapped", np.load("swapped.npy")[:, 6], -want[:, 6], 2e-2)
near("damaged", np.load("dirty.npy"), np.delete(want, [10, 20, 30], 0), 2e-2)
END
run info full.dat
out_has 'GATE text'
out_has 'time s            0.0'
run recon ray --events full.dat --trues-only "${grid[@]}" --sens none --iterations 2 \
	--tof-fwhm-ps 200 -o recon.nii
found tof recon.nii || fail "recon: $(cat found.txt)"

# ---- delayeds, which are no trues, and may come in another format ----
"$PYTHON" -c 'from point_source import *; open("ring.yaml", "w").write(RING_YAML)
r = np.random.default_rng(1)
c, d = r.integers(0, PER_RING, 90000), r.integers(40, 140, 90000)
z = r.integers(0, RINGS, (90000, 2)) * PER_RING
np.save("late.npy", np.stack([z[:, 0] + c, z[:, 1] + (c + d) % PER_RING], 1))'
delayed=(--scanner ring.yaml --tof-fwhm-ps 0 --sens none "${grid[@]}" --iterations 1)
run recon ray --events full.dat --trues-only "${delayed[@]}" --delayed full.dat --accept randoms \
	-o late.nii
run recon ray --events masked.dat --gate-mask "$(cat mask.txt)" "${delayed[@]}" --delayed late.npy \
	--accept randoms -o later.nii

# ---- refused ----
expect 3 convert masked.dat o.npy
err_has 'masked.dat:1: 26 columns, expected 46, or 40 for ecat; 3000 of 3000 lines'
expect 3 convert full.dat o.npy --gate-mask "$(cat mask.txt)"
expect 2 convert full.dat o.npy --gate-mask '1 1 0'
err_has 'gate_mask must be 18 switches'
expect 2 convert bare.txt o.npy --gate-mask "$(cat bare.mask)" --trues-only
err_has 'trues_only needs'
expect 2 convert bare.txt o.npy --gate-mask "$(tr 1 0 <bare.mask)"
err_has 'leaves out x, y or z'
[ ! -e o.npy ] || fail "o.npy was left"

# ---- ROOT: told, converted, reconstructed, also in pieces ----
data=$TEST_DATA/root

cat >root-ring.yaml <<END
kind: cylinder
radius_mm: 60
rings: 60
ring_pitch_mm: 4
crystals_per_ring: 96
END

run info "$data/coinc-zlib.root" --json
check "info" <<'END'
import json
o = json.load(open("out"))
o = o[0] if isinstance(o, list) else o
assert o["kind"] == "events" and o["format"] == "GATE ROOT" and o["events"] == 500 and o["bad"] == 0, o
assert abs(o["ends_mm"]["x"][1] - 60) < .01 and o["time_of_flight"], o
END

run convert "$data/coinc-zlib.root" all.npy
run convert "$data/coinc-zlib.root" trues.npy --trues-only
run convert "$data/two-trees.root" merged.npy --tree MergedCoincidences
check "converted" "$data/expected.npy" <<'END'
import sys
import numpy as np
want, got = np.load(sys.argv[1]), np.load("all.npy")
assert got.shape == (500, 7) and abs(got - want).max() < .01
assert len(np.load("trues.npy")) == 401 and len(np.load("merged.npy")) == 820
END
expect 3 convert "$data/two-trees.root" o.npy
err_has "its trees: Hits, MergedCoincidences"
expect 3 info "$data/ntuple.root"
err_has "RNTuple"
[ ! -e o.npy ] || fail "a file is left of a conversion that failed"

for tof in "" "--tof-fwhm-ps 200"; do
	# shellcheck disable=SC2086
	run recon ray --events "$data/coinc-zlib.root" --scanner root-ring.yaml --grid 31,31,31 --voxel 4 --iterations 5 \
		$tof -o x.nii --force
	check "the source, $tof" <<-'END'
	import nibabel
	import numpy as np
	i = nibabel.load("x.nii")
	x = i.get_fdata()
	top = nibabel.affines.apply_affine(i.affine, np.unravel_index(x.argmax(), x.shape))
	assert abs(top - (30, -15, 8)).max() < 4, top
	END
done
# too little memory to hold them: in pieces from the file
run recon ray --events "$data/coinc-zlib.root" --scanner root-ring.yaml --grid 31,31,31 --voxel 4 --iterations 5 \
	--tof-fwhm-ps 200 --stream -o streamed.nii
"$PYTHON" -c 'import nibabel, numpy; numpy.testing.assert_allclose(*(nibabel.load(n).get_fdata() for n in ("x.nii", "streamed.nii")), rtol=1e-5)' ||
	fail "streamed events give another image"
echo "all passed"
