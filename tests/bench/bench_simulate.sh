#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The benchmark of simulated events and voxels at tiny sizes: rows, work and checks are there; no time is asserted.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

few=(--events 3000 --voxel 30 --samples 2 --repeats 2)
run bench simulate "${few[@]}" --device cpu --json -q
cp out two.json
run bench simulate "${few[@]}" --device cpu --threads 1 --json -q
check "rows of simulate" <<'END'
import json, math
rows, again = (json.load(open(name))["results"]["rows"] for name in ("two.json", "out"))
assert [r["case"].split(":")[0] for r in rows] == ["ring", "physics", "crystals", "crystals", "crystals", "phantom"], rows
for r, s in zip(rows, again):
    assert r["name"] == "simulate" and r["device"] == "cpu" and r["least_s"] <= r["median_s"]
    assert r.get("hash") == s.get("hash") and r.get("events") == s.get("events"), "other events on one thread"
    for key in ("median_s", "limit_s", "fraction_of_limit"):
        assert r[key] > 0 and math.isfinite(r[key]), (key, r)
for r in rows[:2]:
    assert abs(r["events"] - 3000) < 300 and r["trues"] + r["scatters"] + r["randoms"] == r["events"]
    assert (r["scatters"] > 0) == (r["case"] == "physics") and r["decays"] > r["events"]
for r in rows[2:5]:
    assert r["decays"] == 3e5 and 0 < r["events"] < 1e4 and r["decays_per_s"] > 0
assert rows[5]["voxels_per_s"] > 0 and rows[5]["voxels"] > 1000
END
run bench simulate "${few[@]}" --case phantom --device cpu
out_has 'voxels/s'
[ "$(grep -c 'of limit\|voxels/s' out)" = 2 ] || fail "one row was asked for"
run bench simulate --dry-run --device cpu
out_has 'memory for'
expect 4 bench simulate --memory-limit 0.001 --device cpu
expect 2 bench simulate --case rings
expect 2 bench simulate --voxel 0
echo "all passed"
