#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# info tells the truth: bytes of the values and not of a header or a folder, no -0, no suffix twice, areas of elements
# that have sizes, no path twice.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_hdf5
data=$TEST_DATA

# bytes_are FILE DATA...: info of FILE tells the bytes of all of DATA
bytes_are() {
	local file=$1 sum=0 one
	shift
	for one in "$@"; do sum=$((sum + $(stat -c %s "$one"))); done
	run info "$file"
	grep -qE "^  bytes +$sum\$" out || fail "info $file tells $(grep '^  bytes' out), expected $sum"
	! grep -qE '(^|[ ,;])-0([ ,;]|$)' out || fail "info $file tells -0"
}

# ---- headers, and what they are about ----
bytes_are "$data/interfile/cylinder.hs" "$data/interfile/cylinder.s"
out_has "cylinder.hs: histogram of events"
grep -qE '^  data file +.*/cylinder\.s$' out || fail "the file of the values is not named"
run phantom spheres --grid 20,16,12 --voxel 4 --centre 0,0,0 -o x.nii
run convert x.nii x.hv
bytes_are x.hv x.v
out_has 'centre_mm 0, 0, 0'
run convert x.nii x.raw
bytes_are x.raw x.raw
bytes_are x.raw.json x.raw
run convert x.nii x.nii.gz --force
bytes_are x.nii.gz x.nii.gz
small_ring >ring.yaml
run simulate ring.yaml x.nii --counts 500 -o e.Cdh
bytes_are e.Cdh e.Cdf
run info --json x.hv
check "no -0 in JSON" <<-'END'
	from checks import *
	require("-0.0" not in open("out").read(), "-0.0 in the JSON of info")
END

# ---- a series of files, by its folder and by one of them ----
mkdir ct
cp "$data"/dicom/CT*.dcm ct
bytes_are ct ct/*
bytes_are ct/CT03.dcm ct/*

# ---- transducers ----
run info "$data/oat/ipasc/tiny_ipasc.hdf5"
grep -qE '^  element area mm2 +4$' out || fail "elements of 2 mm x 2 mm have 4 mm2"
out_has 'no areas of the surface that each element stands for'
check "elements of two sizes" "$data/oat/ipasc/tiny_ipasc.hdf5" <<-'END'
	import h5py, shutil, sys
	shutil.copy(sys.argv[1], "two.hdf5")
	f = h5py.File("two.hdf5", "r+")
	one = f["meta_data_device/detectors"]
	one[sorted(one)[3] + "/detector_geometry"][...] = [0.003, 0.001, 0]
END
run info two.hdf5
grep -qE '^  element area mm2 +3, 4$' out || fail "areas of two sizes: $(grep element out)"
grep -qE '^  aperture mm +least 2, 1; greatest 3, 2$' out || fail "two sizes: $(grep aperture out)"

# ---- what is no file of ours ----
echo '{"Name": "a data set"}' >other.json
expect 3 info other.json
err_has 'neither a scanner (key kind) nor a phantom (key shapes) nor an array (key data_file)'
echo >a.unknown
expect 3 info a.unknown
twice=$(tr ' ' '\n' <err | grep '^\.' | sort | uniq -d)
[ -z "$twice" ] || fail "told twice: $twice"
echo "all passed"
