#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Whole runs of the program as a benchmark, at tiny sizes: every event is counted, the times add up, table and
# drawing say the same, and nothing is left in the folder, however it ends. No time is asserted.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

mkdir tmp
export TMPDIR=$work/tmp
small='--grid 20,20,8 --voxel 25 --sens-share 1e-5'

nothing_left() { # WHEN
	[ -z "$(ls -A tmp)" ] || fail "$1: files are left: $(ls -A tmp)"
	local cwd
	cwd=$(readlink /proc/[0-9]*/cwd || true) # those of other users can't be read
	[[ $cwd != *"$work/tmp"* ]] || fail "$1: a process is left"
}

# ---- rows ----
run bench end-to-end --cases plain,subsets,osem,joseph,tof-bin,rays,strip --events 1000,2000,4000 --block 2000 \
	--with="$small --iterations 2" --repeats 0 --threads 2 --device cpu --json --table rows.csv --plot seconds.svg -q
nothing_left 'after the runs'
cp out first.json
check "rows" <<'END'
import csv, json, math
import xml.etree.ElementTree as xml
record = json.load(open("first.json"))
r = record["results"]
limits = r["limits"]
for key in ("file_bytes_per_s", "memory_bytes_per_s", "load_8_per_s", "add_8_per_s", "operations_per_s",
            "multiply_adds_per_s", "start_s"):
    assert limits[key] > 0 and math.isfinite(limits[key]), key
assert limits["device"] == "cpu" and limits["threads"] == 2 and record["device"].startswith("cpu (")
names, sizes = ["plain", "subsets", "osem", "joseph", "tof-bin", "rays", "strip"], [1000, 2000, 4000]
rows = {}
for row in r["rows"]:
    rows.setdefault((row["case"], row["events"]), {})[row["stage"]] = row
    assert row["name"] == "end-to-end" and row["device"] == "cpu" and row["repeats"] == 1
    assert row["median_s"] > 0 and row["first_s"] == row["median_s"], row
    assert abs(row["events_per_s"] * row["median_s"] / row["events"] - 1) < 1e-9, row
    assert (row["limit"] is None) == (row["limit_s"] is None), row
    if row["limit_s"]:
        assert abs(row["fraction_of_limit"] * row["median_s"] / row["limit_s"] - 1) < 1e-9, row
assert set(rows) == {(name, n) for name in names for n in sizes}, sorted(rows)
kinds = {"read": "file read", "check": None, "factors": "memory", "sensitivity": None, "reconstruct": "kernel", "outside": None,
         "wall": "all"}
seen = set()
for (name, n), stages in rows.items():
    seen |= set(stages)
    wall = stages["wall"]
    parts = sum(s["median_s"] for stage, s in stages.items() if stage != "wall")
    assert abs(parts - wall["median_s"]) < 1e-6, (name, n, parts, wall["median_s"])
    for stage, s in stages.items():
        assert s["limit"] == kinds[stage], s
    if "read" in stages:    # no device is opened meanwhile
        assert abs(stages["read"]["limit_s"] * limits["file_bytes_per_s"] / wall["file_bytes"] - 1) < 1e-6, stages
    assert wall["limit_s"] >= limits["start_s"] * (1 - 1e-6), wall
    assert wall["file_bytes"] == n * (12 if name == "strip" else 28), wall
    assert wall["counted"]["used"] + wall["counted"]["skipped"] == n, wall
    assert name == "subsets" or wall["counted"]["used"] > .5 * n, wall    # 50 events a subset are few
    assert wall["peak_bytes"] > 1e6 and wall["way"] == "memory", wall
    assert abs(wall["floor_file_s"] * limits["file_bytes_per_s"] / wall["file_bytes"] - 1) < 1e-6, wall
    assert abs(wall["floor_link_s"] * limits["memory_bytes_per_s"] / wall["file_bytes"] - 2) < 1e-6, wall
    if "reconstruct" in stages:
        assert abs(wall["floor_kernel_s"] / stages["reconstruct"]["limit_s"] - 1) < 1e-6, wall
    assert abs(wall["ns_per_event"] - 1e9 * wall["median_s"] / n) < 1e-6 * wall["ns_per_event"]
    if name not in ("subsets", "osem", "strip"):    # each event that is used is one count of the image
        assert abs(wall["counted"]["sum_of_sensitivity_times_image"] / wall["counted"]["used"] - 1) < 1e-3, wall
    before = rows.get((name, n // 2))
    if before is None:
        assert wall["ns_per_further_event"] is None, wall
        continue
    further = 1e9 * (wall["median_s"] - before["wall"]["median_s"]) / (n / 2)
    assert abs(wall["ns_per_further_event"] - further) < 1e-6 * abs(further) + 1e-6, wall
assert {"read", "reconstruct", "outside", "wall"} <= seen, seen
# the file of 4000 events is that of 2000 twice
for name in names:
    a, b = (rows[name, n]["wall"]["counted"] for n in (2000, 4000))
    assert name == "subsets" or b["used"] == 2 * a["used"] and b["skipped"] == 2 * a["skipped"], (name, a, b)
# the limits of kernels: four lines have four times the work of one, Joseph and bins have their own
work = {name: rows[name, 4000].get("reconstruct", {"visits_per_s": 0, "median_s": 0}) for name in names}
visits = {name: w["visits_per_s"] * w["median_s"] for name, w in work.items()}
if visits["plain"] > 0 and visits["rays"] > 0:
    assert abs(visits["rays"] / visits["plain"] - 4) < 1e-6, visits
table = list(csv.DictReader(open("rows.csv")))
assert len(table) == len(r["rows"])
for line, row in zip(table, r["rows"]):
    assert (line["case"], int(line["events"]), line["stage"]) == (row["case"], row["events"], row["stage"])
    assert abs(float(line["median_s"]) / row["median_s"] - 1) < 1e-5
    assert line["limit"] == (row["limit"] or "") and (line["limit_s"] == "") == (row["limit_s"] is None)
# two plots: the stages of the first case, and the walls of all
svg = xml.parse("seconds.svg").getroot()
assert svg.tag == "{http://www.w3.org/2000/svg}svg", svg.tag
plots = svg.findall("{http://www.w3.org/2000/svg}g")
texts = [[t.text for t in p.iter("{http://www.w3.org/2000/svg}text")] for p in plots]
texts = [t for t in texts if any(w.startswith("seconds of") for w in t)]    # others have the numbers of an axis alone
assert len(texts) == 2, texts
assert "wall" in texts[0] and "reconstruct" in texts[0] and "limit of the wall" in texts[0], texts[0]
assert all(name in texts[1] for name in names), texts[1]
END

# ---- repeats: the first run is told apart; the table on the terminal ----
run bench end-to-end --cases strip --events 500,200000 --repeats 2 --device cpu --folder tmp
nothing_left 'after repeats'
out_has 'strip 2e5 wall'
out_has 'of limit'
out_has 'file read'
out_has 'ns each further one'
check "walls beside floors" <<'END'
lines = open("out").read().splitlines()
head = next(i for i, line in enumerate(lines) if line.split()[:3] == ["case", "events", "file"])
assert lines[head - 1].startswith("files made in "), lines[head - 1]
rows = [line.split() for line in lines[head + 1:] if line.startswith("strip")]
assert [float(row[1]) for row in rows] == [500, 200000], rows
END

# ---- the same run from a scratch file ----
run bench end-to-end --cases subsets --events 50000 --block 10000 --repeats 0 --threads 2 --with="$small --scratch ." \
	--device cpu --json -q
nothing_left 'after a scratch file'
grep -q '"way": "scratch"' out || fail "events came another way: $(cat out)"

# ---- dual heads: a histogram, whatever --events says ----
if [ "${ISO_TEST_FULL:-0}" = 1 ]; then
	run bench end-to-end --cases srm --events 10,20 --repeats 0 --device cpu --json
	nothing_left 'after srm'
	check "srm" <<'END'
import json
rows = {row["stage"]: row for row in json.load(open("out"))["results"]["rows"]}
assert rows["wall"]["events"] == 1000000 and rows["wall"]["file_bytes"] > 4 * (26 * 52) ** 2, rows["wall"]
assert rows["reconstruct"]["limit"] == "kernel" and rows["reconstruct"]["visits_per_s"] > 0
END
fi

# ---- what machines can do ----
run bench limits --device cpu --folder tmp --json
nothing_left 'after limits'
check "limits" <<'END'
import json
r = json.load(open("out"))["results"]
assert "link_bytes_per_s" not in r
assert r["file_bytes_per_s"] > 1e7 and r["memory_bytes_per_s"] > 1e7 and r["multiply_adds_per_s"] <= r["operations_per_s"] * 1.5
END
expect 1 bench limits --device cpu --folder nowhere
err_has 'nowhere'

# ---- a run that fails says why ----
expect 2 bench end-to-end --cases plain --events 100 --with='--projector none' --device cpu
err_has "--projector is 'none'"
nothing_left 'after a failure'
expect 1 bench end-to-end --cases plain --events 1e12 --device cpu
err_has '--folder names another place'
nothing_left 'without room'

# ---- interrupted: as every command ends, with its child, and with nothing left ----
for signal in INT TERM; do
	"$ISOTOME" bench end-to-end --cases plain --events 2000 --with="$small --iterations 1000000" --device cpu \
		-q --table stopped.csv >out 2>err &
	pid=$!
	for ((i = 0; i < 600; i++)); do # until the events are there: then comes the reconstruction
		! compgen -G 'tmp/*/events.lmdT' >/dev/null || break
		sleep 0.1
	done
	sleep 0.5
	kill -s "$signal" $pid
	code=0
	wait $pid || code=$?
	case $signal/$code in
	INT/130 | TERM/143) ;;
	*) fail "SIG$signal: exit code $code" ;;
	esac
	nothing_left "after SIG$signal"
	[ ! -e stopped.csv ] || fail "SIG$signal: a table of what was not run"
done

# ---- no run after its time: rows are missing, and that is told ----
run bench end-to-end --cases plain,strip --events 100,200 --at-most-s 1e-9 --device cpu --plot late.svg
err_has 'rows are missing'
[ ! -e late.svg ] || fail "a drawing of nothing"

# ---- refusals ----
run bench end-to-end --dry-run --device cpu
out_has 'isotome recon ray --scanner ring.yaml --events events.lmdT'
out_has '--rays 4'
out_has 'recon srm --srm matrix.srm'
run bench end-to-end --dry-run --device cpu --cases srm,strip
! grep -q 'recon ray' out || fail "--cases"
expect 2 bench end-to-end --cases plain,plan --device cpu
err_has "'plan'"
expect 2 bench end-to-end --events 100,50 --device cpu
err_has 'rising'
expect 2 bench end-to-end --events many --device cpu
expect 2 bench end-to-end --events 100 --plot a.svg --device cpu
err_has 'two numbers of events'
expect 2 bench end-to-end --plot a.png --device cpu
expect 2 bench end-to-end --table a.txt --device cpu
expect 2 bench end-to-end --table rows.csv --device cpu
err_has 'rows.csv exists'
nothing_left 'after refusals'
echo "all passed"
