#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Strip events from phantom to file: simulated, described, converted; what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

strips=$SOURCE/examples/scanners/bialas2015.yaml
run phantom ellipses -o p.nii
run simulate "$strips" ellipses --counts 3e6 --seed 3 --device cpu -o e.f32
run simulate "$strips" "$TEST_DATA/jpet/phantom.txt" --counts 3e6 --seed 3 --threads 1 \
	--device cpu -o e1.f32
same e.f32 e1.f32
run simulate "$strips" ellipses --counts 1000 --seed 3 --device cpu -o e.txt
run convert e.txt from_txt.f32
run convert e.f32 e.npy
run convert e.npy from_npy.f32
same e.f32 from_npy.f32
run info e.f32 "$strips"
out_has 'strip events'
out_has '3000000'
out_has 'sigma dl mm       40'

check "simulated events" <<'END'
from checks import *
import nibabel
e = np.fromfile("e.f32", "<f4").reshape(-1, 3)
require(len(e) == 3000000, "number of events")
require(np.array_equal(e, np.load("e.npy")), "e.npy differs")
require(np.array_equal(e[:1000], np.fromfile("from_txt.f32", "<f4").reshape(-1, 3)),
        "fewer events must be the first of more")
decays = record("e.f32.json")["results"]["events"]["decays"]
near("share of the decays that is seen", len(e) / decays, .40343, 5 * (.4034 * .6 * .4034 / 3e6) ** .5)

# where the events come from, against the phantom times the sensitivity
up, down, dl = e.astype(float).T
t = (up - down) / 260
y = -dl / 2 / np.sqrt(1 + t * t)
z = (up + down) / 2 + y * t
x = nibabel.load("p.nii").get_fdata()[:, :, 0]
zc, yc = (np.arange(75) - 37) * 4., (np.arange(65) - 32) * 4.
Z, Y = np.meshgrid(zc, yc, indexing="ij")
s = (np.arctan(np.minimum((150 - Z) / (130 - Y), (150 + Z) / (130 + Y)))
     - np.arctan(np.maximum((-150 - Z) / (130 - Y), (Z - 150) / (130 + Y)))) / np.pi
seen = x * s / (x * s).sum()
near("mean z", z.mean(), (seen * Z).sum(), .1)
near("mean y", y.mean(), (seen * Y).sum(), .1)
END

expect 2 simulate "$strips" p.nii -o f.f32
err_has 'p.nii: two strips see ellipses, not images'
expect 2 simulate "$strips" ellipses --randoms 0.1 -o f.f32
err_has '--randoms is not for a scanner of kind strips'
expect 2 simulate "$strips" ellipses -o f.lmdT
err_has 'unknown suffix for strip events'
expect 2 simulate "$strips" ellipses -o e.f32
err_has 'e.f32 exists'
expect 2 simulate "$strips" spheres -o f.f32
err_has 'is no ellipse'
expect 2 convert p.nii p.npy --dl-is-time
err_has 'are for strip events'
expect 3 convert p.nii f.f32
head -c 100 e.f32 >short.f32
expect 3 info short.f32
err_has '100 bytes are not a whole number of 12-byte events'
[ ! -e f.f32 ] || fail "a failed run left its output"

# ---- another unit of length is refused; shapes of j-pet-mlem in metres ----
check "other units" <<'END'
import numpy as np
e = np.fromfile("e.f32", "<f4")[:3000]
for name, unit in ("metres", 1000), ("cm", 10):
    (e / unit).astype("<f4").tofile(name + ".f32")
END
for unit in '1000 for metres' '10 for cm'; do
	name=${unit##* }
	expect 3 recon strip --scanner "$strips" --events "$name.f32" --iterations 1 -o "$name.nii"
	err_has "$name.f32: all hits lie within"
	err_has "in another unit? --event-unit-mm is $unit; --accept hits takes it all the same"
	run recon strip --scanner "$strips" --events "$name.f32" --event-unit-mm "${unit%% *}" --iterations 1 -o "$name-mm.nii"
	! grep -q 'in another unit' err || fail "a warning where the unit was said"
done
run info metres.f32
out_has 'in metres? --event-unit-mm is then 1000'
run info cm.f32
! grep -q 'in metres' out || fail "cm are no metres"
printf 'ellipse 0 0 .05 .02 0 1\n' >metres.txt
run info metres.txt
out_has "in metres? A line 'unit_mm 1000' before the shapes says so"
printf 'unit_mm 1000\nadditive\npoint -.03 .03 1e-4\nrectangle .02 0 .01 .01 2\nellipse 0 0 .05 .05 0 1\n' >shapes.txt
run info shapes.txt
out_has 'shapes            3'
out_has 'additive          yes'
! grep -q warning out || fail "a warning where the unit was said"
run simulate "$strips" shapes.txt --counts 1000 -o shapes.f32

# ---- --dry-run counts the events of a pipe by reading them: whoever writes finds one reader ----
head -c 36000 e.f32 >some.f32
mkfifo pipe.f32
check "--dry-run of events from a pipe" "$ISOTOME" "$strips" <<'END'
import ctypes, os, subprocess, sys
OPEN, CLOSE_NOWRITE = 0x20, 0x10  # of inotify; two of a kind in a row would be told as one
libc = ctypes.CDLL(None)
watch = libc.inotify_init1(os.O_NONBLOCK)
assert watch >= 0 and libc.inotify_add_watch(watch, b"pipe.f32", OPEN | CLOSE_NOWRITE) >= 0
writer = subprocess.Popen("cat some.f32 >pipe.f32", shell=True)
try:
    run = subprocess.run([sys.argv[1], "recon", "strip", "--scanner", sys.argv[2], "--events", "pipe.f32",
                          "--dry-run", "-o", "no.npy"], timeout=60, capture_output=True, text=True)
finally:
    writer.kill()
    writer.wait()
assert run.returncode == 0 and "35.2 KiB" in run.stdout, run
told = os.read(watch, 4096)
kinds = [int.from_bytes(told[i + 4:i + 8], sys.byteorder) for i in range(0, len(told), 16)]
assert kinds.count(CLOSE_NOWRITE) == 1, f"the pipe was closed {kinds.count(CLOSE_NOWRITE)} times"
END
