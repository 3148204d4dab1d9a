#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The benchmark of objects that move at a tiny size: rows and work are there; no time is asserted.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

run bench poses --events 2000 --lines 5000 --frame-events 2000 --size 12 --repeats 2 --device cpu --json -q
check "rows of poses" <<'END'
import json, math
rows = json.load(open("out"))["results"]["rows"]
assert [r["case"] for r in rows] == ["move", "sens by lines", "warp", "warp, transpose", "EM step", "EM step of moved events",
    "EM step of 8 gates with fields", "frame of motion"], rows
for r in rows:
    assert r["name"] == "poses" and r["device"] == "cpu" and r["least_s"] <= r["median_s"], r
    assert abs(r["per_s"] * r["median_s"] / r["events"] - 1) < 1e-9 if "events" in r else r["per_s"] > 0, r
    for key in ("median_s", "limit_s", "fraction_of_limit", "per_s"):
        assert r[key] > 0 and math.isfinite(r[key]), (key, r)
    if r["case"].startswith(("EM step of", "sens", "frame")):
        assert r["number"] > 0 and math.isfinite(r["number"]), r
END
run bench poses --case accuracy --lines 20000 --size 12 --repeats 1 --device cpu --json -q
check "the distance from more lines" <<'END'
import json
(row,) = json.load(open("out"))["results"]["rows"]
assert row["case"] == "sens by 16 times as many lines" and 1 < row["number"] < 1000, row    # few lines: tens of per cent
END
run bench poses --case warp --size 8 --repeats 1 --device cpu
out_has 'warp, transpose'
! grep -q 'frame' out || fail "warps alone were asked for"
run bench poses --dry-run --device cpu
out_has 'memory for'
expect 2 bench poses --case bed
expect 2 bench poses --size 1
echo "all passed"
