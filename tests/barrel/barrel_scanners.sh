#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Barrels of strips: what info says of the examples, and their pictures.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

for name in modular 192 total-body; do
	run info --json "$SOURCE/examples/scanners/jpet-$name.yaml"
	cp out "$name.json"
	run info "$SOURCE/examples/scanners/jpet-$name.yaml" --plot "$name.png"
done
check "strips, pairs, radii and errors of the examples" <<'END'
import json, math
of = {n: json.load(open(n + ".json")) for n in ("modular", "192", "total-body")}
of = {n: o[0] if isinstance(o, list) else o for n, o in of.items()}
m, b, t = of["modular"], of["192"], of["total-body"]
assert (m["strips"], b["strips"], t["strips"]) == (312, 192, 768)
assert (m["first_number"], b["first_number"], t["first_number"]) == (0, 0, 1)
assert abs(m["inner_radius_mm"] - 369.86) < 1e-6 and abs(b["inner_radius_mm"] - 415.5) < 1e-6
assert abs(t["inner_radius_mm"] - 393.08) < 1e-3 and t["length_mm"] == 2000
assert abs(m["sigma_z_mm"] - 0.126 * 90 / math.sqrt(2)) < 1e-6 and t["sigma_z_mm"] == 5
assert abs(t["sigma_dl_mm"] - 0.299792458 * 400 / 2.354820) < 1e-4
# strips on a circle: those of 156 modules that are far enough, less near neighbours
assert 0.7 < m["pairs"] / (312 * 311 / 2) < 1
assert all(o["shadow"] == "line" and o["coincidence_ns"] == 3 for o in of.values())
END
expect 3 recon strip --events none.f32 --scanner "$SOURCE/examples/scanners/jpet-modular.yaml" -o x.nii
