#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tables of poses by the program: info tells what one holds, convert writes YRT-PET's file and reads it, and tables of events
# in .csv stay what they are.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

data=$TEST_DATA/poses

run info "$data/table.csv"
out_has "table of poses"
grep -qE '^  rows +10$' out || fail "rows"
grep -qE '^  rule +linear$' out || fail "rule"
grep -qE '^  unknown rows +1$' out || fail "unknown rows"
grep -qE '^  unknown share +0.0961' out || fail "share of time: 5 s of 52"
run info "$data/yrt.csv"
out_has "YRT-PET's motion file"
grep -qE '^  rule +step$' out || fail "rule of YRT-PET"
run info --json "$data/gantry.csv"
out_has '"kind": "table of poses"'

# the same poses by another road
run convert "$data/yrt.csv" own.csv
grep -q '^# rule: step$' own.csv || fail "the rule is written"
[ -s own.csv.json ] || fail "no record beside own.csv"
run convert own.csv back.yrt.csv
run convert back.yrt.csv again.csv
head -n 1 back.yrt.csv | grep -qx '0,1.000000000,0.000000000,0.000000000,0.000000000,0.000000000,1.000000000,.*' ||
	fail "the identity before the first row"
tail -n +2 back.yrt.csv >rest
same rest "$data/yrt.csv"
run convert "$data/table.npy" t.csv
run convert t.csv t.npy
run info t.csv
grep -qE '^  rows +10$' out || fail "rows of t.csv"

# what a format can't hold
{ echo '# rule: step' && cat "$data/table.csv"; } >unknown.csv
expect 3 convert unknown.csv bad.yrt.csv
err_has "from 31 s on is not known"
[ ! -e bad.yrt.csv ] || fail "bad.yrt.csv was written"
expect 2 convert "$data/gantry.csv" bad.npy
err_has "no place for the angles of a gantry"
expect 2 convert "$data/table.csv" bad.lmdT
run convert "$data/bed.csv" bed.yrt.csv
err_has "YRT-PET holds each row until the next"

# a table of events is no table of poses, though it has times
printf 'x1,y1,z1,x2,y2,z2,dt_ps,time_s\n-50,0,0,50,1,2,0,0\n-50,3,0,50,1,2,0,1\n' >events.csv
run info events.csv
out_has "events"
run convert events.csv events.npy

printf '\357\273\277# isotome poses 1\r\ntime_s,z_mm\r\n0,.001\r\n1,.002\r\n' >metres.csv
run info metres.csv
out_has "are they in m?"
printf 'time_s,z_mm\n1,2\n0,3\n' >falls.csv
expect 3 info falls.csv
err_has "line 3, column 1 (time_s): 0 s does not come after 1 s"
expect 3 convert nowhere.csv away.csv
err_has "nowhere.csv: No such file"
