#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The smallest rehearsal of penalised likelihood: svrg comes within the thresholds of the converged image in few
# passes, and every form of image is there at the noise they are compared at.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

run reproduce priors --scale tiny --device cpu -q -o here
[ ! -s err ] || fail "--quiet is not quiet"
out_has 'report  here/report.html'
check "the page" <<'PY'
from checks import *
page = Page("here/report.html")
require((page.images, page.charts) == (3, 3), (page.images, page.charts))
require(sum(r.startswith(("svrg", "saga", "bsrem", "lbfgs")) for r in page.rows) == 4, page.rows)
PY
check "the figures" <<'PY'
from checks import *
r = record("here/results.json")["results"]
rows = {x["method"]: x for x in r["convergence"]}
require(list(rows) == ["svrg", "saga", "bsrem", "lbfgs"], rows)
require(rows["svrg"]["reached"] and rows["svrg"]["passes"] < 20, rows["svrg"])
require(all(x["rmse_whole"] < .05 for x in rows.values()), rows)
require(all(x["kkt"] < 1e-2 for x in r["references"]), r["references"])
forms = {x["form"]: x for x in r["lesions"]}
require(list(forms) == ["osem", "rdp", "bowsher"], forms)
require(all(len(x["contrast"]) == 6 and x["noise"] > 0 for x in forms.values()), forms)
for name in ("truth", "osem", "rdp", "bowsher"):
    v = image(f"here/{name}.nii")
    require(np.isfinite(v).all() and v.min() >= 0 < v.max(), name)
PY

# ---- fewer counts than voxels: no voxel runs away ----
if [ "${ISO_TEST_FULL:-}" = 1 ]; then
	run reproduce priors --scale tiny --events 1e4 --device cpu -q -o few
	check "few counts" <<'PY'
from checks import *
rows = {x["method"]: x for x in record("few/results.json")["results"]["convergence"]}
require(all(rows[m]["rmse_whole"] < .3 for m in ("svrg", "bsrem", "lbfgs")), rows)  # once 0.6, 7
PY
fi
echo "all passed"
