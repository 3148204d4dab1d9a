#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Model ray of an object that moves, against the reference vectors of tests/data/ray-motion: sensitivity, attenuation and EM
# of four kinds; the same image in every way that the same poses may be given; and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

data=$TEST_DATA/ray-motion
cp "$data"/ring.yaml "$data"/table.csv "$data"/yrt.csv "$data"/eff.npy .
cat >common.py <<'END'
import json, math, os, sys
import nibabel, numpy as np
D = os.environ["TEST_DATA"] + "/ray-motion/"
meta = json.load(open(D + "meta.json"))
v = lambda name: np.load(D + name + ".npy")
def save(path, a, g):
    affine = np.diag(list(g["voxel"]) + [1.])
    for k in range(3): affine[k, 3] = g["centre"][k] - .5 * (g["n"][k] - 1) * g["voxel"][k]
    nibabel.save(nibabel.Nifti1Image(a.transpose(2, 1, 0).astype("f4"), affine), path)
image = lambda path: np.asarray(nibabel.load(path).dataobj).transpose(2, 1, 0)
def near(path, name, tolerance=5e-5, scale=1):
    want, got = v(name), image(path) * scale
    far = np.abs(got - want).max() / want.max()
    print(path, name, "%.2g" % far)
    if not far < tolerance: sys.exit("%s: %g off %s" % (path, far, name))
END
export PYTHONPATH=$work:$PYTHONPATH
check inputs <<'END'
from common import *
save("mu.nii", v("mu"), meta["grid_mu"])
save("fixed.nii", v("mu_fixed"), meta["grid_mu_fixed"])
save("f.nii", v("image"), meta["grid"])
c, t, dt = v("events_crystals"), v("events_time_ms"), v("events_dt_ps")
with open("e.csv", "w") as f:
    f.write("crystal1,crystal2,dt_ps,time_ms\n")
    for (a, b), d, s in zip(c, dt, t): f.write("%d,%d,%.9g,%d\n" % (a, b, d, s))
known = v("events_known") > 0
r = np.zeros(len(known)); r[known] = v("decay_rho")
np.save("times.npy", t.astype("i8"))
np.save("seconds.npy", t * 1e-3)
np.save("few.npy", t[:-1].astype("i8"))
angle = 2 * np.pi * (np.arange(288) % 36 + .5) / 36
p = np.c_[110 * np.cos(angle), 110 * np.sin(angle), (np.arange(288) // 36 - 3.5) * 6]
np.save("still.npy", np.c_[p[c[:, 0]], p[c[:, 1]], dt].astype("f4"))
R, T, k = meta["randoms_per_pair_whole_scan"], 60., math.log(2) / meta["half_life_s"]
mean = lambda k: (1 - math.exp(-k * T)) / (k * T)
s = math.sqrt(R * T / (2 * 3e-9) * mean(k) ** 2 / mean(2 * k)) # the program multiplies by the pile-up
np.save("singles.npy", np.full(288, s))
open("numbers", "w").write("%.17g %.17g\n" % (R, R / (0.299792458 * 3000)))
rows = [l.split(",") for l in open("table.csv") if l[0] not in "#t"]
out = open("half.csv", "w")
out.write("# rule: step\ntime_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n")
for i, x in enumerate(rows): # a table of twice the rows
    end = float(rows[i + 1][0]) if i + 1 < len(rows) else 60
    for at in (x[0], repr(.5 * (float(x[0]) + end))): out.write(",".join([at] + x[1:]))
def matrix(q, t):
    w, x, y, z = q / np.linalg.norm(q)
    R = [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
         [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]
    return np.vstack([np.c_[R, t], [0, 0, 0, 1]])
known = np.array([[float(a) for a in x] for x in rows if "nan" not in x[1]])
P = [matrix(x[1:5], x[5:8]) for x in known]
table = lambda path, m: np.save(path, np.array([np.r_[t, a[:3].ravel()] for t, a in zip(known[:, 0], m)]))
inv = np.linalg.inv
C = matrix(np.array([.8, .3, -.4, .2]), [30, -20, 50])
np.save("axes.npy", C[:3])
table("hand.npy", P)
table("tracker.npy", [inv(inv(C) @ a @ C) for a in P])
table("hand20.npy", [a @ inv(P[4]) for a in P])
open("one.csv", "w").write("time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n0," + ",".join(rows[4][1:]))
for name, row in ("shift", "0,1,0,0,0,8,-16,6"), ("turn", "0,.6,.48,-.64,0,0,0,0"):
    open(name + ".csv", "w").write("time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n" + row + "\n")
open("bed.csv", "w").write("time_s,z_mm\n0,12\n30,12\n")
open("gantry.csv", "w").write("time_s,angle_deg\n0,90\n60,90\n")
np.save("mirror.npy", np.c_[np.diag([1., 1, -1]), np.zeros(3)])
np.save("short.npy", np.zeros((2, 4)))
np.save("before.npy", t.astype("i8") - 3)
open("sino.s", "wb").write(b"123454321" * 144)
open("sino.hs", "w").write("""!INTERFILE :=
name of data file := sino.s
!number format := unsigned integer
!number of bytes per pixel := 1
applied corrections := {None}
number of dimensions := 4
matrix axis label [4] := segment
matrix size [4] := 1
matrix axis label [3] := view
matrix size [3] := 18
matrix axis label [2] := axial coordinate
matrix size [2] := {8}
matrix axis label [1] := tangential coordinate
matrix size [1] := 9
minimum ring difference per segment := {0}
maximum ring difference per segment := {0}
Number of rings := 8
Number of detectors per ring := 36
Inner ring diameter (cm) := 22
Average depth of interaction (cm) := 0
Distance between rings (cm) := 0.6
View offset (degrees) := 0
""")
open("ones.csv", "w").write("time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n0,1,0,0,0,0,0,0\n30,-2,0,0,0,0,0,1e-7\n")
open("away.csv", "w").write("time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n0,1,0,0,0,900,0,0\n")
open("late.csv", "w").write("time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n-9,1,0,0,0,1,0,0\n-5,1,0,0,0,3,0,0\n")
open("nan.csv", "w").write("time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n0,1,0,0,0,1,0,0\n20" + ",nan" * 7 + "\n")
END
read -r R R_mm <numbers
scan=(--events e.csv --scanner ring.yaml --duration-s 60 --grid "14,14,10" --voxel "8,8,6")
poses=(--poses table.csv --poses-rule step)
full=(--mu mu.nii --mu-fixed fixed.nii --norm eff.npy)
em=(--iterations 5 --save-every 1 --sens-floor 0 --tof-fwhm-ps 0)

# ---- sensitivity ----
sens=(sens ray --scanner ring.yaml --duration-s 60 --grid "14,14,10" --voxel "8,8,6")
run "${sens[@]}" "${poses[@]}" -o s.nii
run "${sens[@]}" "${poses[@]}" "${full[@]}" -o sf.nii
run "${sens[@]}" --poses table.csv "${full[@]}" --sens-budget 0 --sens-error 0.06 -o sl.nii

# ---- attenuation: with mu 0.01 along a line the projection shows it ----
run project ray f.nii "${scan[@]}" "${poses[@]}" --mu mu.nii --mu-fixed fixed.nii --tof-fwhm-ps 0 -o a.npy
run project ray f.nii "${scan[@]}" "${poses[@]}" --tof-fwhm-ps 0 -o b.npy

# ---- EM ----
run recon ray "${scan[@]}" "${poses[@]}" "${full[@]}" "${em[@]}" -o plain.nii
err_has 'events are left out: their pose is not known'
run recon ray "${scan[@]}" "${poses[@]}" "${full[@]}" "${em[@]}" --additive "$R" -o add.nii
run recon ray "${scan[@]}" "${poses[@]}" "${full[@]}" "${em[@]}" --tof-fwhm-ps 400 --additive "$R_mm" -o tof.nii
run recon ray "${scan[@]}" "${poses[@]}" "${full[@]}" "${em[@]}" --singles singles.npy --half-life-s 80 -o decay.nii

# ---- frames have sensitivities of their own ----
run recon ray "${scan[@]}" "${poses[@]}" "${full[@]}" --iterations 1 --sens-floor 0 --tof-fwhm-ps 0 --frames 0,20,60 \
	--half-life-s 80 -o frames.nii
check 'the vectors' <<'END'
from common import *
# sensitivity
near("s.nii", "sens_step", 2e-5)
near("sf.nii", "sens_step_full", 2e-5)
near("sl.nii", "sens_lines", .05) # whose pieces are shorter
r = json.load(open("sl.json"))["results"]["sensitivity"]
if r["way"] != "by lines" or r["pieces_of_a_pair"] != 2: sys.exit(str(r))
total = (image("sf.nii").astype(float) * v("image")).sum()
if abs(total / meta["expected_counts_per_unit"] - 1) > 1e-6: sys.exit("sum S f is %g" % total)
# attenuation
a, b, known = np.load("a.npy"), np.load("b.npy"), v("events_known") > 0
if np.abs(a[~known]).max() > 0: sys.exit("events of unknown pose have a projection")
a, b, want = a[known], b[known], v("alpha_step")
seen = b > 1e-3 * b.max()
far = np.abs(a[seen] / b[seen] - want[seen]).max()
print("alpha", far)
if not far < 1e-5: sys.exit("attenuation is %g off" % far)
# EM
for path, name in ("plain", "em_plain"), ("add", "em_add"), ("tof", "em_tof_add"), ("decay", "em_decay_add"):
    near(path + "_it001.nii", name + "_it1")
    near(path + ".nii", name + "_it5")
r = json.load(open("plain.json"))["results"]
if r["events_of_unknown_pose"] != meta["events"] - meta["events_known"]: sys.exit("unknown: %s" % r)
if r["events"]["used"] != meta["events_that_meet_the_image"]: sys.exit("used: %s" % r["events"])
total = (image("plain.nii").astype(float) * image("sf.nii")).sum()
if abs(total / meta["em_plain_it5_sum_S_f"] - 1) > 1e-5: sys.exit("sum S f is %g" % total)
# frames
f = np.asarray(nibabel.load("frames.nii").dataobj)
r = json.load(open("frames.json"))["results"]["frames"]
for k in range(2): # after one update of MLEM sum S f is the number of events
    s = v("sens_step_full_frame%d_decay" % k)
    total = (f[..., k].transpose(2, 1, 0).astype(float) * s).sum()
    used = r[k]["events"]["used"]
    if abs(total / used - 1) > 2e-5: sys.exit("frame %d: sum S f is %g, %d events" % (k, total, used))
END

# ---- the same poses in other words: the same image ----
iterate=(--iterations 2 --tof-fwhm-ps 0)
run recon ray "${scan[@]}" "${poses[@]}" "${full[@]}" "${iterate[@]}" -o one.nii
for threads in 1 3; do
	run recon ray "${scan[@]}" "${poses[@]}" "${full[@]}" "${iterate[@]}" --threads "$threads" -o more.nii --force
	same one.nii more.nii
done
run recon ray "${scan[@]}" --poses half.csv "${full[@]}" "${iterate[@]}" -o half.nii
same one.nii half.nii
run recon ray "${scan[@]}" "${iterate[@]}" --mu mu.nii -o none.nii
run recon ray "${scan[@]}" "${iterate[@]}" --mu mu.nii --poses ones.csv -o ones.nii
same none.nii ones.nii
run recon ray "${scan[@]}" "${iterate[@]}" --mu-fixed mu.nii --poses ones.csv -o ones.nii --force
same none.nii ones.nii
# YRT-PET's table has 9 decimals and no row of unknown pose
run recon ray "${scan[@]}" --poses yrt.csv "${iterate[@]}" -o yrt.nii
grep -v nan table.csv >known.csv
run recon ray "${scan[@]}" --poses known.csv --poses-rule step "${iterate[@]}" -o known.nii
# inverse, axes and reference against tables that were changed by hand
run recon ray "${scan[@]}" --poses hand.npy --poses-rule step "${iterate[@]}" -o hand.nii
run recon ray "${scan[@]}" --poses tracker.npy --poses-rule step --poses-inverse --poses-axes axes.npy "${iterate[@]}" \
	-o tracker.nii
run recon ray "${scan[@]}" --poses hand20.npy --poses-rule step "${iterate[@]}" -o hand20.nii
run recon ray "${scan[@]}" --poses hand.npy --poses-rule step --reference 20 "${iterate[@]}" -o at20.nii
run recon ray "${scan[@]}" --poses hand.npy --poses-rule step --reference one.csv "${iterate[@]}" -o of.nii
run recon ray "${scan[@]}" --poses turn.csv --reference mean "${iterate[@]}" -o mean.nii
# a pose that does not change: the grid lies elsewhere; a gantry that turns by a right angle: the image is turned
run recon ray "${scan[@]}" "${iterate[@]}" -o still.nii
run recon ray "${scan[@]}" --poses shift.csv "${iterate[@]}" -o shift.nii
run recon ray "${scan[@]}" --centre 8,-16,6 "${iterate[@]}" -o centre.nii
run recon ray "${scan[@]}" --bed bed.csv --mu-bed mu.nii "${iterate[@]}" -o bed.nii
run recon ray "${scan[@]}" --poses bed.csv --mu mu.nii "${iterate[@]}" -o as_poses.nii
run recon ray "${scan[@]}" --gantry gantry.csv "${iterate[@]}" -o gantry.nii
same bed.nii as_poses.nii
# events without times, and times from a file
run recon ray "${scan[@]}" "${poses[@]}" "${full[@]}" "${iterate[@]}" --events still.npy --event-times times.npy -o times.nii
run recon ray "${scan[@]}" "${poses[@]}" "${full[@]}" "${iterate[@]}" --events still.npy --event-times seconds.npy \
	-o seconds.nii
same times.nii seconds.nii
check 'other words' <<'END'
from common import *
a, b = image("known.nii"), image("yrt.nii")
if not np.abs(a - b).max() < 1e-5 * a.max(): sys.exit("%g" % np.abs(a - b).max())
def alike(a, b, tolerance=2e-5):
    far = np.abs(a - b).max() / a.max()
    print(far)
    if not far < tolerance: sys.exit("%g" % far)
alike(image("hand.nii"), image("tracker.nii"))
alike(image("hand20.nii"), image("at20.nii"))
alike(image("hand20.nii"), image("of.nii"))
alike(image("still.nii"), image("mean.nii"))
alike(image("centre.nii"), image("shift.nii"), 5e-4) # lines along faces of voxels: rounding decides
alike(np.rot90(image("still.nii"), -1, (1, 2)), image("gantry.nii"), 5e-4)
a, b = image("one.nii"), image("times.nii")
if np.abs(a - b).max() > 5e-5 * a.max(): sys.exit("times of a file: %g" % np.abs(a - b).max())
END
# several lines an event
rays=(--rays 3 "${iterate[@]}")
run recon ray "${scan[@]}" "${rays[@]}" -o still.nii --force
run recon ray "${scan[@]}" "${rays[@]}" --poses shift.csv -o shift.nii --force
run recon ray "${scan[@]}" "${rays[@]}" --centre 8,-16,6 -o centre.nii --force
run recon ray "${scan[@]}" "${rays[@]}" --gantry gantry.csv -o gantry.nii --force
run recon ray "${scan[@]}" "${rays[@]}" "${poses[@]}" "${full[@]}" --threads 1 -o rays1.nii
run recon ray "${scan[@]}" "${rays[@]}" "${poses[@]}" "${full[@]}" --threads 2 -o rays2.nii
same rays1.nii rays2.nii
run recon ray "${scan[@]}" "${rays[@]}" "${poses[@]}" --dry-run -o dry.nii
grep -q 'lines of the events' out err || fail "--dry-run does not count the lines of an event"
check 'several lines an event' <<'END'
from common import *
def alike(a, b, tolerance=5e-4):
    far = np.abs(a - b).max() / a.max()
    print(far)
    if not far < tolerance: sys.exit("%g" % far)
alike(image("centre.nii"), image("shift.nii"))
alike(np.rot90(image("still.nii"), -1, (1, 2)), image("gantry.nii"))
END
# from disk, whatever the block
run convert e.csv e.Cdh --scanner ring.yaml --duration-s 60
stream=(--events e.Cdh --grid "14,14,10" --voxel "8,8,6" "${poses[@]}" --mu mu.nii --norm eff.npy "${iterate[@]}")
run recon ray "${stream[@]}" -o memory.nii
run recon ray "${stream[@]}" --stream -o disk.nii
same memory.nii disk.nii
run recon ray "${stream[@]}" --block 512 -o disk.nii --force
same memory.nii disk.nii
lines=("${stream[@]}" --scanner ring.yaml --rays 3 --method osem --subsets 3)
run recon ray "${lines[@]}" -o memory.nii --force
run recon ray "${lines[@]}" --stream --threads 1 -o disk.nii --force
same memory.nii disk.nii
run recon ray "${lines[@]}" --block 512 --scratch . -o disk.nii --force
same memory.nii disk.nii
# stopped, and gone on with; other poses are another run
run recon ray "${stream[@]}" --iterations 6 -o whole.nii
expect 143 recon ray "${stream[@]}" --iterations 6 --stop-after 1e-9 -o stopped.nii
sed '/nan/!{/^[0-9]/s/[^,]*$/7/}' table.csv >other.csv
other=("${stream[@]/table.csv/other.csv}")
code=0
"$ISOTOME" recon ray "${other[@]}" --iterations 6 --resume -o stopped.nii >out 2>err || code=$?
[ $code = 3 ] || fail "--resume with other poses: exit code $code, expected 3"
err_has 'stopped.nii.ckpt: checkpoint of other inputs'
run recon ray "${stream[@]}" --iterations 6 --threads 3 --resume -o stopped.nii
grep -qE '"resumed_from_update": [1-9]' stopped.json || fail "the run began anew"
same whole.nii stopped.nii
# scatter at several poses, and maps that stay
stream+=(--mu-fixed fixed.nii --method osem --subsets 4 --scatter sss --scatter-rounds 1 --energy-window 435,650
	--energy-resolution 0.11 --scatter-poses-mm 25)
run recon ray "${stream[@]}" -o memory.nii --force
grep -q '"poses": [2-9]' memory.json || fail "not several estimates of scatter: $(grep '"poses' memory.json)"
run recon ray "${stream[@]}" --stream --threads 1 -o disk.nii --force
same memory.nii disk.nii
run recon ray "${stream[@]}" --block 512 --scratch . -o disk.nii --force
same memory.nii disk.nii

# ---- refused, with the image left as it was ----
refuse() { # TEXT ARGS...
	local text=$1
	shift
	expect "$code" recon ray "${scan[@]}" --iterations 1 --tof-fwhm-ps 0 -o no.nii "$@"
	err_has "$text"
	[ ! -e no.nii ] || fail "$*: wrote an image"
}
code=3
refuse "holds no times of its events, which --poses needs; give --event-times" --events still.npy --poses table.csv
refuse 'ends at -5 s, before the first event' --poses late.csv
refuse "--reference says which pose is to be the identity" --poses away.csv
refuse 'times, expected one per event' --events still.npy --poses table.csv --event-times few.npy
refuse 'frame 2, from 20 to 60 s: the pose is not known' --poses nan.csv --frames 0,20,60
refuse "the pose at 33 s is not known, it can't be the reference" "${poses[@]}" --reference 33
code=2
refuse "--precorrected can't be used with --mu-fixed" "${poses[@]}" --mu mu.nii --mu-fixed fixed.nii --precorrected
refuse "--scatter-save writes one table: it can't be used with --poses" "${poses[@]}" --mu mu.nii --scatter sss --scatter-save t.h5
refuse "--scatter-extend can't be used with --poses" "${poses[@]}" --mu mu.nii --scatter sss --scatter-extend
refuse "holds the times of its events" "${poses[@]}" --event-times times.npy
refuse '--event-times needs the events in memory' --events still.npy "${poses[@]}" --stream --event-times times.npy
scan=(--events e.csv --scanner ring.yaml --grid "14,14,10" --voxel "8,8,6")
refuse "needs the duration of the scan: give --duration-s" "${poses[@]}"
refuse "--reference mean needs the duration of the scan" "${poses[@]}" --reference mean
code=3
refuse 'a reflection' --duration-s 60 "${poses[@]}" --poses-axes mirror.npy
refuse '2 rows of 4 values, expected 3' --duration-s 60 "${poses[@]}" --poses-axes short.npy
! "$ISOTOME" recon ray "${scan[@]}" --duration-s 60 "${poses[@]}" --events sino.hs -o no.nii 2>err || fail "a histogram is taken"
err_has 'a histogram has no times'
refuse 'is -1 ms, must be 0 to' --duration-s 60 "${poses[@]}" --events still.npy --event-times before.npy

# ---- a sensitivity of other poses is told of ----
given=(recon ray --events e.csv --scanner ring.yaml --grid "14,14,10" --voxel "8,8,6" "${poses[@]}" "${iterate[@]}" --sens s.nii)
run "${given[@]}" -o given.nii
! grep -q 'was made with' err || fail "a sensitivity of the same poses is warned of"
run "${given[@]}" --reference 20 -o given.nii --force
err_has 's.nii was made with other poses than this run has'
