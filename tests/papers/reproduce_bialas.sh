#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The smallest rehearsal of Bialas 2015: every picture and every row is there, the images get closer
# to the phantom than the direct one, and the better kernel is the better one.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

run reproduce bialas2015 --scale tiny --device cpu -q -o here
[ ! -s err ] || fail "--quiet is not quiet"
out_has 'report  here/report.html'
check "the page" <<'PY'
from checks import *
page = Page("here/report.html")
assert page.images == 10, page.images
assert len(page.rows) == 2 + 4 + 5, page.rows
assert any("11.9" in r and "690" in r and "470" in r for r in page.rows), page.rows
PY
check "the figures" <<'PY'
from checks import *
r = record("here/results.json")["results"]
rows = r["figure_3"]["images"]
require([(x["form"], x["iterations"]) for x in rows] ==
        [(f, n) for f in ("raw", "ml") for n in (1, 5, 10, 25)], rows)
direct = r["figure_3"]["direct_nrmse"]
require(all(0 < x["nrmse"] < direct for x in rows), f"{rows}, direct {direct}")
require(len(r["benchmark"]["rows"]) == 12, r["benchmark"])
for x in r["benchmark"]["rows"]:
    require((x["seconds"] is None) == (x["way"] != "cpu"), x)
tv = {(tuple(x["y_z_mm"]), x["kernel"]): x for x in r["total_variation"]}
require(len(tv) == 20, tv.keys())
for (point, kernel), x in tv.items():
    if kernel == "tan, with the ends":
        require(x["all"] < 1.3 * x["noise_all"], x)
    if kernel == "tan":
        require(x["interior"] < 1.3 * x["noise_interior"], x)
require(tv[(100, 0), "gauss"]["interior"] > 2 * tv[(100, 0), "tan"]["interior"], tv)
for name in ("phantom", "direct", *(f"{f}-{n}" for f in ("raw", "ml") for n in (1, 5, 10, 25))):
    v = image(f"here/{name}.nii")
    require(v.shape == (1, 65, 75) and np.isfinite(v).all() and v.min() >= 0 < v.max(), name)
PY

expect 2 reproduce bialas2015 --scale tiny -o here
err_has 'phantom.nii exists'
run reproduce bialas2015 --scale full --dry-run --memory-limit 1000 -o there
out_has 'memory for'
[ ! -e there ] || fail "--dry-run made a folder"
echo "all passed"
