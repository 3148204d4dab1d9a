#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Two heads that turn, by their system matrix: a histogram an angle, from files or one file, its weights, attenuation,
# the transpose, methods, and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >heads.yaml <<END
kind: panels
crystals: [8, 4]
pitch_mm: [3.0, 3.0]
crystal_mm: [2.8, 2.8, 6]
gap_mm: 24
layers: 1
voxels_per_pitch: [1, 1]
planes: 8
plane_mm: 3
END
printf 'time_s,angle_deg\n0,0\n10,90\n30,nan\n35,20\n' >turns.csv
printf 'time_s,angle_deg\n0,0\n10,90\n35,20\n' >three.csv
printf 'time_s,angle_deg\n0,90\n' >one.csv
printf 'time_s,angle_deg\n0,nan\n10,nan\n' >none.csv
printf 'time_s,angle_deg\n0,0\n10,left\n' >word.csv
run srm heads.yaml --analytic --share 1 -o m.srm

check "images" <<'END'
import numpy as np
rng = np.random.default_rng(7)
x = rng.random((4, 8, 8))
mu = 0.01 * rng.random((4, 8, 8))
np.save("x.npy", x)
np.save("mu.npy", mu)
# (x, y) of the heads at 90 degrees is (-y, x) of the object: the object as heads that stand see it
turned = lambda a: np.array([[[a[k, x, 7 - y] for x in range(8)] for y in range(8)] for k in range(4)])
np.save("x90.npy", turned(x))
np.save("mu90.npy", turned(mu))
np.save("y.npy", rng.random((3, 8, 4, 8, 4)))
np.save("norm.npy", 0.5 + rng.random((8, 4, 8, 4)))
np.save("norms.npy", np.stack(3 * [np.load("norm.npy")]))
END

# ---- projections: the weights, and a quarter turn of the heads is a turn back of the object ----
turn=(--gantry turns.csv --duration-s 60 --threads 1)
run project srm x.npy --srm m.srm "${turn[@]}" --mu mu.npy -o turns.npy
run project srm x.npy --srm m.srm --mu mu.npy -o still.npy
run project srm x90.npy --srm m.srm --mu mu90.npy -o quarter.npy
run project srm x.npy --srm m.srm --gantry one.csv --mu mu.npy -o one.npy
run project srm x.npy --srm m.srm "${turn[@]}" -o bare.npy
run project srm x.npy --srm m.srm "${turn[@]}" --norm norm.npy -o normed.npy
run project srm x.npy --srm m.srm "${turn[@]}" --norm norms.npy -o normed_3.npy
run project srm x.npy --srm m.srm "${turn[@]}" --norm norm.npy,norm.npy,norm.npy -o normed_list.npy
same normed.npy normed_3.npy
same normed.npy normed_list.npy
run backproject srm y.npy --srm m.srm "${turn[@]}" --mu mu.npy -o back.npy
run backproject srm y.npy --srm m.srm "${turn[@]}" --mu mu.npy --threads 3 -o back_3.npy
same back.npy back_3.npy
run sens srm --srm m.srm "${turn[@]}" --mu mu.npy -o sens.npy
check "projections" <<'END'
import numpy as np
load = lambda name: np.load(name + ".npy").astype(float)
turns, still, quarter = load("turns"), load("still"), load("quarter")
def near(what, got, want, tolerance):
    off = abs(got - want).max() / abs(want).max()
    if not off < tolerance:
        raise SystemExit(f"{what}: off by {off}")
if turns.shape != (3, 8, 4, 8, 4):
    raise SystemExit(f"shape {turns.shape}")
near("no turn", turns[0], still * 10 / 55, 1e-6)    # the row of nan, 30 to 35 s, has no histogram
near("a quarter turn", turns[1], quarter * 20 / 55, 1e-5)
near("one angle", load("one")[0], quarter, 1e-5)
x, y = load("x"), load("y")
near("adjoint", (turns * y).sum(), (load("back") * x).sum(), 1e-5)
near("S f", (load("sens") * x).sum(), turns.sum(), 1e-5)
near("norm", load("normed"), load("norms") * load("bare"), 1e-6)
for k in range(3):
    np.save(f"h{k}.npy", np.random.default_rng(k).poisson(3e4 * turns[k]))
np.save("all.npy", np.stack([np.load(f"h{k}.npy") for k in range(3)]))
np.save("randoms.npy", np.full((3, 8, 4, 8, 4), 0.01))
np.save("r.npy", np.full((8, 4, 8, 4), 0.01))
np.save("one_each.npy", np.full((8, 4, 8, 4), 1))
np.save("ones.npy", np.full((3, 8, 4, 8, 4), 1))
np.save("all_less.npy", np.maximum(np.load("all.npy") - 1, 0))
END

# ---- images ----
image() { # ARGS...
	run recon srm --srm m.srm "${turn[@]}" --mu mu.npy --force "$@"
}
image --data h0.npy,h1.npy,h2.npy --iterations 8 -o list.npy
image --data all.npy --iterations 8 --threads 3 -o all_x.npy
same list.npy all_x.npy
run recon --srm m.srm --data h0.npy,h1.npy,h2.npy "${turn[@]}" --mu mu.npy --iterations 8 -o guessed.npy
same list.npy guessed.npy
run recon srm --like list.npy.json -o like.npy
same list.npy like.npy
run recon srm --srm m.srm --data all.npy --gantry three.csv --duration-s 60 --mu mu.npy --iterations 8 -o three_x.npy
image --data all.npy --iterations 8 --isotope O-15 -o decay.npy
image --data all.npy --method osem --subsets 4 --subset-rule mod --iterations 4 -o osem.npy
image --data all.npy --method lbfgs --penalty rdp:rel=0.2 --iterations 200 --tolerance 1e-7 -o lbfgs.npy
image --data all.npy --method svrg --subsets 2 --penalty rdp:rel=0.2 --iterations 400 --tolerance 1e-7 -o svrg.npy
image --data all.npy --additive randoms.npy --iterations 4 -o add.npy
image --data all.npy --additive r.npy,r.npy,r.npy --iterations 4 -o adds.npy
same add.npy adds.npy
late=(--delayed one_each.npy,one_each.npy,one_each.npy)
image --data all.npy "${late[@]}" --iterations 4 -o late.npy
image --data all.npy --additive ones.npy --iterations 4 -o ones_x.npy
same late.npy ones_x.npy
run recon srm --srm m.srm "${turn[@]}" --data all.npy "${late[@]}" --randoms subtract --iterations 4 -o less.npy
run recon srm --srm m.srm "${turn[@]}" --data all_less.npy --iterations 4 -o less_x.npy
run measure diff less.npy less_x.npy --below 1e-6
check "images of heads that turn" <<'END'
import json
import numpy as np
load = lambda name: np.load(name + ".npy").astype(float)
x, y, s = load("list"), load("all"), load("sens")
def near(what, got, want, tolerance):
    off = abs(got - want) / abs(want)
    if not off < tolerance:
        raise SystemExit(f"{what}: {got}, expected {want}")
near("S f = counts", (s * x).sum(), y.sum(), 1e-5)
if abs(load("three_x") - x).max() < 1e-3 * x.max():
    raise SystemExit("the time of the row of nan counts")
k = np.log(2) / 122.24    # O-15
mean = lambda a, b: (np.exp(-k * a) - np.exp(-k * b)) / k
want = np.array([mean(0, 10), mean(10, 30), mean(35, 60)]) / 55 / (mean(0, 60) / 60)
got = json.load(open("decay.npy.json"))["results"]["motion"]["weights"]
if not abs(np.array(got) - want).max() < 1e-4:
    raise SystemExit(f"weights {got}, expected {want}")
off = abs(load("osem") - load("list")).max() / x.max()
if not off < 0.6:
    raise SystemExit(f"osem is {off} from mlem")
a, b = load("lbfgs"), load("svrg")
off = abs(a - b).max() / a.max()
if not off < 2e-3:
    raise SystemExit(f"svrg and lbfgs differ by {off}")
END

# ---- a plan ----
run recon srm --srm m.srm --data all.npy "${turn[@]}" --dry-run -o no.npy
out_has 'image in a state, and back'
out_has 'sums of the transpose'

# ---- refused ----
bad() { # CODE TEXT ARGS...
	local code=$1 text=$2
	shift 2
	expect "$code" recon srm --srm m.srm -o bad.npy "$@"
	err_has "$text"
	[ ! -e bad.npy ] || fail "$text: an image was written"
}
bad 2 "h0.npy,h1.npy,h2.npy: 3 histograms, which need --gantry" --data h0.npy,h1.npy,h2.npy
bad 3 'h0.npy,h1.npy: 2 histograms, expected one for each of the 3 known rows of turns.csv' \
	--data h0.npy,h1.npy "${turn[@]}"
bad 3 'h0.npy: 1 histogram, expected one for each of the 3' --data h0.npy "${turn[@]}"
bad 3 'all.npy: shape (3, 8, 4, 8, 4), a histogram of LORs (8, 4, 8, 4) was expected' --data all.npy
bad 3 'h9.npy: No such file' --data h0.npy,h9.npy,h2.npy "${turn[@]}"
bad 3 'r.npy: 1 histogram, expected one for each' --data all.npy "${turn[@]}" --additive r.npy
bad 2 '--gantry needs --duration-s' --data all.npy --gantry turns.csv
bad 2 '--duration-s is 35, must be above 35' --data all.npy --gantry turns.csv --duration-s 35
bad 3 'none.csv: no row is known' --data all.npy --gantry none.csv --duration-s 35
bad 3 'word.csv: line 3, column 2 (angle_deg)' --data all.npy --gantry word.csv --duration-s 35
