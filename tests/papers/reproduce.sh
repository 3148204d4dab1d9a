#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The smallest rehearsal of each paper: every row of every table is there, and so are the pictures.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

run reproduce vangendt2021 --scale tiny --device cpu -q -o here
[ ! -s err ] || fail "--quiet is not quiet"
out_has 'report  here/report.html'
check "the page, or its figures" <<'END'
from checks import *
page = Page("here/report.html")
assert page.images == 9 and page.charts == 1, (page.images, page.charts)
def row(*texts):
    found = [r for r in page.rows if all(t in r for t in texts)]
    assert found, texts
    return found[0]
r = json.load(open("here/results.json"))["results"]
steps = ["basic", "+ tile-major image", "+ event in shared memory", "+ block reduction",
         "+ launch shape"]
names = ["scalar loop", "Isotome, one thread", "Isotome, all threads"]
names += [s for s in steps for _ in range(2)] + ["Isotome"]
assert [x["program"] for x in r["table_2"]] == names
for x, line in zip(r["table_2"], page.rows[1:]):
    cuda = x["program"] not in names[:3]
    assert line.startswith(x["program"] + "|" + x["numbers"]), line
    assert line.count("not measured: no CUDA device") == (3 if cuda else 0), line
    for size in ("32", "128"):
        assert (x[size]["seconds"] is None) == cuda and (cuda or x[size]["seconds"] > 0)
assert len(r["table_3"]) == 8
for x in r["table_3"]:
    line = row(x["algorithm"], "no CUDA device")
    assert x["cpu"]["seconds"] > 0 and x["cuda"]["seconds"] is None and 0 < x["nrmse"] < 5
assert "87.5" in row("Baseline") and "2455.4" in row("QETIR")
END

# ---- the images: each extension changes the image, and all lie on the phantom's grid ----
check "the images" <<'END'
import nibabel, numpy as np
names = ["baseline", "sensitivity", "osem", "attenuation", "precorrected", "tof", "median", "all"]
truth = nibabel.load("here/truth.nii")
x = {n: nibabel.load(f"here/{n}.nii") for n in names}
for n in names:
    assert x[n].shape == truth.shape and np.allclose(x[n].affine, truth.affine), n
    v = np.asarray(x[n].dataobj)
    assert np.isfinite(v).all() and v.min() >= 0 and v.max() > 0, n
    for m in names:
        assert m == n or not np.array_equal(v, np.asarray(x[m].dataobj)), (n, m)
END

# ---- refusals ----
run reproduce vangendt2021 --scale full --dry-run --memory-limit 1000 -o there
out_has 'memory for'
expect 4 reproduce vangendt2021 --scale tiny --memory-limit 0.001 --device cpu -o small
expect 2 reproduce vangendt2021 --scale tiny -o here
err_has 'truth.nii exists'
expect 2 reproduce vangendt2012 -o there
expect 2 reproduce vangendt2021 --scale huge -o there
expect 2 reproduce -o there
expect 1 reproduce vangendt2021 --scale tiny -o no/where
[ ! -e there ] || fail "a refused run made a folder"
echo "all passed"
