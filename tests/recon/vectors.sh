#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The list-mode reference vectors through the command line alone; tests/data/README.md
# has their meaning and tolerances.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

export DATA=$TEST_DATA/listmode
small_ring >ring.yaml
"$PYTHON" - <<'END'
# Inputs in the formats that the program reads: .npy, and .raw with a description by hand.
import json
import os
import numpy as np

data = os.environ["DATA"]


def load(name, type, *shape):
    return np.fromfile(f"{data}/{name}", type).reshape(shape or -1)


def save_raw(name, v, **more):
    v.tofile(name)
    with open(name + ".json", "w") as f:
        json.dump(dict(version=1, data_file=name, type=v.dtype.name, shape=v.shape, **more), f)


save_raw("image.raw", load("image.f32", "<f4", 10, 12, 16), voxel_mm=[4, 5, 6])
np.save("image.npy", load("image.f32", "<f4", 10, 12, 16))
np.save("mu.npy", load("mu.f32", "<f4", 10, 12, 16))
np.save("ones.npy", np.ones((10, 12, 16), "<f4"))
np.save("back_in.npy", load("back_in.f32", "<f4"))
np.save("eff.npy", load("crystal_eff.f32", "<f4"))
np.save("mult.npy", load("events_mult.f64", "<f8"))
save_raw("sens_full.raw", load("sens_full.f64", "<f8", 10, 12, 16))
with open(f"{data}/meta.json") as f:
    meta = json.load(f)
np.save("add.npy", np.full(meta["n_events"], meta["add_per_lor"]))
END
meta() { "$PYTHON" -c "from checks import *; print(repr(record('$DATA/meta.json')['$1']))"; }
grid=(--grid '16,12,10' --voxel '4,5,6')
tof=(--tof-fwhm-ps 390 --tof-truncate 0)
tof3=(--tof-fwhm-ps 390 --tof-truncate 3)

# ---- project, backproject ----
lors=(--events "$DATA/lors.lmdT")
run project ray image.raw "${lors[@]}" -o fwd_nontof.npy
run project ray image.npy "${lors[@]}" "${grid[@]}" "${tof[@]}" -o fwd_tof.npy
run project ray image.raw "${lors[@]}" "${tof3[@]}" -o fwd_tof3.npy
run backproject ray back_in.npy "${lors[@]}" "${grid[@]}" -o back_nontof.npy
run backproject ray back_in.npy "${lors[@]}" "${grid[@]}" "${tof[@]}" -o back_tof.npy
check "projections" <<'END'
import os
from checks import *
data = os.environ["DATA"]
kinds = record(f"{data}/meta.json")["kinds"]
kind = np.fromfile(f"{data}/lors_kind.u8", "u1")
plain = ~np.isin(kind, (kinds.index("face"), kinds.index("diagonal")))
for name in "fwd_nontof", "fwd_tof", "fwd_tof3":
    want = np.fromfile(f"{data}/{name}.f64", "<f8")
    got = np.load(name + ".npy")
    require(got.dtype == np.float32 and got.shape == (1500,), f"{name}: {got.dtype} {got.shape}")
    near(name, got[plain], want[plain], 2e-5 * (abs(want[plain]) + .01 * want.max()))
for name in "back_nontof", "back_tof":
    want = np.fromfile(f"{data}/{name}.f64", "<f8").reshape(10, 12, 16)
    near(name, np.load(name + ".npy"), want, 2e-5 * want.max())
END

# ---- factors and sensitivity ----
events=(--events "$DATA/events.lmdT")
full=(--scanner ring.yaml --mu mu.npy --norm eff.npy)
run project ray ones.npy "${events[@]}" "${grid[@]}" -o bare.npy
run project ray ones.npy "${events[@]}" "${grid[@]}" --mu mu.npy -o att.npy
run project ray ones.npy "${events[@]}" "${grid[@]}" "${full[@]}" -o mult_crystal.npy
run project ray ones.npy "${events[@]}" "${grid[@]}" --norm mult.npy --additive add.npy \
	-o mult_event.npy
run sens ray --scanner ring.yaml "${grid[@]}" -o sens_geom.npy
run sens ray "${full[@]}" "${grid[@]}" -o sens_full.npy
check "factors or sensitivity" <<'END'
import os
from checks import *
data = os.environ["DATA"]
bare, r = np.load("bare.npy").astype(float), np.load("add.npy")
require(np.sum(bare == 0) == 1693, f"{np.sum(bare == 0)} events miss the image")
for name, reference, add in (("att", "events_att", 0), ("mult_crystal", "events_mult", 0),
                             ("mult_event", "events_mult", r)):
    want = bare * np.fromfile(f"{data}/{reference}.f64", "<f8") + add
    near(name, np.load(name + ".npy"), want, 5e-6 * bare + 1e-7 * add)
for name in "sens_geom", "sens_full":
    want = np.fromfile(f"{data}/{name}.f64", "<f8").reshape(10, 12, 16)
    near(name, np.load(name + ".npy"), want, 2e-5 * want.max())
END

# ---- recon ----
recon() { # NAME ITERATIONS ARGS...
	local name=$1 iterations=$2
	shift 2
	run recon ray "${events[@]}" "${grid[@]}" --iterations "$iterations" --save-every 1 \
		-o "$name.npy" "$@"
}
per_lor=(--additive "$(meta add_per_lor)")
per_mm=(--additive "$(meta add_per_mm_tof)")
osem=(--method osem --subsets 4)
per_event=(--sens sens_full.raw --norm mult.npy --additive add.npy)
recon mlem_a_nontof_geom 5 --scanner ring.yaml
recon mlem_b_nontof_full 5 "${full[@]}" "${per_lor[@]}"
recon mlem_c_tof_full 5 "${full[@]}" "${per_mm[@]}" "${tof[@]}"
recon mlem_d_nontof_att_noadd 5 "${full[@]}"
recon mlem_e_tof3_full 5 "${full[@]}" "${per_mm[@]}" "${tof3[@]}"
recon osem4_nontof_full 2 "${full[@]}" "${per_lor[@]}" "${osem[@]}"
recon event_b 5 "${per_event[@]}"
recon event_osem 2 "${per_event[@]}" "${osem[@]}"
check "reconstructions" <<'END'
import os
from checks import *
data = os.environ["DATA"]
logliks = record(f"{data}/meta.json")["loglik"]
cases = [(n, n) for n in ("mlem_a_nontof_geom", "mlem_b_nontof_full", "mlem_c_tof_full",
                          "mlem_d_nontof_att_noadd", "mlem_e_tof3_full", "osem4_nontof_full")]
for name, reference in cases + [("event_b", cases[1][0]), ("event_osem", cases[5][0])]:
    last = 2 if "osem" in name else 5
    for iteration in 1, last:
        want = np.fromfile(f"{data}/{reference}_it{iteration}.f64", "<f8").reshape(10, 12, 16)
        got = np.load(name + (".npy" if iteration == last else f"_it{iteration:03}.npy"))
        near(f"{name}, iteration {iteration}", got, want, 2e-4 * want.max())
        require((got[[0, 9]] == 0).all(), f"{name}: voxels that no pair sees are not 0")
    results = record(name + ".npy.json")["results"]
    want = np.array(logliks[reference.replace("mlem_", "")])
    near(f"{name}: log-likelihood", results["loglik"], want, 1e-5 * abs(want))
    misses = 1693 if "_a_" in name or "_d_" in name else 0
    require(results["events"]["skipped"] == misses, f"{name}: {results['events']} events")
END

# ---- data corrected before: events weigh 1 / attenuation, the model has none ----
recon pre 1 --scanner ring.yaml --mu mu.npy --precorrected
"$PYTHON" -c 'import numpy as np; np.save("seen.npy", 1. * (np.load("sens_geom.npy") > 0))'
run project ray seen.npy "${events[@]}" "${grid[@]}" -o seen_ax.npy
"$PYTHON" - <<'END'
import os
import numpy as np

att, ax = np.fromfile(f"{os.environ['DATA']}/events_att.f64", "<f8"), np.load("seen_ax.npy")
np.save("weight.npy", np.divide(1 / att, ax, out=np.zeros_like(att), where=ax > 0))
END
run backproject ray weight.npy "${events[@]}" "${grid[@]}" -o pre_back.npy
check "precorrected data" <<'END'
from checks import *
s, back = np.load("sens_geom.npy"), np.load("pre_back.npy")
want = np.divide(back, s, out=np.zeros_like(s), where=s > 0)
near("image", np.load("pre.npy"), want, 2e-5 * want.max())
END
echo "all passed"
