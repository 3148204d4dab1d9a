#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Options of recon and project: filters, PSF, projectors, subset rules, live time, randoms.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

"$PYTHON" -c 'import numpy as np; np.save("nothing.npy", np.zeros(1728, "f4"))'
{ solid_ring; echo 'crystal_mm: [5, 5.5, 20]'; } >ring.yaml
grid=(--grid '20,20,12' --voxel '10,10,6')
run phantom cylinder "${grid[@]}" -o truth.nii
run simulate ring.yaml truth.nii --counts 60000 --seed 5 --randoms 0.3 --delayed late.lmdT \
	--singles singles.npy --duration-s 100 -o e.lmdT
args=(ray --events e.lmdT --scanner ring.yaml "${grid[@]}" --device cpu)
run sens "${args[@]:0:1}" --scanner ring.yaml "${grid[@]}" -o sens.nii
args+=(--sens sens.nii)
recon() { run recon "${args[@]}" "$@"; }

recon --iterations 3 -o plain.nii

# ---- an option that does nothing, accepted for one version ----
recon --iterations 3 --deterministic -o same.nii
err_has '--deterministic does nothing and will go: results always have the same bits'
same plain.nii same.nii
sed 's/"parameters": {/&"deterministic": true, /' plain.json >earlier.json
run recon --like earlier.json -o same.nii --force
same plain.nii same.nii
run recon ray --help
! grep -q deterministic out || fail "the help speaks of --deterministic"

# ---- filters ----
recon --iterations 3 --filter gaussian:15 -o end.nii
recon --iterations 3 --filter gaussian:15 --filter-every 3 -o third.nii
same end.nii third.nii
recon --iterations 3 --filter median:3 --filter-every 1 --save-every 1 -o each.nii
recon --iterations 2 --filter median:3 --filter-every 1 -o two.nii
same two.nii each_it002.nii	# what is saved is filtered
run filter gaussian:15 plain.nii -o smooth.nii
check "filters" <<'END'
from checks import *
seen = image("sens.nii") > 0
require(not seen.all(), "every voxel is seen")
near("filter at the end", image("end.nii"), image("smooth.nii") * seen, 1e-6)
require((image("each.nii")[~seen] == 0).all(), "voxels that nothing sees are not 0")
require(record("end.json")["ReconFilterType"] == "gaussian", "filter is not in the record")
require(record("end.json")["ReconFilterSize"] == [15, 15, 15], "FWHM is not in the record")
require(record("each.json")["ReconFilterSize"] == 3, "size is not in the record")
END
expect 2 recon "${args[@]}" --filter-every 2 -o x.nii
err_has '--filter-every needs --filter'
expect 2 recon "${args[@]}" --filter median:3 --filter-every 11 -o x.nii
err_has '--filter-every is 11, more than the 10 iterations'
expect 2 recon "${args[@]}" --filter box:3 -o x.nii
err_has "filter 'box:3' is not known"

# ---- point spread function ----
psf=(--psf '12,12,9')
run project ray truth.nii --events e.lmdT --tof-fwhm-ps 0 "${psf[@]}" -o fwd.npy
run filter gaussian:12,12,9 truth.nii -o blurred.nii
run project ray blurred.nii --events e.lmdT --tof-fwhm-ps 0 -o ref.npy
run backproject ray ref.npy --events e.lmdT --tof-fwhm-ps 0 "${grid[@]}" "${psf[@]}" -o back.nii
check "PSF" <<'END'
from checks import *
fwd, ref = np.load("fwd.npy").astype(float), np.load("ref.npy").astype(float)
truth = image("truth.nii").astype(float)
require(truth[0].any(), "no activity at the border")
require(fwd.sum() < ref.sum(), "nothing is lost beyond the border")
a, b = (fwd * ref).sum(), (image("back.nii").astype(float) * truth).sum()
require(abs(a - b) < 1e-5 * a, f"<A P x, y> is {a}, <x, P* A* y> {b}")
END
recon --iterations 2 "${psf[@]}" -o psf.nii
run recon --like psf.json -o again.nii
same psf.nii again.nii
# EM conserves counts by the sensitivity of A P: the sum of S (P x), with P x by way of a border of zeros
"$PYTHON" - <<'END'
import nibabel
import numpy as np

img = nibabel.load("psf.nii")
nibabel.save(nibabel.Nifti1Image(np.pad(np.asarray(img.dataobj), 8), img.affine), "padded.nii")
END
run filter gaussian:12,12,9 padded.nii -o padded_psf.nii
check "counts by the sensitivity with the PSF" <<'END'
from checks import *
events, s, x = record("psf.json")["results"]["events"], image("sens.nii").astype(float), image("psf.nii")
used = events["used"]
near("sum of S P x", (s * image("padded_psf.nii")[8:-8, 8:-8, 8:-8]).sum(), used, 1e-4 * used)
near("that of the record", events["sum_of_sensitivity_times_image"], used, 1e-4 * used)
require(abs((s * x).sum() - used) > .01 * used, "the sensitivity without the PSF would do as well")
END

# ---- the same model, other numbers ----
recon --iterations 2 --projector joseph -o joseph.nii
recon --iterations 2 --rays 4 -o rays.nii
run recon ray --events e.lmdT --sens sens.nii "${grid[@]}" --tof-fwhm-ps 300 --tof-bin-ps 1 \
	--iterations 2 --device cpu -o fine.nii
run recon ray --events e.lmdT --sens sens.nii "${grid[@]}" --tof-fwhm-ps 300 \
	--iterations 2 --device cpu -o unbinned.nii
check "projectors" <<'END'
from checks import *
from numpy.linalg import norm
fine, unbinned = image("fine.nii"), image("unbinned.nii")
require(norm(fine - unbinned) < 1e-2 * norm(unbinned), "bins of 1 ps are not like none")
require(record("fine.json")["results"]["tof_bin_ps"] == 1, "the bin is not in the record")
for name in "joseph", "rays":
    x = image(name + ".nii")
    d = norm(x - unbinned) / norm(unbinned)
    require(1e-4 < d < .3, f"{name} differs by {d} from the slice tracer")
END

# ---- bins of time of flight: the scanner's, where every time is the centre of one ----
sed 's/fwhm_ps: 300/fwhm_ps: 300, bin_ps: 40/' ring.yaml >binned.yaml
"$PYTHON" - <<'END'
import numpy as np

e = np.fromfile("e.lmdT", "f4").reshape(-1, 7)	# two end points and a time
e[:, 6] = 40 * np.round(e[:, 6] / 40)
e.tofile("centres.lmdT")
e[-1, 6] += 4
e.tofile("but_one.lmdT")
END
bins=("${grid[@]}" --sens sens.nii --iterations 1 --device cpu)
for name in centres but_one; do
	run recon ray --events $name.lmdT --scanner binned.yaml "${bins[@]}" -o $name.npy
done
run recon ray --events centres.lmdT --scanner ring.yaml --tof-bin-ps 40 "${bins[@]}" -o centres_40.npy
run recon ray --events but_one.lmdT --scanner ring.yaml "${bins[@]}" -o but_one_0.npy
same centres.npy centres_40.npy
same but_one.npy but_one_0.npy
check "bins of the scanner" <<'END'
from checks import *
for name, want in ("centres", 40), ("but_one", 0):
    got = record(name + ".npy.json")["results"]["tof_bin_ps"]
    require(got == want, f"{name}: bins of {got} ps, expected {want}")
require((np.load("centres.npy") != np.load("but_one.npy")).any(), "bins make no difference")
END

small_ring >bare.yaml
expect 2 recon ray --events e.lmdT --scanner bare.yaml "${grid[@]}" --rays 2 -o x.nii
err_has '--rays is 2, which needs the size of a crystal'
expect 2 sens ray --scanner bare.yaml "${grid[@]}" --rays 2 -o x.nii
err_has '--rays is 2, which needs the size of a crystal'
expect 2 recon "${args[@]}" --rays 65 -o x.nii
err_has '--rays is 65, must be between 1 and 64'
expect 3 recon "${args[@]}" --norm nothing.npy -q -o x.nii
err_has 'events can be used: they miss the image'
expect 2 recon ray --events e.lmdT --sens sens.nii "${grid[@]}" --tof-bin-ps 10 -o x.nii
err_has '--tof-bin-ps is 10, but no time of flight is used'

# ---- subsets ----
osem=(--method osem --subsets 4 --iterations 2)
for rule in interleaved blocks random; do
	recon "${osem[@]}" --subset-rule $rule -o $rule.nii
	recon --iterations 2 --subset-rule $rule -o mlem_$rule.nii
	same mlem_interleaved.nii mlem_$rule.nii
done
recon "${osem[@]}" --subset-rule random --seed 2 -o seed.nii
expect 2 recon "${args[@]}" "${osem[@]}" --subset-rule mod -o mod.nii
err_has '--subset-rule is mod, which is for directions of srm; model ray has interleaved, blocks and random'
for pair in interleaved:blocks blocks:random random:seed; do
	! cmp -s ${pair%:*}.nii ${pair#*:}.nii || fail "$pair: the rules give one image"
done

# ---- live time: S and r/m scale together ----
"$PYTHON" -c 'from checks import *; np.save("twos.npy", np.full((12, 20, 20), 2.))'
recon --iterations 3 --additive 0.001 -o whole.npy
recon --iterations 3 --additive 0.001 --live-share 0.5 --start twos.npy -o half.npy
check "live time" <<'END'
from checks import *
whole, half = np.load("whole.npy"), np.load("half.npy")
near("image at half the live time", half, 2 * whole, 2e-6 * whole.max())
require(record("half.npy.json")["results"]["decay_and_live_factor"] == .5, "factor")
END
for live in 0 1.5 x 0.5,0.5; do
	expect 2 recon "${args[@]}" --live-share $live -o x.nii
	err_has '--live-share'
done
expect 2 recon "${args[@]}" --isotope F-19 -o x.nii
expect 2 recon "${args[@]}" --isotope F-18 -o x.nii
err_has 'give --duration-s'
expect 2 recon "${args[@]}" --isotope F-18 --half-life-s 5 -o x.nii
expect 3 recon "${args[@]}" --to-s 5 -o x.nii
err_has 'holds no times of its events'
recon --iterations 1 --half-life-s 50 --duration-s 100 -o decayed.npy
recon --iterations 1 -o fresh.npy
check "decay over the whole scan" <<'END'
from checks import *
mean = (1 - .25) / (2 * np.log(2))
fresh = np.load("fresh.npy")
near("image", np.load("decayed.npy"), fresh / mean, 1e-5 * fresh.max())
END

# ---- randoms ----
zero=(zero.nii --events e.lmdT --scanner ring.yaml)
run phantom cylinder "${grid[@]}" -o shape.nii
"$PYTHON" - <<'END'
import nibabel
import numpy as np

img = nibabel.load("shape.nii")
nibabel.save(nibabel.Nifti1Image(0 * np.asarray(img.dataobj), img.affine), "zero.nii")
END
notof=(--tof-fwhm-ps 0)
tau=(--coincidence-ns 4)
run project ray "${zero[@]}" "${notof[@]}" --delayed late.lmdT -o delayed.npy
run project ray "${zero[@]}" "${notof[@]}" --delayed late.lmdT --additive 0.25 -o more.npy
run project ray "${zero[@]}" "${notof[@]}" --singles singles.npy --duration-s 100 "${tau[@]}" \
	--accept randoms -o singles_r.npy
run project ray "${zero[@]}" --delayed late.lmdT "${tau[@]}" -o per_mm.npy
run project ray "${zero[@]}" --delayed late.lmdT "${tau[@]}" --tof-bin-ps 50 -o per_bin.npy
check "randoms" <<'END'
from checks import *
info = record("e.lmdT.json")["results"]["additive"]
r = np.load("delayed.npy").astype(float)
want = info["randoms_per_pair"]
require(abs(r.mean() / want - 1) < .05, f"delayed: {r.mean()} of a pair, expected {want}")
near("with --additive", np.load("more.npy"), r + .25, 1e-6)
c_tau, width = .299792458 * 4000, .299792458 * 50 / 2
near("per mm", np.load("per_mm.npy"), r / c_tau, 1e-6 * r.max() / c_tau)
near("per bin", np.load("per_bin.npy"), r * width / c_tau, 1e-6 * r.max() * width / c_tau)
s = np.load("singles_r.npy").astype(float)
require(s.min() > 0 and s.std() < .5 * s.mean(), "randoms of singles are not alike")
counts = np.load("singles.npy").astype(float)
near("singles", s.mean(), 2 * 4e-9 * counts.mean() ** 2 / 100, .05 * s.mean())
END
expect 2 project ray "${zero[@]}" --delayed late.lmdT -o x.npy
err_has 'randoms with time of flight need the coincidence window'
expect 2 project ray "${zero[@]}" "${notof[@]}" --singles singles.npy -o x.npy
err_has '--singles needs the duration of the scan'
expect 2 project ray "${zero[@]}" "${notof[@]}" --singles singles.npy --delayed late.lmdT -o x.npy
err_has '--delayed and --singles exclude each other'
expect 2 project ray zero.nii --events e.lmdT --delayed late.lmdT -o x.npy
err_has '--delayed needs --scanner'
expect 3 project ray "${zero[@]}" "${notof[@]}" --singles delayed.npy --duration-s 1 "${tau[@]}" \
	-o x.npy
err_has 'expected one per crystal'

# ---- interrupted between filters ----
slow=(--iterations 12 --filter median:3 --filter-every 1 "${psf[@]}" --threads 1)
recon "${slow[@]}" -o unbroken.nii
expect 143 recon "${args[@]}" "${slow[@]}" -o broken.nii --stop-after 0.0001
recon "${slow[@]}" -o broken.nii --resume
same unbroken.nii broken.nii
grep -qE '"resumed_from_update": [1-9]' broken.json || fail "the run began anew"

# ---- plans ----
recon "${slow[@]}" -o x.nii --dry-run
out_has 'images before and behind the PSF'
out_has 'voxels that are seen'
out_has 'filter, each thread its own'
check "the last line is the sum" <<'END'
import json
import subprocess
import os
args = "recon ray --events e.lmdT --scanner ring.yaml --grid 40 --voxel 6 -o x.nii --dry-run".split()
run = lambda *more: subprocess.run([os.environ["ISOTOME"], *args, *more], capture_output=True,
                                   text=True, check=True).stdout
total = sum(line["host_bytes"] for line in json.loads(run("--json")))
last = run().splitlines()[-1].split()
if last[:2] != ["in", "all"] or last[3] != "MiB" or abs(float(last[2]) - total / 2**20) > .051:
    raise SystemExit(f"{last} for {total} bytes")
END

# ---- what is seen before the work ----
expect 2 recon "${args[@]}" -o x.lmdT
err_has 'unknown suffix; one of .npy'
"$PYTHON" -c 'import numpy as np
for unit, water in ("cm", .096), ("mm", .0096):
    np.save(unit + ".npy", np.full((8, 8, 8), water, "f4"))'
run convert cm.npy cm.nii --voxel 10
run convert mm.npy mm.nii --voxel 10
recon --mu cm.nii --accept attenuation --iterations 1 -o cm_x.nii
err_has 'is this map in 1/cm'
err_has 'sens.nii was made without --mu'
recon --projector joseph --iterations 1 -o other.nii
err_has 'sens.nii was made with --projector slice, this run has joseph'
recon --rays 2 --iterations 1 -o two_rays.nii
err_has 'sens.nii was made with --rays 1, this run has 2'
run sens ray --scanner ring.yaml --mu mm.nii "${grid[@]}" -o both.nii
both=(ray --events e.lmdT "${grid[@]}" --sens both.nii --mu mm.nii --iterations 1)
run recon "${both[@]}" -o once.nii
! grep -q 'was made' err || fail "a warning of a sensitivity that suits"
run recon "${both[@]}" --precorrected -o twice.nii
err_has 'corrected twice'
echo "all passed"
