#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# An object that moves while a ring scans it, by the program: tables of poses, bed and gantry, and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

solid_ring >ring.yaml
run phantom cylinder --grid 10,10,6 --voxel 12 -o x.nii --mu mu.nii
printf 'time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n0,1,0,0,0,0,0,0\n20,0.96,0,0.28,0,9,-4,40\n40,nan,nan,nan,nan,nan,nan,nan\n' >poses.csv
printf 'time_s,z_mm\n0,-9\n60,9\n' >bed.csv
printf 'time_s,angle_deg\n0,0\n60,90\n' >gantry.csv
printf 'time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n0,1,0,0,0,0,0,0\n30,1,0,0,0,0,0,0\n' >still.csv

scan=(simulate ring.yaml x.nii --mu mu.nii --mu-fixed mu.nii --counts 2000 --randoms 0.2 --duration-s 60)
run "${scan[@]}" --poses poses.csv --bed bed.csv --gantry gantry.csv --threads 1 -o e.Cdh --delayed late.lmdT
run "${scan[@]}" --poses poses.csv --bed bed.csv --gantry gantry.csv --threads 3 -o again.Cdh
same e.Cdf again.Cdf
run simulate --like e.Cdh.json -o like.Cdh
same e.Cdf like.Cdf
grep -q '"poses": "poses.csv"' e.Cdh.json || fail "the record does not name the table"

# photons
run simulate ring.yaml x.nii --mu mu.nii --physics --energy-window 435,650 --energy-resolution 0.11 --counts 300 \
	--poses poses.csv --duration-s 60 -o photons.Cdh --truth order.npy

# tables of the identity are an object at rest
run simulate ring.yaml x.nii --counts 2000 --duration-s 60 -o rest.Cdh
run simulate ring.yaml x.nii --counts 2000 --duration-s 60 --poses still.csv -o still.Cdh
same rest.Cdf still.Cdf

# refuse TEXT ARGUMENT...: exit code 2 with the text; nothing is written
refuse() {
	expect 2 simulate ring.yaml x.nii --counts 2000 "${@:2}"
	err_has "$1"
	[ ! -e no.Cdh ] && [ ! -e no.Cdf ] && [ ! -e no.lmdT ] || fail "a refused run left a file"
}
# an orbit: a table of one's own with the same rows gives the same events; a format without times will do
awk 'BEGIN { print "time_s,x_mm,y_mm"; p = 8 * atan2(1, 1) / 360
	for (i = 0; i <= 540; i++) printf "%.17g,%.17g,%.17g\n", i / 9, 20 * cos(i * p), 20 * sin(i * p) }' >orbit.csv
run simulate ring.yaml x.nii --counts 2000 --duration-s 60 --poses orbit.csv -o table.Cdh
run simulate ring.yaml x.nii --counts 2000 --duration-s 60 --orbit 20,1.5 -o orbit.Cdh
same table.Cdf orbit.Cdf
run simulate ring.yaml x.nii --counts 2000 --duration-s 60 --orbit 20,1.5 -o orbit.lmdT
refuse '--orbit needs --duration-s' --orbit 20,1 -o no.lmdT
refuse 'TURNS must be above 0' --orbit 20,0 --duration-s 60 -o no.Cdh
refuse 'orbit and --poses' --orbit 20,1 --poses poses.csv --duration-s 60 -o no.Cdh
refuse '--poses needs --duration-s' --poses poses.csv -o no.Cdh
refuse '--bed needs --duration-s' --bed bed.csv -o no.Cdh
refuse 'no.lmdT has no place for the times of events' --poses poses.csv --duration-s 60 -o no.lmdT
refuse 'leave --exact out' --poses poses.csv --duration-s 60 --exact -o no.Cdh
refuse '--mu-fixed and --physics' --gantry gantry.csv --duration-s 60 --physics --mu mu.nii --mu-fixed mu.nii -o no.Cdh
refuse '--mu-fixed needs --poses, --bed or --gantry' --mu-fixed mu.nii --duration-s 60 -o no.Cdh
expect 2 simulate "$SOURCE/examples/scanners/bialas2015.yaml" ellipses --poses poses.csv -o no.f32
err_has '--poses is for rings'
printf 'time_s,angle_deg\n0,0\n-1,90\n' >back.csv
expect 3 "${scan[@]}" --gantry back.csv -o no.Cdh
err_has 'back.csv'
[ ! -e no.Cdh ] || fail "a table that is wrong left a file"
printf 'time_s,z_mm\n0,nan\n' >nowhere.csv
expect 3 "${scan[@]}" --bed nowhere.csv -o no.Cdh
err_has 'no known row'
printf 'time_s,z_mm\n0,900\n' >far.csv
expect 3 "${scan[@]}" --bed far.csv -o no.Cdh
err_has 'gave an event'
[ ! -e no.Cdh ] || fail "an object outside left a file"
echo "all passed"
