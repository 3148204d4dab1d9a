#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# On a terminal every stage of a run is named as it begins, however long it takes; a log is told of the few that are
# the work itself.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
FAST_CLOCK=${FAST_CLOCK:-$(dirname "$ISOTOME")/tests/libfast_clock.so}

# on_terminal ARGS...: runs the program, and leaves the lines that it drew in `drawn`
on_terminal() {
	"$PYTHON" "$SOURCE/tests/robust/terminal.py" 60 "$ISOTOME" "$@" >drawn 2>err || fail "isotome $* on a terminal: $(cat drawn)"
}

# told ARGS...: the same where every stage lasts longer than a moment, so that brief ones are drawn as well
told() {
	local sanitizer

	sanitizer=$(ldd "$ISOTOME" | awk '/lib(a|t)san/ { print $3 }') # which must come first
	"$PYTHON" "$SOURCE/tests/robust/terminal.py" 1e9 env LD_PRELOAD="${sanitizer:+$sanitizer }$FAST_CLOCK" "$ISOTOME" "$@" \
		>drawn 2>err || fail "isotome $* on a terminal: $(cat drawn)"
}

# has STAGE UNIT...: was drawn, with a rate
has() {
	while [ $# -gt 0 ]; do
		grep -qE "(^ *[^ ]+|\|)  $1  .*[0-9] [kMGT]? ?$2/s" drawn || fail "stage $1 has no $2/s: $(cat drawn)"
		shift 2
	done
}

# names STAGE...: were drawn, in this order
names() {
	local stage at=0 line

	for stage in "$@"; do
		line=$(awk -v from="$at" -v stage="$stage" 'NR > from && $2 == stage { print NR; exit }' drawn)
		[ -n "$line" ] || fail "stage $stage is not named, or not in its place: $(cat drawn)"
		at=$line
	done
}

small_ring >ring.yaml
on_terminal phantom sphere --grid 12,12,6 --voxel 6 --mu mu.nii -o p.nii
names raster
on_terminal simulate ring.yaml p.nii --mu mu.nii --counts 2000 -o e.lmdT
names read simulate
grep -q 'simulate  100 %  .* events/s  took' drawn || fail "no events a second: $(cat drawn)"
on_terminal recon ray --events e.lmdT --scanner ring.yaml --mu mu.nii --grid 12,12,6 --voxel 6 --method osem --subsets 2 \
	--iterations 2 -o x.nii
names read factors sensitivity reconstruct osem
grep -q 'sensitivity  100 %  .* lines/s  took' drawn || fail "no lines a second: $(cat drawn)"
run recon ray --events e.lmdT --scanner ring.yaml --mu mu.nii --grid 12,12,6 --voxel 6 --method osem --subsets 2 \
	--iterations 2 --force -o x.nii
[ "$(grep -vcE '^(sensitivity|osem)  ' err)" = "$(grep -c warning err)" ] || fail "a log hears more than of the work"
on_terminal project ray --events e.lmdT --grid 12,12,6 --voxel 6 p.nii -o y.npy
names read project
on_terminal filter median:3 x.nii -o m.nii
names read filter
on_terminal view x.nii -o x.png
names read draw

cat >panels.yaml <<-END
	kind: panels
	crystals: [3, 3]
	pitch_mm: [2, 2]
	crystal_mm: [1.8, 1.8, 6]
	gap_mm: 10
	layers: 1
	readout: head
	voxels_per_pitch: [2, 2]
	planes: 2
	plane_mm: 3
END
on_terminal srm panels.yaml --pairs 1000 -o m.srm
names srm write
cat >traces.yaml <<-END
	kind: transducers
	sphere: {radius_mm: 40, rings: 4, views: 4}
	speed_mm_per_us: 1.5
	sampling_mhz: 5
	first_sample_us: 20
	samples: 64
END
on_terminal simulate traces.yaml nine-spheres -o t.npy
names simulate
on_terminal recon ubp --data t.npy --scanner traces.yaml --grid 6 --voxel 2 -o u.nii
names read filter reconstruct

# ---- brief stages ----
need_python
{
	small_ring
	echo "tof: {fwhm_ps: 300}"
} >tof.yaml
energy="--energy-window 435,650 --energy-resolution 0.11 --threads 1"
small="--grid 12,12,6 --voxel 6 --iterations 1 --threads 1"
# shellcheck disable=SC2086
told simulate tof.yaml p.nii --mu mu.nii --physics $energy --counts 6000 -o f.lmdT
has simulate events
# shellcheck disable=SC2086
told scatter tof.yaml p.nii --mu mu.nii --events f.lmdT $energy --scatter-error 0.5 -o r.npy
has legs legs reach pairs single pairs cells pairs patches pairs take cells smooth pairs decays decays multiple pairs scatter events
# shellcheck disable=SC2086
told recon ray --events f.lmdT --scanner tof.yaml --mu mu.nii --scatter sss+mc ${energy% --threads 1} --scatter-error 0.5 \
	--scatter-rounds 1 $small -o s.nii
has single pairs sum pairs scatter events order events data events

"$PYTHON" - <<'END'
from petlink_words import *

draw = np.random.default_rng(1)
ends = [draw.integers(0, N, 150000) for _ in range(2)], [draw.integers(0, Z, 150000) for _ in range(2)]
write("both", np.concatenate([words(*ends, True), words(*ends, False)]))
line = "0 1 0 1 2 3 1.25 .511 100 7 3 0 1 2 3 4 5 0 0 0 0 0 0"
open("gate.dat", "w").write(5000 * f"{line} {line.replace('100', '-100')}\n")
END
# shellcheck disable=SC2086
told recon ray --events both.l $small -o l.nii
has count B read events randoms events order events data events
told info "$TEST_DATA/petsird/point-0.12.0.petsird"
has count B
told convert gate.dat gate.npy
has read B
run phantom sphere --grid 48 --voxel 4 -o large.nii
told mu large.nii --kvp 120 --like large.nii --threads 1 -o ct.nii
has attenuation voxels resample voxels
told view large.nii -o large.html
has pack voxels
told report large.nii --truth large.nii -o report.html
names read look draw pack
has look voxels
