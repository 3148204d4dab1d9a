#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Simulated scans with all that corrections need: efficiencies, randoms, delayeds, singles, decay.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

solid_ring >ring.yaml
run phantom cylinder --grid '12,12,6' --voxel '8,8,8' -o x.nii --mu mu.nii
"$PYTHON" -c 'import numpy as np
np.save("eff.npy", (.3 + .7 * np.random.default_rng(1).random(1728)).astype("f4"))'

scan=(simulate ring.yaml x.nii --mu mu.nii --norm eff.npy --randoms 0.4 --bent 0.1
	--counts 300000 --duration-s 1200 --isotope C-11)
run "${scan[@]}" -o e.lmdT --delayed d.lmdT --singles s.npy
err_has 'e.lmdT: lmdT has no place for the times'
err_has 'd.lmdT: lmdT has no place for the times'
run "${scan[@]}" --threads 1 -o e1.lmdT --delayed d1.lmdT --singles s1.npy
same e.lmdT e1.lmdT
same d.lmdT d1.lmdT
same s.npy s1.npy

# the same events as rows of .npy, where the time difference has the other sign
run "${scan[@]}" -o rows.npy --delayed rows-d.npy
err_has 'rows.npy: npy has no place for the times'
check "rows of .npy" <<'END'
from checks import *
for npy, lmdt in ("rows.npy", "e.lmdT"), ("rows-d.npy", "d.lmdT"):
    a, b = np.load(npy), np.fromfile(lmdt, "<f4").reshape(-1, 7)
    b[:, 6] *= -1
    require(a.dtype == "<f4" and a.shape == b.shape and (a == b).all(), f"{npy}: other events than {lmdt}")
    require((a[:, 6] != 0).any(), "time differences")
END
expect 2 "${scan[@]}" -o e.nii
err_has 'e.nii: unknown suffix for events; one of .lmdT .Cdh .petsird .npy'

check "randoms, delayeds and singles do not fit each other" <<'END'
from checks import *
eff = np.load("eff.npy").astype(float)

def crystals(ends):
    ring = np.rint(ends[:, 2] / 6 + 5.5).astype(int)
    turn = np.arctan2(ends[:, 1], ends[:, 0]) % (2 * np.pi)
    return 144 * ring + np.rint(turn / (2 * np.pi) * 144 - .5).astype(int) % 144

def per_crystal(path):
    e = np.fromfile(path, "<f4").reshape(-1, 7).astype(float)
    a, b = crystals(e[:, :3]), crystals(e[:, 3:6])
    return len(e), np.bincount(np.r_[a, b], minlength=1728), set(map(tuple, e))

# pairs: 36 or more crystals apart round the ring, any two rings
c = np.arange(144)
apart = np.abs(c[:, None] - c)
partner = np.minimum(apart, 144 - apart) >= 36
fan = np.tile(partner @ eff.reshape(12, 144).sum(0), 12)
results = record("e.lmdT.json")["results"]
rate = results["additive"]["randoms_per_pair"]
near("expected randoms", .5 * rate * np.sum(eff * fan), 120000, 1)

n, counts, delayed = per_crystal("d.lmdT")
near("delayeds", n, 120000, 5 * 120000 ** .5)
near("delayeds in the record", record("d.lmdT.json")["results"]["delayed"], n, 0)
want = rate * eff * fan
near("chi square of delayeds per crystal", np.sum((counts - want) ** 2 / want), 1728,
     5 * (2 * 1728) ** .5)
n, counts, prompts = per_crystal("e.lmdT")
near("prompts", n, 300000, 5 * 300000 ** .5)
near("kinds in the record", sum(results["events"][k] for k in ("trues", "scatters", "randoms")), n, 0)
require(not prompts & delayed, "a delayed coincidence is also a prompt one")

# 2 tau S_a S_b / T, more by what decay piles up: (x/2) (1 + q) / (1 - q), q = exp(-x)
singles = np.load("s.npy").astype(float)
x = np.log(2) * 1200 / results["half_life_s"]
pile_up = x / 2 / np.tanh(x / 2)
tau = results["additive"]["window_ps"] * 1e-12
fan = np.tile(partner @ singles.reshape(12, 144).sum(0), 12)
near("randoms from singles", tau * np.sum(singles * fan) / 1200 * pile_up / 120000, 1, .01)
END

# ---- randoms lie in the scanner's own window, and are corrected there, also with TOF ----
{ solid_ring; echo 'time: {coincidence_ns: 3}'; } >window.yaml
run phantom cylinder --grid 24,24,12 --voxel 8,8,6 -o disk.nii
run simulate window.yaml disk.nii --counts 200000 --exact --randoms 0.4 -o w.lmdT --delayed wd.lmdT
run recon ray --events w.lmdT --scanner window.yaml --delayed wd.lmdT --grid 24,24,12 \
	--voxel 8,8,6 --iterations 8 --device cpu -o w.nii
check "the window of randoms" <<'END'
from checks import *
near("window", record("w.lmdT.json")["results"]["additive"]["window_ps"], 3000, 0)
dt = np.fromfile("w.lmdT", "<f4").reshape(-1, 7)[:, 6]
require(2990 < np.abs(dt).max() <= 3000, f"times up to {np.abs(dt).max()} ps")
seen = record("w.json")["results"]["events"]["sum_of_sensitivity_times_image"]
near("trues in the image", seen / 120000, 1, .02)
END

# ---- CASToR keeps the times: in order, and of a decaying scan ----
run "${scan[@]}" -o c.Cdh --delayed cd.Cdh
run convert c.Cdh back.lmdT
check "the CASToR list is not the lmdT list, with times" <<'END'
import os
from checks import *
times = {}
for name in "c", "cd":
    raw = open(name + ".Cdf", "rb").read()
    n = os.path.getsize({"c": "e", "cd": "d"}[name] + ".lmdT") // 28
    require(len(raw) % n == 0, f"{name}.Cdf: {len(raw)} bytes for {n} events")
    times[name] = np.frombuffer(raw, "u1").reshape(n, -1)[:, :4].copy().view("<u4")[:, 0]
    require(np.all(np.diff(times[name].astype(int)) >= 0), f"{name}: times are not in order")
    require(times[name][-1] <= 1200000, f"{name}: an event after the scan")
q = .5 ** (600 / 1221.8)  # over half of the scan; randoms fall with the square of the activity
for name, early in ("c", .6 / (1 + q) + .4 / (1 + q * q)), ("cd", 1 / (1 + q * q)):
    t = times[name]
    near(f"{name}: share of the first half", np.mean(t < 600000), early, 5 * .5 / len(t) ** .5)
near("ends and times of flight", np.fromfile("back.lmdT", "<f4"), np.fromfile("e.lmdT", "<f4"), 1e-3)
END

# ---- what does not go together ----
expect 2 "${scan[@]}" -o new.lmdT --isotope F-17
err_has 'did you mean F-18'
expect 2 simulate ring.yaml x.nii -o new.lmdT --delayed new_d.lmdT
err_has 'need --randoms'
expect 2 simulate ring.yaml x.nii -o new.lmdT --randoms 0.1 --singles new_s.npy
err_has 'need --duration-s'
expect 2 "${scan[@]}" -o new.lmdT --half-life-s 5
err_has 'give one of them'
expect 2 "${scan[@]}" -o new.lmdT --delayed new.lmdT
err_has 'are one file'
expect 2 "${scan[@]}" -o new.lmdT --delayed ./new.lmdT
err_has 'are one file'
expect 2 "${scan[@]}" -o new.lmdT --singles new.Cdh
err_has 'an array, not events'
expect 2 "${scan[@]}" -o new.lmdT --delayed new.nii
err_has 'new.nii: unknown suffix for events; one of .lmdT'
expect 2 "${scan[@]}" -o new.lmdT --delayed d.lmdT
err_has 'd.lmdT'
"$PYTHON" -c 'import numpy as np; np.save("short.npy", np.ones(100, "f4"))'
expect 3 "${scan[@]}" --norm short.npy -o new.lmdT
err_has '100 values, must be one for each of the 1728 crystals'
[ ! -e new.lmdT ] || fail "a refused run left events"

run simulate "$SOURCE/examples/scanners/bialas2015.yaml" ellipses --counts 1000 -o strips.f32
run simulate --like strips.f32.json -o again.f32
same strips.f32 again.f32

# ---- --exact: that many events, which a Poisson number of the same mean hardly is ----
for exact in '' --exact; do
	# shellcheck disable=SC2086
	run simulate window.yaml disk.nii --counts 12345 $exact -o "number$exact.lmdT"
done
[ "$(stat -c %s number--exact.lmdT)" = $((12345 * 28)) ] || fail "--exact is not"
[ "$(stat -c %s number.lmdT)" != $((12345 * 28)) ] || fail "a Poisson number is just its mean"
echo "all passed"

# ---- by photons: scatter follows from the object; what each event is; refusals ----
{ solid_ring; echo 'time: {coincidence_ns: 4}'; echo 'energy: {window_kev: [435, 650], resolution: 0.11}'; } >photons.yaml
scan=(simulate photons.yaml x.nii --mu mu.nii --physics --duration-s 0.01 --seed 5)
run "${scan[@]}" --decays "$(size 2e6 1e5)" --randoms-by-rate -o p.Cdh --truth order.npy
run "${scan[@]}" --decays "$(size 2e6 1e5)" --randoms-by-rate -o p1.Cdh --truth order1.npy --threads 1
same p.Cdf p1.Cdf
same order.npy order1.npy
run simulate --like p.Cdh.json -o p2.Cdh --truth order2.npy
same p.Cdf p2.Cdf
run "${scan[@]}" --counts 5000 --exact --randoms 0.2 --object-rayleigh --energy-window 450,600 -o c.lmdT --delayed cd.lmdT
check "events by scatters" <<'END'
from checks import *
order, results = np.load("order.npy"), record("p.Cdh.json")["results"]
events = results["events"]
require(order.dtype == np.uint8, f"truth of {order.dtype}")
near("trues", np.sum(order == 0), events["trues"], 0)
near("randoms", np.sum(order == 255), events["randoms"], 0)
near("scatters", np.sum((order > 0) & (order < 255)), events["scatters"], 0)
require(results["by_scatters"] == list(np.bincount(order[order < 255])), "numbers by scatters")
require(.1 < events["scatters"] / events["trues"] < 1, "share of scatter")
rate = results["rates"]["randoms_expected"]
near("randoms by rate", events["randoms"], rate, 5 * rate ** .5)
exact = record("c.lmdT.json")["results"]["events"]
near("events", exact["trues"] + exact["scatters"] + exact["randoms"], 5000, 0)
END
# singles of a scan whose decays are given: the randoms that it has are 2 tau S_a S_b / T
run "${scan[@]}" --decays "$(size 2e6 1e5)" --randoms 0.3 -o ds.lmdT --singles ds.npy
check "singles do not give the randoms" <<'END'
from checks import *
s, results = np.load("ds.npy").astype(float), record("ds.lmdT.json")["results"]
near("randoms of a pair", 2 * 4e-9 * s.mean() ** 2 / .01, results["additive"]["randoms_per_pair"],
     .02 * results["additive"]["randoms_per_pair"])
END
expect 2 "${scan[@]}" --decays 1e5 --randoms-by-rate -o no.lmdT --singles no.npy
err_has '--singles needs --randoms'
expect 2 simulate photons.yaml x.nii --physics -o no.lmdT
err_has '--mu must name its map'
expect 2 simulate ring.yaml x.nii --mu mu.nii --physics -o no.lmdT
err_has 'does not say which energies it counts'
expect 2 "${scan[@]}" --bent 0.1 -o no.lmdT
err_has '--bent stands in for scatter'
expect 2 "${scan[@]}" --decays 1e5 --counts 1e5 -o no.lmdT
err_has '--decays and --counts: give one of them'
expect 2 "${scan[@]}" --randoms 0.1 --randoms-by-rate -o no.lmdT
err_has 'give one of them'
expect 2 "${scan[@]}" --energy-window 600,450 -o no.lmdT
err_has '600 to 450 keV'
expect 2 "${scan[@]}" --truth order.txt -o no.lmdT
err_has 'written as .npy'
expect 2 simulate photons.yaml x.nii --mu mu.nii --decays 1e5 -o no.lmdT
err_has '--decays needs --physics'
[ ! -e no.lmdT ] || fail "a refused run left a file"
