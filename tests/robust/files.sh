#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The files of a run: outputs that are also inputs or one another, two runs of one output, signals, long
# names, and what a run that failed leaves behind.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

solid_ring 6 >ring.yaml
run phantom cylinder --grid 20,20,12 --voxel 10,10,6 -o truth.nii
run simulate ring.yaml truth.nii --counts 20000 --seed 5 -o e.lmdT
run sens ray --scanner ring.yaml --grid 24,24,12 --voxel 8,8,6 -o sens.npy
cat >array.yaml <<END
kind: transducers
sphere: {radius_mm: 20, rings: 4, views: 6}
speed_mm_per_us: 1.5
sampling_mhz: 20
first_sample_us: 8
samples: 220
END
cat >panels.yaml <<END
kind: panels
crystals: [4, 6]
pitch_mm: [2, 2]
crystal_mm: [2, 2, 10]
gap_mm: 40
planes: 3
plane_mm: 10
voxels_per_pitch: [2, 2]
material: {formula: Lu1.8Y0.2SiO5, density: 7.1}
END
run phantom cylinder --grid 8 --voxel 1 -o ball.nii
run project sradon ball.nii --scanner array.yaml --grid 8 --voxel 1 -o traces.npy
ray=(ray --events e.lmdT --sens sens.npy --grid '24,24,12' --voxel '8,8,6' --device cpu --threads 1)
cg=(sradon --scanner array.yaml --data traces.npy --grid 8 --voxel 1 --iterations 2)

# untouched CODE TEXT ARGS...: refused, and all files are as they were.
untouched() {
	local code=$1 text=$2
	shift 2
	find . -type f ! -name out ! -name err ! -name sums -exec md5sum {} + >sums
	expect "$code" "$@"
	err_has "$text"
	md5sum --quiet -c sums || fail "isotome $*: a file has changed"
	[ "$(find . -type f ! -name out ! -name err ! -name sums | wc -l)" = "$(wc -l <sums)" ] ||
		fail "isotome $*: a refused run left a file"
}

# ---- one file of two names ----
ln -s . here
run convert truth.nii t.npy
ln t.npy hard.npy
untouched 2 '--curve traces.npy and --data traces.npy are one file' \
	recon "${cg[@]}" --curve traces.npy -o x.nii --force
untouched 2 '--curve here/traces.npy and --data traces.npy are one file' \
	recon "${cg[@]}" --curve here/traces.npy -o x.nii --force
untouched 2 'the record of --output x.json and --curve x.json are one file' \
	recon "${cg[@]}" --curve x.json -o x.nii
untouched 2 'the checkpoint of --output' recon "${cg[@]}" --curve x.nii.ckpt -o x.nii
untouched 2 'are one file' recon "${cg[@]}" --curve ./x_it001.nii --save-every 1 -o x.nii
untouched 2 '--output l.npy and --list ./l.npy are one file' simulate panels.yaml truth.nii --physics \
	--counts 100 --list ./l.npy -o l.npy
untouched 2 'the .Cdf file of --output y.Cdf and the .Cdf file of --delayed y.Cdf are one file' \
	simulate ring.yaml truth.nii --counts 1000 --randoms 0.1 -o y.Cdh --delayed y.cdh
untouched 2 'TO here/t.npy and FROM t.npy are one file' convert t.npy here/t.npy --force
untouched 2 'are one file' convert t.npy hard.npy --force
untouched 2 'are one file' view truth.nii -o truth.nii --force
untouched 2 'are one file' phantom cylinder --grid 4 -o a.nii --mu a.nii.gz
untouched 2 'are one file' report truth.nii -o truth.nii --force
# an input that the options do not name: the other half of a CASToR header
run simulate ring.yaml truth.nii --counts 1000 -o z.Cdh
cp z.Cdf part.npy
sed -i 's/z.Cdf/part.npy/' z.Cdh
untouched 2 'are one file' convert z.Cdh part.npy --force

# ---- a record may name inputs, never outputs ----
run recon "${cg[@]}" -o first.nii --curve first.csv
echo precious >victim
sed 's/"curve": "first.csv"/"curve": "victim"/; s/"output": "first.nii"/"output": "victim.nii"/' \
	first.json >hostile.json
grep -q '"curve": "victim"' hostile.json || fail "the record has no curve"
run recon --like hostile.json -o like.nii --force
err_has 'hostile.json: a record may not name files to write: --curve of it is left out'
[ "$(cat victim)" = precious ] && [ ! -e victim.nii ] || fail "a record named an output"
same first.nii like.nii
expect 2 recon --like hostile.json --force
err_has '--output is missing'

# ---- two runs of one output ----
mkfifo pipe
strip=(recon strip --follow --events pipe --scanner "$SOURCE/examples/scanners/bialas2015.yaml")
until_there() { # PATTERN: 20 s at most
	for _ in $(seq 200); do
		[ -z "$(find . -maxdepth 1 -name "$1")" ] || return 0
		sleep 0.1
	done
	fail "there is no $1"
}
"$ISOTOME" "${strip[@]}" -o live.nii >/dev/null 2>&1 &
first=$!
trap 'kill -9 $first; rm -rf "$work"' EXIT
until_there '.isotome-*.lock'
expect 1 convert t.npy live.nii
err_has 'live.nii: another run is writing it'
expect 1 convert t.npy here/live.nii.gz	# which has the same record
run convert t.npy other.nii
kill -9 $first
wait $first 2>/dev/null || true
trap 'rm -rf "$work"' EXIT
rm pipe
[ -n "$(find . -name '.isotome-*.lock')" ] || fail "a killed run took its lock along"
run convert t.npy live.nii	# a dead one's lock is taken
[ -z "$(find . -name '.isotome-*')" ] || fail "something is left"

# ---- signals ----
truncate -s $((28 * 200000000)) huge.lmdT	# takes no room, and half a minute
for signal in INT:130 TERM:143; do
	got=0
	"$ISOTOME" convert huge.lmdT copy.Cdh --scanner ring.yaml >out 2>err &
	pid=$!
	for _ in $(seq 400); do	# until its input is open
		find "/proc/$pid/fd" -lname '*huge.lmdT' 2>/dev/null | grep -q . && break
		sleep 0.05
	done
	sleep 0.2
	kill -s "${signal%:*}" $pid 2>/dev/null || fail "convert ended too soon"
	wait $pid || got=$?
	[ $got = "${signal#*:}" ] || fail "exit code $got after SIG${signal%:*}"
	grep -q 'interrupted' err || fail "convert does not say that it was interrupted"
	[ -z "$(find . -name 'copy*' -o -name '.copy*' -o -name '.isotome-*')" ] || fail "convert left files"
done
rm huge.lmdT

# ---- what a killed writer left is finished by whoever reads next ----
temp=.isotome-0123456789abcdef.tmp
cp truth.nii $temp
printf 'isotome journal 1\0%s\0\0done.nii\0end\0' $temp >.isotome.journal
run info t.npy
same truth.nii done.nii
[ -z "$(find . -name '.isotome*')" ] || fail "the journal is left"

cp truth.nii $temp
printf 'isotome journal 1\0%s\0\0first.nii\0end\0' $temp >.isotome.journal
run info first.nii	# which is not there before
same truth.nii first.nii

# ---- a run that goes on replaces images of its own, not others ----
args=("${ray[@]}" --iterations 6 --save-every 2)
expect 143 recon "${args[@]}" --stop-after 1e-6 -o on.npy
cp t.npy on_it004.npy
untouched 2 'on_it004.npy exists' recon "${args[@]}" --resume -o on.npy
rm on_it004.npy
run recon "${args[@]}" --resume -o on.npy
[ ! -e on.npy.ckpt ] || fail "a finished run left its checkpoint"
! grep -q '"resume"' on.npy.json || fail "a record tells to go on with a checkpoint"

# ---- long names have checkpoints too ----
name() { printf 'n%.0s' $(seq "$1"); }
for length in 239 243 250; do
	out=$(name $((length - 4))).nii
	expect 143 recon "${ray[@]}" --iterations 50 --stop-after 1e-6 -o "$out"
	[ -s "$out.ckpt" ] || fail "a name of $length bytes has no checkpoint"
	run recon "${ray[@]}" --iterations 50 --resume -o "$out"
	[ ! -e "$out.ckpt" ] || fail "the checkpoint is left"
	rm -- "$out" "${out%.nii}.json"
done
untouched 1 'File name too long' recon "${ray[@]}" -o "$(name 247).nii"

# ---- events that all miss the image ----
expect 3 recon ray --events e.lmdT --sens none --grid 4 --voxel 1 --centre 0,0,500 --checkpoint-minutes 0 -q \
	--iterations 3 -o miss.nii
err_has 'events can be used'
[ -z "$(find . -name 'miss.nii*')" ] || fail "a run without events left its checkpoint"
run recon "${ray[@]}" --iterations 1 -o miss.nii
echo "files: passed"
