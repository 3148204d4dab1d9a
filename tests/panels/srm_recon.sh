#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Images from a system matrix: the reference vectors through the program, subsets,
# normalisation, randoms, attenuation, and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

scanner() { # GAP: the heads of vector b
	cat <<-END
		kind: panels
		crystals: [6, 8]
		pitch_mm: [2.0, 2.0]
		crystal_mm: [1.8, 1.8, 6]
		gap_mm: $1
		layers: 1
		voxels_per_pitch: [2, 2]
		planes: 6
		plane_mm: 1
	END
}
scanner 10 >b.yaml
scanner 11 >other.yaml

check "inputs of vector b" "$TEST_DATA/dualhead/b" <<'END'
import sys
import numpy as np
root = sys.argv[1] + "/"
real = lambda name: np.fromfile(root + name + ".f64")
ints = lambda name: np.fromfile(root + name + ".i32", dtype="<i4")
ptr, lor, val = ints("col_ptr"), ints("col_lor").reshape(-1, 4), real("col_val")
column = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
np.save("rows.npy", np.column_stack([column // 4, column // 2 % 2, column % 2, lor, val]))
lors = lambda name: real(name).reshape(6, 8, 6, 8)
for name in "counts", "counts_nr", "delayed", "randoms_mean", "lorvec":
    np.save(name + ".npy", lors(name))
np.save("deal.npy", ints("deal"))
np.save("image.npy", real("image").reshape(6, 12, 16).transpose(2, 0, 1))
nan, less = lors("counts"), lors("counts")
nan[1, 2, 3, 4], less[1, 2, 3, 4] = np.nan, -1
np.save("nan.npy", nan)
np.save("less.npy", less)
np.save("flat.npy", lors("counts").ravel())
END
run srm b.yaml --import rows.npy --share 1 -o b.srm

compare() { # FILE VECTOR TOLERANCE
	check "$1 and $2" "$1" "$TEST_DATA/dualhead/b/$2.f64" "$3" <<-'END'
		import sys
		import numpy as np
		got, want = np.load(sys.argv[1]), np.fromfile(sys.argv[2])
		want = want.reshape(6, 12, 16).transpose(2, 0, 1) if want.size == 1152 else want.reshape(6, 8, 6, 8)
		if got.shape != want.shape:
		    raise SystemExit(f"shape {got.shape}, expected {want.shape}")
		off = abs(got - want).max() / abs(want).max()
		if not off < float(sys.argv[3]):
		    raise SystemExit(f"off by {off}")
	END
}

# ---- projections and an image; the strategies of papers are of bench alone ----
run project srm image.npy --srm b.srm --strategy correlation -o fwd.npy
compare fwd.npy fwd 2e-6
run backproject srm lorvec.npy --srm b.srm -o back.npy
compare back.npy back 2e-6
run recon srm --srm b.srm --data counts.npy --iterations 10 -o x.npy
compare x.npy mlem_10 2e-5
for s in row column combined; do
	expect 2 recon srm --srm b.srm --data counts.npy --strategy $s -o no.npy
	err_has "--strategy is '$s', must be one of correlation"
done
run sens srm --srm b.srm --scanner b.yaml -o sens.npy
compare sens.npy sens 2e-6

# ---- subsets, normalisation, randoms ----
osem() { run recon srm --srm b.srm --data counts.npy --method osem --subsets 4 "$@" --force; }
osem --subset-rule mod --iterations 3 -o osem.npy
compare osem.npy osem_3 5e-5
osem --deal deal.npy --iterations 2 -o deal.npy.npy
compare deal.npy.npy osem_random_2 5e-5
osem --iterations 3 -o groups.npy
osem --iterations 3 --threads 1 -o groups_1.npy
same groups.npy groups_1.npy
grep -q '"subset-rule": "groups"' groups.npy.json || fail "groups is not the default rule"
run recon srm --srm b.srm --data counts_nr.npy --norm lorvec.npy --additive randoms_mean.npy \
	--iterations 5 -o nr.npy
compare nr.npy mlem_nr_5 5e-5
run recon srm --srm b.srm --data counts_nr.npy --norm lorvec.npy --delayed delayed.npy \
	--randoms subtract --iterations 5 -o pre.npy
compare pre.npy mlem_pre_5 5e-5
err_has 'LORs have counts and a factor of 0: they are left out'
! grep -q 'meet no activity' err || fail "LORs whose counts were left out are called lost"
check "a start with one voxel" <<'END'
import numpy as np
x = np.zeros((16, 6, 12))
x[7, 2, 5] = 1
np.save("voxel.npy", x)
END
run project srm voxel.npy --srm b.srm -o of_voxel.npy
check "counts where nothing is expected, and none there" <<'END'
import numpy as np
n = np.load("counts.npy")
lost = n[np.load("of_voxel.npy") == 0].sum()
np.save("seen.npy", np.where(np.load("of_voxel.npy") > 0, n, 0))
open("lost", "w").write(f"{lost:.6g} counts are of LORs that meet no activity and are left out")
END
run recon srm --srm b.srm --data counts.npy --start voxel.npy --iterations 2 -o voxel_x.npy
err_has "$(cat lost)"
run recon srm --srm b.srm --data seen.npy --start voxel.npy --iterations 2 -o seen_x.npy
! grep -q 'meet no activity' err || fail "LORs without counts are called lost"
grep -q '"counts_lost": 0.0' seen_x.npy.json || fail "lost counts in the record"
run recon srm --srm b.srm --data counts_nr.npy --delayed delayed.npy --iterations 5 -o model.npy
check "randoms as a product of crystal rates" <<'END'
import numpy as np
d = np.load("delayed.npy").reshape(48, 48)
np.save("mean.npy", (d.sum(1)[:, None] * d.sum(0) / d.sum()).reshape(6, 8, 6, 8))
END
run recon srm --srm b.srm --data counts_nr.npy --additive mean.npy --iterations 5 -o mean_x.npy
run measure diff model.npy mean_x.npy --below 1e-5

# ---- attenuation: 8 mm of water between the heads, by the cosine of each line ----
check "a slab" <<'END'
import numpy as np
np.save("mu.npy", np.full((16, 6, 12), 0.01))
END
run project srm image.npy --srm b.srm --mu mu.npy -o thick.npy
check "attenuation of LORs" <<'END'
import numpy as np
c = np.indices((6, 8, 6, 8))
across, height = 2 * np.hypot(c[2] - c[0], c[3] - c[1]), 16.    # crystals are 6 mm deep, 10 apart
want = np.load("fwd.npy") * np.exp(-0.01 * 6 * np.hypot(across, height) / height)
got = np.load("thick.npy")
if not abs(got - want).max() < 1e-5 * want.max():
    raise SystemExit(f"off by {abs(got - want).max() / want.max()}")
END

# ---- a cut matrix gives images 1/q too bright, and --absolute makes up for it ----
run srm b.yaml --import rows.npy --share 0.7 -o cut.srm
run recon srm --srm cut.srm --data counts.npy --iterations 2 -o bright.npy
run recon srm --srm cut.srm --data counts.npy --iterations 2 --absolute -o scaled.npy
check "kept share" <<'END'
import json
import numpy as np
q = json.load(open("bright.npy.json"))["matrix"]["kept_share"]
ratio = np.load("scaled.npy").sum() / np.load("bright.npy").sum()
if not (0.6 < q < 0.9 and abs(ratio - q) < 1e-4):
    raise SystemExit(f"kept {q}, ratio of the images {ratio}")
END

# ---- refused ----
bad() { # CODE TEXT ARGS...
	local code=$1 text=$2
	shift 2
	expect "$code" recon srm -o bad.npy "$@"
	err_has "$text"
	[ ! -e bad.npy ] || fail "$text: an image was written"
}
bad 2 '--srm is missing' --data counts.npy
bad 2 '--data is missing' --srm b.srm
bad 3 'flat.npy: shape (2304), a histogram of LORs (6, 8, 6, 8) was expected' --srm b.srm --data flat.npy
bad 3 'less.npy: ' --srm b.srm --data less.npy
bad 3 'nan.npy: ' --srm b.srm --data nan.npy
bad 3 'b.srm: a matrix of another scanner: its gap_mm are not those of other.yaml' \
	--srm b.srm --data counts.npy --scanner other.yaml
bad 2 '49 subsets, must be 1 to 48, the number of directions' \
	--srm b.srm --data counts.npy --method osem --subsets 49 --subset-rule mod
bad 2 '13 subsets, must be 1 to 4, the number of groups of directions' \
	--srm b.srm --data counts.npy --method osem --subsets 13
bad 2 '--subset-rule is interleaved, which is for events' --srm b.srm --data counts.npy --method osem --subset-rule interleaved
bad 2 '--randoms subtract needs --delayed' --srm b.srm --data counts.npy --randoms subtract
bad 2 '--additive and --delayed' --srm b.srm --data counts.npy --additive mean.npy --delayed delayed.npy
bad 2 '--sens is one image' --srm b.srm --data counts.npy --method osem --sens sens.npy
bad 3 'counts.npy: 2304 values, expected a subset for each of 48 directions' --srm b.srm --data counts.npy --method osem --deal counts.npy
expect 3 project srm mu.npy --srm cut.srm --norm flat.npy -o bad.npy
err_has 'flat.npy: shape'
