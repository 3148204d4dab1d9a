#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The smallest rehearsal of image quality with scatter: every picture and every row is there, an image without
# correction has too much, the corrected ones have as much as that of the trues.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

run reproduce nema --scale tiny --device cpu -q -o here
[ ! -s err ] || fail "--quiet is not quiet"
out_has 'report  here/report.html'
check "the page" <<'PY'
from checks import *
page = Page("here/report.html")
require((page.images, page.charts) == (9, 4), (page.images, page.charts))
rounds = [r for r in page.rows if r.startswith(("Spheres,", "Cylinder,"))]
require(3 <= len(rounds) <= 9, rounds)
forms = [r for r in page.rows if r.startswith(("Trues alone", "All events"))]
require(len(forms) == 12, forms)
PY
check "the figures" <<'PY'
from checks import *
r = record("here/results.json")["results"]
forms = ["trues", "none", "estimated", "known"]
scan = r["scan"]
require(scan["trues"] + scan["single"] + scan["multiple"] == scan["events"], scan)
require(.1 < scan["share"] < .4 and .05 < scan["multiple_over_single"] < .3, scan)
near("expected scatter over that of the scan", scan["expected_over_scanned"], 1, .06)
d = r["distances"]
near("the same from pairs", sum(d["expected"]) / scan["expected"], 1, .02)
require(sum(d["scanned"]) == scan["single"] + scan["multiple"], d)
rows = {(x["form"], x["tof"]): x for x in r["image_quality"]}
require(list(rows) == [(f, t) for t in (True, False) for f in forms], rows.keys())
for tof in (True, False):
    x = {f: rows[f, tof] for f in forms}
    near("background of the trues", x["trues"]["background"], 1, .06)
    require(x["none"]["background"] > 1.1 * x["trues"]["background"], x)
    for f in ("estimated", "known"):
        near(f + ": background", x[f]["background"] / x["trues"]["background"], 1, .06)
        require(x[f]["lung"] < x["none"]["lung"], (f, x))
    near("lung", x["estimated"]["lung"], x["known"]["lung"], 8)
    for f in forms:
        require(len(x[f]["contrast"]) == len(x[f]["variability"]) == 6, x[f])
for told in (r["scatter"]["tof"], r["scatter"]["no_tof"], r["cylinder"]["scatter"]):
    require(told["method"] == "sss+mc" and abs(told["rounds"][-1]["c"] - 1) < .05, told)
near("share", r["scatter"]["tof"]["share"], scan["share"], .03)
rows = {x["form"]: x for x in r["cylinder"]["rows"]}
require(list(rows) == forms, rows.keys())
require(all(a > 1.05 * b for a, b in zip(rows["none"]["annuli"], rows["trues"]["annuli"])), rows)
for f in ("trues", "estimated", "known"):
    near(f + ": cylinder", rows[f]["annuli"], 4 * [1], .12)
noise = r["noise"]
require(noise["seeds"] == 2 and .5 < noise["variance_ratio"] < 2, noise)
shape = image("here/truth.nii").shape
for name in ("trues", "none", "estimated", "known", "trues-tof", "none-tof", "estimated-tof", "known-tof"):
    v = image(f"here/{name}.nii")
    require(v.shape == shape and np.isfinite(v).all() and v.min() >= 0 < v.max(), name)
PY

expect 2 reproduce nema --scale tiny -o here
err_has 'truth.nii exists'
run reproduce nema --scale small --dry-run -o there
out_has 'memory for'
[ ! -e there ] || fail "--dry-run made a folder"
expect 2 reproduce bialas2015 --seeds 3 -o there
err_has '--events and --seeds are for nema'
expect 2 reproduce nema --only study -o there
echo "all passed"
