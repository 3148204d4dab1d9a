#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Interfile: projection data described and reconstructed, images written and seen by NumPy in STIR's axes.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python
cp "$TEST_DATA"/interfile/* .

# ---- info ----
run info cylinder.hs
out_has "Interfile projection data"
out_has "37 planes in 3 segments, 32 views, 31 tangential positions, 1 TOF bins"
out_has "head first, supine"
run info --json point-tof.hs
check "info" <<-'END'
	from checks import *
	o = json.load(open("out"))
	o = o[0] if isinstance(o, list) else o
	require(o["events"] == 27776 and o["tof_bin_ps"] == 200 and o["tof_fwhm_ps"] == 300, f"{o}")
	near("counts", o["counts"], 37459.524, .01)
	near("multiplicity", o["multiplicative"], [1, 1], 0)
END

# ---- recon: the middle of the cylinder, in both formats of image ----
for suffix in nii hv h33; do
	run recon ray --events cylinder.hs --no-multiplicity --grid 41,40,12 --voxel 5,5,4 --centre 0,0,1 \
		--iterations 8 -o "x.$suffix"
done
check "images" <<-'END'
	from checks import *
	img = nibabel.load("x.nii")
	values = np.asarray(img.dataobj, float)
	places = np.moveaxis(np.indices(values.shape), 0, -1) @ img.affine[:3, :3].T + img.affine[:3, 3]
	w = np.where(values > values.max() / 2, values, 0)
	near("middle", [np.average(places[..., a], weights=w) for a in range(2)], [-30, 20], 1)
	for name, data in ("x.hv", "x.v"), ("x.h33", "x.i33"):
	    keys = dict(line.split(" := ") for line in open(name).read().splitlines() if " := " in line)
	    require(keys["name of data file"] == data, name)
	    n = [int(keys[f"!matrix size [{a}]"]) for a in (1, 2, 3)]
	    d = [float(keys[f"scaling factor (mm/pixel) [{a}]"]) for a in (1, 2, 3)]
	    first = [float(keys[f"first pixel offset (mm) [{a}]"]) for a in (1, 2, 3)]
	    stir = np.fromfile(data, "<f4").reshape(n[::-1])
	    # x and y from the first pixel on, z about its offset; head first supine: ours is minus that
	    x = [first[a] + np.arange(n[a]) * d[a] for a in (0, 1)]
	    z = first[2] + (np.arange(n[2]) - (n[2] - 1) / 2) * d[2]
	    for i, axis in enumerate((x[0], x[1], z)):
	        near(f"{name}: axis {i}", -axis[::-1], places[(0, 0, 0, i)] + d[i] * np.arange(n[i]), 1e-4)
	    require(np.array_equal(stir[::-1, ::-1, ::-1], values.T.astype("f4")), f"{name}: other values")
END
run convert x.hv back.nii
run measure rmse back.nii x.nii --below 1e-12
run convert x.h33 back.hv
same back.v x.i33
run info x.hv
out_has "counts/mm"
mkdir there
run filter gaussian:8 x.nii -o there/y.hv
expect 2 filter gaussian:8 x.nii -o there/y.hv
err_has "exists"

# ---- subsets, streamed, sens ----
run recon ray --events cylinder.hs --grid 21,20,6 --voxel 10,10,8 --iterations 3 --subsets 4 --method osem -o a.nii
run recon ray --events cylinder.hs --grid 21,20,6 --voxel 10,10,8 --iterations 3 --stream -o b.nii
run sens ray --events cylinder.hs --grid 21,20,6 --voxel 10,10,8 -o s.nii
run recon ray --events cylinder.hs --grid 21,20,6 --voxel 10,10,8 --iterations 3 --sens s.nii -o c.nii
run measure rmse b.nii c.nii --below 1e-4

# ---- refused, in one line ----
head -c 146815 cylinder.s >short.s
sed 's/cylinder\.s/short.s/' cylinder.hs >short.hs
expect 3 recon ray --events short.hs --grid 8 --voxel 20 -o y.nii
err_has "146815 bytes, its header says 36704 values of 4 bytes"
expect 3 recon ray -q --events cylinder.hs --norm point-tof.hs --grid 8 --voxel 20 -o y.nii
err_has "its bins are not those of"
[ ! -e y.nii ] || fail "an image of a run that failed"
