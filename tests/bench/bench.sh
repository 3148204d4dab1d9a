#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Benchmarks at tiny sizes: rows, work and checks are there; no time is asserted.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

# rows FILE CASE...: what every row must say, and that of the cases given
rows() {
	check "rows of $1" "$@" <<'END'
import json, math, sys
file, *cases = sys.argv[1:]
r = json.load(open(file))["results"]
assert [row["case"] for row in r["rows"]] == [c for c in cases for _ in range(2)], r["rows"]
for row in r["rows"]:
    assert row["name"] == "ray" and row["device"] == "cpu"
    for key in ("median_s", "least_s", "events_per_s", "visits_per_s", "bytes_per_s", "limit_s",
                "fraction_of_limit", "setup_s", "ordering_s", "first_step_s", "generate_s"):
        assert row[key] > 0 and math.isfinite(row[key]), key
    assert row["least_s"] <= row["median_s"] and row["spread"] >= 0
    assert row["events_used"] == row["events"] == 3000
    assert row["ratio_step_s"] > 0
    assert abs(row["sum_of_image"] / row["events"] - 1) < 1e-5, row["sum_of_image"]
    known = row["visits_expected"]
    assert abs(row["visits_per_event"] / known - 1) < .02, row
    limits = r["limits_" + row["case"]]
    assert all(v > 0 for v in limits.values()), limits
END
}

for case in 128 body; do
	run bench ray --case $case --events 3000 --repeats 2 --device cpu --json -q
	cp out $case.json
	rows $case.json $case
done
run bench ray --case 128 --events 3000 --repeats 3 --file-order off --device cpu --json
rows out 128
check "sorting changes the work" <<'END'
import json
a, b = (json.load(open(f))["results"]["rows"] for f in ("128.json", "out"))
for x, y in zip(a, b):
    assert abs(x["visits_per_event"] / y["visits_per_event"] - 1) < 1e-9
    assert abs(x["loglik"] - y["loglik"]) < 1e-6 * abs(x["events"])
END

# ---- the table, another image, no time of flight ----
run bench --grid 20,30,10 --voxel 8 --events 1000 --tof-fwhm-ps 0 --repeats 1 --device cpu
out_has '20x30x10 8 mm'
out_has 'of limit'
[ "$(grep -c 'set-up' out)" = 1 ] || fail "one row was asked for"
run bench ray --case all --dry-run --device cpu
out_has 'memory for'

# ---- events in a file: any number of them begins alike, and the file can be read ----
run bench ray --events 5000 --write a.lmdT
run bench ray --events 2000 --write b.lmdT
[ "$(wc -c <a.lmdT)" = 140000 ] || fail "size of a.lmdT"
cmp -n 56000 a.lmdT b.lmdT || fail "the first events differ"
run bench ray --events 5000 --write c.lmdT --case body --json
check "hashes" <<'END'
import json
blocks = json.load(open("out"))["results"]["blocks"]
assert len(blocks) == 1 and blocks[0]["events"] == 5000 and len(blocks[0]["xxh64"]) == 16
END
cmp -s a.lmdT c.lmdT && fail "both rings give the same events"
run info a.lmdT
out_has 5000

# ---- dual-head PET: multiply-adds are those of the matrix ----
cat >tiny.yaml <<'END'
kind: panels
crystals: [4, 5]
pitch_mm: [2, 2]
crystal_mm: [1.8, 1.8, 6]
gap_mm: 10
voxels_per_pitch: [2, 2]
planes: 5
plane_mm: 1.6
energy: {resolution: 0.2, window_kev: [250, 750]}
END
run srm tiny.yaml --analytic --share 1 -o tiny.srm
run info tiny.srm --json
cp out info.json
run bench srm --srm tiny.srm --subsets 3 --subset-rule mod --repeats 2 --device cpu --json
check "rows of srm" <<'END'
import json, math
full = json.load(open("info.json"))[0]["storage_bytes"]["full"] / 8	# elements
r = json.load(open("out"))["results"]
want = [(s, w) for s in ("correlation", "row", "column", "combined")
        for w in ("forward", "adjoint", "iteration")]
assert [(row["strategy"], row["what"]) for row in r["rows"]] == want, r["rows"]
for row in r["rows"]:
    assert row["name"] == "srm" and row["subsets"] == 3 and row["lors"] == 400
    assert row["voxels"] == 8 * 10 * 5
    for key in ("median_s", "least_s", "multiply_adds_per_s", "limit_multiply_adds_per_s", "limit_s",
                "fraction_of_limit", "setup_s", "first_s"):
        assert row[key] > 0 and math.isfinite(row[key]), key
    times = 2 if row["what"] == "iteration" else 1
    assert row["multiply_adds"] == times * full, (row["multiply_adds"], full)
END
run bench srm --srm tiny.srm --strategy column --repeats 1 --device cpu
out_has 'column iteration'
run bench srm --dry-run --device cpu
out_has 'system matrix'
expect 2 bench srm --srm tiny.srm --subsets 21 --device cpu
err_has '21 subsets'
expect 2 bench srm --srm tiny.srm --pairs 100
err_has 'give one of them'
expect 2 bench srm --srm tiny.srm --per-column 100
expect 2 bench srm --srm tiny.srm --ladder --device cpu
err_has 'is of CUDA'
expect 2 bench srm --strategy rows

# ---- optoacoustics: pairs of voxel and transducer, and the time of the paper's size from them ----
run bench oat --grid 12,10,8 --voxel 0.5 --rings 8 --views 6 --repeats 2 --device cpu --json -q
check "rows of oat" <<'END'
import json, math
r = json.load(open("out"))["results"]
want = ["ubp", "G", "G* scatter", "G* gather", "D He both ways", "PLS-Int iteration",
        "PLS-Int iteration, 2e-2"] + [
    kind + way for kind, ways in (("svoxel point", ("", " adjoint")), ("PLS-Sph", (" iteration",)),
    ("svoxel rect", ("", " adjoint")), ("PLS-Sph rect", (" iteration",))) for way in ways]
assert [row["what"] for row in r["rows"]] == want, [row["what"] for row in r["rows"]]
for row in r["rows"]:
    assert row["name"] == "oat" and row["device"] == "cpu"
    for key in ("median_s", "least_s", "limit_s", "fraction_of_limit", "units_per_s", "full_size_s",
                "processor_s", "setup_s", "first_s"):
        assert row[key] > 0 and math.isfinite(row[key]), key
    ubp, gather = row["what"] == "ubp", row["what"] == "G* gather"
    assert row["voxels"] == 12 * 10 * (1 if gather else 8)
    assert row["transducers"] == 48 if ubp else 4 <= row["transducers"] <= 24, row
    assert row["pairs"] == row["voxels"] * row["transducers"]
    full = 210 * 210 * 440 * 90 * (128 if ubp else 64)
    if row["unit"] == "samples":
        full, known = 64 * 90 * 1022, row["transducers"] * 1022
    elif row["unit"] == "points":
        fewer = 2 if row["what"].endswith("2e-2") else 1  # points: steps of the root of 2
        full, known = full * .14 / (1.54 * .05 * fewer), row["pairs"] * .5 / (1.54 * .05 * fewer)
    else:
        known = row["pairs"]
    assert abs(row["units"] / known - 1) < 1e-9, row
    assert abs(row["full_size_s"] / (row["median_s"] * full / known) - 1) < 1e-6, row
assert r["limits"]["operations_per_s"] > 0 and r["limits"]["cache_bytes_per_s"] > 0
END
run bench oat --operator ubp --grid 9 --rings 4 --views 3 --transducers 5 --repeats 1 --device cpu
out_has '9x9x9 voxels, 5 transducers'
out_has 'full size'
run bench oat --dry-run --device cpu
[ "$(grep -c 'memory for' out)" = 13 ] || fail "a plan for each row"
expect 4 bench oat --grid 1000 --voxel 0.03 --memory-limit 0.5 --device cpu
expect 2 bench oat --operator G

# ---- its cases: accuracies with rows of their own; the time of all transducers from that of a few ----
for case in gpair-256:1024 gpair-512:1024 wang:5760 wang-rect:5760 slice:256; do
	errors=2e-2,1e-3,1e-6
	[ $case != slice:256 ] || errors=2e-2 # it has iterations
	run bench oat --case ${case%:*} --grid 8,6,4 --accuracy $errors --transducers 5 --repeats 2 --device cpu --json -q
	check "case ${case%:*}" ${case%:*} ${case#*:} <<'END'
import json, math, sys
case, all = sys.argv[1], int(sys.argv[2])
r = json.load(open("out"))["results"]
batches, errors, more = ([1, 8], (2e-2,), ("frames",)) if case == "slice" else ([1], (2e-2, 1e-3, 1e-6), ())
want = [(e, b, what) for e in errors for b in batches for what in ("forward", "adjoint", "sum", *more)]
assert [(row["accuracy"], row["batch"], row["what"]) for row in r["rows"]] == want, r["rows"]
for i, row in enumerate(r["rows"]):
    assert row["case"] == case and row["transducers"] == 5 and row["voxels"] == 8 * 6 * 4
    if row["what"] == "frames":
        assert row["iterations"] == 50 and abs(row["frames_per_s"] * row["median_s"] / row["batch"] - 1) < 1e-9
        continue
    assert row["pairs"] == 5 * 8 * 6 * 4 * row["batch"] * (2 if row["what"] == "sum" else 1)
    for key in ("median_s", "limit_s", "fraction_of_limit", "pairs_per_s", "roots_per_pair",
                "shared_bytes_per_pair", "slots_per_pair", "setup_s", "first_s", "expected_error"):
        assert row[key] > 0 and math.isfinite(row[key]), key
    assert abs(row["full_size_s"] / (row["median_s"] * all / 5) - 1) < 1e-9
    assert row["width"] >= 7 if row["accuracy"] < 1e-5 else 2 <= row["width"] <= 4, row
    if row["what"] == "sum":
        for key in ("limit_s", "roots_per_pair", "slots_per_pair"):
            assert abs(row[key] / (r["rows"][i - 1][key] + r["rows"][i - 2][key]) - 1) < 1e-6, key
END
done
for through in straight bent ellipsoid table; do
	run bench oat --case wang --through $through --radius .6 --grid 8,6,4 --accuracy 1e-3 --transducers 5 \
		--repeats 1 --device cpu
	out_has "adjoint, tissue: $through"
done
run bench oat --case sradon --grid 12,10,8 --voxel 0.5 --transducers 5 --repeats 1 --device cpu
out_has 'PLS-Int iteration'
run bench oat --case gpair-512 --dry-run --device cpu
[ "$(grep -c 'memory for' out)" = 2 ] || fail "a plan for each accuracy"
expect 2 bench oat --case gpair
expect 2 bench oat --case slice --accuracy 2 --device cpu
err_has "accuracy is '2'"
expect 3 bench oat --voxel 1 --device cpu
err_has 'transducer'

# ---- refusals ----
run bench ray --events 1e9 --write d.lmdT --dry-run
[ ! -e d.lmdT ] || fail "--dry-run wrote events"
expect 4 bench ray --case 128 --events 1e6 --memory-limit 0.01 --device cpu
# barrels and lives: the rows that were asked for, and the work that they tell
run bench barrel --barrel modular --voxel 20 --events 300 --repeats 1 --device cpu --sensitivity
run bench lifetime --triples 300 --size 5,5,5 --voxel 20 --iterations 2 --repeats 1 --device cpu --json -q
check "bench lifetime" <<'END'
import json
rows = json.load(open("out"))["results"]["rows"]
assert [r["method"] for r in rows] == ["posterior", "image", "moment", "emg"], rows
assert all(r["median_s"] > 0 and r["voxels_per_triple"] > 0 for r in rows) and rows[3]["emg_iterations"] > 0, rows
END
expect 2 bench rya
err_has "'rya' is not a benchmark"
expect 2 bench ray --case 64
expect 2 bench ray --voxel 3
err_has '--voxel goes with --grid'
expect 2 bench ray --events 10 --write a.lmdT
err_has 'a.lmdT exists'
expect 0 bench ray --events 10 --write a.lmdT --force
expect 2 bench ray --events 10 --write a.nii
expect 2 bench ray --repeats 0
echo "all passed"
