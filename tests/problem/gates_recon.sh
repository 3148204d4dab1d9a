#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Gates of model ray: an image a gate on one scale; one image of all gates by displacement fields, against reference
# vectors; and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

data=$TEST_DATA/warp
cp "$data"/ring.yaml "$data"/eff.npy .
cat >common.py <<'END'
import json, math, os, sys
import nibabel, numpy as np
D = os.environ["TEST_DATA"] + "/warp/"
v = lambda name: np.load(D + name + ".npy")
def save(path, a, voxel=(8, 8, 6)):
    affine = np.diag(list(voxel) + [1.])
    for k in range(3): affine[k, 3] = -.5 * (a.shape[2 - k] - 1) * voxel[k]
    nibabel.save(nibabel.Nifti1Image(a.transpose(2, 1, 0).astype("f4"), affine), path)
image = lambda path: np.asarray(nibabel.load(path).dataobj).T
def close(what, got, want, tolerance):
    far = np.abs(got - want).max() / np.abs(want).max()
    print(what, "%.2g" % far)
    if not far < tolerance: sys.exit("%s: %g off" % (what, far))
def near(path, name, tolerance=5e-5): close(path, image(path), v(name), tolerance)
END
export PYTHONPATH=$work:$PYTHONPATH

# ---- the events of the vectors, at times of a table of 10 cycles ----
check inputs <<'END'
from common import *
save("mu.nii", v("gate_mu"))
c, gate, share = v("gate_events_crystals"), v("gate_events_gate").astype(int), v("gate_shares")
T, cycles = 60., 10
rows, edge = [], np.r_[0, np.cumsum(share)] * T / cycles
for i in range(cycles): rows += [(i * T / cycles + edge[g], i * T / cycles + edge[g + 1], g) for g in range(3)]
with open("gates.csv", "w") as f:
    f.write("from_s,to_s,gate\n")
    for r in rows: f.write("%.17g,%.17g,%d\n" % r)
random = np.random.default_rng(1)
at = np.array([rows[3 * random.integers(cycles) + g] for g in gate])
t = np.ceil(1e3 * at[:, 0]) + np.floor((1e3 * (at[:, 1] - at[:, 0]) - 2) * random.uniform(size=len(c)))
def events(path, keep, times=True):
    with open(path, "w") as f:
        f.write("crystal1,crystal2,dt_ps" + (",time_ms\n" if times else "\n"))
        for j in np.flatnonzero(keep): f.write("%d,%d,0" % tuple(c[j]) + (",%d\n" % t[j] if times else "\n"))
events("e.csv", gate >= 0)
events("e0.csv", gate >= 0, False)
for g in range(3): events("only%d.csv" % g, gate == g)
np.save("numbers.npy", gate.astype("i4"))
np.save("wrong.npy", np.where(np.arange(len(c)) == 7, 3, gate))
np.save("few.npy", gate[:-1])
open("shares", "w").write(",".join("%.17g" % w for w in share) + "\n")
for g in range(3):
    save("start%d.nii" % g, np.full((10, 14, 14), share[g]))
    open("r%d" % g, "w").write("%.17g\n" % (.01 * share[g]))
u = v("gate_fields_ras")
np.save("fields.npy", u)
for g in range(3):
    field = nibabel.Nifti1Image(u[g].transpose(2, 1, 0, 3)[:, :, :, None].astype("f4"), nibabel.load("mu.nii").affine)
    field.header.set_intent(1006)
    nibabel.save(field, "u%d.nii" % g)
    wild = np.zeros_like(u[g]); wild[..., 2] = 40 * np.arange(10)[:, None, None] - 100 # leaves the box
    np.save("wild%d.npy" % g, wild.astype("f4") if g else -u[2].astype("f4"))
open("two.csv", "w").write("from_s,to_s,gate\n0,10,0\n5,20,1\n")
END
shares=$(cat shares)
at=(--scanner ring.yaml --grid "14,14,10" --voxel "8,8,6" --threads 1)
scan=("${at[@]}" --events e.csv --duration-s 60)
full=(--norm eff.npy --mu mu.nii)
em=(--method mlem --iterations 3 --sens-floor 0 --tof-fwhm-ps 0)
osem=(--method osem --subsets 3 --iterations 2)

# ---- an image a gate ----
run recon ray "${scan[@]}" "${full[@]}" "${em[@]}" --additive 0.01 --gates gates.csv -o gates.nii
run recon ray "${at[@]}" --events e0.csv "${full[@]}" "${em[@]}" --additive 0.01 --gates numbers.npy \
	--gate-shares "$shares" -o numbers.nii
run recon ray "${scan[@]}" "${full[@]}" "${em[@]}" --half-life-s 40 --live-share 0.8 --gates gates.csv -o decay.nii
run recon ray "${scan[@]}" "${full[@]}" "${em[@]}" --gates gates.csv --from-s 6 --to-s 30 -o window.nii
run recon ray "${scan[@]}" "${full[@]}" "${osem[@]}" --gates gates.csv --threads 1 -o one.nii
run recon ray "${scan[@]}" "${full[@]}" "${osem[@]}" --gates gates.csv --threads 3 -o three.nii
same one.nii three.nii
for g in 0 1 2; do
	run recon ray "${at[@]}" --events only$g.csv "${full[@]}" "${em[@]}" --additive "$(cat r$g)" --start start$g.nii \
		-o alone$g.nii
done
run info gates.nii
check 'gates are of one scale' <<'END'
from common import *
w, rows = v("gate_shares"), np.loadtxt("gates.csv", delimiter=",", skiprows=1)
gates, numbers, k = image("gates.nii"), image("numbers.nii"), math.log(2) / 40
close("a gate for each event", numbers, gates, 1e-6)
of = lambda path: [f["factor"] for f in json.load(open(path))["results"]["frames"]]
for g in range(3):
    # w_g (m A f + r): f scaled by w_g is the image of w_g r
    close("gate %d" % g, gates[g] * w[g], image("alone%d.nii" % g), 1e-5)
    a, b, _ = rows[rows[:, 2] == g].T
    mine = ((np.exp(-k * a) - np.exp(-k * b)) / k).sum() / 60
    if abs(of("decay.json")[g] / (.8 * mine) - 1) > 1e-9: sys.exit("decay of gate %d" % g)
    if abs(of("window.json")[g] / w[g] - 1) > 1e-9: sys.exit("share of gate %d in whole cycles" % g)
END

# ---- one image of all gates ----
with=(--gates gates.csv --fields none,u1.nii,u2.nii)
of_pair=0.016121031746031748 # randoms of a pair in the whole scan
run sens ray "${at[@]}" "${full[@]}" "${with[@]}" --duration-s 60 -o s.nii
run recon ray "${scan[@]}" "${full[@]}" "${em[@]}" --iterations 5 --save-every 1 "${with[@]}" -o em.nii
run recon ray "${scan[@]}" "${full[@]}" "${em[@]}" --iterations 5 --save-every 1 "${with[@]}" --additive $of_pair -o add.nii
run recon ray "${at[@]}" --events e0.csv "${full[@]}" "${em[@]}" --iterations 5 --gates numbers.npy --gate-shares "$shares" \
	--fields u0.nii,u1.nii,u2.nii -o by_number.nii
run recon ray "${scan[@]}" "${full[@]}" "${em[@]}" --iterations 5 --sens s.nii "${with[@]}" --threads 1 -o given.nii
check 'the vectors' <<'END'
from common import *
near("s.nii", "gate_sens", 2e-5)
for name, of in ("em", "gate_em"), ("add", "gate_em_add"):
    near(name + "_it001.nii", of + "_it1")
    near(name + ".nii", of + "_it5")
near("by_number.nii", "gate_em_it5")
close("sens given", image("given.nii"), image("em.nii"), 1e-6)
r = json.load(open("em.json"))["results"]["events"]
if abs(r["sum_of_sensitivity_times_image"] / r["used"] - 1) > 1e-4: sys.exit("sum S f is not the number of events")
END
# one gate without a field is the scan itself; a list of maps is taken as it is
awk 'BEGIN { print "from_s,to_s,gate\n0,60,0" }' >whole.csv
run recon ray "${scan[@]}" "${full[@]}" "${osem[@]}" --psf 5 --additive 0.01 -o plain.nii
run recon ray "${scan[@]}" "${full[@]}" "${osem[@]}" --psf 5 --additive 0.01 --gates whole.csv --fields none -o one_gate.nii
for g in 1 2; do run warp mu.nii --field u$g.nii -o mu$g.nii; done
run recon ray "${scan[@]}" --norm eff.npy --mu mu.nii,mu1.nii,mu2.nii "${em[@]}" --iterations 5 "${with[@]}" -o maps.nii
# every method, subsets, threads
for how in "osem --subsets 3" "svrg --penalty rdp:1e-3 --subsets 4" "lbfgs --penalty rdp:1e-3" "depierro --penalty quadratic:1e-3"; do
	# shellcheck disable=SC2086
	for threads in 1 3; do
		run recon ray "${scan[@]}" "${full[@]}" "${with[@]}" --additive $of_pair --psf 6 --tof-fwhm-ps 0 --method $how \
			--iterations 4 --threads $threads -o "${how%% *}$threads.nii"
	done
	same "${how%% *}1.nii" "${how%% *}3.nii"
done
# stopped, and gone on with
run recon ray "${scan[@]}" "${full[@]}" "${em[@]}" --iterations 5 "${with[@]}" --checkpoint-minutes 0 -o whole_run.nii
expect 143 recon ray "${scan[@]}" "${full[@]}" "${em[@]}" --iterations 5 "${with[@]}" --stop-after 1e-9 -o stopped.nii
run recon ray "${scan[@]}" "${full[@]}" "${em[@]}" --iterations 5 "${with[@]}" --resume -o stopped.nii
same whole_run.nii stopped.nii
# priors: both methods come to the same image
map=(--tof-fwhm-ps 0 --additive $of_pair --penalty rdp:rel=0.05 --tolerance 1e-9 --iterations 300)
run recon ray "${scan[@]}" "${full[@]}" "${with[@]}" "${map[@]}" --method svrg --subsets 4 -o svrg.nii
run recon ray "${scan[@]}" "${full[@]}" "${with[@]}" "${map[@]}" --method lbfgs -o lbfgs.nii
check 'identities' <<'END'
from common import *
close("one gate", image("one_gate.nii"), image("plain.nii"), 1e-5)
near("maps.nii", "gate_em_it5")
close("svrg and lbfgs", image("svrg.nii"), image("lbfgs.nii"), 5e-3)
END
# ---- refused ----
refuse() {
	local code=$1 words=$2
	shift 2
	expect "$code" recon ray "$@" --tof-fwhm-ps 0 -o none.nii
	err_has "$words"
	[ ! -e none.nii ] || fail "an image in spite of: $words"
}
refuse 2 '--frames and --gates exclude each other' "${scan[@]}" --gates gates.csv --frames 0,20,60
refuse 3 'holds no times of its events' "${at[@]}" --events e0.csv --duration-s 60 --gates gates.csv
refuse 2 'give --duration-s' "${at[@]}" --events e.csv --gates gates.csv
refuse 2 '--gate-shares must say' "${scan[@]}" --gates numbers.npy
refuse 2 'has the times of its gates' "${scan[@]}" --gates gates.csv --gate-shares "$shares"
refuse 2 'must be the share of the time of each gate' "${scan[@]}" --gates numbers.npy --gate-shares .5,.5,.5
refuse 3 'gate 3 of event 7' "${at[@]}" --events e0.csv --gates wrong.npy --gate-shares "$shares"
refuse 3 'expected one per event' "${at[@]}" --events e0.csv --gates few.npy --gate-shares "$shares"
refuse 3 'before the row ahead of it ends' "${scan[@]}" --gates two.csv
run convert e.csv e.Cdh --scanner ring.yaml --duration-s 60
refuse 2 'expected one per gate (3)' "${scan[@]}" --gates gates.csv --fields none,u1.nii
refuse 2 'needs --gates' "${scan[@]}" --fields none
refuse 2 '--frames and --fields exclude' "${scan[@]}" "${with[@]}" --frames 0,20,60
refuse 2 'expected one, or one per gate' "${scan[@]}" "${with[@]}" --mu mu.nii,mu1.nii
refuse 2 'maps of gates go with --fields' "${scan[@]}" --mu mu.nii,mu1.nii
refuse 2 'holds the point spread function' "${scan[@]}" "${with[@]}" --sens s.nii --psf 5
refuse 3 'No such file' "${scan[@]}" --gates gates.csv --fields none,u1.nii,nothing.nii
refuse 2 "can't be streamed" "${at[@]}" --events e.Cdh --gates gates.csv --stream
expect 2 sens ray "${at[@]}" --gates gates.csv -o none.nii
err_has 'recon alone does'
