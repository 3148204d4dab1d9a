#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The frame of the command line: help, suggestions, exit codes, records, info, convert.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

# ---- help ----
expect 0
out_has 'usage: isotome COMMAND'
commands=$(awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }' out)
[ -n "$commands" ] || fail "no commands are listed"
for command in $commands; do
	expect 0 "$command" --help
	for text in "usage: isotome $command" --help --json Examples: "  isotome $command"; do
		out_has "$text"
	done
	awk 'length > 120 { exit 1 }' out || fail "$command --help has long lines"
	cp out by_option
	expect 0 help "$command"
	cmp -s out by_option || fail "'help $command' and '$command --help' differ"
	expect 2 "$command" --no-such-option
	err_has "isotome $command: unknown option '--no-such-option'"
	err_has "try 'isotome $command --help'"
done
expect 0 phantom -h
for option in '-o,' --output --mu --grid --voxel --centre --at --samples --list --device \
	--threads --memory-limit --dry-run --force --like '-v,' '-q,' '(default: 5)' '(required)'; do
	out_has "$option"
done
expect 0 --version
grep -qE '^isotome [0-9]+\.[0-9]+\.[0-9]+$' out || fail "--version prints no version"
expect 0 --built-with
grep -qE '(^|, )for (the processor of the build|any |x86-64)' out || fail "--built-with tells nothing"

# ---- options of the optoacoustic models: in the help, and on their page ----
pages=("$SOURCE/docs/optoacoustic.md" "$SOURCE/docs/optoacoustic-tissue.md")
for command in 'recon ubp' 'recon svoxel' 'recon sradon' simulate convert phantom mu view 'measure rmse' \
	'reproduce wang2013' 'bench oat' demo; do
	# shellcheck disable=SC2086
	expect 0 $command --help
	cat out >>all_help
	case $command in
	recon*)
		sed -n '/^Model/,/^$/p; /^Least squares/,/^$/p' out | grep -oE '^ +--[a-z-]+' >options
		while read -r option; do
			grep -qF -e "$option" "${pages[@]}" || fail "docs/optoacoustic*.md lack $option of $command"
		done <options
		;;
	esac
done
for command in 'recon ray' 'recon matrix' warp gate motion; do
	# shellcheck disable=SC2086
	expect 0 $command --help
	cat out >>all_help
done
grep -oE -e '--[a-z][a-z-]+' "${pages[@]}" "$SOURCE/docs/formats.md" | cut -d: -f2 | sort -u >options
while read -r option; do
	grep -qE -e "$option( |,|\$)" all_help || fail "no help has $option"
done <options
for text in vessel-tree 'IPASC (.hdf5,' smooth_fwhm_mm '.msot' 'where the transducers are'; do
	tr -s ' \n' ' ' <all_help | grep -qF -e "$text" || fail "no help has '$text'"
done

# ---- mistakes ----
expect 2 phantm
err_has "did you mean 'phantom'?"
expect 2 help phantm
expect 2 phantom spheres -o x.nii --voxle 4
err_has "unknown option '--voxle'; did you mean '--voxel'?"
expect 2 phantom
err_has 'NAME|FILE is missing'
expect 2 phantom spheres
err_has '--output is missing'
expect 2 phantom spheres -o
err_has '-o needs a value FILE'
expect 2 phantom spheres -o --force
err_has '-o needs a value FILE'
expect 2 phantom spheres --output= --force
err_has '--output is empty'
expect 2 phantom spheres extra -o x.nii
err_has "'extra' is one argument too many"
expect 2 phantom spheres -o x.nii --force=yes
err_has '--force takes no value'
for value in x 3x '' 0x3 nan inf 1e99 2.5 ' 3'; do
	expect 2 phantom spheres -o x.nii "--samples=$value"
done
expect 2 phantom spheres -o x.nii --samples 0
err_has '--samples is 0, must be between 1 and 64'
expect 2 phantom spheres -o x.nii --grid 8,8
err_has "--grid is '8,8', must be 3 integers NX,NY,NZ"
expect 2 phantom spheres -o x.nii --grid 8,8,8,8
expect 2 phantom spheres -o x.nii --at 1
expect 2 phantom spheres -o x.nii --device tpu
expect 2 phantom spheres -o x.unknown
expect 1 phantom spheres -o no/such/folder/x.nii
expect 2 phantom spheers -o x.nii
err_has "did you mean 'spheres'?"
expect 4 phantom spheres -o x.nii --grid 10000,10000,10000
err_has '10000 x 10000 x 10000'
expect 4 phantom spheres -o x.nii --grid 64 --memory-limit 0.0005
expect 5 phantom spheres -o x.nii --device cuda:999
[ ! -e x.nii ] || fail "a refused run left x.nii"

# ---- values ----
expect 0 phantom --list
out_has spheres
expect 0 phantom point --at -3,-.5,2e0 --voxel 1 --grid 9,7,5 --centre=-3,0,2 -opoint.nii \
	--mu mu.npy
expect 0 info point.nii
out_has 'n 9, 7, 5; voxel_mm 1, 1, 1; centre_mm -3, 0, 2'
out_has 'a.u.'
expect 0 info mu.npy
out_has 'shape             5, 7, 9'
out_has '1/mm'
expect 0 phantom -q --output=-o.nii --grid 4 --dry-run -- spheres
[ ! -e ./-o.nii ] || fail "--dry-run wrote a file"

# ---- existing files ----
expect 2 phantom point -o point.nii
err_has 'point.nii exists; --force replaces it'
expect 2 convert point.nii point.nii.gz
err_has 'point.json exists; --force replaces it'
echo '{"shapes": []}' >mine.json
expect 2 phantom point -o mine.nii --force
err_has 'mine.json, which is no record'
expect 2 phantom point -o two.nii --mu two.nii.gz
err_has 'the record of --output two.json and the record of --mu two.json are one file'

# ---- records ----
expect 0 phantom --like point.json -o again.nii --mu again_mu.npy
cmp -s point.nii again.nii || fail "--like gave another image"
expect 0 phantom --like point.json -o wide.nii --mu wide_mu.npy --voxel 2
expect 0 info wide.nii
out_has 'n 9, 7, 5; voxel_mm 2, 2, 2; centre_mm -3, 0, 2'
expect 3 convert --like point.json
err_has "record of 'isotome phantom', not of 'isotome convert'"
sed 's/"samples"/"sample"/' point.json >bad.json
expect 3 phantom --like bad.json -o y.nii
err_has "unknown parameter 'sample'; did you mean 'samples'?"
sed 's/"samples": 5/"samples": 5000/' point.json >bad.json
expect 3 phantom --like bad.json -o y.nii
err_has "parameter 'samples' is 5000, must be between 1 and 64"
sed 's/"samples": 5/"samples": "5"/' point.json >bad.json
expect 3 phantom --like bad.json -o y.nii
echo '[' >bad.json
expect 3 phantom --like bad.json -o y.nii
expect 0 phantom point --grid 4 -o json.nii --json
python3 - <<'END' || fail "--json on stdout is not the record"
import json
out, side = json.load(open("out")), json.load(open("json.json"))
assert out["parameters"] == side["parameters"]
assert out["parameters"]["grid"] == [4, 4, 4] and out["parameters"]["centre"] is None
assert out["results"]["grid"]["n"] == [4, 4, 4]
assert {"isotome", "command", "started", "inputs", "device", "times_s", "warnings"} <= set(out)
assert out["command"] == "isotome phantom point --grid 4 -o json.nii --json"
END
# a number that is not finite would make a record fail: record_pack.c alone makes numbers
grep -lE '\bjson_real\(' "$SOURCE"/src/cmd/*.c | grep -v /record_pack.c && fail "json_real: record_real"
grep -lPz '\bjson_pack\(\s*"[^"]*f' "$SOURCE"/src/cmd/*.c && fail "json_pack of numbers: record_pack"
expect 0 phantom "$SOURCE/examples/phantoms/shapes.yaml" --voxel 20 -o shapes.nii
grep -q '"xxh64": "[0-9a-f]\{16\}"' shapes.json || fail "the record lacks the hash of an input"

# ---- info ----
expect 0 info "$TEST_DATA/listmode/events.lmdT"
out_has 'events            20181'
for scanner in "$SOURCE"/examples/scanners/*.yaml; do
	expect 0 info "$scanner"
	out_has ': scanner'
done
expect 0 info "$SOURCE/examples/phantoms/shapes.yaml" point.json
out_has ': phantom'
out_has ': record of a run'
{ printf '{"padding": "'; head -c 1200000 /dev/zero | tr '\0' x; printf '",'; tail -c +2 point.json; } >long.json
expect 0 info long.json	# of a long run: more than a description may have
out_has 'long.json: record of a run'
echo text >note.md
expect 3 info note.md
err_has 'unknown kind of file'
expect 3 info missing.nii
"$ISOTOME" info missing.nii point.nii note.md >out 2>err && fail "info ignores a missing file"
out_has 'point.nii: image'
[ "$(wc -l <err)" = 2 ] || fail "info must report each file that it can't read"
python3 - <<'END'
import struct
values = [float("nan"), float("inf"), -1.0, 0.0, 2.0]
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }"
head = head.ljust(117) + "\n"
with open("odd.npy", "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
    f.write(struct.pack("<5f", *values))
END
expect 0 info odd.npy
out_has 'warning: 2 values are NaN or infinite'
out_has 'warning: 1 values are negative'
"$ISOTOME" info --json odd.npy missing.nii point.nii >out 2>err || true
python3 - <<'END' || fail "info --json is not as expected"
import json
odd, missing, point = json.load(open("out"))
assert [odd[k] for k in ("nan", "infinite", "negative", "zero")] == [1, 1, 1, 1]
assert (odd["min"], odd["max"], odd["sum"]) == (-1, 2, 1)
assert "error" in missing and point["kind"] == "image" and point["shape"] == [5, 7, 9]
END

# ---- convert ----
for suffix in npy raw nii.gz; do
	expect 0 convert point.nii "there.$suffix"
done
expect 0 convert there.raw back.nii
cmp -s point.nii back.nii || fail "raw and back is not the same image"
expect 0 convert there.npy placed.nii --voxel 1 --centre -3,0,2
cmp -s point.nii placed.nii || fail "--voxel and --centre do not place the image"
expect 0 convert there.npy plain.nii
err_has 'warning: there.npy has no voxel size'
expect 2 convert there.npy z.nii --centre 1,2,3
expect 0 convert "$TEST_DATA/listmode/events.lmdT" events.npy
expect 0 convert events.npy events.lmdT
cmp -s "$TEST_DATA/listmode/events.lmdT" events.lmdT || fail "events changed on the way"
expect 3 convert there.npy z.lmdT
err_has 'array (n, 7)'
expect 3 convert missing.npy z.nii

# ---- the system says no ----
for args in --help 'info point.nii' 'phantom --list' 'recon --help'; do
	code=0
	# shellcheck disable=SC2086
	"$ISOTOME" $args >/dev/full 2>err || code=$?
	[ "$code" = 1 ] || fail "isotome $args >/dev/full: exit code $code, expected 1"
	err_has 'standard output could not be written'
done
code=0
(ulimit -f 1 && "$ISOTOME" phantom spheres --voxel 4 -o large.npy) >out 2>err || code=$?
[ "$code" = 1 ] || fail "past the file size limit: exit code $code, expected 1"
[ -z "$(find . -name 'large*')" ] || fail "a failed write left a file"

# ---- signals ----
for signal in INT:130 TERM:143; do
	"$ISOTOME" phantom spheres --grid 80,80,4000 --samples 20 -o slow.nii >out 2>err &
	sleep 1
	kill -s "${signal%:*}" $!
	code=0
	wait $! || code=$?
	[ "$code" = "${signal#*:}" ] || fail "exit code $code after a signal, expected $signal"
	[ ! -e slow.nii ] || fail "an interrupted run wrote its output"
done
echo "all passed"
