#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A histogram a gate: one image of all of them through displacement fields, against reference vectors of the same counts;
# histograms that list all lines; and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cp "$TEST_DATA"/warp/{ring.yaml,eff.npy} .
cat >common.py <<'END'
import os, sys
import nibabel, numpy as np
v = lambda name: np.load(os.environ["TEST_DATA"] + "/warp/" + name + ".npy")
image = lambda path: np.asarray(nibabel.load(path).dataobj).T
def close(what, got, want, tolerance):
    far = np.abs(got - want).max() / np.abs(want).max()
    print(what, "%.2g" % far)
    if not far < tolerance: sys.exit("%s: %g off" % (what, far))
END
export PYTHONPATH=$work:$PYTHONPATH
check inputs <<'END'
from common import *
affine = np.diag([8., 8, 6, 1])
for k in range(3): affine[k, 3] = -.5 * (v("gate_mu").shape[2 - k] - 1) * affine[k, k]
save = lambda path, a: nibabel.save(nibabel.Nifti1Image(a, affine), path)
save("mu.nii", v("gate_mu").transpose(2, 1, 0).astype("f4"))
c, gate, share = v("gate_events_crystals"), v("gate_events_gate").astype(int), v("gate_shares")
def castor(name, pairs, counts, mode="histogram"):
    row = np.zeros(len(pairs), [("t", "<u4")] + [("n", "<f4")] * (mode == "histogram") + [("a", "<u4"), ("b", "<u4")])
    row["a"], row["b"] = pairs.T
    if mode == "histogram": row["n"] = counts
    row.tofile(name + ".Cdf")
    open(name + ".Cdh", "w").write("Data filename: %s.Cdf\nNumber of events: %d\nData mode: %s\nData type: PET\n"
        "Start time (s): 0\nDuration (s): 60\nScanner name: ring\n" % (name, len(row), mode))
terms = []
for g in range(3):
    pairs, counts = np.unique(c[gate == g], axis=0, return_counts=True)
    castor("g%d" % g, pairs, counts)
    terms.append(np.full(len(pairs), .016121031746031748 * share[g]))
castor("list", c[:9], None, "list-mode")
np.save("terms.npy", np.concatenate(terms).astype("f4"))
open("shares", "w").write(",".join("%.17g" % w for w in share) + "\n")
for g, u in enumerate(v("gate_fields_ras")):
    field = nibabel.Nifti1Image(u.transpose(2, 1, 0, 3)[:, :, :, None].astype("f4"), affine)
    field.header.set_intent(1006)
    nibabel.save(field, "u%d.nii" % g)
counts = np.random.default_rng(3).poisson(3, (2, 8, 18, 9)).astype("u1")
for k, n in enumerate((counts[0], counts[1], counts.sum(0).astype("u1"))):
    n.tofile("h%d.s" % k)
    open("h%d.hs" % k, "w").write("""!INTERFILE :=
name of data file := h%d.s
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
""" % k)
END
scan=(recon ray --scanner ring.yaml --grid "14,14,10" --voxel "8,8,6" --norm eff.npy --mu mu.nii --method mlem --sens-floor 0
	--tof-fwhm-ps 0 --iterations 5 --save-every 1)
gates=(--events "g0.Cdh,g1.Cdh,g2.Cdh" --gate-shares "$(cat shares)" --fields "none,u1.nii,u2.nii")
run "${scan[@]}" "${gates[@]}" -o em.nii
run "${scan[@]}" "${gates[@]}" --additive terms.npy -o add.nii
run "${scan[@]}" "${gates[@]}" --iterations 1 --threads 1 -o one.nii
run "${scan[@]}" "${gates[@]}" --iterations 1 --threads 3 -o three.nii
same one.nii three.nii
# two halves of one histogram, which lists all lines
all=(recon ray --grid "14,14,10" --voxel "8,8,6" --sens-floor 0 --iterations 3 --psf 6)
run "${all[@]}" --subsets 3 --method osem --events h2.hs -o whole.nii
run "${all[@]}" --subsets 3 --method osem --events h0.hs,h1.hs --gate-shares .5,.5 --fields none,none -o halves.nii
run "${all[@]}" --method mlem --iterations 1 --events h0.hs,h1.hs --gate-shares .3,.6 --fields none,u1.nii -o moved.nii
run sens ray --grid "14,14,10" --voxel "8,8,6" --events h0.hs,h1.hs --gate-shares .3,.6 --fields none,u1.nii -o s.nii
check 'the vectors' <<'END'
from common import *
import json
for name, of in ("em", "gate_em"), ("add", "gate_em_add"):
    close(name, image(name + "_it001.nii"), v(of + "_it1"), 5e-5)
    close(name, image(name + ".nii"), v(of + "_it5"), 5e-5)
close("halves", image("halves.nii"), image("whole.nii"), 2e-5)
r = json.load(open("moved.json"))["results"]["events"]
counts = sum(int(np.fromfile(h, "u1").sum()) for h in ("h0.s", "h1.s"))
if abs(r["sum_of_sensitivity_times_image"] / counts - 1) > 1e-4: sys.exit("sum S f: %s, of %d" % (r, counts))
if not image("s.nii").min() >= 0 or not image("s.nii").max() > 0: sys.exit("no sensitivity")
END

# ---- refused ----
refuse() {
	local code=$1 words=$2
	shift 2
	expect "$code" "${scan[@]}" "$@" -o none.nii
	err_has "$words"
	[ ! -e none.nii ] || fail "an image in spite of: $words"
}
refuse 2 '--gate-shares must say the share of the time' --events g0.Cdh,g1.Cdh --fields none,none
refuse 2 'give --fields, or reconstruct each file by itself' --events g0.Cdh,g1.Cdh --gate-shares .5,.5
refuse 2 'expected one for each of 2 histograms' --events g0.Cdh,g1.Cdh --gate-shares .5,.3,.2 --fields none,none
refuse 2 'expected one per gate (2)' --events g0.Cdh,g1.Cdh --gate-shares .5,.5 --fields none
refuse 2 "--gate-shares needs --gates, or a histogram for each gate" --events g0.Cdh --gate-shares .5,.5
refuse 3 'list.Cdh: list mode, expected a histogram' --events g0.Cdh,list.Cdh --gate-shares .5,.5 --fields none,none
refuse 3 'no.Cdh' --events g0.Cdh,no.Cdh --gate-shares .5,.5 --fields none,none
! "$ISOTOME" "${scan[@]}" --events g0.Cdh,h1.hs --gate-shares .5,.5 --fields none,none -o none.nii 2>err || fail "two kinds"
err_has 'another kind of histogram than g0.Cdh'
[ ! -e none.nii ] || fail "an image of two kinds of histograms"
