#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Following a scan: a pipe, a file that grows, Ctrl-C; the same image however the events come, in
# memory that does not grow with them.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

DATA=$TEST_DATA/jpet
scanner=(--scanner "$SOURCE/examples/scanners/bialas2015.yaml")
follow=(recon strip --follow --block 10000 "${scanner[@]}")

# feed FILE PIECES SECONDS: writes the events to stdout piece by piece, pieces ending anywhere.
feed() {
	"$PYTHON" -c '
import sys, time
data = open(sys.argv[1], "rb").read()
pieces, pause = int(sys.argv[2]), float(sys.argv[3])
for i in range(pieces):
    a, b = (k * len(data) // pieces for k in (i, i + 1))
    sys.stdout.buffer.write(data[a:b])
    sys.stdout.buffer.flush()
    time.sleep(pause)
' "$@"
}
wait_for() { # FILE: until it is there, 20 s at most
	for _ in $(seq 200); do
		[ -s "$1" ] && return
		sleep 0.1
	done
	fail "$1 did not come"
}

# ---- a pipe: one pass of OSEM over blocks in the order of the file ----
head -c 600000 "$DATA/events.f32" >half.f32
run recon strip "${scanner[@]}" --events half.f32 --method osem --subsets 5 --iterations 1 \
	--subset-rule blocks -o osem.npy
"$ISOTOME" "${follow[@]}" --events - --idle-s 0.3 -o whole.npy <half.f32 2>err || fail "standard input"
mkfifo pipe
feed half.f32 7 0.05 >pipe &
run "${follow[@]}" --events pipe --every-s 0.1 -o fifo.npy
wait
same whole.npy fifo.npy
check "OSEM over blocks" <<'PY'
from checks import *
got, want = np.load("fifo.npy"), np.load("osem.npy")
near("image", got, want, 1e-5 * want.max())
r = record("fifo.npy.json")["results"]
require(r["events"]["seen"] == 50000 and r["follow"]["updates"] == 5, r)
require(r["follow"]["ended"] == "end of the events", r)
require(open("fifo.png", "rb").read(8) == b"\x89PNG\r\n\x1a\n", "no picture")
PY

# ---- events left over: the last block again, as far as they reach; forms ----
head -c 300000 half.f32 >rest.f32
for form in ml raw eq3; do
	run "${follow[@]}" --events rest.f32 --idle-s 0.3 --form $form -o $form.npy
done
# only waiting counts as idle, not the work
run "${follow[@]}" --events rest.f32 --idle-s 0.001 --kernel tan --edge -o busy.npy
grep -q '"seen": 25000' busy.npy.json || fail "the run ended while it worked"
head -c 60000 half.f32 >few.f32
run "${follow[@]}" --events few.f32 --idle-s 0.3 -o few.npy --picture small.png
run recon strip "${scanner[@]}" --events few.f32 --iterations 1 -o once.npy
run recon strip "${scanner[@]}" --events few.f32 --method osem --subsets 1 --iterations 1 -o s1.npy
run sens strip "${scanner[@]}" -o s.npy
check "the last block" <<'PY'
from checks import *
s = np.load("s.npy").astype(float)
for form, weight in ("ml", s), ("raw", 1), ("eq3", s):
    near(form, (np.load(form + ".npy") * weight).sum(), 25000, .05)
    r = record(form + ".npy.json")["results"]
    require(r["follow"] ["updates"] == 3 and r["events"]["used_in_last_update"] == 10000, r)
once = np.load("once.npy")
near("less than a block", np.load("few.npy"), once, 1e-5 * once.max())
require(np.array_equal(once, np.load("s1.npy")), "MLEM is OSEM with one subset")
PY
[ -s small.png ] || fail "--picture"

# ---- a file that grows, from a text writer too; ends when nothing comes ----
"$PYTHON" -c 'import numpy as np
np.savetxt("rest.txt", np.fromfile("rest.f32", "<f4").reshape(-1, 3), "%.9g")'
for kind in f32 txt; do
	: >grows.$kind
	feed rest.$kind 9 0.1 >>grows.$kind &
	run "${follow[@]}" --events grows.$kind --idle-s 1.5 -o grown_$kind.npy
	wait
	same ml.npy grown_$kind.npy
done

# ---- Ctrl-C: what was read is in the image ----
mkfifo endless
exec 3<>endless	# stays open: the pipe does not end
"$ISOTOME" "${follow[@]}" --events endless --every-s 0.1 -o stopped.npy >out 2>err 3>&- &
program=$!
cat rest.f32 >&3
wait_for stopped.npy
sleep 0.5
kill -INT $program
code=0
wait $program || code=$?
exec 3>&-
[ $code = 130 ] || fail "exit code $code after Ctrl-C, expected 130"
err_has 'the image is in stopped.npy'
same ml.npy stopped.npy
grep -q '"ended": "interrupted"' stopped.npy.json || fail "the record does not tell the end"

# ---- memory is that of a block: 20 times the events take no more ----
# (a build with the address sanitizer has memory of its own)
"$ISOTOME" "${follow[@]}" --events - --idle-s 0.3 --force -o whole.npy <half.f32 2>err ||
	fail "standard input, again"
for _ in $(seq "$(size 20 2)"); do cat half.f32; done | "$ISOTOME" "${follow[@]}" --events - --kernel gauss \
	-o long.npy 2>err || fail "a long pipe"
check "memory" "$(size 1000000 100000)" "$(size 3e6 inf)" <<'PY'
from checks import *
a, b = record("whole.npy.json"), record("long.npy.json")
require(b["results"]["events"]["seen"] == int(sys.argv[1]), b["results"])
more = b["peak_memory_bytes"] - a["peak_memory_bytes"]
require(more < float(sys.argv[2]), f"{more} bytes more for a million events: 12 MB of them")
PY

# ---- refusals ----
: >empty.f32
expect 3 "${follow[@]}" --events empty.f32 --idle-s 0.2 -o no.npy
err_has 'no events came'
expect 3 "${follow[@]}" --events not-there.f32 -o no.npy
expect 2 "${follow[@]}" --events rest.f32 --iterations 3 -o no.npy
err_has '--iterations does not go with --follow'
expect 2 "${follow[@]}" --events rest.f32 -o ml.npy
err_has 'ml.npy exists'
expect 2 "${follow[@]}" --events rest.f32 --block 10 -o no.npy
expect 2 "${follow[@]}" -o no.npy
run "${follow[@]}" --events rest.f32 --dry-run -o no.npy
out_has 'a block of events'
[ ! -e no.npy ] || fail "a refused run wrote an image"
echo "all passed"
