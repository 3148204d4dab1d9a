#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The benchmark of penalties at a tiny size: rows and work are there; no time is asserted.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

run bench prior --penalty all --size 12 --repeats 2 --device cpu --json -q
check "rows of prior" <<'END'
import json, math
rows = json.load(open("out"))["results"]["rows"]
want = [(p, w, c) for p in ("quadratic", "rdp", "logcosh", "huber", "tv", "ggd") for w in ("none", "kappa", "bowsher")
        for c in ("gradient", "whole", "step") if (p, w) != ("tv", "bowsher")]
assert [(r["penalty"], r["with"], r["case"]) for r in rows] == want, rows
for r in rows:
    assert r["name"] == "prior" and r["device"] == "cpu" and r["least_s"] <= r["median_s"] and r["size"] == 12
    assert abs(r["events_per_s"] * r["median_s"] / 12**3 - 1) < 1e-9, r
    pairs = 1 if r["penalty"] == "tv" else 13
    assert abs(r["visits_per_s"] / r["events_per_s"] / pairs - 1) < 1e-9, r
    for key in ("median_s", "limit_s", "fraction_of_limit", "operations_per_voxel"):
        assert r[key] > 0 and math.isfinite(r[key]), (key, r)
END
run bench prior --size 8 --case gradient --with none --repeats 1 --device cpu
out_has 'rdp gradient'
[ "$(grep -c 'rdp' out)" = 1 ] || fail "one row was asked for"
run bench prior --dry-run --device cpu
out_has 'memory for'
expect 4 bench prior --memory-limit 0.001 --device cpu
expect 2 bench prior --penalty rpd
expect 2 bench prior --size 1
echo "all passed"
