#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The last line on a terminal: what was written, how large, how long, and a next command that runs. Pipes and -q hear
# nothing of it.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

# told ARGS...: runs the program on a terminal of 200 columns; leaves the lines that it drew, without their seconds, in out
told() {
	"$PYTHON" "$SOURCE/tests/robust/terminal.py" 999 "$ISOTOME" "$@" >drawn 2>err || fail "isotome $*"
	cut -c11- drawn | grep -v '^$' >out || true
}
last_is() { tail -n 1 out | grep -qE -e "$1" || fail "the last line is '$(tail -n 1 out)', expected $1"; }
seconds='in [0-9.]+ s'

# ---- each kind of output; the next command is run where it is one of isotome's ----
follow() {
	local line
	line=$(tail -n 1 out | sed 's/.*\(look\|see\|next\): isotome //')
	eval "run $line"
}

told phantom spheres --grid 20,16,12 --voxel 4 -o truth.nii --mu mu.nii
out_has 'mu.nii  20 x 16 x 12 voxels of 4 mm, 16 kB'
last_is "^truth\.nii  20 x 16 x 12 voxels of 4 mm, 16 kB, $seconds   look: isotome view truth\.nii -o truth\.html$"
follow
[ -s truth.html ] || fail "the command that was told made no page"
told view truth.nii -o 'a b.png'
last_is "^a b\.png  [0-9]+ x [0-9]+ pixels, [0-9.]+ kB, $seconds   open: xdg-open 'a b\.png'$"
told view truth.nii -o page.html
last_is "^page\.html  [0-9.]+ kB, $seconds   open: xdg-open page\.html$"

small_ring >ring.yaml
told simulate ring.yaml truth.nii --counts 2000 -o e.lmdT
last_is "^e\.lmdT  [0-9]+ events, [0-9]+ kB, $seconds   next: isotome recon ray --events e\.lmdT --scanner ring\.yaml -o e\.nii$"
follow
[ -s e.nii ] || fail "the command that was told made no image"
told convert e.lmdT bare.lmdT
last_is "   see: isotome info bare\.lmdT$"
told convert truth.nii truth.hv
last_is "^truth\.hv  20 x 16 x 12 voxels of 4 mm, 15 kB, " # the values, not the header
told convert truth.nii series/
last_is "^series/  $((($(cat series/*.dcm | wc -c) + 500) / 1000)) kB, $seconds" # of all files, not of the folder
told convert truth.nii truth.npy
last_is "^truth\.npy  12 x 16 x 20 values, 15 kB, $seconds   see: isotome info truth\.npy$"
follow

# ---- what does not fit the terminal goes on in a line of its own ----
long=$(printf 'n%.0s' $(seq 90)).nii
told filter gaussian:3 truth.nii -o "$long"
last_is "^look: isotome view $long -o ${long%.nii}\.html$"

# ---- silence ----
told phantom spheres --grid 20,16,12 --voxel 4 -o quiet.nii -q
[ ! -s out ] || fail "-q is not quiet: $(cat out)"
run phantom spheres --grid 20,16,12 --voxel 4 -o piped.nii
[ ! -s err ] || fail "a pipe is told: $(cat err)"
told recon ray --events e.lmdT --scanner ring.yaml --grid 8 --voxel 16 -o dry.nii --dry-run
! grep -q 'dry.nii' out || fail "--dry-run wrote nothing, and says so"
echo "all passed"
