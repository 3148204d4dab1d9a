#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome lifetime from end to end: simulated triples of two lives come back within the errors that the maps tell; regions,
# page, random triples, ray's files; and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >mini.yaml <<-END
	kind: barrel
	strips:
	  - {modules: 8, strips: 6, pitch_mm: 7, radius_mm: 120, width_mm: 6, depth_mm: 20, length_mm: 200}
	least_pair_distance_mm: 120
	time: {sigma_z_mm: 10, crt_fwhm_ps: 200}
END
"$PYTHON" - <<'END'
import numpy as np, nibabel as nib
def save(name, v):
    n = v.shape[::-1]
    a = np.diag([20.0, 20, 20, 1])
    a[:3, 3] = [-(n[k] - 1) / 2 * 20 for k in range(3)]
    nib.save(nib.Nifti1Image(v.T.astype("f4"), a), name)
z, y, x = np.meshgrid(*[(np.arange(n) - (n - 1) / 2) * 20 for n in (3, 4, 4)], indexing="ij")
save("activity.nii", np.ones(x.shape))
save("tau.nii", np.where(x < 0, 1.5, 2.5))
save("regions.nii", np.where(x < 0, 1, 2))
END

model=(--scanner mini.yaml --grid 4,4,3 --voxel 20)
common=("${model[@]}" --iterations 3 --min-counts 50)
run simulate mini.yaml activity.nii --counts 9000 --lifetime tau.nii,0.3 -o t.npy
run simulate mini.yaml activity.nii --counts 1000 --lifetime 2,0.3 --random-triples 0.3 -o few.npy
"$PYTHON" - <<'END'
import numpy as np
t, few = np.load("t.npy"), np.load("few.npy")
assert t.shape == (9000, 7) and abs((few[:, 6] < -2).mean() - .3 * 18 / 35) < .05, (few[:, 6] < -2).mean()
rng = np.random.default_rng(4)
life = np.where(rng.random(9000) < .3, 2, np.where(rng.random(9000) < 1 / 7, .125, .388))
t[:, 6] = rng.exponential(life) + rng.normal(0, .15, 9000)
t[::3, 6] = rng.uniform(-20, 15, 3000)
np.save("random.npy", t)
END
run lifetime barrel --events t.npy "${common[@]}" --intensity 0.3 --error bootstrap:8 --regions regions.nii --page m.html -o m.nii
run lifetime barrel --events t.npy "${common[@]}" --intensity 0.3 --method emg --penalty quadratic:rel=0.02 --error full:8 \
	--regions regions.nii -o e.nii
run lifetime barrel --events t.npy "${common[@]}" --intensity 0.3 --method emg --penalty quadratic:rel=0.02 --error full:8 \
	--regions regions.nii --threads 1 -o one.nii
run lifetime barrel --events t.npy "${common[@]}" --method posterior -o p.nii
run lifetime barrel --events random.npy "${common[@]}" --method emg --background=-19,-2 --penalty quadratic:rel=2 \
	--regions regions.nii -o r.nii
run recon barrel --events t.npy "${model[@]}" --iterations 3 -o activity_of_triples.nii
run lifetime barrel --events t.npy "${common[@]}" --dry-run -o dry.nii
[[ ! -e dry.nii ]] || fail "a dry run wrote"
grep -q "Lives of regions" m.html || fail "no regions on the page"
"$PYTHON" - <<'END'
import json
import nibabel as nib, numpy as np
load = lambda name: np.asarray(nib.load(name).dataobj).T
def results(name):
    return json.load(open(name))["results"]
for k in ("", "_error", "_counts", "_mean"):
    assert np.array_equal(load(f"e{k}.nii"), load(f"one{k}.nii"), equal_nan=True), k
for name in "me":
    r = results(f"{name}.json")["lifetime_regions"]
    print(name, [(round(x["tau_ns"], 3), round(x["error_ns"], 3)) for x in r])
    for row, tau in zip(r, (1.5, 2.5)):
        assert abs(row["tau_ns"] - tau) < 4 * row["error_ns"] + .06, row
        assert .005 < row["error_ns"] < .3, row
        assert abs(sum(row["curve_counts"]) / sum(row["curve_fit"]) - 1) < .02
    error, tau = load(f"{name}_error.nii"), load(f"{name}.nii")
    known = np.isfinite(tau)
    assert known.sum() > 30 and (error[known] > 0).all() and np.isinf(error[~known]).all()
seen, all = load("e_counts.nii").sum(), results("e.json")["lifetime"]["triples"]
assert .9 * all < seen < all + 1, (seen, all)
r = results("r.json")["lifetime"]
assert abs(r["random"] - 3000 * 16 / 35) < 150, r
r, w = results("r.json")["lifetime_regions"], np.nanmean(load("r_intensity.nii"))
print("random", [(x["tau_ns"], x["error_ns"]) for x in r], w)
for row in r:
    assert abs(row["tau_ns"] - 2) < .35, row
assert abs(w - .3) < .08 and (load("r_intensity_error.nii") > 0).all()
mean = np.average(load("p.nii"), weights=load("p_counts.nii"))
print("posterior", mean)
assert .7 < mean < 1.1 # of all components together
END

# rows of model ray: the same read by its name
"$PYTHON" - <<'END'
import numpy as np
rng = np.random.default_rng(1)
n = 4000
phi = rng.uniform(0, np.pi, n)
a = 100 * np.c_[np.cos(phi), np.sin(phi), 0 * phi]
v = np.c_[a, -a, rng.normal(0, 30, n), np.arange(n) / 10, rng.exponential(2, n) + rng.normal(0, .15, n)]
np.save("ray.npy", v.astype("f4"))
rec = np.zeros(n, [("p1", "f4", 3), ("p2", "f4", 3), ("dt_ps", "f4"), ("lifetime_ns", "f8"), ("sigma_ns", "f4")])
rec["p1"], rec["p2"], rec["dt_ps"], rec["lifetime_ns"], rec["sigma_ns"] = a, -a, v[:, 6], v[:, 8], .15
np.save("records.npy", rec)
np.save("without.npy", v[:, :8].astype("f4"))
END
ray=(--grid 3,3,1 --voxel 20 --tof-fwhm-ps 100 --components none --min-counts 0)
run lifetime ray --events ray.npy "${ray[@]}" --method posterior -o q.nii
run lifetime ray --events records.npy "${ray[@]}" --method emg --error diag -o s.nii
"$PYTHON" - <<'END'
import nibabel as nib, numpy as np
tau, error = (np.asarray(nib.load(n).dataobj) for n in ("s.nii", "s_error.nii"))
print("ray", tau.ravel(), error.min())
assert abs(tau[1, 1, 0] - 2) < .2
END

expect 3 lifetime ray --events without.npy "${ray[@]}" -o n.nii
err_has "last of 9 columns"
expect 3 lifetime barrel --events none.npy "${common[@]}" -o n.nii
expect 2 lifetime barrel --events t.npy "${common[@]}" --components x:1 -o n.nii
err_has "expected none, d:NS or p:NS,d:NS"
expect 2 lifetime barrel --events t.npy "${common[@]}" --window 5,1 -o n.nii
expect 2 lifetime barrel --events t.npy "${common[@]}" --background 0,3 -o n.nii
err_has "a window beside that from -1 to 15 ns"
expect 2 lifetime barrel --events t.npy "${common[@]}" --error full -o n.nii
expect 2 lifetime barrel --events t.npy "${common[@]}" --method emg --penalty rdp:rel=0.2 -o n.nii
err_has "both signs"
expect 2 lifetime barrel --events t.npy "${common[@]}" --penalty quadratic:rel=0.2 -o n.nii
expect 2 lifetime srm --events t.npy -o n.nii
expect 2 simulate mini.yaml activity.nii --counts 10 --lifetime 2 -o n.npy
expect 2 simulate mini.yaml activity.nii --counts 10 --lifetime 2,0.9 -o n.npy
expect 2 simulate mini.yaml activity.nii --counts 10 --lifetime 2,0.3 -o n.bin5
[[ ! -e n.nii && ! -e n.npy ]] || fail "something was left behind"
