#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome kinetics: frames of coefficients give them back, weights, maps, Logan, the input from a region; simulate --tacs.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

printf 'time\tc\n0\t0\n20\t80\n60\t40\n600\t15\n3600\t5\n' >blood.tsv
check "coefficients" <<'END'
import nibabel as nib, numpy as np
a = np.diag([10, 10, 10, 1.0])
theta = np.zeros((4, 3, 2, 2), "f4")
theta[..., 0] = np.linspace(1e-4, 1e-3, 24).reshape(4, 3, 2)
theta[..., 1] = np.linspace(0.5, 0.1, 24).reshape(4, 3, 2)
nib.Nifti1Image(theta, a).to_filename("theta.nii")
mask = np.zeros((4, 3, 2), "f4")
mask[3, 2, 1] = 1
nib.Nifti1Image(mask, a).to_filename("mask.nii")
END
input=(--input blood.tsv --input-unit Bq/mL --isotope C-11)
run kinetics theta.nii "${input[@]}" --evaluate 0:5:60,90,180,300:300:3600 -o frames.nii
run kinetics frames.nii "${input[@]}" --from-s 300 -o fit.nii
run kinetics frames.nii "${input[@]}" --from-s 300 --weights uniform --nonneg -o uniform.nii
run kinetics frames.nii "${input[@]}" --from-s 300 --model logan -o vt.nii
run kinetics frames.nii --input frames.nii:mask.nii --isotope C-11 --from-s 300 --model srtm2:k2p=0.003,beta=1e-3/2e-3/2 -o srtm.nii
check "the coefficients come back" <<'END'
from checks import *
import nibabel as nib
get = lambda f: nib.load(f).get_fdata()
theta = get("theta.nii")
for f in "fit", "uniform":
    for k in range(2): near(f, get(f + ".nii")[..., k], theta[..., k], 2e-5 * theta[..., k].max())
near("Ki", get("fit_Ki.nii"), 60 * theta[..., 0], 2e-5 * 0.06)
require(get("fit_s2.nii").max() < 1e-6, "residuals")
require(record("fit_V0.json")["Units"] == "mL/mL" and record("vt.json")["Units"] == "mL/mL", "units")
near("frames touch", record("frames.json")["FrameTimesStart"][:2] + record("frames.json")["FrameDuration"][-1:], [0, 5, 300], 1e-9)
END
expect 2 kinetics frames.nii --model patlak -o n.nii
err_has 'needs --input'
cp frames.nii bare.nii
sed 's/"isotope": *"C-11"/"isotope": null/' frames.json >bare.json
expect 2 kinetics bare.nii --input blood.tsv --input-unit Bq/mL --from-s 300 -o n.nii
err_has 'for which isotope'
expect 2 kinetics frames.nii "${input[@]}" --from-s 3300 -o n.nii
err_has 'must be at least 3'
expect 3 kinetics theta.nii "${input[@]}" -o n.nii
err_has 'no record beside it tells when each began'
expect 3 kinetics frames.nii "${input[@]}" -o n.nii
err_has 'has its peak'
[ -z "$(ls n*.nii* 2>/dev/null)" ] || fail "a refusal leaves files: $(ls n*)"

# simulated curves
solid_ring 4 | sed 's/144/72/; s/36/18/' >ring.yaml
check "labels" <<'END'
import nibabel as nib, numpy as np
a = np.diag([15, 15, 15, 1.0])
a[:3, 3] = -52.5, -52.5, -22.5
lab = np.zeros((8, 8, 4), "f4")
lab[2:4, 3:5, 1:3], lab[5:6, 3:5, 3:] = 1, 7
nib.Nifti1Image(lab, a).to_filename("labels.nii")
nib.Nifti1Image(np.stack([lab == 1, lab == 7], -1).astype("f4"), a).to_filename("two.nii")
END
printf 'time 1 7\n0 0 0\n20 90 10\n100 40 20\n600 10 60\n' >curves.txt
sim=(simulate ring.yaml labels.nii --tacs curves.txt --counts 2e4 --duration-s 600 --isotope C-11 --randoms 0.3)
run "${sim[@]}" --truth-tacs truth.tsv --truth-edges 0,30,60,120:120:600 -o e.Cdh --delayed d.Cdh
run "${sim[@]}" --threads 1 -o e1.Cdh
same e.Cdf e1.Cdf
run simulate ring.yaml two.nii --basis curves.txt --counts 2e4 --duration-s 600 --isotope C-11 --randoms 0.3 -o e2.Cdh
same e.Cdf e2.Cdf
check "events follow the curves" <<'END'
from checks import *
rows = np.loadtxt("truth.tsv", skiprows=1)
for label in 1, 7:
    q = rows[rows[:, 0] == label]
    want = q[:, 4] * q[:, 5].sum() / q[:, 4].sum()
    chi2 = ((q[:, 5] - want) ** 2 / want).sum() / (len(q) - 1)
    require(chi2 < 1 + 3 * np.sqrt(2 / (len(q) - 1)), f"label {label}: chi2 {chi2}")
x = np.linspace(30, 60, 100001)
g = np.exp(-np.log(2) / 1221.8 * x)
near("mean", rows[1, 3], (np.interp(x, [20, 100], [90, 40]) * g).sum() / g.sum(), 1e-3)
END
expect 2 "${sim[@]}" -o e.lmdT
err_has 'no place for the times'
expect 3 simulate ring.yaml labels.nii --tacs curves.txt --counts 2e4 --duration-s 700 -o n.Cdh
err_has 'ends at 600 s, the scan at 700 s'
expect 2 "${sim[@]}" --exact -o n.Cdh
err_has 'does not go with --exact'
