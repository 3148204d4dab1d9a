#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the program says, and takes for granted: progress in a pipe, names that would steer a
# terminal, texts of unknown kind, the first thing that is wrong, defaults of foreign files.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

strips=$SOURCE/examples/scanners/bialas2015.yaml
esc=$'\e'

# ---- events of strips through a pipe, without --follow ----
run simulate "$strips" ellipses --counts 3000 -o e.f32
recon=(recon strip --scanner "$strips" --grid 40,30 --pixel 8 --iterations 30)
run "${recon[@]}" --events e.f32 -o file.npy
run "${recon[@]}" --events - -o pipe.npy < <(cat e.f32)
same file.npy pipe.npy
grep -q '"name": "-"' pipe.npy.json || fail "the record lacks its input"
[ "$(grep -o '"xxh64": "[0-9a-f]*"' file.npy.json)" = "$(grep -o '"xxh64": "[0-9a-f]*"' pipe.npy.json)" ] ||
	fail "the record has another hash of the same events"
mkfifo fifo.f32
cat e.f32 >fifo.f32 &
run "${recon[@]}" --events fifo.f32 -o fifo.npy
same file.npy fifo.npy

# ---- progress where stderr is no terminal: a stage begins and ends ----
printf 'mlem  0/30  0 %%\nmlem  30/30  100 %%\n' >want
grep -v ': warning: ' err | sed -E 's/(100 %).*/\1/' >got
diff want got || fail "progress of 30 iterations"
printf 'kind: cylinder\nradius_mm: 120\nrings: 4\nring_pitch_mm: 9\ncrystals_per_ring: 48\n' >ring.yaml
printf 'min_crystal_distance: 12\n' >>ring.yaml
run phantom sphere --grid 12,12,6 --voxel 6 -o p.nii
run simulate ring.yaml p.nii --counts 2000 --duration-s 600 --isotope f-18 -o e.Cdh
[ "$(grep -c ^simulate err)" = 2 ] || fail "progress of a simulation"
run recon ray --events e.Cdh --scanner ring.yaml --grid 12,12,6 --voxel 6 --method osem --subsets 4 \
	--frames 0,200,400,600 --iterations 5 -o x.nii
[ "$(grep -c '^frame ./3  osem' err)" = 6 ] || fail "progress of three frames"
[ "$(grep -c '  sensitivity  ' err)" = 2 ] || fail "progress of the sensitivity"
[ "$(grep -vc ': warning: ' err)" = 8 ] || fail "more progress than stages"

# ---- the isotope of a scan, through simulate, info and convert ----
grep -qx 'Isotope: F-18' e.Cdh || fail "e.Cdh does not name its isotope"
run info e.Cdh
grep -qE '^  isotope +F-18$' out || fail "info does not name the isotope"
run convert e.Cdh f.Cdh --scanner ring.yaml
grep -qx 'Isotope: F-18' f.Cdh || fail "convert loses the isotope"
run simulate ring.yaml p.nii --counts 200 -o n.Cdh
grep -qx 'Isotope: unknown' n.Cdh || fail "an isotope from nowhere"

# ---- a matrix of another program is kept whole ----
printf 'kind: panels\ncrystals: [3, 3]\npitch_mm: [2, 2]\ncrystal_mm: [1.8, 1.8, 6]\n' >panels.yaml
printf 'gap_mm: 10\nlayers: 1\nreadout: head\nvoxels_per_pitch: [2, 2]\nplanes: 2\nplane_mm: 3\n' >>panels.yaml
run srm panels.yaml --analytic --share 1 --export rows.npy -o whole.srm
run srm panels.yaml --import rows.npy --export again.npy -o foreign.srm
same rows.npy again.npy
err_has 'keep 100.0 % of the sensitivity'
run srm foreign.srm -o foreign2.srm
err_has 'keep 100.0 % of the sensitivity'
run srm panels.yaml --import rows.npy --share 0.8 -o cut.srm
! grep -q 'keep 100.0 %' err || fail "--share is not heard"
run srm panels.yaml --analytic -o share.srm
! grep -q 'keep 100.0 %' err || fail "the default of a matrix of our own has changed"

# ---- control characters of names and of texts read ----
no_controls() { # FILE: no byte but new lines steers a terminal
	! LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f\x9b]' "$1" || fail "$1 holds control characters"
}
cp e.f32 "a$esc[31mb.f32"
head -c 12 /dev/zero | tr '\0' '\377' >>"a$esc[31mb.f32"
run "${recon[@]}" --events "a$esc[31mb.f32" -o "n$esc[2J.npy"
err_has 'a?[31mb.f32: 1 of 3001 events'
no_controls err
run info "a$esc[31mb.f32" "$strips"
out_has 'a?[31mb.f32: strip events'
no_controls out
no_controls err
expect 3 info "none$esc[0m.nii"
no_controls err
run srm panels.yaml --analytic -o "m$esc]0;x$(printf '\a').srm"
err_has 'm?]0;x?.srm: '
no_controls err
sed "s/^Isotope: .*/Isotope: F$esc[7m/" f.Cdh >g.Cdh
run info g.Cdh
out_has 'F?[7m'
no_controls out
run measure roi p.nii --sphere "r$esc[1m=0,0,0,9"
no_controls out
mkdir "d$esc[31m"
run demo --dry-run -o "d$esc[31m"
no_controls out

# ---- a parameter that no record holds ----
sed 's/"parameters": {/"parameters": {"force": true,/' x.json >forced.json
expect 3 recon --like forced.json -o y.nii
err_has "parameter 'force' is never taken from a record"
sed 's/"parameters": {/"parameters": {"forse": true,/' x.json >forced.json
expect 3 recon --like forced.json -o y.nii
err_has "unknown parameter 'forse'"
! grep -q 'did you mean' err || fail "a name that no record holds is proposed"
sed 's/"parameters": {/"parameters": {"iteration": 3,/' x.json >forced.json
expect 3 recon --like forced.json -o y.nii
err_has "did you mean 'iterations'?"

# ---- what can't be read is told before what is missing beside it ----
for input in '--events none.lmdT' '--events e.Cdh --mu none.nii' '--data none.Cdh'; do
	# shellcheck disable=SC2086
	expect 3 recon ray $input --grid 12,12,6 --voxel 6 -o y.nii
	err_has ': No such file or directory'
done
expect 2 recon ray --events e.Cdh --grid 12,12,6 --voxel 6 -o y.nii --sens none --additive nan
run recon ray --events e.Cdh --grid 12,12,6 --voxel 6 -o y.nii --sens none --additive 0.5 --iterations 1

# ---- info of texts ----
echo 'some notes, of no kind' >notes.txt
expect 3 info notes.txt
err_has 'notes.txt: not a known format'
for i in 1 2 3; do seq -s ' ' "$i.5" "$((i + 45)).5"; done >table.dat	# 46 numbers, but no event has number 2.5
expect 3 info table.dat
err_has 'table.dat: not a known format'
printf 'word %.0s' {1..46} >words.dat
expect 3 info words.dat
err_has 'words.dat: not a known format'
printf '1 2 3.5\n4 5 6 # a comment\n' >strips.txt
run info strips.txt
out_has 'strips.txt: strip events'
cp "$TEST_DATA/jpet/phantom.txt" ellipses.txt
run info ellipses.txt
out_has 'ellipses.txt: phantom'
single='0 5 0 1 2 3 1.25 0.511 100 -20.5 3e1 0 1 2 3 4 5 0 7 0 8 0 0'
echo "$single ${single/100/-100}" >gate.txt
run info gate.txt
out_has 'GATE text'
named=${single/0.511/nan}	# GATE ends a single with the volumes where it scattered
named=${named% 0 0}' phantom NULL'
echo "$named ${named/100/-100}" >named.dat
run info named.dat
out_has 'GATE text'
echo "$named ${named/100/word}" >named.txt
expect 3 info named.txt
err_has 'named.txt: not a known format'
: >empty.txt
expect 3 info empty.txt
err_has 'empty.txt is empty'
