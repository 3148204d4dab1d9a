#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The smallest rehearsals of Meng 2019 and Chou 2012: every picture and every row is there, the
# strategies agree, and counts come out as asked for.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

page() { # FOLDER IMAGES ROWS
	check "the page of $1" "$@" <<'PY'
import sys
from checks import *

page = Page(sys.argv[1] + "/report.html")
assert page.images == int(sys.argv[2]) and len(page.rows) == int(sys.argv[3]), (page.images, page.rows)
PY
}

run reproduce meng2019 --scale tiny --device cpu -q -o meng
[ ! -s err ] || fail "--quiet is not quiet"
out_has 'report  meng/report.html'
page meng 14 46
check "the figures of Meng 2019" <<'PY'
from checks import *
r = record("meng/results.json")["results"]
t = r["table_6"]
require(t["events"] == [3000, 7400, 15000, 30000, 30000], t["events"])
require(t["scans"] == 1, t["scans"])
require([x["pairs"] for x in t["matrices"]] == [1000, 10000, 10000, 40000, 40000], t)
for x in t["matrices"]:
    p = x["pstd_percent"]
    require(all(v > 0 for v in p) and p[0] > p[4], p)	# ten times the events
require(t["matrices"][0]["pstd_percent"][4] > 1.5 * t["matrices"][3]["pstd_percent"][4],
        "a noisy matrix must show")


def fit(square, scale):	# PSTD^2 = f^2 + c / N with errors in proportion to scale: f^2, its error, c
    a = np.array([[1, 1 / n] for n in t["events"]]) / scale[:, None]
    p, left, _, _ = np.linalg.lstsq(a, square / scale, rcond=None)
    return p[0], np.sqrt(np.linalg.inv(a.T @ a)[0, 0] * left[0] / 3), p[1]


squares = [np.array(x["pstd_of_scans_percent"])[:, 0] ** 2 for x in t["matrices"]]
for x, square in zip(t["matrices"], squares):
    require(np.allclose(np.sqrt(square), x["pstd_percent"]), x)
    require(x["pstd_deviation_percent"] == [None] * 5, x)	# one scan has none
    f2, error, slope = fit(square, square)
    floor = np.sqrt(max(f2, 0))
    near("floor", x["floor_percent"], floor, 1e-6 * (1 + floor))
    above = np.sqrt(max(f2, 0) + error)
    near("its error", x["floor_error_percent"], above - floor, 1e-6 * (1 + floor))
    near("slope", x["slope"], slope, 1e-6 * slope)
for x, (a, b) in zip(t["steps"], ((2, 4), (1, 3), (1, 2), (3, 4)), strict=True):
    f2, error, _ = fit(squares[a] - squares[b], squares[a] + squares[b])
    near(x["step"], x["floor_squared_percent2"], f2, 1e-6 * (1 + abs(f2)))
    near(x["step"], x["error_percent2"], error, 1e-6 * (1 + error))
ways = {(x["device"], x["strategy"]): x for x in r["tables_3_and_4"]}
require(len(ways) == 8, ways)
for (device, strategy), x in ways.items():
    require((x["tbr"] is None) == (device == "cuda"), x)
    if device == "cpu":
        require(x["diff_percent"] < 0.01 and x["forward_s"] > 0 < x["back_s"], x)
require(ways["cpu", "combined"]["diff_percent"] == 0, ways)
rods = r["derenzo"]["rods"]
require([x["diameter_mm"] for x in rods] == [0.7, 1, 1.2, 1.6, 2, 2.4], rods)
require(not any(x["resolved"] for x in rods[:3]), "voxels of 2 mm resolve 1 mm")
for name in ("sphere", "two-spheres", "two-spheres-apart", "derenzo", "point-mlem", "point-osem",
             "mouse"):
    v = image(f"meng/{name}.nii")
    require(v.shape == (36, 9, 18) and np.isfinite(v).all() and v.min() >= 0 < v.max(), name)
# the mouse has its tumour where the phantom has it: x = 10, y = 0, z = 12 mm
v = image("meng/mouse.nii")
require(v[23:25, 3:6, 13:15].mean() > 2 * v[14:20, 3:6, 7:11].mean(), "no tumour")
PY

run reproduce chou2012 --scale tiny --device cpu -q -o chou
page chou 3 20
check "the figures of Chou 2012" <<'PY'
from checks import *
r = record("chou/results.json")["results"]
require([x["iterations"] for x in r["derenzo"]["images"]] == [1, 24], r["derenzo"])
require(r["derenzo"]["subsets"] == 72, r["derenzo"])
rat = r["rat"]
require(rat["trues"] == 23000 and rat["randoms"] == 4600, rat)
require(23000 <= rat["counts"] <= 27600, rat)	# what is cut at 0 only adds
require(r["table_1_s"] == [None] * 3, r["table_1_s"])
for x in r["tables_2_and_3"]:
    require((x["forward_s"] is None) == (x["device"] == "CUDA"), x)
    if x["device"] == "CPU":
        require(0 < x["forward_subset_s"] and 0 < x["back_subset_s"], x)
for name in ("derenzo-1", "derenzo-24", "rat"):
    v = image(f"chou/{name}.nii")
    require(v.shape == (24, 11, 48) and np.isfinite(v).all() and v.min() >= 0 < v.max(), name)
PY

expect 2 reproduce meng2019 --scale tiny -o meng
err_has 'two-spheres.nii exists'
for paper in meng2019 chou2012; do
	run reproduce $paper --scale full --dry-run --memory-limit 1000 -o there
	out_has 'memory for'
	[ ! -e there ] || fail "--dry-run made a folder"
done
echo "all passed"
