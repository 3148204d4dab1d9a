#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A scan of crystals at an activity: every kind of output, what each option does, and refusals.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cp "$SOURCE/examples/scanners/crystal-ring.yaml" ring.yaml
"$PYTHON" -c 'import numpy as np, nibabel as nib
x = np.zeros((10, 10, 6), "f4"); x[2:8, 2:8] = 1
m = np.diag([20, 20, 20, 1.]); m[:3, 3] = [-90, -90, -50]
nib.Nifti1Image(x, m).to_filename("x.nii"); nib.Nifti1Image(.0096 * x, m).to_filename("mu.nii")'
scan=(simulate ring.yaml x.nii --mu mu.nii --crystals --activity-bq 2e7 --duration-s 0.01 --device cpu)

run "${scan[@]}" --isotope Ga-68 --positron-range --acollinearity -o s.Cdh --delayed d.Cdh --truth t.npy --singles n.npy \
	--singles-list l.npy --triples three.npy --threads 1 --json
check "outputs and record fit each other" <<'END'
from checks import *
r = record("out")["results"]
t, l, n, three = np.load("t.npy"), np.load("l.npy"), np.load("n.npy"), np.load("three.npy")
e, s, c = r["events"], r["singles"], r["coincidences"]
near("decays", e["decays"], 2e5, 5 * 2e5 ** .5)
require(len(t) == c["prompts"] and len(l) == s["singles"] == n.sum() and len(three) == c["triples"], "numbers")
for kind, name in enumerate(("trues", "scatters", "randoms", "with_prompt", "piled")):
    require((t["kind"] == kind).sum() == e[name], name)
require(((t["decay1"] == t["decay2"]) | (t["kind"] >= 2)).all(), "pairs of one decay that are randoms")
require((np.diff(l["ticks"]) >= 0).all() and l["energy"].min() >= 435 and l["energy"].max() < 650, "singles")
require((np.bincount(l["crystal"], minlength=len(n)) == n).all(), "singles by crystal")
p = s["pulses"] - s["piled_up"] - s["below_trigger"] - s["lost_to_dead_time"] - s["lost_to_efficiency"]
require(p - s["outside_window"] == s["singles"], "losses")
f = r["photons"]
require(f["emitted"] == f["left"] + f["absorbed_in_crystals"] + f["absorbed_in_cover_or_gap"] + f["absorbed_in_object"], "fates")
far = np.linalg.norm(t["emission"] - t["annihilation"], axis=1)
near("range", far[t["kind"] < 2].mean(), 2.8, .3)
require((np.abs(t["emission"]) <= [60, 60, 60]).all(), "places of decays")
require(r["decays"]["escaped"] > 0 and r["rates"]["necr_per_s"] > r["rates"]["necr_2r_per_s"] > 0, "rates")
END
run info s.Cdh
run "${scan[@]}" --isotope Ga-68 --positron-range --acollinearity -o s2.Cdh --delayed d2.Cdh --truth t2.npy --threads 2
same s.Cdf s2.Cdf
same d.Cdf d2.Cdf
same t.npy t2.npy

run simulate ring.yaml x.nii --mu mu.nii --crystals --activity-bq 1e4 --duration-s 1 --device cpu --hits h.npy \
	--singles-list l2.npy --energy-window 1,600 --energy-resolution 0 --tof-fwhm-ps 0 -o h.lmdT
check "singles are sums of hits" <<'END'
from checks import *
h, l = np.load("h.npy"), np.load("l2.npy")
require(len(h) > len(l) > 1000 and (np.diff(h["decay"].astype("i8")) >= 0).all(), "hits")
one = l[l["pulses"] == 1]
near("energies", h["energy"][np.isin(h["decay"], one["decay"])].sum(), one["energy"].sum(), 1e-3 * one["energy"].sum())
END

# the same water by labels; positrons go twice as far in half of it
"$PYTHON" -c 'import numpy as np, nibabel as nib
i = nib.load("x.nii"); nib.Nifti1Image((np.asarray(i.dataobj) > 0).astype("i2"), i.affine).to_filename("labels.nii")'
for density in 1 0.5; do
	echo "- {label: 1, name: water, formula: H2O, density: $density}" >"$density.yaml"
	run simulate ring.yaml x.nii --materials "labels.nii,$density.yaml" --crystals --activity-bq 1e5 --duration-s 2 \
		--device cpu --isotope Ga-68 --positron-range --truth "t$density.npy" -o "w$density.lmdT"
done
check "labels" <<'END'
from checks import *
far = []
for density in ("1", "0.5"):
    t = np.load(f"t{density}.npy")
    far += [np.linalg.norm(t["emission"] - t["annihilation"], axis=1).mean()]
near("range in water", far[0], 2.8, .2)
require(1.8 * far[0] < far[1] < 2.1 * far[0], f"range in half of it {far}")
END

# each option does something
count() { "$PYTHON" -c 'import json, sys
r = json.load(open(sys.argv[1]))["results"]
print(r[sys.argv[2]][sys.argv[3]])' "$@"; }
more() { "$PYTHON" -c 'import sys; sys.exit(not float(sys.argv[1]) > float(sys.argv[2]))' "$1" "$2" || fail "$3: $1, $2"; }
run "${scan[@]}" -o a.lmdT
run "${scan[@]}" --acollinearity -o bent.lmdT
cmp -s a.lmdT bent.lmdT && fail "--acollinearity without --isotope does nothing"
run "${scan[@]}" --dead-ns 2000 --dead paralysable -o dead.lmdT
run "${scan[@]}" --dead-ns 2000 -o live.lmdT
more "$(count dead.lmdT.json singles lost_to_dead_time)" "$(count live.lmdT.json singles lost_to_dead_time)" "dead time"
more "$(count live.lmdT.json singles lost_to_dead_time)" 100 "dead time"
run "${scan[@]}" --pileup-ns 500 -o piled.lmdT
more "$(count piled.lmdT.json events piled)" 10 "pile-up"
run "${scan[@]}" --trigger-kev 300 -o trigger.lmdT
more "$(count trigger.lmdT.json singles below_trigger)" 1000 "trigger"
run "${scan[@]}" --coincidence-ns 12 --multiples all --sorter multi -o wide.lmdT
more "$(count wide.lmdT.json events randoms)" "$(count a.lmdT.json events randoms)" "window"
run "${scan[@]}" --coincidence-ns 12 --multiples none -o none.lmdT
more "$(count wide.lmdT.json coincidences prompts)" "$(count none.lmdT.json coincidences prompts)" "multiples"
run "${scan[@]}" --isotope Sc-44 --prompt-kev 700,1300 --triples p.npy -o prompt.lmdT
more "$(count prompt.lmdT.json singles in_prompt_window)" 100 "prompt window"
more "$(count prompt.lmdT.json coincidences triples)" 10 "triples"
"$PYTHON" -c 'import numpy as np; np.save("eff.npy", np.full(48 * 13 * 52, .5, "f4"))'
run "${scan[@]}" --norm eff.npy -o half.lmdT
more "$(count half.lmdT.json singles lost_to_efficiency)" "$(count half.lmdT.json singles singles)" "efficiency"

# refusals
refuse() { expect 2 "${@:2}" -o no.lmdT; err_has "$1"; }
refuse "needs --duration-s" simulate ring.yaml x.nii --crystals --activity-bq 1e6
refuse "without --activity-bq" simulate ring.yaml x.nii --crystals --duration-s 1
refuse "is for --crystals" simulate ring.yaml x.nii --activity-bq 1e6 --duration-s 1
refuse "did you mean Ga-68" "${scan[@]}" --isotope Ga-66
refuse "needs --isotope" "${scan[@]}" --positron-range
refuse "follows the activity" "${scan[@]}" --counts 1e5
refuse "is written as .npy" "${scan[@]}" --singles-list l.h5
refuse "needs --delayed" "${scan[@]}" --delay-ns 300
refuse "must rise" "${scan[@]}" --prompt-kev 1300,1000
refuse "give one of them" "${scan[@]}" --point 0,0,0
refuse "give one of them" "${scan[@]}" --noise 1
"$PYTHON" -c 'import nibabel as nib
i = nib.load("x.nii"); i.affine[:3, 3] += [900, 0, 0]; nib.Nifti1Image(i.dataobj, i.affine).to_filename("beside.nii")'
for how in "--activity-bq 1e6 --duration-s 1" "--decays 1e5"; do
	# shellcheck disable=SC2086
	expect 3 simulate ring.yaml beside.nii --crystals $how --device cpu -o no.lmdT
	err_has "lies outside of the scanner"
done
expect 3 simulate "$SOURCE/examples/scanners/clinical-ring.yaml" x.nii --crystals --activity-bq 1e6 --duration-s 1 -o no.lmdT
err_has "detector"
run "${scan[@]}" --dry-run -o no.lmdT
"$PYTHON" -c 'import nibabel as nib, numpy as np
i = nib.load("labels.nii"); nib.Nifti1Image(1 - np.asarray(i.dataobj), i.affine).to_filename("turned.nii")'
# label 0 may be the matter, and others none
printf '%s\n' "- {label: 0, formula: H2O, density: 1}" "- {label: 1, density: 0}" >zero.yaml
run simulate ring.yaml x.nii --materials turned.nii,zero.yaml --crystals --activity-bq 1e5 --duration-s 0.2 --device cpu -o zero.lmdT
printf '%s\n' "[" '  {"label": 1, "formula": "H2O", "density": 1}' "]" >1.json
run simulate ring.yaml x.nii --materials labels.nii,1.json --crystals --activity-bq 1e5 --duration-s 0.2 --device cpu -o one.lmdT
same zero.lmdT one.lmdT
