#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The benchmark of scatter at tiny sizes: rows, work and checks are there; no time is asserted. The total-body ring, whose
# tallies take a GiB and half a minute, with ISO_TEST_FULL=1.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

few=(--voxel 20 --block 60 --detectors 16 --ring-step 100 --histories 2e4 --events 3000 --share 1e-4 --repeats 2)
run bench scatter "${few[@]}" --device cpu --json -q
cp out ring.json
if [ "${ISO_TEST_FULL:-0}" = 1 ]; then
	run bench scatter "${few[@]}" --case total-body --block 200 --ring-step 400 --repeats 1 --device cpu --json -q
	cp out long.json
fi
check "rows of scatter" <<'END'
import json, math, os
rows = json.load(open("ring.json"))["results"]["rows"]
assert [r["case"] for r in rows] == ["sss", "no-tof", "mc", "sss+mc", "events", "sum"], rows
if os.path.exists("long.json"):
    rows += json.load(open("long.json"))["results"]["rows"]
    assert rows[6]["case"] == "total-body" and len(rows) == 7
for r in rows:
    assert r["name"] == "scatter" and r["device"] == "cpu" and r["least_s"] <= r["median_s"]
    for key in ("median_s", "limit_s", "fraction_of_limit"):
        assert r[key] > 0 and math.isfinite(r[key]), (key, r)
tables = rows[:4] + rows[6:]
for r in tables:
    assert r["evaluations"] == r["pairs"] * r["points"] > 0 and r["detectors"] == 16, r
    assert .1 < r["passing"] < .9, r
    assert r["histories"] == (20000 if "mc" in r["case"] or r["case"] == "total-body" else 0), r
    assert (r["cells"] > 1) == r["tof"], r
    assert (r["decays_per_s"] is not None) == (r["histories"] > 0), r
assert abs(rows[4]["events_per_s"] * rows[4]["median_s"] / 3000 - 1) < 1e-9 and rows[4]["mean_per_mm"] > 0
assert rows[5]["share"] == 1e-4 and rows[5]["sum"] > 0
END
run bench scatter "${few[@]}" --case sss --device cpu
out_has 'sample detectors'
[ "$(grep -c 'of limit\|sample detectors' out)" = 2 ] || fail "one row was asked for"
run bench scatter --dry-run --device cpu
out_has 'memory for'
expect 4 bench scatter --case sss --memory-limit 0.001 --device cpu
expect 2 bench scatter --case single
expect 2 bench scatter --voxel 0
echo "all passed"
