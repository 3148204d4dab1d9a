#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Files as others write them: projections that are line integrals with a few values below 0, scanners known by name,
# blocks; and files that hold no PET data, of which the program says what they are.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

# ---- line integrals of a long cylinder, 8 rings in one segment: 1 to 8 crystal pairs a bin ----
"$PYTHON" - <<'END'
import numpy as np
rings, views, tangential = 8, 32, 31
head = f"""!INTERFILE :=
name of data file := NAME.s
imagedata byte order := LITTLEENDIAN
applied corrections := {{None}}
!number format := float
!number of bytes per pixel := 4
number of dimensions := 4
matrix axis label [4] := segment
!matrix size [4] := 1
matrix axis label [3] := view
!matrix size [3] := {views}
matrix axis label [2] := axial coordinate
!matrix size [2] := {{15}}
matrix axis label [1] := tangential coordinate
!matrix size [1] := {tangential}
minimum ring difference per segment := {{-7}}
maximum ring difference per segment := {{7}}
Number of rings := {rings}
Number of detectors per ring := {2 * views}
Inner ring diameter (cm) := 20
Average depth of interaction (cm) := 0
Distance between rings (cm) := 0.4
View offset (degrees) := 0
patient orientation := HFS
!END OF INTERFILE :=
"""
s = 100 * np.sin((np.arange(tangential) - tangential // 2) * np.pi / (2 * views))
chord = 2 * np.sqrt(np.maximum(30.0**2 - s**2, 0))
chord[chord == 0] = -.02
v = np.broadcast_to(chord, (views, 15, tangential)).astype("<f4")
for name, value in ("lines", v), ("corrected", v - 3):
    open(f"{name}.hs", "w").write(head.replace("NAME", name))
    value.astype("<f4").tofile(f"{name}.s")
END
grid=(--grid "21,21,15" --voxel "5,5,2" --iterations 8)
run info lines.hs
out_has "values are line integrals, because they are not whole numbers and do not grow with the number of crystal pairs of a bin, 1 to 8 (--bins counts changes that)"
out_has "% of the bins are negative"
run recon lines.hs "${grid[@]}" -o lines.nii
err_has "lines.hs: it is assumed that values are line integrals"
err_has "warning: lines.hs: "
err_has "% of the sum; 0 is taken for them"
run recon lines.hs "${grid[@]}" --bins counts --negative clip -o counts.nii
! grep -q "it is assumed" err || fail "an assumption where nothing is open"
check "the ends do not fill the scale" <<-'END'
	from checks import *
	def ends(path):
	    a = np.asarray(nibabel.load(path).dataobj)[6:15, 6:15].mean((0, 1))
	    return a[0] / a[6:9].mean()
	near("line integrals", ends("lines.nii"), 1, .1)
	require(ends("counts.nii") > 2, f"counts: {ends('counts.nii')}")
	r = record("lines.json")
	require("line integrals" in r["results"]["assumed"], f"{r['results']}")
	require("negative" in " ".join(r["warnings"]), f"{r['warnings']}")
END

# ---- the field of view: voxels as high as planes lie apart, so that each has lines ----
sed 's/(cm) := 0\.4/(cm) := 0.65/' lines.hs >odd.hs
run recon odd.hs --iterations 2 -o odd.nii
check "planes" <<-'END'
	from checks import *
	img = nibabel.load("odd.nii")
	a = np.asarray(img.dataobj)
	near("height of a voxel", img.header.get_zooms()[2], 3.25, 1e-5)
	require(a.shape[2] == 15, f"{a.shape}")
	sums = a.sum((0, 1))
	near("planes", sums / sums.mean(), np.ones(15), .1)
END

# ---- values below 0 ----
expect 3 recon lines.hs "${grid[@]}" --negative refuse -o y.nii
err_has "--negative clip takes 0 for them"
expect 3 recon -q lines.hs "${grid[@]}" --negative keep -o y.nii
err_has "must be finite and not negative"
expect 3 recon corrected.hs "${grid[@]}" -o y.nii
err_has "as after a subtraction of randoms or scatter; --negative clip"
run recon corrected.hs "${grid[@]}" --negative clip -o clipped.nii

# ---- a scanner by name, blocks ----
sed -e 's/lines\.s/rat.s/' -e '/^Number of\|^Inner\|^Average\|^Distance\|^View/d' -e '2i originating system := RATPET' \
	-e 's/\[3\] := 32/[3] := 56/' lines.hs >rat.hs
"$PYTHON" -c 'import numpy as np; np.ones((56, 15, 31), "<f4").tofile("rat.s")'
run recon rat.hs --dry-run -o y.nii
err_has "scanner RATPET is the one known by that name, with number of rings 8, number of detectors per ring 112"
{
	sed -e 's/lines\.s/blocks.s/' -e '/END OF/d' -e 's/{-7}/{0}/; s/{7}/{0}/; s/{15}/{8}/' lines.hs
	cat <<-'END'
		Scanner geometry (BlocksOnCylindrical/Cylindrical/Generic) := BlocksOnCylindrical
		Number of blocks per bucket in transaxial direction := 1
		Number of blocks per bucket in axial direction := 1
		Number of crystals per block in axial direction := 8
		Number of crystals per block in transaxial direction := 8
		Distance between crystals in axial direction (cm) := 0.4
		Distance between crystals in transaxial direction (cm) := 0.9
		Distance between blocks in axial direction (cm) := 3.2
		Distance between blocks in transaxial direction (cm) := 7.3
	END
} >blocks.hs
"$PYTHON" -c 'import numpy as np; np.ones((32, 8, 31), "<f4").tofile("blocks.s")'
run info --json blocks.hs
check "blocks" <<-'END'
	from checks import *
	r = json.load(open("out"))[0]["radius_mm"]
	near("the middle and the end of a block of 8", r, [np.hypot(100, 4.5), np.hypot(100, 31.5)], 1e-3)
END
run recon blocks.hs "${grid[@]}" -o blocks.nii

# ---- what the file is ----
cat >spect.hs <<'END'
!INTERFILE :=
!imaging modality := nucmed
name of data file := spect.s
!type of data := Tomographic
!SPECT STUDY (General) :=
!number of projections := 120
!matrix size [1] := 128
process status := acquired
!END OF INTERFILE :=
END
cat >gate.hroot <<'END'
ROOT header :=
originating system := User_defined_scanner
name of data file := coinc.root ; of GATE
end ROOT header :=
END
printf '!INTERFILE:=\n%%SMS-MI header name space:=sinogram subheader\n%%compression:=on\nmatrix size [1]:=344\n' >mmr.s.hdr
cp "$TEST_DATA/castor/twolayer.hscan" .
while read -r file text; do
	expect 3 recon "$file" -o y.nii
	err_has "$file: this is $text"
	case $file in *.hs | *.hroot | *.hdr | *.s)
		expect 3 info "$file"
		err_has "$file: this is $text"
		;;
	esac
done <<'END'
spect.hs a scan of SPECT; Isotome reconstructs PET and optoacoustics
gate.hroot a header of STIR for a ROOT file of GATE (name of data file coinc.root); give that ROOT file instead
mmr.s.hdr a sinogram in Siemens' own format (compression on); give the list mode of the scan
lines.s a file of numbers without its header; give the header beside it (.hs)
lines.nii an image or an array, and no measured data; command view shows it
twolayer.hscan a scanner of CASToR; --scanner takes it, beside a file of events
END
expect 3 recon ray --events lines.nii -o y.nii
err_has "lines.nii: this is an image or an array, and no measured data"
cp "$TEST_DATA/dicom/CT00.dcm" .
expect 3 recon CT00.dcm -o y.nii
err_has "CT00.dcm: this is a DICOM file; command mu makes an attenuation map of a CT series"
[ ! -e y.nii ] || fail "an image of a run that failed"
