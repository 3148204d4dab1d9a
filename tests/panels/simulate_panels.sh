#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Two panels by photon transport: sensitivity at a point, histograms and lists of scans, randoms.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

meng=$SOURCE/examples/scanners/meng2019.yaml
run simulate "$meng" --physics --point 0,0,0 --pairs 4e5 --json
check "sensitivity at the centre" <<'END'
from checks import *
got = record("out")
want = {"head": [12.50, 11.25, 10.95], "block": [12.34, 10.18, 9.64], "crystal": [11.00, 5.46, 4.38]}
for mode, values in want.items():
    for window, value in zip(("250-750", "350-750", "400-750"), values):
        r, f = got[mode][window], value / 100
        near(f"{mode} {window}", r["fraction"], f, 3e-4 + 5 * (f * (1 - f) / 4e5) ** .5)
        near("its error", r["error"], (r["fraction"] * (1 - r["fraction"]) / 4e5) ** .5, 1e-9)
END

cat >small.yaml <<'END'
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
time: {coincidence_ns: 6}
END
run simulate small.yaml --physics --point 1,2,3 --pairs 1e4 --json
check "the scanner's own window is missing" <<'END'
from checks import *
got = record("out")
require(set(got) == {"head", "crystal"}, "a readout by blocks that are not there")
require(list(got["head"]) == ["250-750", "350-750", "400-750", "300-700"], "windows")
END
run simulate small.yaml --physics --point 1,2,3 --pairs 1e4 --threads 1
out_has "head     300-700 keV"

# a slab off the middle: more events in one half of the heads
"$PYTHON" -c 'import numpy as np
x = np.zeros((16, 14, 10), "f4"); x[:, 4:10, :4] = 1
np.save("x.npy", x)'
scan=(simulate small.yaml x.npy --physics --counts 2e4 --randoms 0.25)
run "${scan[@]}" -o h.npy --delayed d.npy --list e.lmdT
run "${scan[@]}" -o h1.npy --delayed d1.npy --list e1.npy --threads 1
same h.npy h1.npy
same d.npy d1.npy
run convert e.lmdT e2.npy
check "histogram, list and record do not fit each other" <<'END'
from checks import *
h, d, e = np.load("h.npy"), np.load("d.npy"), np.load("e1.npy")
require(h.shape == (2, 2, 5, 8, 5, 8) and h.dtype == np.float32, f"shape {h.shape}")
results = record("h.npy.json")["results"]
events = results["events"]
near("events", h.sum(), events["trues"] + events["randoms"], 0)
near("prompts", h.sum(), 2e4, 5 * 2e4 ** .5)
near("randoms", events["randoms"], 5e3, 5 * 5e3 ** .5)
near("delayeds", d.sum(), 5e3, 5 * 5e3 ** .5)
near("delayeds in the record", record("d.npy.json")["results"]["delayed"], d.sum(), 0)
up = h.sum((0, 1, 3, 4, 5))
require(up[0] + up[1] > 1.2 * (up[3] + up[4]), f"upper crystals along x have {up}")

# the list, through its end points, is the histogram
def crystal(p, sign):
    layer = np.rint((sign * p[:, 1] - 20) / 10).astype(int)
    return layer, np.rint(p[:, 0] / 4 + 2).astype(int), np.rint(p[:, 2] / 3 + 3.5).astype(int)

again = np.zeros_like(h)
a, ux, uz = crystal(e[:, :3], 1)
b, lx, lz = crystal(e[:, 3:6], -1)
np.add.at(again, (a, b, ux, uz, lx, lz), 1)
near("list and histogram", again, h, 0)
near("lists of two formats", np.load("e2.npy"), e, 1e-4)
END
run simulate small.yaml x.npy --physics --decays 1e5 --exact -o n.npy --seed 7
run simulate small.yaml x.npy --physics --counts 1234 --exact --randoms 0.1 -o exact.npy
run simulate small.yaml x.npy --physics --counts 5e4 --randoms-by-rate --duration-s 0.001 -o r.npy
run simulate small.yaml cylinder --physics --counts 500 --positron F-18 --acollinearity -o c.npy
run simulate --like exact.npy.json -o like.npy
same exact.npy like.npy
run simulate --like n.npy.json -o like2.npy
same n.npy like2.npy
check "numbers of events" <<'END'
from checks import *
near("decays", record("n.npy.json")["results"]["events"]["decays"], 1e5, 0)
near("trues", np.load("n.npy").sum(), record("n.npy.json")["results"]["events"]["trues"], 0)
near("exactly", np.load("exact.npy").sum(), 1234, 0)
near("randoms", record("exact.npy.json")["results"]["events"]["randoms"], 123, 0)
r = record("r.npy.json")["results"]
rate, n = r["rates"], r["events"]
# 2 tau s_u s_l T against the trues that the same decays gave
want = 2 * 6e-9 * rate["singles_upper_per_s"] * rate["singles_lower_per_s"] * .001
near("randoms by rate", n["randoms"], want, .02 * want + 5 * want ** .5)
near("decays by rate", n["decays"], rate["decays_per_s"] * .001, .03 * n["decays"])
near("all events", n["trues"] + n["randoms"], 5e4, 5 * 5e4 ** .5)
END

run simulate small.yaml x.npy --physics --dry-run -o dry.npy
out_has "histogram of LORs"
[ ! -e dry.npy ] || fail "--dry-run wrote something"

expect 2 simulate small.yaml x.npy -o no.npy
err_has "add --physics"
expect 2 simulate small.yaml x.npy --physics
err_has "output"
expect 2 simulate small.yaml x.npy --physics --counts 5 --decays 5 -o no.npy
err_has "give one of them"
expect 2 simulate small.yaml x.npy --physics --delayed d2.npy -o no.npy
err_has "--delayed needs"
expect 2 simulate small.yaml x.npy --physics --randoms-by-rate -o no.npy
err_has "need each other"
expect 2 simulate small.yaml x.npy --physics -o h.npy
err_has "h.npy exists"
expect 2 simulate small.yaml x.npy --physics --delayed no.npy --randoms 0.1 -o no.npy
err_has "are one file"
expect 2 simulate small.yaml x.npy --physics --positron Rb-82 -o no.npy
err_has "Rb-82"
expect 2 simulate small.yaml x.npy --physics --point 0,0,0
err_has "leave out the image"
solid_ring >ring.yaml
expect 2 simulate ring.yaml x.npy --physics -o no.lmdT
err_has '--mu must name its map'
expect 2 simulate --point 0,0,0
err_has "SCANNER"
echo "simulate_panels: passed"

# ---- through an object ----
"$PYTHON" -c 'import numpy as np
np.save("mu.npy", np.full((16, 14, 10), .0096, "f4"))'
run simulate small.yaml x.npy --physics --decays 2e5 --exact -o air.npy
run simulate small.yaml x.npy --mu mu.npy --physics --decays 2e5 --exact --object-rayleigh -o water.npy
check "photons pass the object as if it were air" <<'END'
from checks import *
air, water = (record(f"{name}.npy.json")["results"] for name in ("air", "water"))
near("histogram", np.load("water.npy").sum(), water["events"]["trues"], 0)
near("by scatters", sum(water["by_scatters"]), water["events"]["trues"], 0)
require(water["by_scatters"][0] < .9 * air["events"]["trues"], "nothing is lost in water")
require(water["by_scatters"][1] > .02 * water["by_scatters"][0], "nothing is scattered in water")
END

# ---- what each event is ----
run simulate small.yaml x.npy --mu mu.npy --physics --counts 2e4 --randoms 0.2 -o t.npy --list t.lmdT --truth order.npy
run simulate small.yaml x.npy --mu mu.npy --physics --counts 2e4 --randoms 0.2 -o t1.npy --list t1.lmdT --truth order1.npy --threads 1
same order.npy order1.npy
same t.lmdT t1.lmdT
run simulate --like t.npy.json -o t2.npy --list t2.lmdT --truth order2.npy
same order.npy order2.npy
check "orders do not fit the list and the record" <<'END'
import os
from checks import *
order, results = np.load("order.npy"), record("t.npy.json")["results"]
require(order.dtype == np.uint8, f"truth of {order.dtype}")
near("events", len(order), os.path.getsize("t.lmdT") // 28, 0)
near("randoms", np.sum(order == 255), results["events"]["randoms"], 0)
require(results["by_scatters"] == list(np.bincount(order[order < 255])), "numbers by scatters")
require(np.sum((order > 0) & (order < 255)) > 100, "nothing is scattered")
END
expect 2 simulate small.yaml x.npy --mu mu.npy --physics -o no.npy --truth no_order.npy
err_has 'name it, too'
expect 2 simulate small.yaml x.npy --mu mu.npy --physics -o no.npy --list no.lmdT --truth order.txt
err_has 'written as .npy'
[ ! -e no.npy ] || fail "a refused run left a file"
