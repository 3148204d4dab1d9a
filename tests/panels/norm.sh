#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Normalisation of two panels: a simulated flat source, thinned by known efficiencies, gives them
# back; what is told, warned of and refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >small.yaml <<'YAML'
kind: panels
crystals: [5, 8]
pitch_mm: [4, 3]
crystal_mm: [3.8, 3, 20]
gap_mm: 30
layers: 2
planes: 14
plane_mm: 2
voxels_per_pitch: [2, 2]
energy: {window_kev: [300, 700]}
YAML
sed 's/layers: 2/layers: 1/' small.yaml >single.yaml
"$PYTHON" -c 'import numpy as np
x = np.zeros((16, 14, 10), "f4"); x[:, 6:8, :] = 1
np.save("flat.npy", x)'
run simulate small.yaml flat.npy --physics --counts 4e5 --seed 1 -o ideal.npy
run simulate small.yaml flat.npy --physics --counts 2e5 --seed 2 -o whole.npy

# efficiencies from 0.6 to 1 thin the counts; three crystals are dead
check "thinning" <<'END'
from checks import *
rng = np.random.default_rng(3)
c = rng.uniform(.6, 1, (2, 2, 5, 8))
c[0, 0, 2, 3] = c[0, 1, 0, 0] = c[1, 0, 4, 7] = 0
n = np.einsum("axz,bij->abxzij", c[0], c[1])
y = rng.binomial(np.load("whole.npy").astype(int), n)
np.save("y.npy", y.astype("f4"))
np.save("c.npy", c)
np.save("n.npy", n)
END
run norm small.yaml y.npy --expected ideal.npy -o got.npy --crystals crystals.npy
err_has "dead crystals: 2 of the upper head, 1 of the lower"
run norm small.yaml y.npy --expected ideal.npy -o one.npy --threads 1 --json
same got.npy one.npy
check "efficiencies are not found again" <<'END'
from checks import *
c, n, y, e = np.load("c.npy"), np.load("n.npy"), np.load("y.npy"), np.load("ideal.npy")
got, crystals = np.load("got.npy"), np.load("crystals.npy")
require(got.shape == n.shape and crystals.shape == c.shape, f"{got.shape}, {crystals.shape}")
require(((crystals == 0) == (c == 0)).all() and ((got == 0) == (n == 0)).all(), "dead ones")
# both histograms are counted: a crystal's error is sqrt(1/counts + 1/expected)
live = c > 0
for head, axes in ((0, (1, 4, 5)), (1, (0, 2, 3))):
    sigma = np.sqrt(1 / np.maximum(y.sum(axes), 1) + 1 / e.sum(axes)).reshape(c[head].shape)
    off = crystals[head][live[head]] / c[head][live[head]]
    pull = (off / np.average(off, weights=sigma[live[head]] ** -2) - 1) / sigma[live[head]]
    require(np.abs(pull).max() < 5, f"head {head}: off by {np.abs(pull).max():.2f} sigma")
    near("rms pull", pull.std(), 1, .3)
near("sum", (got * e).sum(), y.sum(), 1e-4 * y.sum())
near("scale", got.sum() * 2, n.sum(), .01 * n.sum())
r = record("out")["results"]["norm"]
near("counts", [r["counts"], r["expected"]], [y.sum(), e.sum()], .5)
require(r["dead_crystals"] == [2, 1] and r["unseen_crystals"] == [0, 0], "dead crystals told")
near("spread", r["spread"], crystals[live].std() / crystals[live].mean(), 1e-4)
# the expected counts are noisy too
near("misfit", r["misfit"], 1 + y.sum() / e.sum(), .25)
END

run norm small.yaml ideal.npy --expected ideal.npy -o same.npy
run norm small.yaml ideal.npy --expected ideal.npy -o lor.npy --method lor
err_has "counts a LOR: n has errors of"
run norm small.yaml y.npy --expected ideal.npy -o relative.npy --relative --directions
check "factors of equal counts are not 1" <<'END'
from checks import *
near("by crystals", np.load("same.npy"), np.ones((2, 2, 5, 8, 5, 8)), 1e-5)
e, n = np.load("ideal.npy"), np.load("relative.npy")
near("per LOR", np.load("lor.npy"), e > 0, 0)
near("relative", (n * e).sum() / e[n > 0].sum(), 1, 1e-4)
END
run norm --like relative.npy.json -o like.npy
same like.npy relative.npy

check "other histograms" <<'END'
from checks import *
e = np.load("ideal.npy")
np.save("few.npy", np.floor(e / 4))
np.save("negative.npy", -e)
np.save("nan.npy", np.where(np.arange(e.size).reshape(e.shape) == 7, np.nan, e))
np.save("none.npy", 0 * e)
e[0, :, 3] = 0
np.save("stray.npy", e)
np.save("half.npy", e[0])
END
run norm small.yaml few.npy --expected ideal.npy -o few_n.npy
err_has "crystals have less than 1000 counts"
err_has "--relative keeps the differences alone"
expect 3 norm small.yaml half.npy --expected ideal.npy -o no.npy
err_has "half.npy: shape (2, 5, 8, 5, 8), a histogram of LORs (2, 2, 5, 8, 5, 8) was expected"
expect 3 norm single.yaml y.npy --expected ideal.npy -o no.npy
err_has "a histogram of LORs (5, 8, 5, 8) was expected"
expect 3 norm small.yaml negative.npy --expected ideal.npy -o no.npy
err_has "negative.npy"
expect 3 norm small.yaml y.npy --expected nan.npy -o no.npy
err_has "nan.npy"
expect 3 norm small.yaml none.npy --expected ideal.npy -o no.npy
err_has "no counts"
expect 3 norm small.yaml y.npy --expected stray.npy -o no.npy
err_has "in crystals where none are expected"
expect 3 norm small.yaml y.npy --expected stray.npy --method lor -o no.npy
err_has "in LORs where none are expected"
expect 2 norm small.yaml y.npy -o no.npy
err_has "--expected is missing"
expect 2 norm small.yaml y.npy --expected ideal.npy -o no.npy --method lor --directions
err_has "--directions needs --method crystal"
expect 2 norm small.yaml y.npy --expected ideal.npy -o no.npy --method lor --crystals k.npy
err_has "--crystals needs --method crystal"
expect 2 norm small.yaml y.npy --expected ideal.npy -o no.npy --crystals no.npy
err_has "are one file"
expect 2 norm small.yaml y.npy --expected ideal.npy -o got.npy
err_has "got.npy exists"
solid_ring >ring.yaml
expect 2 norm ring.yaml y.npy --expected ideal.npy -o no.npy
err_has "norm is for two panels"
run norm small.yaml y.npy --expected ideal.npy -o no.npy --dry-run
out_has "measured and expected counts"
[ ! -e no.npy ] || fail "a refused run wrote something"
echo "norm: passed"
