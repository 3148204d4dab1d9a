#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Inputs that contradict each other: a scanner beside that of the events' file, one thing named twice, a record whose
# files have changed.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >ring.yaml <<'YAML'
kind: cylinder
radius_mm: 100
rings: 8
ring_pitch_mm: 4
crystals_per_ring: 72
min_crystal_distance: 18
YAML
cat >phantom.yaml <<'YAML'
shapes:
  - {type: cylinder, centre_mm: [0, 0, 0], radius_mm: 30, length_mm: 20, axis: z, activity: 1, mu_per_mm: 0.0096}
YAML
run phantom phantom.yaml --grid 12,12,6 --voxel 6 -o x.nii --mu mu.nii
run simulate ring.yaml x.nii --counts 3000 --randoms 0.1 --duration-s 60 -o e.Cdh --delayed d.Cdh
image=(--grid '12,12,6' --voxel 6 --iterations 1 --device cpu --force)

# ---- a scanner in place of the one that the file brings ----
own="e.Cdh: brings a scanner of 576 crystals in 8 rings, at 100 mm from the axis, z -14 to 14 mm; --scanner"
other() { # NAME SED: a scanner that differs
	sed "$2" ring.yaml >"$1.yaml"
}
other twice 's/per_ring: 72/per_ring: 144/'
other turned 's/rings: 8/rings: 16/; s/per_ring: 72/per_ring: 36/'
other narrow 's/radius_mm: 100/radius_mm: 95/'
other long 's/pitch_mm: 4/pitch_mm: 4.4/'
differs() { # NAME FIGURES
	for what in "recon ray --events e.Cdh -o no.nii" "sens ray --events e.Cdh --grid 12,12,6 --voxel 6 -o no.nii"; do
		local more=("${image[@]}")
		[ "${what%% *}" = recon ] || more=()
		# shellcheck disable=SC2086
		expect 2 $what --scanner "$1.yaml" "${more[@]}"
		err_has "$own $1.yaml has $2"
		err_has "; --scanner-differs takes it all the same"
	done
	expect 2 convert e.Cdh no.lmdT --scanner "$1.yaml"
	err_has "$own $1.yaml has $2"
}
differs twice "1152 crystals in 8 rings, at 100 mm from the axis, z -14 to 14 mm; --scanner-differs"
differs turned "576 crystals in 16 rings, at 100 mm from the axis, z -30 to 30 mm, crystal "
differs narrow "576 crystals in 8 rings, at 95 mm from the axis, z -14 to 14 mm, crystal 0 5 mm off (allowed are 1 across the radius, 1 along it)"
differs long "576 crystals in 8 rings, at 100 mm from the axis, z -15.4 to 15.4 mm, crystal 0 1.4 mm off"
[ ! -e no.nii ] && [ ! -e no.lmdT ] || fail "a refused run has left a file"

run recon ray --events e.Cdh --scanner narrow.yaml --scanner-differs "${image[@]}" -o taken.nii
err_has "$own narrow.yaml, which is taken, has 576 crystals in 8 rings, at 95 mm"
grep -q "brings a scanner of 576 crystals" taken.json || fail "the record lacks the warning"
run recon --like taken.json -o again.nii
same taken.nii again.nii
run info e.Cdh --scanner narrow.yaml
out_has "brings a scanner of 576 crystals in 8 rings"

# delayeds of another scanner
sed 's/e\.Cdf/d.Cdf/; s/Scanner name: e/Scanner name: w/' e.Cdh >w.Cdh
sed -i "s/Number of events: .*/$(grep 'Number of events' d.Cdh)/; s/Scanner name: .*/Scanner name: w/" w.Cdh
run simulate narrow.yaml x.nii --counts 300 --duration-s 60 -o w2.Cdh
cp w2.lut w.lut
cp w2.hscan w.hscan
expect 2 recon ray --events e.Cdh --delayed w.Cdh "${image[@]}" -o no.nii
err_has "w.Cdh: brings a scanner of 576 crystals in 8 rings, at 95 mm from the axis"

# the same ring in the user's own words: depth, time of flight, weights are free
printf 'interaction_depth_mm: 6\npair_weight: solid-angle\ntof: {fwhm_ps: 300}\nname: mine\n' >tail.yaml
cat ring.yaml tail.yaml >deep.yaml
{ sed 's/radius_mm: 100/radius_mm: 96/' ring.yaml; echo 'crystal_mm: [8, 4, 10]'; } >inner.yaml
for name in ring deep inner; do
	run recon ray --events e.Cdh --delayed d.Cdh --scanner $name.yaml "${image[@]}" -o fine.nii
	! grep -q 'brings a scanner' err || fail "$name.yaml is the same ring"
done
# a table that can't be read is none; ends of lmdT have no numbers
run convert e.Cdh e.lmdT
run recon ray --events e.lmdT --scanner narrow.yaml "${image[@]}" -o fine.nii
echo damaged >e.hscan
run recon ray --events e.Cdh --scanner ring.yaml "${image[@]}" -o fine.nii

# ---- one thing named twice ----
cp e.lmdT f.lmdT
twice() { # MESSAGE ARGS...
	expect 2 recon "${@:2}" --scanner ring.yaml "${image[@]}" -o no.nii
	err_has "$1 name the same thing: give one of them"
}
twice "FILE e.lmdT and --events f.lmdT" e.lmdT --events f.lmdT
twice "--events f.lmdT and FILE e.lmdT" --events f.lmdT e.lmdT
twice "--events e.lmdT and --data f.lmdT" ray --events e.lmdT --data f.lmdT
twice "--data f.lmdT and --events e.lmdT" ray --data=f.lmdT --events=e.lmdT
twice "FILE e.lmdT and --data f.lmdT" ray e.lmdT --data f.lmdT
expect 2 scatter ring.yaml x.nii --scanner narrow.yaml --mu mu.nii -o no.h5
err_has "SCANNER ring.yaml and --scanner narrow.yaml name the same thing"
[ ! -e no.nii ] || fail "a refused run has left a file"
run recon ray e.lmdT --events e.lmdT --scanner ring.yaml --scanner ring.yaml "${image[@]}" -o fine.nii # nothing is dropped
run recon --like fine.json f.lmdT -o other.nii --force
grep -q '"events": "f.lmdT"' other.json || fail "a file beside --like is not taken"
# every command that has a problem speaks of its options, not of parameters
for what in "scatter ring.yaml x.nii --mu mu.nii -o no.h5" "sens ray --scanner ring.yaml --grid 12,12,6 --voxel 6 -o no.nii" \
	"project ray x.nii --events e.lmdT --scanner ring.yaml -o no.npy" "recon ray --events e.lmdT --scanner ring.yaml --grid 12,12,6 --voxel 6 -o no.nii"; do
	# shellcheck disable=SC2086
	expect 2 $what --norm-inverse
	err_has "--norm-inverse needs --norm"
done

# ---- a record whose files have changed ----
run recon ray --events e.lmdT --mu mu.nii --scanner ring.yaml "${image[@]}" -o first.nii
run recon --like first.json -o second.nii
same first.nii second.nii
! grep -q repeated err || fail "nothing has changed"
cp mu.nii mu0.nii
"$PYTHON" - <<'PY'
b = bytearray(open("mu.nii", "rb").read())
b[-1] ^= 1
open("mu.nii", "wb").write(b)
e = open("e.lmdT", "rb").read()
open("e.lmdT", "wb").write(e[:-28])
PY
size=$(stat -c %s f.lmdT)
run recon --like first.json -o third.nii
err_has "e.lmdT: has $((size - 28)) bytes, and had $size when first.json was written: its run is not repeated"
err_has "mu.nii: has another content (xxh64 "
[ "$(grep -c 'is not repeated' err)" = 2 ] || fail "a warning more than files that changed"
[ "$(grep -c 'is not repeated' third.json)" = 2 ] || fail "the record lacks the warnings"
run recon --like first.json --events f.lmdT --mu mu0.nii -o fourth.nii
! grep -q repeated err || fail "other files that are asked for are no news"
same first.nii fourth.nii
run phantom phantom.yaml --grid 12,12,6 --voxel 6 -o y.nii
run simulate ring.yaml y.nii --counts 300 -o s.lmdT
run phantom phantom.yaml --grid 12,12,8 --voxel 6 -o y.nii --force
run simulate --like s.lmdT.json -o t.lmdT
err_has "when s.lmdT.json was written: its run is not repeated"
echo "all passed"
