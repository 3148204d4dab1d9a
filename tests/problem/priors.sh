#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Penalised likelihood and kernel EM through the program: what is refused, warned of, recorded; frames, resume, ranks.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

solid_ring 6 >ring.yaml
grid=(--grid '16,16,6' --voxel '12,12,12')
run phantom cylinder "${grid[@]}" -o truth.nii
run simulate ring.yaml truth.nii --counts 20000 --seed 5 --duration-s 100 -o e.lmdT
run sens ray --scanner ring.yaml "${grid[@]}" -o sens.nii
ray=(ray --events e.lmdT --scanner ring.yaml "${grid[@]}" --device cpu --sens sens.nii -o x.nii)
"$PYTHON" - <<'END'
import nibabel
import numpy as np

img = nibabel.load("truth.nii")
x = np.asarray(img.dataobj)
save = lambda name, x, affine=img.affine: nibabel.save(nibabel.Nifti1Image(x.astype("f4"), affine), name)
save("below.nii", x - 2)
save("other.nii", x[:-1])
save("finite.nii", np.where(x > 0, np.nan, 0))
END

refused() { # CODE MESSAGE ARGS...
	expect "$1" recon "${ray[@]}" "${@:3}"
	err_has "$2"
	[ ! -e x.nii ] || fail "an image was written"
}

# ---- what the words of --penalty may be ----
svrg=(--method svrg)
refused 2 "penalty 'rpd' is none of quadratic, rdp, logcosh, huber, tv or ggd; did you mean 'rdp'?" "${svrg[@]}" --penalty rpd:1
refused 2 "its strength is missing; rdp:BETA, or rdp:rel=0.2" "${svrg[@]}" --penalty rdp
refused 2 "its strength is missing" "${svrg[@]}" --penalty rdp:gamma=2
refused 2 'BETA is -1, must be at least 0' "${svrg[@]}" --penalty rdp:-1
refused 2 'rel is -0.1, must be at least 0' "${svrg[@]}" --penalty rdp:rel=-0.1
refused 2 "'inf' is no number" "${svrg[@]}" --penalty rdp:inf
refused 2 "'nan' is no number" "${svrg[@]}" --penalty quadratic:nan
refused 2 'it has two strengths' "${svrg[@]}" --penalty rdp:1,rel=0.2
refused 2 'gamma is -1, must be at least 0' "${svrg[@]}" --penalty rdp:1,gamma=-1
refused 2 'epsilon is -1, must be at least 0' "${svrg[@]}" --penalty rdp:1,epsilon=-1
refused 2 'quadratic has no' "${svrg[@]}" --penalty quadratic:1,gamma=2
refused 2 "rdp has no 'delta'; it has gamma and epsilon" "${svrg[@]}" --penalty rdp:1,delta=2
refused 2 "'gamma=' is no number" "${svrg[@]}" --penalty rdp:1,gamma=
for term in logcosh:1,s=0 huber:1,delta=-2 tv:1,eta=0; do
	refused 2 ', must be above 0' "${svrg[@]}" --penalty "$term"
done
for method in svrg saga bsrem lbfgs; do
	refused 2 'epsilon is 0, with which rdp has no gradient' --method $method --penalty rdp:1,epsilon=0
done

# ---- what does not go together ----
for method in mlem osem; do
	refused 2 "--penalty goes with --method svrg, saga, bsrem, lbfgs, depierro, pdhg or spdhg, not $method" --method $method \
		--penalty rdp:1
done
refused 2 '--kappa goes with --method svrg, saga, bsrem, lbfgs or depierro, not mlem' --kappa auto
refused 2 '--bowsher goes with --method svrg, saga, bsrem, lbfgs or depierro, not osem' --method osem --bowsher truth.nii
refused 2 '--tolerance goes with --method svrg, saga' --tolerance 0.1
refused 2 '--kernel goes with --method kem, not svrg' "${svrg[@]}" --kernel truth.nii
refused 2 '--nonneg does not go with model ray' "${svrg[@]}" --nonneg
refused 2 '--filter-every goes with --method mlem or osem, not svrg' "${svrg[@]}" --filter gaussian:5 --filter-every 1
refused 2 '--filter-every goes with --method mlem or osem, not kem' --method kem --kernel truth.nii --filter gaussian:5 \
	--filter-every 1
refused 2 '--penalty goes with --method svrg' --method kem --kernel truth.nii --penalty rdp:1
refused 2 '--method kem needs --kernel' --method kem
refused 2 '--bowsher does not go with --penalty tv' "${svrg[@]}" --penalty tv:1 --bowsher truth.nii
refused 2 '--bowsher needs --penalty' "${svrg[@]}" --bowsher truth.nii
refused 2 '--relax goes with --method bsrem, not svrg' "${svrg[@]}" --penalty rdp:1 --relax 1
refused 2 '--precorrected' "${svrg[@]}" --penalty rdp:1 --precorrected --mu truth.nii
expect 2 recon "${ray[@]:0:5}" "${grid[@]}" -o x.nii --sens none "${svrg[@]}" --penalty rdp:1
err_has '--sens none: the likelihood needs the sensitivity'
for n in 0 27 1.5; do
	refused 2 'must be a whole number from 1 to 26' "${svrg[@]}" --penalty rdp:1 --bowsher "truth.nii,$n"
done
refused 2 'must be greater than 0' --method kem --kernel truth.nii,sigma=0
refused 2 'must be a whole number of at least 1' --method kem --kernel truth.nii,k=0
refused 2 'k=28, more than the 27 voxels of a window of radius 1' --method kem --kernel truth.nii,k=28,radius=1
strip=(strip --scanner "$SOURCE/examples/scanners/bialas2015.yaml" --events "$TEST_DATA/jpet/events.f32")
for form in raw eq3; do
	expect 2 recon "${strip[@]}" "${svrg[@]}" --penalty rdp:1 --form $form -o x.nii
	err_has "--form $form is another likelihood"
done
expect 2 recon "${strip[@]}" --method kem -o x.nii
err_has "--method is 'kem'"
expect 2 recon ubp --data truth.nii "${svrg[@]}" -o x.nii
err_has "--method is 'svrg', must be one of fbp"

# ---- files ----
refused 3 'below.nii' "${svrg[@]}" --penalty rdp:1 --kappa below.nii
refused 3 'other.nii' "${svrg[@]}" --penalty rdp:1 --kappa other.nii
refused 3 'other.nii' "${svrg[@]}" --penalty rdp:1 --bowsher other.nii,5
refused 3 'finite.nii' "${svrg[@]}" --penalty rdp:1 --bowsher finite.nii
refused 3 'other.nii' --method kem --kernel truth.nii,other.nii,k=5
refused 3 'finite.nii' --method kem --kernel finite.nii
refused 3 'absent.nii' "${svrg[@]}" --penalty rdp:1 --kappa absent.nii

# ---- runs: the objective rises, all methods find the same image, the record says how ----
run simulate ring.yaml truth.nii --counts 20000 --seed 5 --duration-s 100 -o e.Cdh
ray=(ray --events e.Cdh --scanner ring.yaml "${grid[@]}" --device cpu --threads 1 --sens sens.nii --additive 0.0001)
rdp=(--penalty rdp:rel=0.2)
recon() { # NAME ARGS...
	run recon "${ray[@]}" "${@:2}" -o "$1"
}
recon svrg.nii --method svrg "${rdp[@]}" --iterations 30 --tolerance 0 --curve svrg.csv
err_has 'rdp: beta'
err_has '24 voxels of the image are seen by no line'
recon saga.nii --method saga "${rdp[@]}" --iterations 30 --tolerance 0
recon bsrem.nii --method bsrem "${rdp[@]}" --iterations 30 --relax 0.5
err_has 'not converged after 30 passes: change over two epochs'
recon lbfgs.nii --method lbfgs "${rdp[@]}" --tolerance 0.0005
recon mlem.nii --iterations 20
recon beta.nii --method svrg --penalty "rdp:$(sed -n 's/.*"beta": \(.*\),/\1/p' svrg.json),gamma=2" --iterations 30 \
	--tolerance 0
recon keep.nii --method svrg "${rdp[@]}" --unseen keep
recon auto.nii --method svrg "${rdp[@]}" --kappa auto
recon bowsher.nii --method svrg "${rdp[@]}" --bowsher truth.nii,5
recon none.nii --method svrg --iterations 4
err_has '--method svrg without --penalty: beta is 0'
recon strong.nii --method svrg --penalty rdp:rel=8,epsilon=1 --subsets 60
err_has 'the penalty is 8 times as strong as the data'
err_has 'epsilon of rdp is 1, over 0.1 of'
err_has 'counts in 60 subsets, fewer than 500 in each: --subsets 40 converge better'
recon smooth.nii --method svrg "${rdp[@]}" --iterations 30 --tolerance 0 --filter gaussian:20
run filter gaussian:20 svrg.nii -o filtered.nii
run recon --like bowsher.json -o again.nii
same bowsher.nii again.nii
check "images of penalised likelihood" <<'END'
import csv
from checks import *
seen, best = image("sens.nii") > 0, image("lbfgs.nii")
for name, most in ("svrg", .01), ("saga", .01), ("beta", .01), ("bsrem", .2):
    near(name, image(name + ".nii"), best, most * best.max())
for name in "keep", "auto", "bowsher":
    off = abs(image(name + ".nii") - best).max()
    require(off > .005 * best.max(), f"{name} changes nothing")
require((best[~seen] == 0).all() and (best >= 0).all(), "voxels that no line sees, or below 0")
near("filter", image("smooth.nii"), image("filtered.nii") * seen, 1e-5 * best.max())
rough = lambda x: abs(np.diff(x[:, 4:12, 4:12], axis=2)).mean() / x[:, 4:12, 4:12].mean()
require(rough(best) < .7 * rough(image("mlem.nii")), "the penalty smooths nothing")
r = record("svrg.json")
m, looks = r["results"]["map"], r["results"]["map"]["looks"]
require(m["penalty"] == "rdp" and m["gamma"] == 2 and m["epsilon"] > 0 and m["kappa"] == "1", "parameters")
require(m["subsets"] == 20 and m["unseen_voxels"] == (~seen).sum() and m["relative"] == .2 and m["beta"] > 0, "figures")
require(m["went_back"] == 0 and m["terms_cut"] == 0 and m["passes"] <= 30, "the run")
require(r["ReconMethodName"] == "svrg", "method")
phi, rise = np.array(looks["objective"]), looks["objective"][-1] - looks["objective"][0]
near("Phi = L - beta R", phi, np.array(looks["loglik"]) - looks["penalty"], 1e-6 * abs(phi).max())
require((np.diff(phi[2:]) > -1e-6 * rise).all(), f"Phi falls: {phi}")
rows = list(csv.DictReader(open("svrg.csv")))
near("curve", [float(row["objective"]) for row in rows], phi, 1e-9 * abs(phi).max())
near("passes", [float(row["passes"]) for row in rows], looks["passes"], 1e-9)
require(record("auto.json")["results"]["map"]["kappa"] == "auto", "kappa")
require(record("bowsher.json")["results"]["map"]["bowsher_neighbours"] == 5, "neighbours")
require(record("lbfgs.json")["results"]["map"]["kkt"] < .0005, "KKT residual")
require(record("none.json")["results"]["map"]["penalty"] is None, "no penalty")
END

# ---- few counts and no additive term: where runs end, and the objective of one image ----
plain=(ray --events e.lmdT --scanner ring.yaml "${grid[@]}" --device cpu --threads 1 --sens sens.nii)
run recon "${plain[@]}" --method svrg "${rdp[@]}" --iterations 10 --tolerance 0 --subsets 20 -o few-svrg.nii
same_penalty=rdp:$("$PYTHON" -c 'import json; m = json.load(open("few-svrg.json"))["results"]["map"]; print(m["beta"], "epsilon=%r" % m["epsilon"], sep=",")')
for seed in 1 2; do
	run recon "${plain[@]}" --method saga --penalty "$same_penalty" --iterations 40 --tolerance 0 --seed $seed -o few-saga$seed.nii
done
run recon "${plain[@]}" --method bsrem --penalty "$same_penalty" --iterations 60 --tolerance 0 --curve bsrem.csv -o few-bsrem.nii
run recon "${plain[@]}" --method lbfgs --penalty "$same_penalty" --start few-svrg.nii --tolerance 0.0001 -o few-lbfgs.nii
run recon "${plain[@]}" --method lbfgs --penalty "$same_penalty" --start few-lbfgs.nii --tolerance 0.001 -o few-again.nii
! grep -q 'has no events' err || fail "a run that begins at the maximum is told to have no events"
run report few-bsrem.nii few-saga1.nii -o few.html
check "few counts" <<'END'
import csv
from checks import *
seen, best = image("sens.nii") > 0, image("few-lbfgs.nii")
for name in "saga1", "saga2", "bsrem":
    off = np.sqrt(((image(f"few-{name}.nii") - best)[seen] ** 2).mean()) / best[seen].mean()
    require(off < .01, f"{name} is {off:.3g} from the maximum")
looks = {n: record(f"few-{n}.json")["results"]["map"]["looks"] for n in ("svrg", "saga1", "saga2", "bsrem", "lbfgs")}
last, first = looks["svrg"]["objective"][-1], looks["lbfgs"]["objective"][0]
require(abs(last - first) < 1e-7 * abs(last), f"svrg ends at {last}, where lbfgs begins at {first}")
require(looks["svrg"]["objective"][-2] <= last, f"svrg falls at its end: {looks['svrg']['objective']}")
most = looks["lbfgs"]["objective"][-1]
for name, look in looks.items():
    require(all(p is None or p < most + .01 for p in look["objective"]), f"{name} is above the maximum, {most}")
    require(look["objective"][-1] is not None, f"{name} does not tell its last objective")
require(looks["bsrem"]["objective"][:-1] == [None] * (len(looks["bsrem"]["objective"]) - 1), "bsrem knows too much")
rows = list(csv.DictReader(open("bsrem.csv")))
require(rows[0]["objective"] == "" and float(rows[-1]["objective"]) < most, "the curve of bsrem")
END

# ---- pdhg without an additive term: images on the way may leave events without activity ----
run recon "${plain[@]}" --method pdhg --penalty tv:5 -o few-pdhg.nii --curve pdhg.csv
run report few-pdhg.nii -o pdhg.html
check "pdhg without an additive term" <<'END'
import csv
from checks import *
m = record("few-pdhg.json")["results"]["map"]
require(m["converged"] and 0 < m["relative_gap"] <= 1e-4, f"gap {m['relative_gap']}")
require(m["looks"]["gap"][0] is None and list(csv.DictReader(open("pdhg.csv")))[0]["gap"] == "", "the first gap is infinite")
END

# ---- the report ----
run report svrg.nii -o svrg.html
grep -q '<h2>Objective</h2>' svrg.html || fail "no objective in the report"
grep -q 'Gradient against passes' svrg.html || fail "no gradient in the report"

# ---- resume, threads, ranks ----
five=(--method svrg "${rdp[@]}" --iterations 8 --tolerance 0)
recon whole.nii "${five[@]}"
for _ in 1 2 3; do
	expect 143 recon "${ray[@]}" "${five[@]}" --stop-after 0.000001 --resume -o part.nii
done
recon part.nii "${five[@]}" --resume
same whole.nii part.nii
grep -q '"resumed_from_update": 3' part.json || fail "the run began anew"
recon threads.nii "${five[@]}" --threads 3
same whole.nii threads.nii
if command -v mpirun >/dev/null && [ -e "$(dirname "$ISOTOME")/libisotome_mpi.so" ]; then
	expect_ranks 2 0 recon "${ray[@]}" "${five[@]}" -o ranks.nii
	same whole.nii ranks.nii
fi

# ---- events that stay on disk ----
recon stream.nii "${five[@]}" --stream --block 3000
same whole.nii stream.nii
grep -q '"streamed"' stream.json || fail "nothing was streamed"
expect 2 recon "${ray[@]}" "${rdp[@]}" --method lbfgs --stream -o x.nii
err_has '--method lbfgs needs the events in memory'
expect 2 recon "${ray[@]}" "${rdp[@]}" --method svrg --kappa auto --stream -o x.nii
err_has '--kappa auto needs the events in memory'

# ---- frames: subsets and strength are each one's own ----
recon frames.nii "${five[@]}" --frames 0,40,41,100
recon second.nii "${five[@]}" --from-s 41 --to-s 100
check "frames" <<'END'
from checks import *
near("the last frame", image("frames.nii")[2], image("second.nii"), 0)
frames = record("frames.json")["results"]["frames"]
require([f["map"]["subsets"] for f in frames] == [8, 4, 11], "subsets of the frames")
require(all(f["map"]["relative"] == .2 for f in frames), "strengths")
END

# ---- other models ----
cat >b.yaml <<'END'
kind: panels
crystals: [6, 8]
pitch_mm: [2.0, 2.0]
crystal_mm: [1.8, 1.8, 6]
gap_mm: 10
layers: 1
voxels_per_pitch: [2, 2]
planes: 6
plane_mm: 1
END
check "inputs of vector b" "$TEST_DATA/dualhead/b" <<'END'
import sys
import numpy as np
root = sys.argv[1] + "/"
real = lambda name: np.fromfile(root + name + ".f64")
ints = lambda name: np.fromfile(root + name + ".i32", dtype="<i4")
ptr, lor, val = ints("col_ptr"), ints("col_lor").reshape(-1, 4), real("col_val")
column = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
np.save("rows.npy", np.column_stack([column // 4, column // 2 % 2, column % 2, lor, val]))
for name in "counts", "randoms_mean":
    np.save(name + ".npy", real(name).reshape(6, 8, 6, 8))
END
run srm b.yaml --import rows.npy --share 1 -o b.srm
srm=(srm --srm b.srm --data counts.npy --additive randoms_mean.npy)
bins=(ray --events "$TEST_DATA/interfile/cylinder.hs" --grid '12,12,6' --voxel '20,20,8' --additive 0.05)
head -c 240000 "$TEST_DATA/jpet/events.f32" >strips.f32
strip=(strip --scanner "$SOURCE/examples/scanners/bialas2015.yaml" --events strips.f32 --pixel 20 --subsets 16)
for model in srm bins strip; do
	declare -n words=$model
	run recon "${words[@]}" --device cpu --threads 1 --method svrg "${rdp[@]}" --iterations 50 --tolerance 0 -o $model-svrg.npy
	run recon "${words[@]}" --device cpu --threads 1 --method lbfgs "${rdp[@]}" --tolerance 0.0005 -o $model-lbfgs.npy
done
check "other models" <<'END'
from checks import *
for model, subsets, most in ("srm", 17, 5e-3), ("bins", 32, 5e-3), ("strip", 16, 2e-3):
    best = np.load(model + "-lbfgs.npy")
    near(model, np.load(model + "-svrg.npy"), best, most * best.max())
    svrg, lbfgs = (record(f"{model}-{m}.npy.json")["results"]["map"] for m in ("svrg", "lbfgs"))
    require(svrg["subsets"] == subsets, f"{model}: {svrg['subsets']} subsets")
    require(lbfgs["kkt"] < 1e-3, f"{model}: KKT residual {lbfgs['kkt']}")
END

# ---- kernels ----
kem=(--method kem --kernel truth.nii,k=12,radius=2 --iterations 6)
recon kem.nii "${kem[@]}" --save-every 3
recon kem3.nii "${kem[@]}" --iterations 3
same kem3.nii kem_it003.nii
recon osem.nii "${kem[@]}" --subsets 4 --psf 10
expect 143 recon "${ray[@]}" "${kem[@]}" --stop-after 0.000001 -o kempart.nii
recon kempart.nii "${kem[@]}" --resume
same kem.nii kempart.nii
recon em.nii --iterations 6
recon own.nii "${kem[@]}" --kernel truth.nii,k=1
check "kernels" <<'END'
from checks import *
r = record("kem.json")["results"]
used = r["events"]["used"]
rough = lambda x: abs(np.diff(x[:, 4:12, 4:12], axis=2)).mean() / x[:, 4:12, 4:12].mean()
require(rough(image("kem.nii")) < .6 * rough(image("em.nii")), "the kernel smooths nothing")
near("a kernel of one voxel", image("own.nii"), image("em.nii"), 1e-4 * image("em.nii").max())
require(len(r["loglik"]) == 6 and used > 19000, "the record")
END

# ---- strengths side by side ----
scan=(--method svrg --beta-scan rel=0.05,0.2,0.8)
"$PYTHON" - <<'END'
import nibabel
import numpy as np

img = nibabel.load("truth.nii")
inside = np.asarray(img.dataobj) > 0
x = np.zeros(inside.shape, "f4")
x[4:8, 4:12, 2:4] = inside[4:8, 4:12, 2:4]
nibabel.save(nibabel.Nifti1Image(x, img.affine), "left.nii")
nibabel.save(nibabel.Nifti1Image(x[::-1], img.affine), "right.nii")
END
recon scan.nii "${scan[@]}" --penalty rdp --beta-background left.nii --beta-region right.nii
for word in 'L-curve' 'Contrast against noise' 'scan_rel0.05.nii'; do
	grep -q "$word" scan.html || fail "the page of the scan lacks $word"
done
check "strengths" <<'END'
from checks import *
all = [record(f"scan_rel{b}.json") for b in ("0.05", "0.2", "0.8")]
maps = [r["results"]["map"] for r in all]
require([round(m["relative"], 6) for m in maps] != [] and maps[0]["relative"] == .05, "strengths")
require(maps[0]["epsilon"] == maps[1]["epsilon"] == maps[2]["epsilon"], "epsilon is not the same in all")
rough = [m["looks"]["penalty"][-1] / m["beta"] for m in maps]
require(rough[0] > rough[1] > rough[2], f"R does not fall: {rough}")
require(all[1]["parameters"]["start"] == "scan_rel0.05.nii", "the second does not begin at the first")
END
expect 2 recon "${ray[@]}" "${scan[@]}" --penalty rdp:1 -o s.nii
err_has 'it has two strengths'
expect 2 recon "${ray[@]}" --method svrg --beta-scan 0.1 --penalty rdp -o s.nii
err_has 'must be 2 to 32 strengths above 0'
expect 2 recon "${ray[@]}" --beta-scan 0.1,0.2 -o s.nii
err_has '--beta-scan needs --method svrg'
expect 2 recon "${ray[@]}" "${scan[@]}" --penalty rdp --force --frames 0,1 -o s.nii
err_has '--beta-scan does not go with --frames'
