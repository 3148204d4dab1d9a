#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recon --kinetics: a basis of indicators gives the frames, files, standard errors, an interruption, refusals.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

solid_ring 4 | sed 's/144/72/; s/36/18/' >ring.yaml
cat >>ring.yaml <<'END'
time: {coincidence_ns: 4}
crystal_mm: [5, 11, 20]
END
run phantom cylinder --grid '8,8,4' --voxel '15,15,15' -o object.nii
run simulate ring.yaml object.nii --counts 12000 --duration-s 600 --isotope C-11 --randoms 0.3 -o e.Cdh --delayed d.Cdh
run simulate ring.yaml object.nii --counts 5000 --duration-s 600 -o plain.Cdh
printf 'time a b c\n0 1 0 0\n100 1 0 0\n100.001 0 1 0\n400 0 1 0\n400.001 0 0 1\n700 0 0 1\n' >b.tsv
printf 'time,c\n10,50\n600,20' >blood.csv
check "images" <<'END'
import nibabel as nib, numpy as np
a = nib.load("object.nii")
start = np.ones(a.shape + (3,), "f4") / np.array([100, 300, 200], "f4")
nib.Nifti1Image(start, a.affine).to_filename("s.nii")
nib.Nifti1Image(start * 2 / 0.998, a.affine).to_filename("s1.nii")  # 1 count/mm in Bq/ml
labels = np.zeros(a.shape, "f4")
labels[3:5, 3:5], labels[2:3, 3:5] = 1, 4
nib.Nifti1Image(labels, a.affine).to_filename("labels.nii")
np.save("eff.npy", np.linspace(0.8, 1.2, 288).astype("f4"))
nib.Nifti1Image((a.get_fdata() > 0).astype("f4") * 0.008, a.affine).to_filename("mu.nii")
END

recon=(recon ray --events e.Cdh --scanner ring.yaml --grid '8,8,4' --voxel 15 --method mlem --iterations 2)
bins=("${recon[@]}" --delayed d.Cdh --isotope C-11 --live-share '0.9,0.8,0.7' --frames 0,100,400,600)
with=(--kinetics basis --basis b.tsv)
for more in '' '--psf 8 --mu mu.nii --calibration 2' '--rays 2 --norm eff.npy'; do
	# shellcheck disable=SC2086
	run "${bins[@]}" $more -o f.nii --force
	case $more in *calibration*) start=s1.nii ;; *) start=s.nii ;; esac
	# shellcheck disable=SC2086
	run "${bins[@]}" $more "${with[@]}" --start "$start" -o k.nii --force
	check "bins are frames $more" <<END
from checks import *
import nibabel as nib
f, k = nib.load("f.nii").get_fdata(), nib.load("k.nii").get_fdata()
if "calibration" not in "$more": f /= np.array([100, 300, 200])
for i in range(3): near("bin", k[..., i], f[..., i], 1e-4 * f[..., i].max())
END
done

recon=(recon ray --events plain.Cdh --grid '8,8,4' --voxel 15 --method mlem --iterations 2 --sens none)
patlak=("${recon[@]}" --isotope C-11 --frames 100:100:600 --kinetics patlak --input blood.csv --input-unit Bq/mL --unitless)
run "${patlak[@]}" -o whole.nii
run "${patlak[@]}" --regions labels.nii --replicates 3 -o p.nii
same whole.nii p.nii
err_has 'statistical error alone'
check "files" <<'END'
from checks import *
import nibabel as nib
p, sd = nib.load("p.nii").get_fdata(), nib.load("p_sd.nii").get_fdata()
near("Ki", nib.load("p_Ki.nii").get_fdata(), 60 * p[..., 0], 1e-5 * 60 * p[..., 0].max())
near("V0", nib.load("p_V0.nii").get_fdata(), p[..., 1], 1e-5 * p[..., 1].max())
near("sd of Ki", nib.load("p_Ki_sd.nii").get_fdata(), 60 * sd[..., 0], 1e-4 * 60 * sd[..., 0].max())
require(record("p_Ki.json")["Units"] == "mL/min/mL", "unit")
rows = open("p_regions.tsv").read().split("\n")
require(len(rows) == 6 and rows[4].startswith("V0\t4\t"), "the table of regions")
scores = open("p_scores.tsv").read().split("\n")
require(scores[1].startswith("0\t") and scores[3].startswith("4\t") and len(scores[1].split("\t")) == 7, "scores")
b = record("p.json")["results"]
require(sum(b["events_of_bins"]) == b["events"]["used"] + b["events"]["skipped"], "events of bins")
END
run "${patlak[@]}" --subsets 2 --method osem --threads 1 -o o1.nii
expect 143 "${patlak[@]}" --subsets 2 --method osem --stop-after 1e-9 --checkpoint-minutes 0 -o o2.nii
run "${patlak[@]}" --subsets 2 --method osem --resume -o o2.nii
same o1.nii o2.nii
run "${patlak[@]}" --penalty quadratic:rel=0.3 -o q.nii
err_has 'which is rel=0.3'

# refusals leave nothing
no() { # CODE WORDS ARGS...
	expect "$1" "${@:3}" -o n.nii
	err_has "$2"
}
no 2 "needs --frames" "${recon[@]}" "${with[@]}"
no 2 'must be at least 3' "${recon[@]}" --frames 0,300,600 --kinetics patlak --input blood.csv --unitless
no 2 'and --frames 2 bins' "${recon[@]}" --frames 0,300,600 "${with[@]}"
no 2 "without --calibration" "${recon[@]}" --frames 100:100:600 --kinetics patlak --input blood.csv
no 3 'has its peak at 10 s' "${recon[@]}" --frames 0:100:600 --kinetics patlak --input blood.csv --unitless
no 2 'did you mean patlak' "${recon[@]}" --frames 0:100:600 --kinetics patlac
no 2 "needs --input" "${recon[@]}" --frames 0:100:600 --kinetics patlak
no 2 'does not go with --suv' "${recon[@]}" --frames 0:100:600 "${with[@]}" --suv
no 2 'does not go with --stream' "${recon[@]}" --frames 0:100:600 "${with[@]}" --stream
no 2 'behind the end of the scan' "${recon[@]}" --frames 100,300,500,700,900 "${with[@]}" --basis b.tsv
no 2 'mlem or osem, not svrg' "${recon[@]}" --method svrg --penalty rdp:rel=1 "${with[@]}"
no 2 'has 3 strengths, the model 2' "${patlak[@]}" --penalty quadratic:1/2/3
printf 'time a\n0 1\n400 1\n' >short.tsv
no 3 'before the last bin' "${recon[@]}" --frames 0,300,600 --kinetics basis --basis short.tsv
[ -z "$(ls n*.nii* 2>/dev/null)" ] || fail "a refusal leaves files: $(ls n*)"
