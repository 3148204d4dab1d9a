#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Frames of traces as they come: a pipe, standard input, files that grow; images that depend on their frame alone,
# whatever the batch; frames that are cut, dropped, or of the wrong size; Ctrl-C and kill -9.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >ring.yaml <<-'YAML'
	kind: transducers
	sphere: {radius_mm: 15, rings: 1, views: 32}
	speed_mm_per_us: 1.5
	sampling_mhz: 20
	first_sample_us: 4.5
	samples: 220
	grueneisen: 1
YAML

check "frames of two discs that change" <<'PY'
import numpy as np
rng = np.random.default_rng(1)
at = 15 * np.stack([np.cos(a := 2 * np.pi * np.arange(32) / 32), np.sin(a), 0 * a], 1)
t = 4.5 + np.arange(220) / 20
def pulse(place, size):
    d = np.linalg.norm(at - place, axis=1)[:, None]
    x = (d - 1.5 * t) / size
    return x * np.exp(-x * x) / d
frames = np.stack([pulse([2, 1, 0], .5) * (1 + k) + pulse([-2, -1, 0], .7) * (7 - k) for k in range(7)])
frames = np.rint(frames / abs(frames).max() * 20000 + rng.normal(0, 50, frames.shape)).astype("<i2")
frames.tofile("frames.i16")
frames.astype("<f4").tofile("frames.f32")
np.save("frames.npy", frames)
(frames.astype("i4") + 32768).astype("<u2").tofile("frames.u16")
np.save("all.npy", frames[:, None].astype("f4"))
np.save("double.npy", frames.astype("f8"))
np.save("turned.npy", frames.transpose(0, 2, 1))
np.save("one.npy", frames[6].astype("f4"))
bad = frames.astype("<f4"); bad[2, 3, 5] = np.inf; bad.tofile("bad.f32")
open("cut.i16", "wb").write(frames.tobytes()[: int(3.4 * 32 * 220 * 2)])
PY

on=(recon svoxel --scanner ring.yaml --grid 24,24,1 --voxel 0.5 --fmax-mhz 1.4)
follow=("${on[@]}" --follow --nonneg --penalty tikhonov:rel=0.01 --iterations 15)
feed() { # FILE PIECES SECONDS: pieces end anywhere
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

# ---- every image has the same bits, whatever the batch, the source and the pieces ----
run "${follow[@]}" --data frames.i16 --idle-s 0.3 --keep -o b1.npy
for b in 2 3 8; do
	"$ISOTOME" "${follow[@]}" --data - --batch $b --lag wait --keep -o b$b.npy <frames.i16 2>err || fail "batch $b"
	same b1.npy b$b.npy
done
mkfifo pipe
feed frames.i16 9 0.05 >pipe &
run "${follow[@]}" --data pipe --lag wait --keep --every-s 0.1 -o fifo.npy
wait
same b1.npy fifo.npy
: >grows.i16
feed frames.i16 5 0.1 >>grows.i16 &
run "${follow[@]}" --data grows.i16 --idle-s 1.5 --keep -o grown.npy
wait
same b1.npy grown.npy
run "${follow[@]}" --data frames.f32 --sample-type f32 --idle-s 0.3 --keep -o f32.npy
same b1.npy f32.npy
run "${follow[@]}" --data frames.npy --sample-type f32 --idle-s 0.3 --keep -o npy.npy	# the head wins
same b1.npy npy.npy
"$ISOTOME" "${follow[@]}" --data - --lag wait --keep -o npy_pipe.npy <frames.npy 2>err || fail ".npy through a pipe"
same b1.npy npy_pipe.npy
run "${follow[@]}" --data frames.u16 --sample-type u16 --idle-s 0.3 --keep -o u16.npy
cmp -s b1.npy u16.npy && fail "u16 frames were read as i16"

# ---- the same bits of a file of frames that is there: --batch without --follow ----
batched=("${on[@]}" --nonneg --penalty tikhonov:rel=0.01 --iterations 15 --data all.npy)
run "${batched[@]}" --frame all --batch 1 -o series1.npy
run "${batched[@]}" --frame all --batch 3 -o series3.npy
same series1.npy series3.npy
run "${batched[@]}" --frame 4 --batch 3 -o fourth.npy
run recon --like series3.npy.json -o like.npy
same series3.npy like.npy
check "streamed or not" <<'PY'
from checks import *
want = np.load("b1.npy")
require(np.array_equal(np.load("series3.npy"), want), "all frames")
require(np.array_equal(np.load("fourth.npy"), want[3]), "one frame")
r = record("series3.npy.json")
require([i["frame"] for i in r["results"]["images"]] == [1, 2, 3, 4, 5, 6, 7], r["results"])
require(r["ReconMethodName"] == "fista over frames" and r["ReconMethodParameterValues"][0] == 15, r)
PY
expect 2 "${batched[@]}" --batch 2 --weigh area -o no.npy
err_has '--weigh does not go with --batch'
expect 2 "${batched[@]}" --batch 2 --method cg -o no.npy
err_has '--method does not go with --batch'
expect 2 "${batched[@]}" --batch 2 --frame all --resume -o no.npy
err_has '--resume does not go with --batch'
run "${batched[@]}" --batch 2 --frame all --dry-run -o no.npy

# ---- the last image, its picture and record; against the plain run of one frame ----
run "${follow[@]}" --data frames.i16 --idle-s 0.3 --iterations 200 -o last.npy
run "${on[@]}" --data one.npy --nonneg --penalty tikhonov:rel=0.01 --iterations 200 -o plain.npy
check "the last image" <<'PY'
from checks import *
all, last, plain = (np.load(n) for n in ("b1.npy", "last.npy", "plain.npy"))
require(all.shape == (7, 1, 24, 24) and all.dtype == "f4" and all.min() >= 0, all.shape)
require(last.shape == (1, 24, 24), last.shape)
near("the minimum that FISTA finds", last, plain, 5e-3 * plain.max())
require(abs(all[0] - all[6]).max() > .2 * all.max(), "frames do not differ")
r = record("b1.npy.json")["results"]
require(r["frames"] == {"in": 7, "worked": 7, "dropped": 0, "bytes_of_a_cut_frame": 0}, r["frames"])
f = r["follow"]
require(0 < f["latency_median_ms"] <= f["latency_99_percent_ms"] and f["frames_per_s"] > 0, f)
require(f["ended"] == "no more frames came" and f["lag"] == "wait" and not f["warm"], f)
require(abs(f["mu"] / f["eigenvalue"] - .01) < 1e-6, f)
f = record("fifo.npy.json")["results"]["follow"]
require(f["ended"] == "end of the frames", f)
require(open("last.png", "rb").read(8) == b"\x89PNG\r\n\x1a\n", "no picture")
PY

# ---- warm starts: nearer after few iterations; of wavelengths, each from its own ----
for _ in 1 2 3 4 5 6; do tail -c $((32 * 220 * 2)) frames.i16; done >same.i16
few=(--follow --nonneg --penalty tikhonov:rel=0.01 --iterations 4 --keep --lag wait --data -)
"$ISOTOME" "${on[@]}" "${few[@]}" --warm -o warm.npy <same.i16 2>err || fail "--warm"
"$ISOTOME" "${on[@]}" "${few[@]}" --warm --wavelengths 700,800 --batch 2 -o two.npy <same.i16 2>err ||
	fail "--wavelengths"
check "warm starts" <<'PY'
from checks import *
warm, two, end = (np.load(n) for n in ("warm.npy", "two.npy", "plain.npy"))
off = [np.linalg.norm(x - end) for x in warm]
require(off[5] < .5 * off[0] and all(a > b for a, b in zip(off, off[1:])), off)
for k in range(3):
    require(np.array_equal(two[2 * k], warm[k]) and np.array_equal(two[2 * k + 1], warm[k]), k)
f = record("two.npy.json")["results"]["follow"]
require(f["wavelengths_nm"] == [700, 800] and f["warm"], f)
PY

# ---- penalties ----
for penalty in tv:1e7 quadratic:rel=0.05; do
	"$ISOTOME" "${on[@]}" --follow --data - --lag wait --penalty $penalty --batch 3 --keep -o p3.npy <frames.i16 2>err ||
		fail "$penalty"
	"$ISOTOME" "${on[@]}" --follow --data - --lag wait --penalty $penalty --keep --force -o p1.npy <frames.i16 2>err
	same p1.npy p3.npy
	cmp -s p1.npy b1.npy && fail "$penalty changed nothing"
	rm p3.*
done

# ---- a cut frame is dropped, and told ----
"$ISOTOME" "${follow[@]}" --data - --lag wait --keep -o cut.npy <cut.i16 2>err || fail "a cut frame"
err_has 'the last frame is cut and left out: 5632 of its 14080 bytes came'
check "whole frames" <<'PY'
from checks import *
require(np.array_equal(np.load("cut.npy"), np.load("b1.npy")[:3]), "images")
PY

# ---- frames that come too fast: the newest set, the others are counted ----
for _ in $(seq 40); do cat frames.i16; done |
	"$ISOTOME" "${on[@]}" --follow --data - --iterations 300 --wavelengths 700,750,800,850,900,950,1000 -o fast.npy 2>err ||
	fail "--lag drop"
check "dropped sets" <<'PY'
from checks import *
r = record("fast.npy.json")["results"]
n = r["frames"]
require(n["in"] == 280 and n["in"] == n["worked"] + n["dropped"] and n["dropped"] % 7 == 0, n)
require(r["follow"]["lag"] == "drop", r)
PY

# ---- Ctrl-C, and kill -9: what is there can be read ----
mkfifo endless
exec 3<>endless
"$ISOTOME" "${follow[@]}" --data endless --lag wait --every-s 0.1 -o stopped.npy >out 2>err 3>&- &
program=$!
cat frames.i16 >&3
wait_for stopped.npy
sleep 0.5
kill -INT $program
code=0
wait $program || code=$?
[ $code = 130 ] || fail "exit code $code after Ctrl-C, expected 130"
err_has 'the last is in stopped.npy'
"$ISOTOME" "${follow[@]}" --data endless --lag wait --keep -o killed.npy >out 2>err 3>&- &
program=$!
cat frames.i16 >&3
for _ in $(seq 200); do
	[ "$(stat -c %s killed.npy 2>/dev/null || echo 0)" -ge $((256 + 3 * 24 * 24 * 4)) ] && break
	sleep 0.05
done
kill -9 $program
wait $program 2>/dev/null || true
exec 3>&-
check "after kill -9" <<'PY'
from checks import *
got, want = np.load("killed.npy"), np.load("b1.npy")
require(len(got) >= 2 and np.array_equal(got, want[:len(got)]), got.shape)
require(np.array_equal(np.load("stopped.npy"), want[6]), "the last image")
require(record("stopped.npy.json")["results"]["follow"]["ended"] == "interrupted", "record")
PY

# ---- refusals ----
expect 3 "${follow[@]}" --data - -o no.npy </dev/null
err_has 'no frames came'
: | expect 3 "${follow[@]}" --data - -o no.npy
err_has 'no frames came'
: >empty.i16
expect 3 "${follow[@]}" --data empty.i16 --idle-s 0.2 -o no.npy
expect 3 "${follow[@]}" --data not-there.i16 -o no.npy
expect 3 "${follow[@]}" --data turned.npy -o no.npy
err_has 'expected (..., transducers, samples), here 32 x 220'
expect 3 "${follow[@]}" --data double.npy -o no.npy
err_has 'numbers of type <f8, expected <i2, <u2 or <f4'
expect 3 "${follow[@]}" --data bad.f32 --sample-type f32 -o no.npy
err_has 'frame 3 holds no finite numbers'
expect 2 "${follow[@]}" --data frames.i16 --keep -o no.nii
err_has '--keep appends images to a .npy file'
expect 2 "${follow[@]}" --data frames.i16 --batch 0 -o no.npy
expect 2 "${follow[@]}" --data frames.i16 --wavelengths 700,x -o no.npy
err_has "--wavelengths is '700,x'"
expect 2 "${follow[@]}" --data frames.i16 --frame 2 -o no.npy
expect 2 "${follow[@]}" --data frames.i16 --weigh area -o no.npy
err_has '--weigh does not go with --follow'
expect 2 "${follow[@]}" --data frames.i16 --method cg -o no.npy
expect 2 "${follow[@]}" --data frames.i16 -o b1.npy
err_has 'b1.npy exists'
expect 2 "${on[@]}" --data all.npy --warm -o no.npy
err_has '--warm needs --follow'
run "${follow[@]}" --data frames.i16 --dry-run -o no.npy
out_has 'frames that wait'
[ ! -e no.npy ] || fail "a refused run wrote an image"
echo "all passed"
