#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome mu against NumPy: DICOM, NIfTI of any orientation, grids, smoothing, warnings, and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python
ct=$TEST_DATA/dicom

cat >ct.py <<'END'
from checks import *

FWHM = np.sqrt(8 * np.log(2))


def mu(hu):
    """Carney et al. at 120 kVp, 1/mm."""
    hu = np.asarray(hu, float)
    return np.where(hu < 47, np.maximum(0, 9.6e-6 * (hu + 1000)), 5.10e-6 * (hu + 1000) + 4.71e-3)


def smooth(x, sizes, fwhm):
    """Along the file's axes (x, y, z) by fwhm mm each; the edge goes on."""
    for axis, (size, f) in enumerate(zip(sizes, fwhm)):
        if f < 1e-3 * size:
            continue
        sigma = f / FWHM / size
        r = int(np.ceil(3 * sigma))
        i = np.arange(-r, r + 1)
        w = np.exp(-i**2 / (2 * sigma**2))
        n = x.shape[axis]
        x = sum(a * np.take(x, np.clip(np.arange(n) + k, 0, n - 1), axis) for a, k in zip(w / w.sum(), i))
    return x


def linear(x, at):
    """x (nx, ny, nz) at indices (3, n), 0 beyond its outer faces."""
    inside = np.all([(a >= -.5) & (a <= n - .5) for a, n in zip(at, x.shape)], axis=0)
    at = [np.clip(a, 0, n - 1) for a, n in zip(at, x.shape)]
    low = [np.minimum(np.floor(a).astype(int), n - 2) for a, n in zip(at, x.shape)]
    share = [a - l for a, l in zip(at, low)]
    sum = 0
    for corner in np.ndindex(2, 2, 2):
        w = np.prod([s if c else 1 - s for c, s in zip(corner, share)], axis=0)
        sum = sum + w * x[tuple(l + c for c, l in zip(corner, low))]
    return np.where(inside, sum, 0)


def expected(file, on, fwhm=0.0, shift=(0, 0, 0)):
    """The map (nz, ny, nx) of a CT of nibabel's on the voxels of another image of nibabel's."""
    ct, to = nibabel.load(file), nibabel.load(on)
    sizes = np.linalg.norm(ct.affine[:3, :3], axis=0)
    voxel = np.linalg.norm(to.affine[:3, :3], axis=0)
    wide = ((ct.affine[:3, :3] / sizes).T ** 2) @ voxel**2
    x = smooth(mu(np.asarray(ct.dataobj)), sizes, np.sqrt(np.maximum(0, wide - sizes**2) + fwhm**2))
    world = np.stack(centres(on)).reshape(3, -1)
    index = nibabel.affines.apply_affine(np.linalg.inv(ct.affine), (world.T - shift)).T
    return linear(x, index).reshape(image(on).shape)
END

# ---- DICOM ----
run mu "$ct" -o mu.nii
run mu "$ct/CT03.dcm" -o file.nii.gz
check "attenuation of the DICOM series" "$ct" <<'END'
import sys
from ct import *
hu = np.load(sys.argv[1] + "/hu_ras.npy")
near("mu", image("mu.nii"), mu(hu), 1e-8)
near("by one file", image("file.nii.gz"), mu(hu), 1e-8)
near("first voxel", nibabel.affines.apply_affine(nibabel.load("mu.nii").affine, [0, 0, 0]), [-18, -16.5, -20], 1e-5)
r = record("mu.json")
require(r["Units"] == "1/mm" and r["results"]["kvp"] == 120 and len(r["inputs"]) == 6, r)
require(r["results"]["outside_voxels"] == 0 and r["results"]["hu"]["max"] == 1000, r["results"])
END
run info "$ct" mu.nii
out_has 'CT series in DICOM'
out_has '120'
run info "$ct/CT00.dcm" --json
out_has '"files": 6'

# ---- NIfTI, as another program turns it ----
"$PYTHON" - <<'END'
import json
import nibabel
import numpy as np
from nibabel.eulerangles import euler2mat
rng = np.random.default_rng(3)


def save(name, shape, sizes, angles, centre, order=(0, 1, 2), signs=(1, 1, 1), qform=False):
    m = (euler2mat(*angles) * sizes) @ np.diag(signs)[:, list(order)]
    affine = np.eye(4)
    affine[:3, :3] = m
    affine[:3, 3] = centre - m @ (np.array(shape) - 1) / 2
    x, y, z = nibabel.affines.apply_affine(affine, np.indices(shape).reshape(3, -1).T).T
    hu = np.where((x - 9)**2 / 900 + (y + 6)**2 / 500 + (z - 4)**2 / 300 < 1, 40.0, -1000)
    hu = np.where((x - 20)**2 + (y + 6)**2 + (z - 4)**2 < 60, 900, hu)
    hu = (hu + rng.normal(0, 5, x.shape)).round().reshape(shape).astype(np.int16)
    out = nibabel.Nifti1Image(hu, affine)
    out.header.set_xyzt_units("mm")
    if qform:
        out.set_sform(None, 0)
        out.set_qform(affine, 1)
    nibabel.save(out, name)


save("straight.nii", (40, 36, 20), (2, 2, 3), (0, 0, 0), (5, -3, 2))
save("flipped.nii.gz", (36, 20, 40), (2, 2, 3), (0, 0, 0), (5, -3, 2), (1, 2, 0), (-1, 1, -1))
save("turned.nii.gz", (44, 40, 24), (2, 2, 3), (.3, -.2, .4), (5, -3, 2))
save("quaternion.nii", (44, 40, 24), (2, 2, 3), (-.5, .9, 2.4), (5, -3, 2), qform=True)
for name in "straight", "flipped", "turned":
    with open(name + ".json", "w") as f:
        json.dump({"Modality": "CT", "KVP": 120}, f)
affine = np.diag([4, 3.5, 5, 1.0])
affine[:3, 3] = -50, -45, -30
nibabel.save(nibabel.Nifti1Image(np.zeros((24, 25, 13), "f4"), affine), "pet.nii")
END
for n in straight.nii flipped.nii.gz turned.nii.gz; do
	run mu "$n" --like pet.nii --quiet -o "pet_${n%%.*}.nii"
done
run mu quaternion.nii --kvp 120 --like pet.nii -o pet_quaternion.nii
err_has 'of the grid lies outside of quaternion.nii; attenuation is 0 there'
run mu turned.nii.gz --like pet.nii --smooth 6 --shift 7,-5,3 -o shifted.nii
check "maps of NIfTI images differ from NumPy's" <<'END'
from ct import *
for name in "straight.nii", "flipped.nii.gz", "turned.nii.gz", "quaternion.nii":
    got = image(f"pet_{name.split('.')[0]}.nii")
    want = expected(name, "pet.nii")
    near(name, got, want, 2e-7)
    require(.0135 < got.max() < .0145 and (want == 0).any(), got.max())
near("shifted", image("shifted.nii"), expected("turned.nii.gz", "pet.nii", 6, (7, -5, 3)), 2e-7)
near("affine", nibabel.load("pet_turned.nii").affine, nibabel.load("pet.nii").affine, 1e-5)
END

# ---- grids ----
run mu turned.nii.gz -o own.nii
run mu turned.nii.gz --voxel 4 -o coarse.nii
run mu turned.nii.gz --grid 10,12,8 --centre 5,-3,2 -o few.nii
run mu turned.nii.gz --grid 10 --voxel 3,4,5 --centre 0,0,0 -o box.nii
check "grids" <<'END'
from ct import *
world = [[c.min(), c.max()] for c in centres("own.nii")]
ct = nibabel.load("turned.nii.gz")
corners = nibabel.affines.apply_affine(ct.affine, np.array(list(np.ndindex(2, 2, 2))) * (np.array(ct.shape) - 1))
for (low, high), c in zip(world, corners.T):
    require(low <= c.min() and high >= c.max(), "the own grid does not cover the CT")
for name in "own.nii", "coarse.nii", "few.nii", "box.nii":
    near(name, image(name), expected("turned.nii.gz", name), 2e-7)
near("voxels", nibabel.load("coarse.nii").header.get_zooms(), [4, 4, 4], 0)
near("voxels", nibabel.load("box.nii").header.get_zooms(), [3, 4, 5], 0)
require(image("few.nii").shape == (8, 12, 10) and image("box.nii").shape == (10, 10, 10), "sizes")
END

# ---- threads, records ----
run mu turned.nii.gz --like pet.nii --threads 1 -o one.nii
same one.nii pet_turned.nii
mv pet.nii gone.nii
run mu --like pet_turned.json -o again.nii # the record has the grid in numbers
same again.nii pet_turned.nii
mv gone.nii pet.nii
run mu --like shifted.json --smooth 0 --shift 0,0,0 -o plain.nii
same plain.nii pet_turned.nii
run mu "$ct" --dry-run -o dry.nii
out_has 'attenuation'
[ ! -e dry.nii ] || fail "--dry-run wrote a file"
run mu --like mu.json --force -o mu.nii

# ---- warnings ----
"$PYTHON" - <<'END'
import nibabel
import numpy as np
x = np.full((6, 6, 6), 40, np.int16)
x[:2] = -1000
nibabel.save(nibabel.Nifti1Image(x, np.diag([9, 9, 9, 1])), "plain_ct.nii")
x[3, 3, 3] = 3071
nibabel.save(nibabel.Nifti1Image(x, np.diag([9, 9, 9, 1])), "metal.nii")
nibabel.save(nibabel.Nifti1Image(np.full((6, 6, 6), 40, np.int16), np.diag([9, 9, 9, 1])), "tissue.nii")
END
run mu plain_ct.nii --kvp 100 -o quiet.nii
[ ! -s err ] || fail "a warning about nothing"
run mu metal.nii --kvp 100 -o warned1.nii
err_has 'metal.nii: 1 voxels above 2000 HU, up to 3071: attenuation of metal and contrast comes out too high'
run mu tissue.nii --kvp 100 -o warned2.nii
err_has 'tissue.nii: the least value is 40, air has -1000'

# ---- refused ----
refused() { # CODE TEXT ARGS...
	local code=$1 text=$2
	shift 2
	expect "$code" mu "$@"
	err_has "$text"
}
refused 3 'quaternion.nii: says no tube voltage; --kvp does' quaternion.nii -o y.nii
echo '{"KVP": 70}' >quaternion.json
refused 3 'a tube voltage of 70 kVp, known are 80 to 140; --kvp' quaternion.nii -o y.nii
run mu quaternion.nii --kvp 80 -o eighty.nii
refused 2 '--kvp is 150' quaternion.nii --kvp 150 -o y.nii
refused 2 '--like pet.nii says the grid, --voxel does too' "$ct" --like pet.nii --voxel 3 -o y.nii
refused 2 'the grid lies outside of' "$ct" --grid 4 --voxel 2 --centre 500,0,0 -o y.nii
refused 2 'mu.nii exists' "$ct" -o mu.nii
refused 2 '--output is missing' "$ct"
refused 2 '--smooth is -1' "$ct" --smooth -1 -o y.nii
refused 3 'missing: No such file' missing -o y.nii
mkdir empty
refused 3 'no CT in this folder' empty -o y.nii
refused 3 'unknown suffix' ct.py -o y.nii --kvp 120
refused 4 'host memory' "$ct" --memory-limit 1e-6 -o y.nii
mkdir packed
sed 's/1\.2\.840\.10008\.1\.2\.1\x00/1.2.840.10008.1.2.5\x00/' "$ct/CT00.dcm" >packed/a.dcm
refused 3 "is packed (transfer syntax 1.2.840.10008.1.2.5, RLE); 'gdcmconv -w' unpacks a file" packed -o y.nii
cp "$ct"/CT0[0-4].dcm empty/ # CT02 lies at one end: without CT04 one is missing in the middle
rm empty/CT04.dcm
refused 3 'there are 10 mm, elsewhere 5: is a slice missing?' empty -o y.nii
# CT02, at the end, is empty, cut, of zeros, or a link that leads nowhere: no map that is one slice short
cp "$ct/CT04.dcm" empty/
for bytes in 0 1 131 132 200 600 1000; do
	head -c $bytes "$ct/CT02.dcm" >empty/CT02.dcm
	refused 3 'empty/CT02.dcm' empty -o y.nii
	refused 3 'empty/CT02.dcm' empty/CT01.dcm -o y.nii
done
: >empty/CT02.dcm
refused 3 'empty/CT02.dcm: empty, and named as the slices beside it are' empty -o y.nii
head -c 1038 /dev/zero >empty/CT02.dcm
refused 3 'empty/CT02.dcm: no DICOM file (1038 bytes), and named as the slices beside it are' empty -o y.nii
ln -sf nowhere empty/CT02.dcm
refused 3 'empty/CT02.dcm: No such file' empty -o y.nii
mkdir plain # names without an ending; what is named otherwise is passed over
for k in 0 1 2 3 4 5; do cp -L "$ct/CT0$k.dcm" "plain/IM-0001-0$k"; done
echo notes >plain/notes.txt
: >plain/._IM-0001-02
: >plain/DICOMDIR
run mu plain -o unended.nii
: >plain/IM-0001-10
refused 3 'plain/IM-0001-10: empty' plain -o y.nii
rm empty/CT02.dcm
cp -L "$ct/CT01.dcm" empty/x.nii
refused 2 'are one file' empty/CT01.dcm --force -o empty/CT01.dcm
[ -z "$(find . -name 'y.*')" ] || fail "a refused run left a file"

# ---- elsewhere ----
expect 3 convert turned.nii.gz y.npy
err_has "its axes are oblique; command mu resamples a CT to straight ones"
run info turned.nii.gz
out_has 'oblique image'
"$PYTHON" -c 'import numpy as np; np.zeros((4, 7), "<f4").tofile("e.lmdT"); e = np.ones((9, 7), "<f4") * 50
e[:, :3] *= -1; e[:, 6] = 0; e.tofile("e.lmdT")'
expect 3 recon ray --events e.lmdT --sens none --tof-fwhm-ps 0 --grid 8 --voxel 8 --mu straight.nii -o y.nii
err_has "straight.nii: values from"
err_has "a CT in Hounsfield units, attenuation in 1/mm was expected; command mu makes it"
expect 3 recon ray --events e.lmdT --sens none --tof-fwhm-ps 0 --grid 8 --voxel 8 --mu "$ct/CT00.dcm" -o y.nii
err_has "a DICOM file; command mu makes an attenuation map of a CT series"
run recon ray --events e.lmdT --sens none --tof-fwhm-ps 0 --grid 8 --voxel 8 --mu pet_straight.nii --iterations 1 -o x.nii
echo "all passed"
