#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The benchmark of passes over pairs at a small size: rows and work are there; no time is asserted.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

run bench norm --rings 2 --repeats 2 --device cpu --json -q
check "rows of norm" <<'END'
import json, math
rows = json.load(open("out"))["results"]["rows"]
assert [r["case"] for r in rows] == ["product", "fisher", "expected", "place"], rows
pairs = 480 * 321 / 2 * 2 + 480 * 321  # of both rings, and between them
for r in rows:
    assert r["name"] == "norm" and r["device"] == "cpu" and r["least_s"] <= r["median_s"], r
    assert r["pairs"] == pairs and r["bytes"] == 4 * pairs * (5 if r["case"] == "place" else 1), r
    assert abs(r["times_floor"] * r["limit_s"] / r["median_s"] - 1) < 1e-9 and math.isfinite(r["sum"]), r
END
run bench norm --case fisher --rings 1 --repeats 1 --device cpu
out_has 'fisher'
! grep -q 'expected' out || fail "the diagonal alone was asked for"
run bench norm --dry-run --device cpu
out_has 'memory for'
expect 2 bench norm --case sums
expect 2 bench norm --rings 0
echo "all passed"
