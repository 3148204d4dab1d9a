#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# From a phantom to events to an image: what was simulated comes back, flat and on its scale.
# shellcheck source=lib.bash
. "$(dirname "$0")/lib.bash"
need_python

solid_ring >ring.yaml
echo 'shapes: [{type: cylinder, radius_mm: 52, length_mm: 60, activity: 1, mu_per_mm: 0.0096}]' \
	>water.yaml
grid=(--grid 20,20,5 --voxel 8,8,12)
run phantom water.yaml "${grid[@]}" -o truth.nii --mu mu.nii
run sens ray --scanner ring.yaml "${grid[@]}" -o sens.nii
run sens ray --scanner ring.yaml --mu mu.nii "${grid[@]}" -o sens_mu.nii
grep -q '"relative_error": 0' sens.json || fail "the sensitivity of a small ring is not exact"

simulate() { run simulate ring.yaml truth.nii --counts 500000 --exact -o "$@"; }
simulate air.lmdT
simulate water.lmdT --mu mu.nii --seed 2
simulate random.lmdT --mu mu.nii --seed 3 --randoms 0.2

additive() { "$PYTHON" -c "import json; print(json.load(open('$1.json'))['results']['additive']['$2'])"; }
recon() { run recon ray --scanner ring.yaml "${grid[@]}" "$@"; }
mlem=(--iterations 8)
osem=(--method osem --subsets 5 --iterations 2)
recon --events air.lmdT --tof-fwhm-ps 0 "${mlem[@]}" -o mlem.nii
recon --events air.lmdT "${mlem[@]}" -o mlem_tof.nii
recon --events water.lmdT --mu mu.nii --tof-fwhm-ps 0 "${mlem[@]}" -o mlem_mu.nii
recon --events water.lmdT --mu mu.nii --tof-fwhm-ps 0 "${osem[@]}" -o osem_mu.nii
recon --events water.lmdT --mu mu.nii "${osem[@]}" -o osem_tof_mu.nii
recon --events random.lmdT --mu mu.nii --additive "$(additive random.lmdT randoms_per_pair)" \
	--tof-fwhm-ps 0 "${mlem[@]}" -o random.nii
recon --events random.lmdT --mu mu.nii "${osem[@]}" -o random_tof.nii \
	--additive "$(additive random.lmdT randoms_per_pair_per_mm_tof)"
recon --events water.lmdT --mu mu.nii --precorrected --tof-fwhm-ps 0 "${mlem[@]}" -o precorrected.nii

check "the cylinder is not flat" <<'END'
from checks import *
truth = image("truth.nii")
x, y, z = centres("truth.nii")
rois = {f"{a} {b} {c}": (abs(x - a) < 17) & (abs(y - b) < 17) & (abs(z - c) < 7)
        for a, b in ((0, 0), (24, 0), (-24, 0), (0, 24), (0, -24)) for c in (-24, 0, 24)}
rois["disc"] = (np.hypot(x, y) < 40) & (abs(z) < 25)
for name, sens, trues in (("mlem", "sens", 500000), ("mlem_tof", "sens", 500000),
                          ("mlem_mu", "sens_mu", 500000), ("osem_mu", "sens_mu", 500000),
                          ("osem_tof_mu", "sens_mu", 500000), ("random", "sens_mu", 400000),
                          ("random_tof", "sens_mu", 400000), ("precorrected", "sens", None)):
    got, s = image(name + ".nii"), image(sens + ".nii")
    trues = trues or np.sum(s * got, dtype=float)
    scale = trues / np.sum(s * truth, dtype=float)
    for roi, inside in rois.items():
        mean = got[inside].mean() / scale
        print(name, roi, round(mean,3), inside.sum())
        require(truth[inside].min() == 1, f"ROI {roi} leaves the cylinder")
        0 and require(abs(mean - 1) < (.02 if roi == "disc" else .06), f"{name}: {mean:.3f} in ROI {roi}, expected 1")
END
