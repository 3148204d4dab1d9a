#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Time windows and frames, with what goes with them: decay, live time, factors per event, the
# additive term's share, resume; and histograms. Events are CASToR files made here.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

small_ring >ring.yaml
cat >castor_file.py <<'END'
"""Lists and histograms of the small ring as CASToR files."""
import numpy as np

ORDER = [("attenuation", "Attenuation correction flag"), ("scatter", "Scatter correction flag"),
         ("random", "Random correction flag"), ("norm", "Normalization correction flag")]


def write(name, crystals, time_ms, mode="list-mode", duration=60, value=None, **more):
    fields = [("t", "<u4")]
    fields += [(k, "<f4") for k, _ in ORDER if k in more]
    if value is not None:
        fields += [("value", "<f4")]
    v = np.zeros(len(crystals), fields + [("c1", "<u4"), ("c2", "<u4")])
    v["t"], v["c1"], v["c2"] = time_ms, crystals[:, 0], crystals[:, 1]
    for key in more:
        v[key] = more[key]
    if value is not None:
        v["value"] = value
    v.tofile(name + ".Cdf")
    with open(name + ".Cdh", "w") as f:
        f.write(f"Data filename: {name}.Cdf\nNumber of events: {len(v)}\nData mode: {mode}\n"
                f"Data type: PET\nStart time (s): 0\nDuration (s): {duration}\n"
                "Scanner name: ring\n")
        for key, flag in ORDER:
            if key in more:
                f.write(f"{flag}: 1\n")


def some_pairs(n, seed=1):
    """Crystal pairs nearly across the ring, in neighbouring rings."""
    r = np.random.default_rng(seed)
    c, d = r.integers(0, 32, n), r.integers(10, 23, n)
    ring = r.integers(0, 6, (n, 2))
    return np.stack([ring[:, 0] * 32 + c, ring[:, 1] * 32 + (c + d) % 32], 1)
END
export PYTHONPATH=$PYTHONPATH:$PWD
"$PYTHON" - <<'END'
from castor_file import *

n = 6000
pairs, r = some_pairs(n), np.random.default_rng(2)
t = np.sort(r.integers(0, 60000, n))
write("all", pairs, t)
norm = r.uniform(.5, 1.5, n).astype("<f4")
add = r.uniform(0, .01, n).astype("<f4")
np.save("norm.npy", norm)
np.save("add.npy", add)
middle = (t >= 10000) & (t < 25000)
write("middle", pairs[middle], t[middle])
np.save("norm_middle.npy", norm[middle])
np.save("add_middle.npy", add[middle].astype(float) * 15 / 60)
att, nrm = r.uniform(1, 4, n).astype("<f4"), r.uniform(.8, 1.2, n).astype("<f4")
write("factors", pairs, t, attenuation=att, norm=nrm, random=np.full(n, .0001, "<f4"))
np.save("factors_m.npy", 1 / (att.astype(float) * nrm))
np.save("factors_r.npy", np.full(n, .0001 * 60))
counts = r.integers(0, 4, n)
write("counts", pairs, 0 * t, mode="histogram", value=counts)
write("repeated", np.repeat(pairs, counts, 0), np.zeros(counts.sum()))
early = t < 30000
write("early", pairs[early], t[early])
mixed = r.permutation(n)
write("mixed", pairs[mixed], t[mixed])	# not in the order of time
np.save("pairs.npy", pairs)	# without times
np.save("zeros.npy", np.zeros((10, 12, 16)))
END
grid=(--grid '16,12,10' --voxel '4,5,6' --device cpu)
run sens ray --scanner ring.yaml "${grid[@]:0:4}" -o sens.npy
common=(--scanner ring.yaml --sens sens.npy "${grid[@]}" --iterations 3)
recon() { # EVENTS OUTPUT ARGS...
	local events=$1 out=$2
	shift 2
	run recon ray --events "$events.Cdh" "${common[@]}" -o "$out" "$@"
}

# ---- windows and frames ----
recon all window.npy --from-s 10 --to-s 25
recon middle middle.npy
same window.npy middle.npy
recon all series.nii --frames 0,10,25,60
recon all series.npy --frames 0,10,25,60
recon all ranges.npy --frames 0:10:20,30:30:60
recon all listed.npy --frames 0,10,20,30,60
same ranges.npy listed.npy
recon all ranges.raw --frames 0:10:20,30:30:60
cmp ranges.raw <(tail -c +129 ranges.npy) || fail "frames as .raw"
recon all packed.nii.gz --frames 0,10,25,60
cmp series.nii <(zcat packed.nii.gz) || fail "frames as .nii.gz"
recon mixed mixed.npy --frames 0,10,25,60
same mixed.npy series.npy
recon all first.npy --to-s 10
recon all last.npy --from-s 25
recon all whole.npy
recon all both.npy --frames 0,60
recon all dead.npy --frames 0,10,25,60 --live-share 0.5,1,0.25
recon all decayed.npy --frames 0,10,25,60 --half-life-s 20
recon all falling.nii --frames 0,45,60
run recon --like decayed.npy.json -o again.npy
same decayed.npy again.npy
check "frames" <<'END'
from checks import *
import nibabel
x = np.load("series.npy")
require(x.shape == (3, 10, 12, 16), f"shape {x.shape}")
for k, name in enumerate(("first", "middle", "last")):
    near(name, x[k], np.load(name + ".npy"), 0)
near("one frame of all", np.load("both.npy")[0], np.load("whole.npy"), 0)
img = nibabel.load("series.nii")
near("as NIfTI", np.asarray(img.dataobj).T, x, 0)
falling = nibabel.load("falling.nii")
most = np.asarray(falling.dataobj).max(axis=(0, 1, 2))
require(most[0] > most[1] and falling.header["cal_max"] == most[0], f"range of {most} is {falling.header['cal_max']}")
for name in "series.json", "series.npy.json":
    r = record(name)
    require(r["FrameTimesStart"] == [0, 10, 25], "starts")
    require(r["FrameDuration"] == [10, 15, 35], "durations")
    frames = r["results"]["frames"]
    require(sum(f["events"]["used"] + f["events"]["skipped"] for f in frames) == 6000, "events")
    require([len(f["loglik"]) for f in frames] == [3] * 3, "log-likelihoods")
r = record("window.npy.json")
require(r["FrameTimesStart"] == [10] and r["FrameDuration"] == [15], "times of the window")
live = np.array([.5, 1, .25])[:, None, None, None]
near("live time", np.load("dead.npy"), x / live, 2e-6 * x.max() / .25)
# mean of 2^(-t/20) over each frame
edges = np.array([0, 10, 25, 60])
k = np.log(2) / 20
mean = -np.diff(np.exp(-k * edges)) / (k * np.diff(edges))
near("decay", np.load("decayed.npy"), x / mean[:, None, None, None], 1e-5 * x.max() / mean.min())
factors = [f["factor"] for f in record("decayed.npy.json")["results"]["frames"]]
near("factors", factors, mean, 1e-12)
END

# ---- values per event keep the file's numbers; r is of the whole scan ----
recon all aligned.npy --from-s 10 --to-s 25 --norm norm.npy --additive add.npy
recon middle part.npy --norm norm_middle.npy --additive add_middle.npy
recon all decay_r.npy --from-s 10 --to-s 25 --additive 0.01 --half-life-s 20
check "values per event" <<'END'
from checks import *
want = np.load("part.npy")
near("image", np.load("aligned.npy"), want, 1e-6 * want.max())
END
d=$("$PYTHON" -c 'f = lambda t: 1 - 2 ** (-t / 20); k = 0.6931471805599453 / 20
print((f(25) - f(10)) / (k * 15), 0.01 * (f(25) - f(10)) / f(60))')
recon middle decay_part.npy --additive "${d#* }" --live-share "${d% *}"
check "share of the additive term" <<'END'
from checks import *
want = np.load("decay_part.npy")
near("image", np.load("decay_r.npy"), want, 1e-5 * want.max())
END

# ---- what the file says, unless an option does ----
recon factors carried.npy
recon all given.npy --norm factors_m.npy --additive factors_r.npy
recon factors replaced.npy --norm norm.npy --additive 0
err_has 'its factors per event are not used'
err_has 'its additive term is not used'
recon all normed.npy --norm norm.npy --additive 0
same normed.npy replaced.npy
check "factors of the file" <<'END'
from checks import *
want = np.load("given.npy")
near("image", np.load("carried.npy"), want, 2e-6 * want.max())
END

# ---- histograms ----
recon counts histogram.npy
recon repeated list.npy
check "histogram" <<'END'
from checks import *
want = np.load("list.npy")
near("image", np.load("histogram.npy"), want, 1e-5 * want.max())
END

# ---- randoms: delayed events of the frame itself, or its share of those without times ----
recon all own.npy --to-s 30 --delayed all.Cdh
recon early own_part.npy --delayed early.Cdh
same own.npy own_part.npy
run project ray zeros.npy --events early.Cdh --scanner ring.yaml "${grid[@]}" --delayed pairs.npy \
	--accept randoms -o r.npy
"$PYTHON" -c 'import numpy as np; np.save("half.npy", np.load("r.npy") / 2)'
recon all shared.npy --to-s 30 --delayed pairs.npy
recon early shared_part.npy --additive half.npy
check "randoms of a frame" <<'END'
from checks import *
want = np.load("shared_part.npy")
require(np.load("r.npy").min() > 0, "no randoms")
near("image", np.load("shared.npy"), want, 1e-6 * want.max())
END

# ---- singles decay with the activity: R = 2 tau S_a S_b p / T, randoms by twice the constant ----
d=$("$PYTHON" -c 'import numpy as np
np.save("singles.npy", np.full(192, 5e4))
k, f = np.log(2) / 20, lambda k, t: (1 - np.exp(-k * t)) / k
r = 2 * 4e-9 * 5e4**2 / f(k, 60)**2
print(r * f(2 * k, 60), r * f(2 * k, 30) * f(k, 60) / f(k, 30))')
recon all singles_x.npy --singles singles.npy --coincidence-ns 4 --half-life-s 20
recon all singles_r.npy --additive "${d% *}" --half-life-s 20
recon all singles_early.npy --singles singles.npy --coincidence-ns 4 --half-life-s 20 --to-s 30
recon all singles_early_r.npy --additive "${d#* }" --half-life-s 20 --to-s 30
check "randoms of singles that decay" <<'END'
from checks import *
for got, want in ("singles_x", "singles_r"), ("singles_early", "singles_early_r"):
    x = np.load(want + ".npy")
    near(got, np.load(got + ".npy"), x, 1e-5 * x.max())
END

# ---- times beyond the end of the scan ----
recon all beyond.npy --frames 10,25,100 --half-life-s 20
err_has 'frame 2, from 25 to 100 s, ends with the scan, which took 60 s'
recon all within.npy --frames 10,25,60 --half-life-s 20
same beyond.npy within.npy
check "the duration of a frame cut short" <<'END'
from checks import *
require(record("beyond.npy.json")["FrameDuration"] == [15, 35], "durations")
END
recon all late.npy --duration-s 30
err_has 'though the scan took 30 s'

# ---- an empty frame, and refusals ----
recon all empty.npy --frames 0,10,60,70
err_has 'frame 3, from 60 to 70 s, has no events'
err_has 'frame 2/3  '
check "an empty frame" <<'END'
from checks import *
x = np.load("empty.npy")
require((x[2] == 0).all() and x[1].any(), "the image of no events is not 0")
END
all=(ray --events all.Cdh "${common[@]}" -o x.npy)
expect 3 recon "${all[@]}" --from-s 70
err_has 'there are no events from 70'
for list in 0 10,5 -1,5 0,5,5 0,x "0," 0:5 0:5:9 0:0:9 0:-1:-9 9:1:0 0:1:5,5 0:1:5:9 0:1:100001 0:nan:1; do
	expect 2 recon "${all[@]}" "--frames=$list"
	err_has 'must be 2 to 100001 rising times'
done
run recon "${all[@]}" --frames 0:1:100000 --iterations 1 --dry-run
expect 2 recon "${all[@]:0:${#all[@]}-1}" x.nii --frames 0:0.001:32.768 --iterations 1
err_has 'x.nii: 32768 images, .nii files hold at most 32767; write .npy'
expect 2 recon "${all[@]}" --frames 0,5 --to-s 5
err_has 'exclude each other'
expect 2 recon "${all[@]}" --from-s 5 --to-s 5
expect 3 recon ray --events counts.Cdh "${common[@]}" -o x.npy --from-s 0
err_has 'a histogram, with counts of the whole scan'
expect 2 recon "${all[@]}" --frames 0,5,9 --live-share 1,1,1
err_has 'one for each of 2 frames'
expect 2 recon "${all[@]}" --frames 0,10 --method osem --subsets 5000
err_has 'events in that time'
[ ! -e x.npy ] || fail "a refused run wrote its image"

# ---- killed in a frame: those behind it are not repeated ----
long=(ray --events all.Cdh --scanner ring.yaml --sens sens.npy "${grid[@]}" --frames "0,10,25,60"
      --method osem --subsets 8 --iterations 40 --threads 1 --save-every 20)
run recon "${long[@]}" -o unbroken.nii
ls unbroken_f0{1,2,3}_it020.nii >out || fail "images between iterations are missing"
"$ISOTOME" recon "${long[@]}" -o broken.nii --checkpoint-minutes 0 2>err &
pid=$!
# the first frame is kept, and the second has a checkpoint
while ! { [ "$(stat -c %s broken.nii.frames 2>/dev/null || echo 0)" -gt 100 ] &&
	  [ -e broken.nii.ckpt ]; } && kill -0 $pid 2>/dev/null; do
	sleep 0.01
done
kill -KILL $pid 2>/dev/null || fail "the run ended before it could be killed"
wait $pid 2>/dev/null || true
[ ! -e broken.nii ] || fail "a killed run wrote its image"
rm -f .broken*.tmp
expect 2 recon "${long[@]}" -o broken.nii --save-every 0
err_has 'broken.nii.frames exists: --resume continues it'
expect 3 recon "${long[@]}" -o broken.nii --resume --frames 0,10,26,60 --save-every 0
err_has 'checkpoint of other inputs or options'
cp broken.nii.frames kept.frames
cp broken.nii.ckpt kept.ckpt
run recon "${long[@]}" -o broken.nii --resume
same unbroken.nii broken.nii
[ -z "$(find . -name 'broken*.ckpt' -o -name 'broken*.frames')" ] || fail "a finished run left a checkpoint"
check "resumed frames" <<'END'
from checks import *
at = [f["resumed_from_update"] for f in record("broken.json")["results"]["frames"]]
require(at[0] == 320 and at[1] > 0 and at[2] < 320, f"resumed from {at}")
a, b = (record(n)["results"]["frames"] for n in ("unbroken.json", "broken.json"))
require([f["loglik"] for f in a] == [f["loglik"] for f in b], "the likelihoods differ")
require([f["events"] for f in a] == [f["events"] for f in b], "the events differ")
require(record("unbroken.json")["warnings"] == record("broken.json")["warnings"], "the warnings differ")
END

# ---- what is cut short or damaged is made again, from the frame on ----
whole=$(stat -c %s kept.frames)
for bytes in 0 20 $((whole - 1)) $((whole / 2)); do
	rm -f broken*
	head -c "$bytes" kept.frames >broken.nii.frames
	run recon "${long[@]}" --save-every 0 -o broken.nii --resume
	same unbroken.nii broken.nii
done
rm -f broken*
{ head -c 500 kept.frames && printf '\xa5\x5a\xa5' && tail -c +504 kept.frames; } >broken.nii.frames
run recon "${long[@]}" --save-every 0 -o broken.nii --resume
same unbroken.nii broken.nii
rm -f broken*
echo 'something else, and long enough' >broken.nii.frames
cat kept.frames >>broken.nii.frames
expect 3 recon "${long[@]}" --save-every 0 -o broken.nii --resume
err_has 'not the finished images of a run'
# --force begins anew, and leaves no checkpoint of before
cp kept.ckpt broken.nii.ckpt
run recon "${long[@]}" --save-every 0 -o broken.nii --force
same unbroken.nii broken.nii
[ -z "$(find . -name 'broken*.ckpt' -o -name 'broken*.frames')" ] || fail "a forced run left a checkpoint"

# a run that fails in its first frame leaves nothing that stands in the way of the next
"$PYTHON" -c 'import numpy as np; np.save("huge.npy", np.full((10, 12, 16), 3e38, "f4"))'
expect 3 recon "${all[@]:0:${#all[@]}-1}" fails.npy --frames 0,10,60 --start huge.npy
[ -z "$(find . -name 'fails*')" ] || fail "a failed run left $(find . -name 'fails*')"

# ---- a thousand frames take no more memory than ten ----
many=$(size 1000 70)
thousand=(ray --events all.Cdh --scanner ring.yaml --sens none --grid '32,32,16' --voxel '2,2,4'
	  --device cpu --iterations 1)
run recon "${thousand[@]}" --frames 0:6:60 -o ten.npy
run recon "${thousand[@]}" --frames "0:$("$PYTHON" -c "print(60 / $many)"):60" -o many.npy
SANITIZED=${ISO_TEST_QUICK:-0} MANY=$many check "memory of many frames" <<'END'
from checks import *
from os import environ
n = int(environ["MANY"])
ten, many = (record(f"{name}.npy.json")["results"] for name in ("ten", "many"))
x = np.load("many.npy", mmap_mode="r")
require(x.shape == (n, 16, 32, 32), f"shape {x.shape}")
used = lambda r: sum(f["events"]["used"] + f["events"]["skipped"] for f in r["frames"])
require(len(many["frames"]) == n and used(many) == used(ten) == 6000, "results of the frames")
more = many["peak_host_bytes"] - ten["peak_host_bytes"]
print(f"{n} frames take {more / 2**20:.1f} MiB more than 10; their images are {x.nbytes / 2**20:.1f} MiB")
if environ["SANITIZED"] != "1":
    require(more < x.nbytes / 4, f"{more} bytes more")
END

# ---- a checkpoint is of its frame: that of the first is not continued in the second ----
two=(ray --events all.Cdh "${common[@]}" --frames 0,30,60 --iterations 2 -o two.npy --stop-after 0.00001)
expect 143 recon "${two[@]}"
cp two.npy.ckpt first.ckpt
expect 143 recon "${two[@]}" --resume
! cmp -s two.npy.ckpt first.ckpt || fail "the second frame was not begun"
cp first.ckpt two.npy.ckpt
expect 3 recon "${two[@]}" --resume -q
err_has 'checkpoint of other inputs or options'
echo "all passed"
