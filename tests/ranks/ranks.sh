#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Several processes by mpirun: the files are those of one, byte for byte, of every command and model that
# shares its work (tests/ranks/ranks.py); a checkpoint serves any number of them.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_ranks

SMALL_RUNS_EVENTS=3000 PYTHONPATH=$SOURCE/tests/robust \
	"$PYTHON" "$SOURCE/tests/ranks/ranks.py" "$ISOTOME" "$SOURCE" "$work/runs" 2,3,4 >out 2>err ||
	{ cat out; fail "files of several ranks"; }
inputs=$work/runs/in

# ---- what is said, and by whom ----
expect_ranks 3 0 recon srm --srm "$inputs/m.srm" --data "$inputs/lors.npy" --json -o x.nii
check "the record of ranks" <<'END'
import json
record, kept = json.load(open("out")), json.load(open("x.json"))
for ranks in record["ranks"], kept["ranks"]:
    if ranks["n"] != 3 or len(ranks["each"]) != 3:
        raise SystemExit("ranks: %s" % ranks)
    for one in ranks["each"]:
        if one["bytes_read"] <= 0 or one["peak_memory_bytes"] <= 0 or one["busy_s"] < 0 or one["waiting_s"] < 0:
            raise SystemExit("a rank: %s" % one)
if any("xxh64" in i or "xxh64_of_sample" not in i for i in record["inputs"]):
    raise SystemExit("hashes: %s" % record["inputs"])
END
[ "$(grep -c ' 100 %' err)" = 1 ] || fail "progress must be told once"
expect_ranks 3 0 recon srm --srm "$inputs/m.srm" --data "$inputs/lors.npy" --dry-run -o y.nii
[ "$(grep -c '^in all' out)" = 1 ] || fail "the plan must be told once"
out_has 'of each of 3 ranks, which has all rows'
expect_ranks 2 0 recon ray --scanner "$inputs/ring.yaml" --events "$inputs/e.lmdT" --grid 8,8,4 --voxel 20,20,18 \
	--dry-run --json -o y.nii
check "the plan as JSON" <<'END'
import json
split = json.load(open("out"))[-1]
if split["ranks"] != 2 or split["share"] != "rows" or split["bytes_exchanged_an_update"] != 8 * 8 * 8 * 4:
    raise SystemExit("split: %s" % split)
END
expect_ranks 2 0 info "$inputs/m.srm"
[ "$(grep -c 'system matrix' out)" = 1 ] || fail "info must be told once"
expect_ranks 3 0 --version
[ "$(wc -l <out)" = 1 ] || fail "the version must be told once"
expect_ranks 2 0 recon --help
[ "$(grep -c 'usage' out)" -le 1 ] || fail "help must be told once"

# ---- a checkpoint of 4 ranks goes on with 1, 2, 3; that of 1 with 4 ----
recon() { # MODEL OPTIONS...
	local model=$1
	shift
	echo "recon $model $* --device cpu"
}
case_of() {
	case $1 in
	srm) recon srm --srm "$inputs/m.srm" --data "$inputs/lors.npy" --iterations 12 ;;
	svoxel) recon svoxel --data "$inputs/traces.npy" --scanner "$inputs/sphere.yaml" --grid 6 --voxel 1 --iterations 9 --fmax-mhz 1 ;;
	sradon) recon sradon --data "$inputs/traces.npy" --scanner "$inputs/sphere.yaml" --grid 6 --voxel 1 --iterations 9 --nonneg ;;
	frames) recon ray --scanner "$inputs/ring.yaml" --events "$inputs/e.Cdh" --sens "$inputs/sens.nii" --grid 8,8,4 --voxel 20,20,18 --iterations 4 --frames 0,40,70,100 ;;
	poses) recon ray --scanner "$inputs/ring.yaml" --events "$inputs/e.Cdh" --poses "$inputs/poses.csv" --grid 8,8,4 --voxel 20,20,18 --iterations 4 ;;
	esac
}
for case in srm svoxel sradon frames poses; do
	read -ra words <<<"$(case_of $case)"
	run "${words[@]}" -o whole.nii --force
	for pair in 4:1 4:3 1:4 3:2; do
		rm -f part.*
		expect_ranks "${pair%:*}" 143 "${words[@]}" --stop-after 0.0000001 -o part.nii
		err_has 'resume continues from part.nii.'
		expect_ranks "${pair#*:}" 0 "${words[@]}" --resume -o part.nii
		same whole.nii part.nii
		[ "$(echo part.*)" = "part.json part.nii" ] || fail "$case: left behind: $(echo part.*)"
		[ "${ISO_TEST_FULL:-0}" = 1 ] || [ "$case:$pair" != svoxel:4:3 ] || break
	done
done

# ---- images between iterations, and the curve: written once ----
read -ra words <<<"$(case_of svoxel)"
mkdir one several
(cd one && "$ISOTOME" "${words[@]}" --save-every 3 --curve c.csv -o x.nii -q)
(cd several && by_ranks -n 3 "$ISOTOME" "${words[@]}" --save-every 3 --curve c.csv -o x.nii -q)
[ "$(ls one)" = "$(ls several)" ] || fail "files: $(ls several), of one process $(ls one)"
for name in one/*.nii one/*.csv; do same "$name" "several/${name#one/}"; done
