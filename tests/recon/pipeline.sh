#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# From a phantom to events to an image: what was simulated comes back, flat and on its scale.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

# A short cylinder of water, away from the ends of the ring.
solid_ring "$(size 12 6)" >ring.yaml
echo 'shapes: [{type: cylinder, radius_mm: 52, length_mm: 48, activity: 1, mu_per_mm: 0.0096}]' \
	>water.yaml
grid=(--grid '20,20,12' --voxel '8,8,6')
run phantom water.yaml "${grid[@]}" -o truth.nii --mu mu.nii
run sens ray --scanner ring.yaml "${grid[@]}" -o sens.nii
run sens ray --scanner ring.yaml --mu mu.nii "${grid[@]}" -o sens_mu.nii
grep -qE '"relative_error": 0(\.0)?$' sens.json || fail "not all pairs of a small ring were used"

COUNTS=$(size 500000 20000)
export COUNTS
simulate() { run simulate ring.yaml truth.nii --counts "$COUNTS" --exact -o "$@"; }
simulate air.lmdT
simulate water.lmdT --mu mu.nii --seed 2
simulate random.lmdT --mu mu.nii --seed 3 --randoms 0.2

# ---- reconstruct: MLEM and OSEM, with and without TOF, attenuation, randoms ----
recon() { run recon ray --scanner ring.yaml "${grid[@]}" "$@"; }
randoms() { # the additive term that the record of the simulation names
	"$PYTHON" -c "from checks import *; print(record('random.lmdT.json')['results']['additive']['$1'])"
}
no_tof=(--tof-fwhm-ps 0)
mlem=(--iterations 12)
osem=(--method osem --subsets 5 --iterations 3)
recon --events air.lmdT "${no_tof[@]}" "${mlem[@]}" -o mlem.nii
recon --events air.lmdT "${mlem[@]}" -o mlem_tof.nii
recon --events water.lmdT --mu mu.nii "${no_tof[@]}" "${mlem[@]}" -o mlem_mu.nii
recon --events water.lmdT --mu mu.nii "${no_tof[@]}" "${osem[@]}" -o osem_mu.nii
recon --events water.lmdT --mu mu.nii "${osem[@]}" -o osem_tof_mu.nii
recon --events water.lmdT --mu mu.nii --precorrected "${no_tof[@]}" "${mlem[@]}" -o pre.nii
recon --events random.lmdT --mu mu.nii "${no_tof[@]}" "${mlem[@]}" \
	--additive "$(randoms randoms_per_pair)" -o random.nii
recon --events random.lmdT --mu mu.nii "${osem[@]}" \
	--additive "$(randoms randoms_per_pair_per_mm_tof)" -o random_tof.nii

check "the cylinder does not come back" <<'END'
from checks import *
from os import environ
n = int(environ["COUNTS"])
noise = (500000 / n) ** .5  # over that of all counts
truth = image("truth.nii")
x, y, z = centres("truth.nii")
rois = {f"({a}, {b}, {c})": (abs(x - a) < 17) & (abs(y - b) < 17) & (abs(z - c) < 7)
        for a, b in ((0, 0), (24, 0), (-24, 0), (0, 24), (0, -24)) for c in (-12, 0, 12)}
whole = (np.hypot(x, y) < 40) & (abs(z) < 18)
for name, sens, trues in (("mlem", "sens", n), ("mlem_tof", "sens", n),
                          ("mlem_mu", "sens_mu", n), ("osem_mu", "sens_mu", n),
                          ("osem_tof_mu", "sens_mu", n), ("random", "sens_mu", .8 * n),
                          ("random_tof", "sens_mu", .8 * n), ("pre", "sens", None)):
    got, s = image(name + ".nii").astype(float), image(sens + ".nii").astype(float)
    if trues is None:  # the sum of 1/attenuation, which has no round value
        trues = np.sum(s * got)
    scale = trues / np.sum(s * truth)
    for roi, inside in rois.items():
        near(f"{name}: mean in ROI {roi}", got[inside].mean() / scale, 1, .08 * noise)
    near(f"{name}: mean of the inner cylinder", got[whole].mean() / scale, 1, .02 * noise)
    require(got[np.hypot(x, y) > 70].mean() < .05 * scale, f"{name}: activity in the air")
END

check "counts or likelihood are wrong" <<'END'
from checks import *
from os import environ
n = int(environ["COUNTS"])
for name, sens in (("mlem", "sens"), ("mlem_tof", "sens"), ("mlem_mu", "sens_mu"),
                   ("osem_mu", "sens_mu"), ("osem_tof_mu", "sens_mu")):
    events = record(name + ".json")["results"]["events"]
    total = np.sum(image(name + ".nii").astype(float) * image(sens + ".nii"))
    require(events["used"] + events["skipped"] == n, f"{name}: events are missing")
    most = 1e-5 if name.startswith("mlem") else 1e-4  # OSEM: of the last subset, times 5
    near(f"{name}: sum of sens x image over events", total / events["used"], 1, most)
    near(f"{name}: the same in the record",
         events["sum_of_sensitivity_times_image"] / total, 1, 1e-6)
for name in "mlem", "mlem_tof", "mlem_mu", "random", "pre":
    loglik = np.array(record(name + ".json")["results"]["loglik"])
    require(len(loglik) == 12, f"{name}: {len(loglik)} likelihoods")
    require(np.all(np.diff(loglik) > -1e-7 * abs(loglik[1:])), f"{name}: the likelihood falls")
require(len(record("osem_mu.json")["results"]["loglik"]) == 15, "OSEM: one likelihood per subset")
END

# ---- project and backproject: one step of MLEM by hand, and the adjoint ----
model=(--events random.lmdT --scanner ring.yaml --mu mu.nii --additive 0.03)
for tof in 0 300; do
	times=(--tof-fwhm-ps "$tof" --tof-truncate 0)
	run project ray random.nii "${model[@]}" "${times[@]}" --force -o y.npy
	"$PYTHON" -c 'import numpy as np; np.save("ratio.npy", 1 / np.load("y.npy"))'
	run backproject ray ratio.npy "${model[@]}" "${times[@]}" "${grid[@]}" --force -o back.nii
	run recon ray "${model[@]}" "${times[@]}" "${grid[@]}" --sens sens_mu.nii --start random.nii \
		--iterations 1 --force -o next.nii
	check "recon is not x / s * backproject(1 / project(x))" <<-'END'
		from checks import *
		x, s, back = (image(n).astype(float) for n in ("random.nii", "sens_mu.nii", "back.nii"))
		want = np.divide(x * back, s, out=np.zeros_like(x), where=s > 0)
		near("next image", image("next.nii"), want, 1e-5 * want.max())
		y, w = np.load("y.npy").astype(float), np.load("ratio.npy").astype(float)
		inner = np.sum((y - .03) * w), np.sum(x * back)
		near("<Ax, y> over <x, A*y>", inner[0] / inner[1], 1, 1e-5)
	END
done
echo "all passed"
