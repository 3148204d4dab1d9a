#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# An image as a PET series in DICOM, and back: values, places, tags, identifiers; by the bytes, by pydicom and by dciodvfy.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python
export PYTHONPATH=$PYTHONPATH:$SOURCE/tests/formats

"$PYTHON" - <<'END'
import json
import nibabel
import numpy as np

rng = np.random.default_rng(1)
x = (rng.random((9, 8, 7)) * 1e4).astype("f4")
x[:, :, 2] *= 1e-3  # a slice with a factor of its own
x[:, :, 3] = 0
x[0, 0, 0] = -55
affine = np.diag([2.1, 2.2, 3.3, 1])
affine[:3, 3] = [-10.05, -7.123, -40.7]
nibabel.save(nibabel.Nifti1Image(x, affine), "pet.nii")
nibabel.save(nibabel.Nifti1Image(np.stack([x, 3 * x, x / 7], -1), affine), "frames.nii.gz")
nibabel.save(nibabel.Nifti1Image(x, affine), "plain.nii")
broken = x.copy()
broken[1, 1, 1] = np.nan
nibabel.save(nibabel.Nifti1Image(broken, affine), "nan.nii")
record = {
    "isotome": "0.2.0", "verb": "recon", "started": "2026-03-04T05:06:07Z", "Units": "Bq/mL", "ReconMethodName": "osem",
    "FrameTimesStart": [0.0], "FrameDuration": [600.0],
    "parameters": {"isotope": "F-18", "started-at": "2026-03-03T10:20:30", "injected-at": "09:20:30", "dose-mbq": 250.0,
                   "residual-mbq": 5.0, "weight-kg": 70.5, "mu": "mu.nii", "scatter": None, "delayed": "d.lmdT",
                   "norm": "n.npy"},
    "results": {"scale": {"scanner": "ring", "attenuation": "map"}},
}
json.dump(record, open("pet.json", "w"))
record.update(FrameTimesStart=[0.0, 60.0, 120.0, 300.0], FrameDuration=[60.0, 60.0, 180.0])
json.dump(record, open("frames.json", "w"))
record.update(FrameTimesStart=[0.0, 2e5, 3e5], FrameDuration=[60.0, 60.0, 60.0])  # of a nuclide that is long gone
record["parameters"]["isotope"] = "O-15"
json.dump(record, open("gone.json", "w"))
nibabel.save(nibabel.Nifti1Image(np.stack([x, 3 * x, x / 7], -1), affine), "gone.nii")
nibabel.save(nibabel.Nifti1Image(x * np.float32(1e12), affine), "large.nii")
nibabel.save(nibabel.Nifti1Image(x * np.float32(1e34), affine), "huge.nii")
nibabel.save(nibabel.Nifti1Image(x, np.diag([1500, 2, 3, 1])), "wide.nii")
nibabel.save(nibabel.Nifti1Image(x[:, :, :1], np.diag([2, 2, 1500, 1])), "thick.nii")
nibabel.save(nibabel.Nifti1Image(x, np.diag([2, 2, 5e-4, 1])), "thin.nii")
affine[2, 3] = 2e6
nibabel.save(nibabel.Nifti1Image(x, affine), "far.nii")
END

# ---- there and back ----
run convert pet.nii scan/ --patient-name 'Doe^Jane' --patient-id 17
[ "$(cd scan && echo *)" = "$(printf 'IM%05d.dcm ' 1 2 3 4 5 6 7 | sed 's/ $//')" ] || fail "names of the files"
[ -e scan.dcm.json ] || fail "no record"
[ -z "$(find . -name '.isotome*')" ] || fail "something was left behind"
run convert scan back.nii
run convert frames.nii.gz dynamic/
run convert dynamic/IM00009.dcm dynamic.nii
check "values and places" <<'END'
from checks import *
for a, b in (("pet.nii", "back.nii"), ("frames.nii.gz", "dynamic.nii")):
    want, got = nibabel.load(a), nibabel.load(b)
    require(np.array_equal(want.affine, got.affine), f"{b}: {got.affine}, expected {want.affine}")
    x, y = np.asarray(want.dataobj, float), np.asarray(got.dataobj, float)
    quantum = np.abs(x).max(axis=(0, 1), keepdims=True) / 32767
    near(b, y, x, .5 * quantum * 1.0001 + 1e-7 * np.abs(x))
END
run convert large.nii large/
run convert large large.npy # a factor of 3e11
run convert gone.nii gone/
run convert gone gone.npy
run info dynamic
out_has 'dynamic: PET series in DICOM'
out_has 'unit              Bq/mL'
out_has 'shape             3, 7, 8, 9'
out_has 'frame duration s  60, 60, 180'
bytes=$(cat dynamic/*.dcm | wc -c)
for name in dynamic dynamic/IM00003.dcm; do
	grep -q "\"bytes\": $bytes," <<<"$("$ISOTOME" info $name --json)" || fail "$name: not the size of the series, $bytes"
done
run view dynamic -o dynamic.png --frame 2

# ---- the same bytes on every run; another image has other identifiers ----
run convert pet.nii again/ --patient-name 'Doe^Jane' --patient-id 17
for file in scan/*; do same "$file" "again/$(basename "$file")"; done
run convert plain.nii plain/
err_has "plain.nii is in no known unit, not in Bq/mL. The DICOM series says Units CNTS."

# ---- tags, by the bytes alone ----
cat >tags.py <<'END'
import struct
import sys


def elements(b, at, end):
    while at < end:
        group, number, vr = *struct.unpack_from("<HH", b, at), b[at + 4:at + 6].decode()
        if group == 0xfffe:
            length, head = struct.unpack_from("<I", b, at + 4)[0], 8
        elif vr in ("OB", "OW", "SQ"):
            length, head = struct.unpack_from("<I", b, at + 8)[0], 12
        else:
            length, head = struct.unpack_from("<H", b, at + 6)[0], 8
        assert length % 2 == 0 and at + head + length <= end, (hex(group), hex(number), length)
        yield (group << 16 | number), vr, b[at + head:at + head + length]
        at += head + length


def read(path):
    b = open(path, "rb").read()
    assert b[:128] == bytes(128) and b[128:132] == b"DICM"
    tags = list(elements(b, 132, len(b)))
    assert tags == sorted(tags, key=lambda t: t[0]), "tags out of order"
    assert len({t[0] for t in tags}) == len(tags), "a tag twice"
    for tag, vr, value in tags:
        assert vr != "DS" or all(len(v) <= 16 for v in value.strip().split(b"\\")), (hex(tag), value)
    return {tag: value.rstrip(b" \0") if vr not in ("US", "OW", "SQ", "UL", "OB") else value for tag, vr, value in tags}
END
check "bytes of the files" <<'END'
import struct
sys_path = __import__("sys").path.insert(0, ".")
from checks import *
from tags import elements, read

x = np.asarray(nibabel.load("pet.nii").dataobj)
files = [read(f"scan/IM{k:05d}.dcm") for k in range(1, 8)]
want = {
    0x00020002: b"1.2.840.10008.5.1.4.1.1.128", 0x00020010: b"1.2.840.10008.1.2.1", 0x00080060: b"PT",
    0x00080016: b"1.2.840.10008.5.1.4.1.1.128", 0x00100010: b"Doe^Jane", 0x00100020: b"17", 0x00101030: b"70.5",
    0x00080021: b"20260303", 0x00080031: b"102030", 0x00080022: b"20260303", 0x00080032: b"102030",
    0x00181242: b"600000", 0x00200037: b"1\\0\\0\\0\\1\\0", 0x00280030: b"2.2\\2.1",
    0x00180050: b"3.3", 0x00280051: b"DECY\\ATTN\\RAN\\NORM", 0x00541001: b"BQML", 0x00541000: b"STATIC\\IMAGE",
    0x00541002: b"EMISSION", 0x00541102: b"START", 0x00541103: b"osem", 0x00541322: b"1", 0x00281052: b"0",
    0x00541100: b"DLYD", 0x00540081: struct.pack("<H", 7), 0x00280010: struct.pack("<H", 8),
    0x00280011: struct.pack("<H", 9), 0x00280103: struct.pack("<H", 1),
}
for k, f in enumerate(files):
    for tag, value in want.items():
        require(f.get(tag) == value, f"file {k + 1}, tag {tag:08x}: {f.get(tag)}, expected {value}")
    at = [float(v) for v in f[0x00200032].split(b"\\")]
    # the first voxel is at the right and front: L and P are the negatives of the last voxel's x and y
    near("position", at, [-(-10.05 + 8 * 2.1), -(-7.123 + 7 * 2.2), -40.7 + 3.3 * k], 1e-5)
    stored = np.frombuffer(f[0x7fe00010], "<i2").reshape(8, 9)[::-1, ::-1].T
    slope = float(f[0x00281053])
    require(slope > 0 and np.abs(stored * slope - x[:, :, k]).max() <= .5 * slope * 1.0001 + 1e-3, f"slice {k}")
    require(k == 3 or np.abs(stored).max() == 32767, "all of the range")
# by the decay of F-18, 6586.2 s: the factor of a frame of 600 s, and when the activity was its mean
rate = np.log(2) / float(dict((t, v) for t, _, v in elements(files[0][0x00540016], 8, len(files[0][0x00540016])))[0x00181075])
near("half life", np.log(2) / rate, 6586, 5)
d = rate * 600
near("decay factor", float(files[0][0x00541321]), d / (1 - np.exp(-d)), 1e-9)
near("reference time", float(files[0][0x00541300]), 1e3 * np.log(d / (1 - np.exp(-d))) / rate, 1e-3)
tracer = dict((t, v) for t, _, v in elements(files[0][0x00540016], 8, len(files[0][0x00540016])))
require(float(tracer[0x00181074]) == 245e6 and tracer[0x00181078].strip() == b"20260303092030", tracer)
require(b"77004003" in tracer[0x00540300] and b"SCT" in tracer[0x00540300], tracer)
require(all(w in files[0][0x00540410] for w in (b"102538003", b"40199007")) and b"102540008" in files[0][0x00540414] and
        0x00185100 not in files[0], "supine, head first, by codes")
ids = lambda tag, fs: {f[tag] for f in fs}
require(len(ids(0x00080018, files)) == 7 and ids(0x00080018, files) == ids(0x00020003, files), "instances")
for tag in (0x0020000d, 0x0020000e, 0x00200052):
    require(len(ids(tag, files)) == 1, "one study, series and frame of reference")
plain, dynamic = read("plain/IM00001.dcm"), [read(f"dynamic/IM{k:05d}.dcm") for k in range(1, 22)]
require(len({plain[0x0020000e], files[0][0x0020000e], dynamic[0][0x0020000e]}) == 3, "series of other images")
for f in (plain, *files):
    for tag in (0x00080018, 0x0020000d, 0x0020000e, 0x00200052):
        uid = f[tag].decode()
        require(uid.startswith("2.25.") and len(uid) <= 64 and uid[5] != "0" and int(uid[5:]) < 1 << 128, uid)
gone = [read(f"gone/IM{k:05d}.dcm") for k in (1, 8, 15)]
require([0x00541321 in f for f in gone] == [True, False, False], "no decay factor that is infinite")
near("large values", np.load("large.npy").max(), x.max() * 1e12, x.max() * 1e8)
require(plain[0x00541001] == b"CNTS" and plain[0x00541102] == b"NONE" and plain[0x00540016] == b"", "of no record")
require(plain[0x00100010] == b"Anonymous^" and plain[0x00100020] == b"0" and plain[0x00080022] == b"", "nobody")
require(dynamic[0][0x00541000] == b"DYNAMIC\\IMAGE" and dynamic[0][0x00540101] == struct.pack("<H", 3), "dynamic")
require(dynamic[14][0x00080032] == b"102230" and dynamic[14][0x00541330] == struct.pack("<H", 15), "third frame")
END

# ---- by other programs ----
"$PYTHON" -c 'import pydicom' 2>err || skip "$PYTHON can't import pydicom"
check "pydicom" <<'END'
import glob
import warnings
from checks import *
import pydicom
warnings.simplefilter("error")
x = np.asarray(nibabel.load("pet.nii").dataobj)
for k, path in enumerate(sorted(glob.glob("scan/*"))):
    d = pydicom.dcmread(path)
    require(d.SOPClassUID.name == "Positron Emission Tomography Image Storage", d.SOPClassUID.name)
    got = d.pixel_array * float(d.RescaleSlope) + float(d.RescaleIntercept)
    near(path, got[::-1, ::-1].T, x[:, :, k], .5 * float(d.RescaleSlope) * 1.0001 + 1e-3)
    tracer = d.RadiopharmaceuticalInformationSequence[0]
    require(tracer.RadionuclideTotalDose == 245e6, tracer)
    require(tracer.RadionuclideCodeSequence[0].CodeMeaning == "^18^Fluorine", tracer)
    require(d.PatientName.family_name == "Doe" and d.FrameOfReferenceUID != d.StudyInstanceUID, d)
END
command -v dciodvfy >/dev/null || skip "no dciodvfy here (Debian: dicom3tools)"
for file in scan/IM00001.dcm scan/IM00004.dcm dynamic/IM00021.dcm plain/IM00007.dcm; do
	dciodvfy "$file" >out 2>&1 || true
	grep -q '^PETImage' out || fail "$file is no PET image to dciodvfy"
	# Laterality is empty where nobody knows the part of the body: dciodvfy reminds of what that means
	if grep -E '^(Error|Warning)' out | grep -v '<Laterality>' >err; then fail "dciodvfy of $file"; fi
done

# ---- what is refused leaves all as it was ----
refused() { # CODE MESSAGE ARGS...
	local code=$1 message=$2
	shift 2
	expect "$code" convert "$@"
	err_has "$message"
}
refused 2 'scan holds a series of 7 files already; --force replaces it' frames.nii.gz scan/
same scan/IM00002.dcm again/IM00002.dcm
mkdir mine && echo precious >mine/notes.txt
refused 2 'mine holds other files than a series that was written here, such as notes.txt' pet.nii mine/ --force
[ "$(cat mine/notes.txt)" = precious ] || fail "a file of the user's"
mkdir others && "$PYTHON" - <<'END'
b = open("scan/IM00001.dcm", "rb").read()
maker = b"2.25.162837412365287461928374650192837465"
assert b.count(maker) == 1
open("others/IM00001.dcm", "wb").write(b)
open("others/IM00002.dcm", "wb").write(b.replace(maker, b"1" + maker[1:]))
END
refused 2 'others holds other files than a series that was written here, such as IM00002.dcm' pet.nii others/ --force
[ -e others/IM00001.dcm ] && [ -e others/IM00002.dcm ] || fail "slices of another program"
refused 2 'pet.dcm: a PET series has a file for each slice. Name a folder, with a slash at its end: pet.dcm/' pet.nii pet.dcm
refused 2 '--patient-id is for DICOM: TO is then a folder' pet.nii x.npy --patient-id 3
refused 3 'not finite' nan.nii bad/
for name in huge wide thick thin far; do cp pet.json $name.json; done
refused 2 'bad/: values up to 9.99026e+37; a DICOM series takes less than 3.2767e+34' huge.nii bad/
refused 2 'bad/: voxels of 1500 mm; a DICOM series takes less than 1000 mm' wide.nii bad/
refused 2 'bad/: voxels of 1500 mm; a DICOM series takes less than 1000 mm' thick.nii bad/
refused 2 'bad/: the image reaches to 2.00002e+06 mm; a DICOM series takes less than 1e+06 mm' far.nii bad/
refused 2 'bad/: slices are 0.0005 mm apart; those of a DICOM series must be more than 0.001 mm apart' thin.nii bad/
refused 1 "nowhere/deep.dcm.json: can't create" pet.nii nowhere/deep/
mkdir own && cp again/* own && ln -s own link
refused 2 'own/IM00001.dcm: its slices lie in own, which would be replaced; name another folder' own/IM00001.dcm own/ --force
refused 2 'link/IM00003.dcm: its slices lie in own, which would be replaced' link/IM00003.dcm own/ --force
for file in again/*; do same "$file" "own/$(basename "$file")"; done
[ ! -e bad ] && [ -z "$(find . -name '.isotome*')" ] || fail "a refused run left something"
run convert frames.nii.gz scan/ --force
[ "$(find scan -name '*.dcm' | wc -l)" = 21 ] || fail "--force replaces the series"
[ -z "$(find . -name '.isotome*')" ] || fail "something was left behind"

# ---- a run that was killed leaves a folder, which the next run to the same name removes ----
"$PYTHON" -c 'import nibabel, numpy; nibabel.save(nibabel.Nifti1Image(numpy.ones((2, 2, 20000), "f4"), numpy.eye(4)), "long.nii")'
"$ISOTOME" convert long.nii killed/ >out 2>err &
pid=$!
for _ in $(seq 2000); do
	[ -z "$(find . -path './.isotome-*.tmp/IM00009.dcm')" ] || break
	sleep .01
done
kill -9 $pid
wait $pid 2>err || true
left=$(find . -name '.isotome-*.tmp' -type d)
[ -n "$left" ] && [ ! -e killed ] || fail "the run ended before it was killed"
: >"$left/IM20001.dcm" # one that was made, and not yet written
cp -r "$left" "${left%????????.tmp}00000000.tmp"
echo precious >"${left%????????.tmp}00000000.tmp/notes.txt"
run convert pet.nii elsewhere/
[ -d "$left" ] || fail "a folder of another name was removed"
run convert pet.nii killed/
[ ! -e "$left" ] || fail "what a killed run left is still there"
[ "$(cat .isotome-*.tmp/notes.txt)" = precious ] || fail "a folder with a file of the user's"
rm -r .isotome-*

# ---- the record changes directly behind the series, before the old series is removed ----
if strace -o trace true 2>err; then
	strace -f -o trace "$ISOTOME" convert pet.nii scan/ --force 2>err
	"$PYTHON" - <<'END' || fail "order of series, record and removal"
lines = open("trace").read().splitlines()
first = lambda *words: next(i for i, l in enumerate(lines) if all(w in l for w in words))
last = max(i for i, l in enumerate(lines) if "scan.dcm.json" in l and ("rename" in l or "linkat" in l))
assert first("renameat2", "RENAME_EXCHANGE") < last < first("unlink", "IM00"), "order"
END
fi
echo "all passed"
