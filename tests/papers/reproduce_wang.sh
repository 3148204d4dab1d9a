#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The smallest rehearsal of Wang 2013: every picture and every row is there, least squares is nearer
# to the phantom than back-projection, and the scanner written can be used by hand.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

run reproduce wang2013 --scale tiny --device cpu -q -o here
[ ! -s err ] || fail "--quiet is not quiet"
out_has 'report  here/report.html'
check "the page" <<'PY'
from checks import *
page = Page("here/report.html")
require(page.images == 1 + 4 + 6 + 1 + 6 and page.charts == 3, (page.images, page.charts))
require(len(page.rows) == 5 + 13, page.rows)
require(any("46\u202fs" in r and "8220\u202fs" in r for r in page.rows), page.rows)
PY
check "the figures" <<'PY'
from checks import *
r = record("here/results.json")["results"]
rmse = {(x["method"], x["data"]): x["rmse"] for x in r["study"]}
sets = ["8x8", "4x8", "4x4", "2x4"]
require(len(rmse) == 16, rmse.keys())
fbp = [rmse["FBP", s] for s in sets]
require(fbp == sorted(fbp), f"FBP gets better with less data: {fbp}")
for s in sets[1:]:
    for m in ("PLS-Int", "PLS-Sph"):
        require(0 < rmse[m, s] < .7 * rmse["FBP", s], f"{m} {s}: {rmse}")
        require(0 < rmse[m + ", by area", s] < .7 * rmse["FBP", s], f"{m} {s}: {rmse}")
scan = {(x["method"], x["data"]): x["rmse"] for x in r["experiment"]}
require(len(scan) == 6, scan.keys())
for d in ("full", "quarter"):
    for m in ("PLS-Int", "PLS-Sph"):
        require(0 < scan[m, d] < scan["FBP", d], f"{m} {d}: {scan}")
require([x["transducers"] for x in r["table_1"]] == [64, 32, 16, 8, 16, 4], r["table_1"])
for k, x in enumerate(r["table_1"]):
    require(x["cpu_part"] <= x["transducers"] and x["cpu_s"]["fbp"] > 0, x)
    require((x["cpu_s"]["int"] is None) == (x["cpu_s"]["sph"] is None) == (k == 0), x)
    require(set(x["cuda_s"].values()) == {None}, x)
PY

# ---- by hand, from the scanners that were left: the same images ----
on_grid=(--grid 13,13,25 --voxel 2.4)
cd here || exit 1
cat >spheres.yaml <<'END'
smooth_fwhm_mm: 6
shapes:
  - {type: sphere, centre_mm: [-6.58, 0, -21], radius_mm: 3, activity: 1}
  - {type: sphere, centre_mm: [-6.58, 0, -7], radius_mm: 2, activity: 0.8}
  - {type: sphere, centre_mm: [-6.58, 0, 7], radius_mm: 1, activity: 1}
  - {type: sphere, centre_mm: [-6.58, 0, 21], radius_mm: 4, activity: 0.5}
  - {type: sphere, centre_mm: [6.58, 0, -18], radius_mm: 4, activity: 0.6}
  - {type: sphere, centre_mm: [6.58, 0, 0], radius_mm: 3, activity: 1}
  - {type: sphere, centre_mm: [6.58, 0, 16], radius_mm: 2, activity: 0.9}
  - {type: sphere, centre_mm: [0, 7, -14], radius_mm: 2.5, activity: 0.7}
  - {type: sphere, centre_mm: [0, -7, 12], radius_mm: 2.5, activity: 0.7}
END
run simulate scanner.yaml spheres.yaml -o traces.npy
run recon ubp --scanner scanner.yaml --data traces.npy "${on_grid[@]}" -o fbp-here.nii
run measure rmse fbp-here.nii fbp-all.nii --below 1e-6
run info experiment.yaml
out_has '16'
cd ..

# ---- a part ----
run reproduce wang2013 --scale tiny --device cpu --only times -q -o part
check "the part" <<'PY'
from checks import *
require(set(record("part/results.json")["results"]) == {"table_1"}, "other results")
page = Page("part/report.html")
require(page.images == 0 and len(page.rows) == 13, (page.images, page.rows))
PY

# ---- refusals ----
expect 2 reproduce bialas2015 --scale tiny --only times -o there
err_has '--only is for wang2013'
expect 2 reproduce bialas2015 --scale tiny --msot here/eir.npy -o there
err_has '--msot is for wang2013'
expect 3 reproduce wang2013 --scale tiny --msot no.msot -o there
err_has 'no.msot: no such file'
expect 2 reproduce wang2013 --scale tiny -o here
err_has 'exists'
run reproduce wang2013 --scale full --dry-run --memory-limit 1000 -o there
out_has 'memory for'
[ ! -e there ] || fail "--dry-run made a folder"
echo "all passed"
