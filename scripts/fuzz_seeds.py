#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Inputs for the fuzz targets.

    fuzz_seeds.py FOLDER            small files that each target accepts: FOLDER/TARGET/NAME; and regression-NAME, inputs
                                    that once broke a reader, from tests/data/fuzz-regressions.txt
    fuzz_seeds.py --large FOLDER    files made to be slow to read, of about 1 MiB, or ISO_FUZZ_LARGE bytes; a few of
                                    up to 1 MiB whatever that says
    fuzz_seeds.py --keep TARGET NAME FILE    adds FILE to tests/data/fuzz-regressions.txt

The tests replay the first kind (ctest -R replay_), scripts/fuzz.sh begins with them and makes the second.
"""
import base64
import gzip
import io
import json
import os
import random
import struct
import sys
import zipfile
import zlib

from yardl_seeds import petsird_seeds, petsird_slow

REGRESSIONS = os.path.join(os.path.dirname(__file__), "..", "tests", "data", "fuzz-regressions.txt")
LARGE = int(os.environ.get("ISO_FUZZ_LARGE", 1 << 20))
ROOM = LARGE - 256  # the rest is for what stands around


# ---- one file of each format ----

def npy(descr, shape, data, version=1, fortran=False):
    descr = descr if descr[0] == "[" else "'%s'" % descr
    text = "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    length = "<H" if version == 1 else "<I"
    lead = 8 + struct.calcsize(length)
    text += " " * (-(lead + len(text) + 1) % 64) + "\n"
    return (b"\x93NUMPY" + bytes([version, 0]) + struct.pack(length, len(text)) + text.encode()
            + data)


def nii(dim, code, bits, data, order="<", sform=0, qform=0, units=2, slope=0.0, flip=False):
    h = bytearray(352)

    def put(at, form, *value):
        struct.pack_into(order + form, h, at, *value)

    put(0, "i", 348)
    put(40, "8h", len(dim), *dim, *[1] * (7 - len(dim)))
    put(70, "2h", code, bits)
    put(76, "8f", 1, 2, 2.5, 3, 1, 1, 1, 1)
    put(108, "3f", 352, slope, 0.5)
    h[123] = units
    put(252, "2h", qform, sform)
    put(256, "6f", 0, 0, 0.70710678 if qform else 0, -1, -2, -3)
    put(280, "12f", -2.0 if flip else 2.0, 0, 0, 1, 0, 2.5, 0, 2, 0, 0, 3, 3)
    h[344:348] = b"n+1\0"
    return bytes(h) + data


def nii2(dim, code, bits, data, order="<", tilt=0.0):
    """NIfTI-2; `tilt`: oblique rows."""
    h = bytearray(544)

    def put(at, form, *value):
        struct.pack_into(order + form, h, at, *value)

    put(0, "i", 540)
    h[4:12] = b"n+2\0\r\n\x1a\n"
    put(12, "2h", code, bits)
    put(16, "8q", len(dim), *dim, *[1] * (7 - len(dim)))
    put(104, "8d", 1, 2, 2.5, 3, 1, 1, 1, 1)
    put(168, "q", 544)
    put(176, "2d", 2, 0.5)
    put(344, "2i", 0, 1)
    put(400, "12d", 2, tilt, 0, 1, -tilt, 2.5, 0, 2, 0, 0, 3, 3)
    put(500, "i", 2)
    return bytes(h) + data


def ecat(frames, patient=3, code=6, next_block=2):
    """ECAT 7, frames of 2 x 3 x 1 voxels: a main header, a block of the directory, two blocks a frame."""
    main = bytearray(512)
    main[:9] = b"MATRIX72v"
    struct.pack_into(">3h", main, 46, 72, 962, 7)
    struct.pack_into(">f2h", main, 144, 2.5, 1, 0)
    struct.pack_into(">h", main, 330, patient)
    main[466:471] = b"Bq/cc"
    entries = b"".join(struct.pack(">4i", 0x1010001 + k, 3 + 2 * k, 4 + 2 * k, 1) for k in range(frames))
    data = (struct.pack(">4i", 31 - frames, next_block, 0, frames) + entries).ljust(512, b"\0")
    for k in range(frames):
        sub = bytearray(1024)
        struct.pack_into(">5h4f", sub, 0, code, 3, 2, 3, 1, 0, 0.5, 0, 1)
        struct.pack_into(">f", sub, 26, 0.25 * (k + 1))
        struct.pack_into(">3f2i", sub, 34, 0.2, 0.25, 0.3, 60000, 60000 * k)
        struct.pack_into(">6h", sub, 512, *range(-2, 4))
        data += sub
    return bytes(main) + data


def dicom(implicit=False, z=0, more=b"", without=None, syntax=None, pet_ms=None):
    """One CT slice of 3 x 2 voxels, or one of PET, of a frame at `pet_ms`."""
    def element(group, number, vr, value):
        if (group, number) == without:
            return b""
        value += (b"\0" if vr == b"UI" else b" ") * (len(value) % 2)
        if implicit and group != 2:
            return struct.pack("<2HI", group, number, len(value)) + value
        long = vr in (b"OW", b"SQ", b"UN")
        return struct.pack("<2H", group, number) + vr + struct.pack("<HI" if long else "<H", *[0] * long, len(value)) + value

    known = b"1.2.840.10008.1.2" if implicit else b"1.2.840.10008.1.2.1"
    values = [(0x0002, 0x0010, b"UI", syntax or known), (0x0008, 0x0060, b"CS", b"CT"), (0x0018, 0x0050, b"DS", b"4"),
              (0x0018, 0x0060, b"DS", b"120"), (0x0020, 0x000e, b"UI", b"1.2.3"),
              (0x0020, 0x0032, b"DS", b"1\\2\\%d" % z), (0x0020, 0x0037, b"DS", b"1\\0\\0\\0\\1\\0"),
              (0x0028, 0x0010, b"US", b"\2\0"), (0x0028, 0x0011, b"US", b"\3\0"), (0x0028, 0x0030, b"DS", b"2\\2.5"),
              (0x0028, 0x0100, b"US", b"\x10\0"), (0x0028, 0x0101, b"US", b"\x0c\0"), (0x0028, 0x0102, b"US", b"\x0b\0"),
              (0x0028, 0x0103, b"US", b"\0\0"), (0x0028, 0x1052, b"DS", b"-1024"), (0x0028, 0x1053, b"DS", b"1"),
              (0x0028, 0x1054, b"LO", b"HU")]
    if pet_ms is not None:
        values += [(0x0008, 0x0060, b"CS", b"PT"), (0x0054, 0x1001, b"CS", b"BQML"), (0x0054, 0x1300, b"DS", b"%d" % pet_ms)]
    return (bytes(128) + b"DICM" + b"".join(element(*v) for v in values) + more
            + element(0x7fe0, 0x0010, b"OW", struct.pack("<6H", *range(6))))


# A sequence of an item in a sequence, neither with its length.
NESTED = (struct.pack("<2H2sHI", 0x0040, 0x0275, b"SQ", 0, 0xffffffff) + struct.pack("<2HI", 0xfffe, 0xe000, 0xffffffff)
          + struct.pack("<2H2sHI", 0x0040, 0x0008, b"UN", 0, 0xffffffff) + struct.pack("<2HI", 0xfffe, 0xe000, 4) + b"text"
          + struct.pack("<2HI", 0xfffe, 0xe0dd, 0) + struct.pack("<2HI", 0xfffe, 0xe00d, 0)
          + struct.pack("<2HI", 0xfffe, 0xe0dd, 0))


def raw(data=b"", **description):
    return json.dumps({"version": 1, "data_file": "x.raw", **description}).encode() + b"\0" + data


def events(n):
    draw = random.Random(1)
    return b"".join(struct.pack("<7f", *(draw.uniform(-300, 300) for _ in range(7)))
                    for _ in range(n))


HSCAN = ("modality: PET\nscanner name: s\nnumber of elements: 4\nnumber of crystals in layer: 3,1\n"
         "crystals size depth: 20,10 # mm\nmean depth of interaction: 7,-1\n"
         "min angle difference: 10\n")


def castor(records, data, mode="list-mode", hscan=HSCAN, **keys):
    header = {"Data filename": "x.Cdf", "Number of events": records, "Data mode": mode,
              "Data type": "PET", "Start time (s)": 0, "Duration (s)": 60, "Scanner name": "s",
              **{k.replace("_", " "): v for k, v in keys.items()}}
    text = "# seed\n" + "".join("%s: %s\n" % item for item in header.items())
    return text.encode() + b"\0" + hscan.encode() + b"\0" + data


def geom(elements, layers=1, **keys):
    """Spaces of keys are _; a number that stands alone is that of every layer."""
    keys = {"scanner_radius": 60, "number_of_rsectors": 4, "number_of_crystals_transaxial": 3,
            "number_of_crystals_axial": 2, "crystals_size_depth": 10, "crystals_size_transaxial": 4,
            "crystals_size_axial": 5, **keys}
    text = "modality: PET\nscanner name: g # seed\nnumber of elements: %d\nnumber of layers: %d\n" % (elements, layers)
    for key, v in keys.items():
        text += "%s: %s\n" % (key.replace("_", " "), v if isinstance(v, str) else ",".join([str(v)] * layers))
    return text.encode()
def interfile_text(values, keys):
    text = "!INTERFILE :=\n" + "".join("%s := %s\n" % item for item in keys.items()) + "!END OF INTERFILE :=\n"
    return text.encode() + b"\0" + struct.pack("<%df" % values, *range(values))


def interfile(values, dimensions=4, **keys):
    return interfile_text(values, {
        "name of data file": "x.s", "imagedata byte order": "LITTLEENDIAN", "!number format": "float",
        "!number of bytes per pixel": 4, "applied corrections": "{None}", "number of dimensions": dimensions,
        "matrix axis label [4]": "segment", "!matrix size [4]": 3,
        "matrix axis label [3]": "view", "!matrix size [3]": 2,
        "matrix axis label [2]": "axial coordinate", "!matrix size [2]": "{3,5,3}",
        "matrix axis label [1]": "tangential coordinate", "!matrix size [1]": 3,
        "minimum ring difference per segment": "{-2,-1,1}", "maximum ring difference per segment": "{-1,1,2}",
        "Number of rings": 3, "Number of detectors per ring": 8, "Inner ring diameter (cm)": 10,
        "Average depth of interaction (cm)": .5, "Distance between rings (cm)": .6,
        "effective central bin size (cm)": .7, "View offset (degrees)": -7.5, **keys})


def interfile_image(values, **keys):
    axes = {}
    for a, n in (1, 2), (2, 3), (3, 4):
        axes.update({"!matrix size [%d]" % a: n, "scaling factor (mm/pixel) [%d]" % a: 2.5})
    return interfile_text(values, {
        "name of data file": "x.s", "imagedata byte order": "LITTLEENDIAN", "!number format": "float",
        "!number of bytes per pixel": 4, "number of dimensions": 3, **axes, **keys})


TOF = {"TOF information flag": 1, "TOF resolution (ps)": 300,
       "List TOF measurement range (ps)": 2000}
CORRECTIONS = {"Attenuation correction flag": 1, "Coincidence kind flag": 1,
               "Scatter correction flag": 1, "Random correction flag": 1,
               "Normalization correction flag": 1}


PETLINK = """!INTERFILE:=
!originating system:=2008
%SMS-MI header name space:=PETLINK bin address
!data offset in bytes:=0
name of data file := x.l
isotope name:=F-18
isotope branching factor:=0.97
%patient orientation:=HFS
number of rings:=64
distance between rings (cm):=0.40625
gantry crystal radius (cm):=32.8
%number of TOF time bins:=1
image duration (sec):=900
%total listmode word counts:=6
%LM event and tag words format (bits):=32
%axial compression:=1
%maximum ring difference:=60
%number of projections:=344
%number of views:=252
"""


def petlink(words, header=PETLINK):
    return header.encode() + b"\0" + struct.pack("<%dI" % len(words), *words)


GATE = b".dat\n"  # the suffix, as the target wants it before the file


def gate(volumes=6, mask=None, event=5, compton=0):
    words = []
    for s in range(2):
        single = ["0", str(event), "0", "1.5", "2", "3", "1.250000000001", ".511",
                  "%g" % (100 - 200 * s), "-2e1", "3", " ".join("012345"[:volumes]),
                  str(compton * s), "0", "0", "0", "0", "0"]
        words += [w for i, w in enumerate(single) if mask is None or mask[18 * s + i] == "1"]
    return " ".join(words).encode() + b"\n"


# ---- ROOT: big-endian, objects within objects ----

def root_text(text):
    return bytes([len(text)]) + text.encode()


def root_object(version, data):
    return struct.pack(">IH", 0x40000000 | len(data) + 2, version) + data


def root_named(name):
    return root_object(1, bytes(10) + root_text(name) + root_text(""))


def root_key(place, kind, name, data, stored=None):
    """stored: the data as they are packed."""
    texts = root_text(kind) + root_text(name) + root_text("")
    head = 26 + len(texts)
    stored = data if stored is None else stored
    return struct.pack(">ihiihhii", head + len(stored), 4, len(data), 0, head, 1, place, 100) + texts + stored


def root_array(*items):
    return root_object(3, bytes(10) + b"\0" + struct.pack(">ii", len(items), 0) + b"".join(items))


def root_item(kind, data):
    body = b"\xff\xff\xff\xff" + kind.encode() + b"\0" + data
    return struct.pack(">I", 0x40000000 | len(body)) + body


def root_branch(name, form, n, place, size, version=13):
    leaf = root_object(1, root_object(2, root_named(name) + struct.pack(">3i2bi", 1, struct.calcsize(form), 0, 0, 0, 0))
                       + bytes(2 * struct.calcsize(form)))
    io = root_object(0, bytes(5))
    return root_object(version, root_named(name) + root_object(2, bytes(4)) + struct.pack(">4iq", 1, 32000, 0, 1, n)
                       + (io if version >= 13 else b"") + struct.pack(">3i4q", 0, 1, 99, n, 0, 0, 0)
                       + root_array() + root_array(root_item("TLeaf" + {"f": "F", "d": "D", "i": "I"}[form], leaf))
                       + root_array() + struct.pack(">biBqBqb", 1, size, 1, 0, 1, place, 0))


def root_pack(data, letters=b"ZL", body=None):
    body = zlib.compress(data) if body is None else body
    return letters + b"\x08" + struct.pack("<I", len(body))[:3] + struct.pack("<I", len(data))[:3] + body


def root_file(columns, version=20, packed=False, tree="Coincidences", kind="TTree"):
    """columns: {name: (form, numbers)}."""
    n = len(next(iter(columns.values()))[1])
    data, branches = bytearray(160), b""
    for name, (form, numbers) in columns.items():
        place, values = len(data), struct.pack(">%d%s" % (n, form), *numbers)
        head = 26 + 8 + 1 + len(name) + 1 + 19
        stored = root_pack(values) if packed else values
        basket = struct.pack(">ihiihhii", head + len(stored), 4, len(values), 0, head, 1, place, 100)
        basket += root_text("TBasket") + root_text(name) + root_text("")
        data += basket + struct.pack(">hiiiib", 3, 32000, 0, n, head + len(values), 0) + stored
        branches += root_item("TBranch", root_branch(name, form, n, place, len(data) - place, 13 if version > 18 else 12))
    array = root_object(3, bytes(10) + b"\0" + struct.pack(">ii", len(columns), 0) + branches)
    io = root_object(0, bytes(5))
    body = root_named(tree) + root_object(2, bytes(6)) + root_object(2, bytes(4)) + root_object(2, bytes(8))
    body += struct.pack(">5qd4i", n, 0, 0, 0, 0, 1, 0, 0, 0, 0)
    body += (struct.pack(">i", 1) if version > 18 else b"") + bytes(48)
    body += (b"\1" + bytes(8) + b"\1" + bytes(8) if version > 18 else b"") + (io if version > 19 else b"")
    body = root_object(version, body + array + root_array() + bytes(28))
    at = len(data)
    data += root_key(at, kind, tree, body, root_pack(body) if packed else None)
    keys = struct.pack(">i", 1) + root_key(at, kind, tree, body, root_pack(body) if packed else None)[:26 + 3 + len(kind + tree)]
    keys = root_key(len(data), "TFile", "x", keys)
    data[0:32] = struct.pack(">4s7i", b"root", 62400, 100, len(data) + len(keys), 0, 0, 0, 0)
    data[100:130] = struct.pack(">h7i", 5, 0, 0, len(keys), 0, 100, 0, len(data))
    return b".root\n" + bytes(data) + keys



GATE_9 = {"globalPos%s%d" % (a, k): ("f", [10.5 * k, -20.0, 400.25 - k]) for k in (1, 2) for a in "XYZ"}
GATE_9_TIMES = {"time1": ("d", [0.5, 0.75, 2]), "time2": ("d", [0.5, 0.750000000125, 2])}
GATE_9_TRUES = {name + k: ("i", [0, 0, int(k == "1")]) for name in ("eventID", "comptonPhantom", "RayleighPhantom")
                for k in "12"}
GATE_10 = {"PostPosition_%s%d" % (a, k): ("d", [10.5 * k, -20.0]) for k in (1, 2) for a in "XYZ"}


def checkpoint(key="0000000000000009"):
    items = [{"name": "x", "type": "real", "n": 4, "bytes": 4},
             {"name": "loglik", "type": "double", "n": 2, "bytes": 8},
             {"name": "done", "type": "int64", "n": 1, "bytes": 8}]
    header = json.dumps({"isotome": "0.1.0", "key": key, "items": items}).encode()
    body = struct.pack("<4f2dq", 1, 2, 3, 4, -5.5, -5.25, 2)
    return b"ISOTOMEC" + struct.pack("<II", 1, len(header)) + header + body + b"\0" * 8


def srm(final=False, ranges=1, **other):
    """2 x 2 crystals, one voxel a pitch, two planes: one column of two elements. The target puts the
    checksums right."""
    parts = [("sens", struct.pack("<4d", .5, .25, .25, 0)), ("ptr", struct.pack("<2q", 0, 2)),
             ("at", struct.pack("<2I", 40, 49)), ("weight", struct.pack("<2f", .125, .0625)),
             ("classes", struct.pack("<4Q", 6, 2, 4, 0)), ("counts", bytes([40, 4, 9, 2]))]
    sections, data = [], b""
    for name, part in parts[:4 if final else 6]:
        data += bytes(-len(data) % 64)
        sections.append({"name": name, "offset": len(data), "bytes": len(part),
                         "xxh3": "%016x" % len(sections)})
        data += part
    text = json.dumps({
        "version": "0.1.0", "command": "srm", "source": "transport", "symmetry": "auto",
        "swap": True, "seed": 1,
        "scanner": {"kind": "panels", "crystals": [2, 2], "pitch_mm": [2.0, 2.0],
                    "crystal_mm": [2.0, 2.0, 10.0], "gap_mm": 10.0, "layers": 1, "block": 0,
                    "material": {"formula": "LuYSiO5", "density": 7.0},
                    "energy": {"resolution": 0.2, "window_kev": [250.0, 750.0]},
                    "time": {"fwhm_ns": 0.0, "coincidence_ns": 0.0}, "readout": "head",
                    "voxels_per_pitch": [1, 1], "planes": 2, "plane_mm": 2.0},
        "physics": {"centroid": False, "first_layer": False, "no_rayleigh": False,
                    "no_reentry": False, "acollinearity": False, "positron": None, "outcomes": 1},
        "pairs": [{"seed": 1, "first": 16 * i, "n": 8} for i in range(ranges)],
        "bound": {"share": 0.8, "min_weight": 0.0, "per_column": 0.0, "max_offset": 0,
                  "least_weight": 0.0, "kept": 1.0},
        "noise": {"core_counts": 2.0, "core_elements": 1.0, "once": 0.5, "usable_elements": 2},
        "sections": sections, **other}).encode()
    data = bytes(-(64 + len(text)) % 64) + data
    head = b"ISOSRM\r\n" + struct.pack("<IIqqQ", 1, 0, len(text), 64 + len(text) + len(data), 0)
    return head + bytes(24) + text + data


# ---- descriptions ----

CYLINDER = {
    "kind": "cylinder", "name": "a ring", "radius_mm": 330, "rings": 4, "ring_pitch_mm": 5.0,
    "crystals_per_ring": 24, "crystal_mm": [4, 4, 20], "block": {"crystals": 12, "gap_mm": 0.5},
    "interaction_depth_mm": 7, "min_crystal_distance": 4, "max_ring_difference": 3,
    "pair_weight": "solid-angle", "tof": {"fwhm_ps": 390, "bin_ps": 83},
}
PANELS = {
    "kind": "panels", "crystals": [4, 6], "pitch_mm": [2.4, 2.0], "crystal_mm": [2.1, 2.0, 20],
    "gap_mm": 50, "layers": 2, "block": 2, "material": {"formula": "(Lu0.9Y0.1)2SiO5", "density": 7.1},
    "voxel_mm": [0.6, 0.5], "planes": 100, "plane_mm": 0.5,
    "energy": {"resolution": 0.2, "window_kev": [250, 750]},
    "time": {"fwhm_ns": 1.5, "coincidence_ns": 10}, "readout": "block",
}
TRANSDUCERS = {
    "kind": "transducers", "sphere": {"radius_mm": 65, "rings": 4, "views": 6, "polar_deg": [14, 83],
                                      "azimuth_deg": 3, "azimuth_step_deg": 20},
    "aperture_mm": [2, 2], "speed_mm_per_us": 1.54, "sampling_mhz": 20, "first_sample_us": 17.5,
    "samples": 100, "grueneisen": 2000,
}
TRANSDUCER_LIST = {
    "kind": "transducers", "positions": "x.npy", "normals": "x.npy", "aperture_mm": [1, 3],
    "centre_mm": [0, 0, 1], "radius_mm": 2, "speed_mm_per_us": 1.5, "sampling_mhz": 40, "samples": 9,
}
DETECTORS = {"kind": "detectors", "positions": "x.npy", "tof": {"fwhm_ps": 250}}
SHAPES = {
    "shapes": [
        {"type": "sphere", "centre_mm": [1, 2, 3], "radius_mm": 12, "activity": 8},
        {"type": "ellipsoid", "radius_mm": [45, 70, 80], "activity": 0, "mu_per_mm": 0.0027},
        {"type": "cylinder", "radius_mm": [150, 115], "length_mm": 200, "axis": "x",
         "mu_per_mm": 0.0096},
        {"type": "box", "size_mm": [30, 30, 200], "activity": 1e3},
        {"type": "point", "centre_mm": [0, 41, -30], "activity": 5.0e4},
        {"type": "line", "from_mm": [-20, 61, -60], "to_mm": [40, 61, 60], "activity": 500},
    ],
    "grid": {"n": [10, 20, 30], "voxel_mm": [4, 4, 4], "centre_mm": [0, 0, 1]},
}
NEMA = {
    "spheres": [{"centre_mm": [57.2, 0, 0], "diameter_mm": 10, "ratio": 4}],
    "background": [{"centre_mm": [106, 36]}, {"centre_mm": [62, 36]}], "slices_mm": [-10, 0, 10],
    "lung": {"centre_mm": [0, 0], "diameter_mm": 30},
}
RECORD = {
    "isotome": "0.1.0", "verb": "phantom", "command": "isotome phantom -o x.nii",
    "parameters": {
        "output": "x.nii", "method": "osem", "flag": True, "iterations": 4, "grid": [8, 9, 10],
        "fwhm": 390.5, "centre": [0.5, -1, 2], "device": "cpu", "threads": None,
        "memory-limit": 1.5,
    },
    "inputs": [{"name": "e.lmdT", "bytes": 28, "xxh64": "0123456789abcdef"}],
    "times_s": {"read": 0.001}, "warnings": ["none"], "results": {},
}


def msot(n=2, samples=3, waves=(700, 800), records=2, more=b""):
    def tag(name, value, **attributes):
        words = "".join(' %s="%s"' % (k.replace("_", "-"), v) for k, v in attributes.items())
        return "<%s%s>%s</%s>" % (name, words, value, name)
    nm = [tag("WAVELENGTH", w, unit="m", unit_modifier="n") for w in waves]
    places = "".join(tag("PROJECTION", "".join(
        tag("VALUE", v, axis_ref=a + 1) for a, v in enumerate((.04 - .08 * (k % 2), .001 * k, 0))))
        for k in range(n))
    frames = "".join(tag("DataModelScanFrame", tag("Frame", nm[k % len(nm)] + tag("TEMPERATURE", 30.5)))
                     for k in range(records))
    text = tag("P", tag("SAMPLING-FREQUENCY", 40, unit="Hz", unit_modifier="M") +
               tag("SPEED-OF-SOUND-BASE", -90) + tag("TrimSpeedOfSound", 43) +
               tag("FRAME-DESC", places) + tag("RECORDED-LENGTH", samples) +
               tag("WAVELENGTHS", "".join(nm)) + tag("ScanFrames", frames))
    return ('<?xml version="1.0" encoding="utf-8"?>\n' + text).encode() + b"\0" + \
        bytes(k % 251 for k in range(2 * n * samples * records)) + more


def yaml(value, indent=0):
    """Block style, as people write it."""
    pad = "  " * indent
    if isinstance(value, dict) and indent < 2:
        return "".join("%s%s:%s" % (pad, k, yaml_value(v, indent)) for k, v in value.items())
    return pad + json.dumps(value) + "\n"


def yaml_value(value, indent):
    if isinstance(value, dict):
        return "\n" + yaml(value, indent + 1)
    if isinstance(value, list) and isinstance(value[0], dict):
        return "\n" + "".join("%s- %s\n" % ("  " * (indent + 1), json.dumps(v)) for v in value)
    return " %s\n" % (value if isinstance(value, str) else json.dumps(value))


PARTS = ("prompts", "trues", "scatter", "randoms")    # of the counts of a record with scatter


def npz(packed):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", packed) as z:
        z.writestr("indptr.npy", npy("<i4", "(3,)", struct.pack("<3i", 0, 1, 2)))
        z.writestr("data.npy", npy("<f4", "(2,)", struct.pack("<2f", 1, 2)))
        z.writestr("format.npy", npy("|S3", "()", b"csr"))
    return made.getvalue()


def seeds():
    floats = struct.pack("<24f", *range(24))
    for packed in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        yield "npy", f"zip-{packed}", npz(packed)
    yield "npy", "float32", npy("<f4", "(2, 3, 4)", floats)
    yield "npy", "fortran-big-endian", npy(">f8", "(2, 3)", struct.pack(">6d", *range(6)),
                                           fortran=True)
    yield "npy", "version-2-bool", npy("|b1", "(5,)", b"\0\1\0\1\1", version=2)
    yield "npy", "single-number", npy("<i8", "()", struct.pack("<q", -5))
    yield "nifti", "float32.nii", nii([2, 3, 4], 16, 32, floats)
    yield "nifti", "rows-scaled.nii", nii([2, 3, 1, 2], 2, 8, bytes(range(12)), sform=1, slope=2.0)
    yield "nifti", "flipped.nii", nii([2, 3, 4], 256, 8, bytes(24), sform=1, flip=True)
    yield "nifti", "turned-big-endian.nii", nii([3, 2], 4, 16, bytes(12), order=">", qform=1)
    yield "nifti", "two.nii", nii2([2, 3, 4], 16, 32, floats)
    yield "nifti", "two-big-endian-oblique.nii", nii2([3, 2], 4, 16, bytes(12), order=">", tilt=0.5)
    packed = gzip.compress(nii([2, 3, 4], 16, 32, floats), mtime=0)
    yield "nifti", "float32.nii.gz", packed
    yield "nifti", "two-members.nii.gz", gzip.compress(nii([1], 2, 8, b""), mtime=0) + \
        gzip.compress(b"\7", mtime=0)
    yield "nifti", "ecat-one.v", ecat(1)
    yield "nifti", "ecat-frames-on-the-side.v", ecat(3, patient=5)
    yield "nifti", "ecat-floats.v", ecat(1, code=5)
    yield "nifti", "ecat-unknown-patient-long-directory.v", ecat(2, patient=8, next_block=3)
    yield "dicom", "explicit", dicom()
    yield "dicom", "implicit", dicom(implicit=True)
    yield "dicom", "two", dicom() + b"NEXT" + dicom(implicit=True, z=5)
    yield "dicom", "sequences", dicom(more=NESTED)
    yield "dicom", "packed", dicom(syntax=b"1.2.840.10008.1.2.4.70")
    yield "dicom", "pet-frames", dicom(pet_ms=5000) + b"NEXT" + dicom(implicit=True, pet_ms=1000)
    yield "dicom", "without-position", dicom(without=(0x0020, 0x0032))
    yield "raw", "image", raw(floats, type="float32", shape=[2, 3, 4], voxel_mm=[1, 2.5, 3],
                              centre_mm=[0, -1, 1e2], unit="1/mm")
    yield "raw", "big-endian", raw(bytes(10), type="uint16", byte_order="big", offset_bytes=4,
                                   shape=[3])
    yield "raw", "record", b'{"verb": "phantom", "array": ' + \
        raw(bytes(6), type="int8", shape=[6]).replace(b"\0", b"}\0", 1)
    plain = struct.pack("<3I", 7, 0, 1)
    tof = struct.pack("<If2I", 7, -120, 2, 1)
    six = struct.pack("<If", 7, 2) + b"\1" + struct.pack("<4f2I", .5, 4, 1.5, -120, 0, 3)
    bins = struct.pack("<I3f", 7, 2, .5, 1.5) + struct.pack("<6f2I", 1, .1, 2, .2, 0, .3, 0, 1)
    yield from (("petsird", name, data) for name, data in petsird_seeds())
    yield "castor", "plain", castor(2, plain * 2)
    yield "castor", "tof", castor(2, tof * 2, **TOF)
    yield "castor", "six", castor(2, six * 2, **TOF, **CORRECTIONS)
    yield "castor", "quantised", castor(2, tof * 2, **TOF, **{
        "List TOF quantization bin size (ps)": 50})
    yield "castor", "lines", castor(1, struct.pack("<IH4I", 7, 2, 0, 1, 2, 3), **{
        "Maximum number of lines per event": 2})
    yield "castor", "interaction", castor(1, struct.pack("<I10f2I", 7, *[0] * 10, 0, 1), **{
        "POI info flag": 1, "POI resolution": "-1, 1, 2", "Emission point flag": 1})
    yield "castor", "histogram", castor(1, struct.pack("<If2I", 7, 3, 0, 1), "histogram")
    yield "castor", "bins", castor(1, bins, "histogram", **TOF, **CORRECTIONS, **{
        "Histo TOF number of bins": 3, "Histo TOF bin size (ps)": 100})
    yield "castor", "keys", castor(2, plain * 2, **{
        "Data filename": "/scans/x.Cdf", "Maximum axial difference mm": "20,20", "Isotope": "F-18",
        "Calibration factor": 2.5, "Bed position": 3})
    yield "geom", "plain", geom(24)
    yield "geom", "two-layers", geom(384, 2, number_of_modules_transaxial=2, number_of_submodules_axial=2,
                                     number_of_rsectors_axial=2, rsector_gap_axial=1.5, module_gap_transaxial=.5,
                                     submodule_gap_axial=.25, crystal_gap_transaxial=.1, crystal_gap_axial=.2,
                                     rsectors_first_angle=15, rsectors_angular_span=180,
                                     mean_depth_of_interaction="4,-1", rsectors_nbZShift="2", rsectors_ZShift="0,2.5",
                                     rotation_direction="CCW", min_angle_difference="40", field_of_view_axial="48")
    yield "geom", "lenient", geom(24).replace(b"transaxial: 4", b"trans: 4 mm").replace(b"60", b"60.5.")
    yield "geom", "within", geom(48, number_of_modules_axial=2, submodule_gap_axial=1, gap=3)
    # prompts, delayeds, a time, another tag; an end in a gap; a bin beyond the last
    words = [0x40000000 + 5 * 344 + 172, 5 * 344 + 172, 0x80000007, 0xffff0000, 0x40000000 + 354028090, 344 * 252]
    yield "petlink", "plain", petlink(words)
    yield "petlink", "gap", petlink(words + [0x40000000 + 172])
    yield "petlink", "beyond", petlink(words + [0x7fffffff])
    yield "petlink", "feet-first", petlink(words, PETLINK.replace("HFS", "FFP"))
    yield "petlink", "offset", petlink([0] * 2 + words, PETLINK.replace("bytes:=0", "bytes:=8"))
    yield "petlink", "one-plane", petlink(words[:4], PETLINK.replace("difference:=60", "difference:=0"))
    yield "petlink", "span", petlink(words, PETLINK.replace("compression:=1", "compression:=11"))
    yield "interfile", "span", interfile(2 * 5 * 3 + 2 * 2 * 3 * 3)
    yield "interfile", "by-axial", interfile(2 * 5 * 3 + 2 * 2 * 3 * 3, **{
        "matrix axis label [3]": "axial coordinate", "!matrix size [3]": "{3,5,3}",
        "matrix axis label [2]": "view", "!matrix size [2]": 2})
    yield "interfile", "tof", interfile(3 * (2 * 5 * 3 + 2 * 2 * 3 * 3), dimensions=5, **{
        "matrix axis label [5]": "timing positions", "matrix size [5]": 3, "TOF mashing factor": 2,
        "Size of unmashed TOF time bins (ps)": 100, "TOF timing resolution (ps)": 300,
        "TOF bin order": "{0, 1, -1}"})
    yield "interfile", "arc-feet-first", interfile(2 * 5 * 3 + 2 * 2 * 3 * 3, **{
        "applied corrections": "{arc correction}", "patient orientation": "feet_in",
        "patient rotation": "prone"})
    pairs = {"!matrix size [3]": 4, "!matrix size [2]": "{2,3,2}", "minimum ring difference per segment": "{-1,0,1}",
             "maximum ring difference per segment": "{-1,0,1}"}
    yield "interfile", "blocks", interfile(4 * 7 * 3, **pairs, **{
        "Scanner geometry (BlocksOnCylindrical/Cylindrical/Generic)": "BlocksOnCylindrical",
        **{"%s in %s direction%s" % (key, axis, unit): v for axis, n in (("transaxial", 2), ("axial", 1))
           for key, unit, v in (("number of blocks per bucket", "", 1), ("number of crystals per block", "", n),
                                ("distance between blocks", " (cm)", 2), ("distance between crystals", " (cm)", .9))}})
    yield "interfile", "map", interfile(4 * 7 * 3, **pairs, **{
        "Scanner geometry (BlocksOnCylindrical/Cylindrical/Generic)": "Generic", "Name of crystal map": "x.s"})
    yield "interfile", "name", interfile(8 * 2, **{
        "originating system": "RATPET", "!matrix size [4]": 1, "!matrix size [3]": 2, "!matrix size [2]": "{8}",
        "!matrix size [1]": 1, "minimum ring difference per segment": "{0}",
        "maximum ring difference per segment": "{0}", "Number of rings": "", "Number of detectors per ring": "",
        "Inner ring diameter (cm)": "", "View offset (degrees)": ""})
    yield "interfile", "image", interfile_image(2 * 3 * 4)
    yield "interfile", "image-offset", interfile_image(2 * 3 * 4, **{
        "first pixel offset (mm) [1]": -3.5, "patient orientation": "FFP", "image scaling factor [1]": .5})
    yield "interfile", "image-castor", interfile_image(2 * 3 * 4, **{"version of keys": "CASToRv3.1"})
    yield "events", "gate-full", GATE + gate() * 3 + gate(compton=1) + b"\n" + gate(event=6)
    yield "events", "gate-ecat", GATE + gate(3)
    mask = "110000101111101000" * 2
    yield "events", "gate-masked", GATE + mask.encode() + b"\0" + gate(6, mask) + gate(6, mask, compton=1)
    yield "events", "gate-bare", GATE + b"0 0 0 0 0 0 0 0 1 1 1 0 0 0 0 0 0 0 " * 2 + b"\0" + \
        gate(6, "000000001110000000" * 2)
    yield "events", "csv-ends", b".csv\n# x\nx1_mm;y1;z1;x2;y2;z2;dt_ns;time_s\n100;1;2;-100;4;5;.06;1e-3\n;;;;;;;\n"
    yield "events", "csv-crystals", b".csv\n\"crystal1\",crystal2,dt_ps\n0,9,60\n15,4,-7\n1.5,2,3\n"
    yield "poses", "own", b"# isotome poses 1\n# rule: step\ntime_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n" \
        b"0,1,0,0,0,0,0,0\n3,.9,.1,0,-.2,1,2,3\n4,nan,nan,nan,nan,nan,nan,nan\n6,1,0,0,0,0,0,0\n"
    yield "poses", "matrix", b"time_s;r00;r01;r02;r10;r11;r12;r20;r21;r22;z_mm\n1;1;0;0;0;1;0;0;0;1;5\n"
    yield "poses", "gantry", b"\xef\xbb\xbftime_s\tangle_deg\r\n0\t0\r\n9\t720\r\n"
    yield "poses", "yrt", b"0,1,0,0,1,0,1,0,2,0,0,1,3,0\n2500,0,-1,0,0,1,0,0,0,0,0,1,-4,0.5\n"
    row = [100, 1, 2, -100, 4, 5, 60]
    yield "events", "root-plain", root_file(GATE_9)
    yield "events", "root-times", root_file({**GATE_9, **GATE_9_TIMES}, packed=True)
    yield "events", "root-trues", root_file({**GATE_9, **GATE_9_TRUES}, packed=True)
    yield "events", "root-old", root_file(GATE_9, version=18)
    yield "events", "root-gate-10", root_file(GATE_10, version=19)
    yield "events", "root-ntuple", root_file(GATE_9, kind="ROOT::RNTuple", packed=True)
    yield "events", "npy-seven", b".npy\n" + npy("<f4", "(2, 7)", struct.pack("<14f", *row, *row))
    yield "events", "npy-six-big-endian", b".npy\n" + npy(">f8", "(1, 6)", struct.pack(">6d", *row[:6]))
    yield "events", "npy-three", b".npy\n" + npy("<i8", "(2, 3)", struct.pack("<6q", 0, 9, 60, 15, 4, -7))
    yield "events", "npy-eight", b".npy\n" + npy("<f4", "(2, 8)", struct.pack("<16f", *row, 5, *row, 7.5))
    yield "events", "npy-four", b".npy\n" + npy("<u2", "(2, 4)", struct.pack("<8H", 0, 9, 60, 5, 15, 4, 7, 8))
    yield "events", "npy-records", b".npy\n" + npy(
        "[('time_ms', '<u4'), ('', '|V2'), (('a', 'dt_ps'), '<f4'), ('p1', '<f4', (3,)), ('p2', '>i2', (3,)), "
        "('name', '<U1')]", "(2,)", (struct.pack("<IHf3f", 7, 0, -60, *row[:3]) + struct.pack(">3h4x", *row[3:6])) * 2)
    yield "events", "npy-crystal-records", b".npy\n" + npy(
        "[('crystal1', '|u1'), ('crystal2', '|i1'), ('time_s', '<f8')]", "(2,)", struct.pack("<2Bd", 0, 4, .5) * 2)
    yield "events", "npy-two", b".npy\n" + npy("|u1", "(3, 2)", bytes([0, 4, 1, 5, 15, 11]))
    triples = struct.pack("<6f", 30, -20, -50, 140.5, 20, -60)
    yield "strip", "floats", b"b" + triples
    yield "strip", "floats-with-bad-ones", b"b" + triples + struct.pack("<3f", *[float("nan")] * 3)
    yield "strip", "text", b"t# z_up z_down dl\n30 -20 -5e1\n\n140.5\t20 -60 # two\nnan 1 2\n1 2 3"
    yield "strip", "npy", b"n" + npy("<f4", "(2, 3)", triples)
    yield "strip", "npy-big-endian", b"n" + npy(">i2", "(1, 3)", struct.pack(">3h", 30, -20, -50))
    yield "strip", "ellipses", b"e# top first\nellipse 0 0 30 60 0 0.3\nellipse 5 -6 12e1 110 -40 .1\n"
    yield "strip", "shapes", b"eunit_mm 10\nadditive\npoint 1 2 5\nrectangle 0 0 3 6 0.3\nellipse 5 -6 12 11 -40 .1\n"
    yield "ipasc", "right", bytes(range(100, 112)) + b"\xff\xfe\xff\xff\xff\xff\xff\xfd" + b"\xff" * 60
    yield "ipasc", "rank-two", bytes(range(200, 212)) + b"\xff\xff\xff\xff\xff\xff\xff\xfd" + b"\xff" * 60
    yield "ipasc", "nothing", b""
    table = bytes([3, 2, 0, 0, 1, 0, 7, 1, 1, 8, 5])  # rows; blocks: 8 reals from the first name on, 6 whole numbers
    yield "table", "right", table + bytes(200) + bytes(range(200))
    yield "table", "trues", table + bytes(200)
    yield "table", "nothing", b""
    yield "table", "names", bytes([2, 6] + [0] + [0, 2, 0] + [2, 2, 1] + [0, 2, 2] + [4, 2, 3] + [0, 2, 4] + [0, 2, 5])
    yield "ipasc", "texts", b"\xf0" * 13 + b"\1" * 5 + b"\xff" + b"\2\5abcde" * 9
    yield "ipasc", "numbers", b"\xf0" * 13 + b"\7\1\2\200\201" * 12
    yield "msot", "plain", msot()
    yield "msot", "one-wavelength", msot(1, 2, (700,), 3)
    yield "msot", "last-frame-missing", msot(records=3)
    yield "msot", "truncated", msot(more=b"x")
    yield "events", "lmdt-one", b".lmdT\n" + events(1)
    yield "events", "lmdt-some", b".lmdT\n" + events(5)
    yield "events", "lmdt-with-bad-ones", b".lmdT\n" + events(2) + struct.pack("<7f", *[float("nan")] * 7) + bytes(28)
    for reader, write in (("yaml", yaml), ("json", json.dumps)):
        yield reader, "cylinder", write(CYLINDER).encode()
        yield reader, "panels", write(PANELS).encode()
        yield reader, "detectors", write(DETECTORS).encode()
        yield reader, "transducers", write(TRANSDUCERS).encode()
        yield reader, "transducer-list", write(TRANSDUCER_LIST).encode()
        yield reader, "shapes", write(SHAPES).encode()
        yield reader, "nema", write(NEMA).encode()
        yield reader, "shapes-without-grid", write({"shapes": SHAPES["shapes"][:2]}).encode()
    yield "yaml", "quoted", b"kind: \"cyl\\x69nder\"\nname: 'a''b'\nrings: 1 # one\n--- \n"
    yield "yaml", "block-text", b"kind: |\n  cylinder\nname: >-\n  a\n  b\n? rings\n: 2\n"
    yield "sidecar", "whole", json.dumps(RECORD, indent=2).encode()
    for name, record in UNIT_RECORDS.items():
        yield "units", name, json.dumps(record, indent=2).encode()
    yield "sidecar", "short", b'{"verb": "phantom", "parameters": {"output": "x.nii"}}'
    yield "srm", "whole", srm()
    yield "srm", "final", srm(final=True)
    yield "checkpoint", "whole", checkpoint()
    yield "checkpoint", "other-key", checkpoint("000000000000000a")
    yield from command_seeds()


# ---- what whole commands are run on; files they name are those of tests/fuzz/cmd/fixtures.h ----

STRIPS = {"kind": "strips", "radius_mm": 130, "length_mm": 300, "sigma_z_mm": 10, "sigma_dl_mm": 40}
# small ones: a target runs ten commands on each
SMALL_RING = {**CYLINDER, "radius_mm": 100, "rings": 2, "crystals_per_ring": 12, "min_crystal_distance": 2,
              "max_ring_difference": 1, "block": {"crystals": 6, "gap_mm": 0.5}}
SCALE = {"model": "ray", "attenuation": "map", "norm": "none", "projector": "slice", "rays": 1, "trues-only": False,
         "scanner": "ring", "crystals": 192, "pairs": 13248, "radius_mm": 64.0, "pair_weight": "uniform"}
UNIT_RECORDS = {  # a phantom's, its calibration, an image to be put into a data set
    "phantom": {"verb": "recon", "Units": "counts/mm", "FrameTimesStart": [0], "FrameDuration": [600],
                "parameters": {"isotope": "F-18", "started-at": "2026-11-16T10:00:00"}, "results": {"scale": SCALE}},
    "half-life": {"verb": "recon", "Units": "counts/mm", "FrameTimesStart": [0], "FrameDuration": [600],
                  "parameters": {"half-life-s": 100, "branching": 0.5}, "results": {"scale": SCALE}},
    "calibration": {"isotome": "0.2.0", "calibration": {"K": 12.5, "standard_error": 0.1, "made_with": SCALE}},
    "becquerel": {"verb": "recon", "Units": "Bq/mL", "FrameTimesStart": [0, 300], "FrameDuration": [300, 300],
                  "ReconMethodName": "osem", "ReconMethodParameterValues": [8, 3], "ReconFilterType": "gaussian",
                  "parameters": {"isotope": "F-18", "started-at": "10:00:00Z", "injected-at": "09:00Z",
                                 "dose-mbq": 370, "residual-mbq": 20}, "results": {"scale": SCALE}},
    "suv": {"verb": "recon", "Units": "g/mL", "FrameDuration": [300], "ReconMethodName": "mlem",
            "parameters": {"half-life-s": 100}},
}
SMALL_PANELS = {**PANELS, "crystals": [2, 2], "planes": 2, "plane_mm": 5, "gap_mm": 20,
                "voxel_mm": [2.4, 2.0], "block": 1}
SMALL_ARRAY = {**TRANSDUCERS, "sphere": {"radius_mm": 20, "rings": 2, "views": 3, "polar_deg": [60, 120]},
               "samples": 30, "first_sample_us": 8, "sampling_mhz": 4}
RUNS = [
    ["info", "x.nii", "e.lmdT", "m.srm", "ring.yaml", "c.Cdh", "t.hdf5", "--json"],
    ["phantom", "shapes.yaml", "--grid", "4,3,2", "--voxel", "9", "-o", "a.nii", "--mu", "b.nii"],
    ["phantom", "--list"],
    ["simulate", "ring.yaml", "x.nii", "--counts", "30", "--mu", "mu.nii", "--randoms", "0.1",
     "--bent", "0.1", "--singles", "n.npy", "-o", "a.Cdh"],
    ["simulate", "panels.yaml", "x.nii", "--physics", "--decays", "300", "--list", "l.npy", "-o", "a.npy"],
    ["simulate", "panels.yaml", "--point", "0,0,0", "--pairs", "100"],
    ["simulate", "array.yaml", "balls.yaml", "--noise", "0.01", "-o", "a.hdf5"],
    ["srm", "panels.yaml", "--pairs", "50", "-o", "a.srm"],
    ["norm", "ring.yaml", "e.lmdT", "--source", "cylinder:0,0,0,20,20", "--relative", "-o", "a.norm.json"],
    ["norm", "panels.yaml", "lors.npy", "--expected", "lors.npy", "--relative", "-o", "a.npy"],
    ["sens", "ray", "--scanner", "ring.yaml", "--mu", "mu.nii", "--grid", "3", "--voxel", "20", "-o", "a.nii"],
    ["project", "ray", "x.nii", "--events", "e.lmdT", "--tof-fwhm-ps", "300", "-o", "a.npy"],
    ["backproject", "sradon", "t.npy", "--scanner", "array.yaml", "--grid", "3", "--voxel", "4", "-o", "a.nii"],
    ["recon", "ray", "--events", "e.lmdT", "--scanner", "ring.yaml", "--grid", "3", "--voxel", "20",
     "--method", "osem", "--subsets", "2", "--iterations", "2", "--psf", "9", "--filter", "gaussian:9",
     "--save-every", "1", "-o", "a.nii"],
    ["recon", "ray", "--events", "c.Cdh", "--delayed", "d.Cdh", "--coincidence-ns", "4", "--sens", "none",
     "--frames", "0,4,10", "--isotope", "F-18", "--grid", "3", "--voxel", "20", "--stream", "--block", "9",
     "--scratch", ".", "-o", "a.nii.gz"],
    ["recon", "strip", "--scanner", "strips.yaml", "--events", "s.f32", "--pixel", "40", "--iterations", "2",
     "--kernel", "tan", "-o", "a.nii"],
    ["recon", "strip", "--scanner", "strips.yaml", "--events", "s.f32", "--pixel", "40", "--follow", "-o", "a.nii"],
    ["recon", "srm", "--srm", "m.srm", "--data", "lors.npy", "--iterations", "2", "-o", "a.nii"],
    ["recon", "ubp", "--data", "t.hdf5", "--grid", "3", "--voxel", "4", "--speeds", "1.4,1.6,3", "-o", "a.nii"],
    ["recon", "svoxel", "--data", "t.npy", "--scanner", "array.yaml", "--grid", "3", "--voxel", "2",
     "--iterations", "2", "--penalty", "quadratic:0.1", "--curve", "c.csv", "-o", "a.nii"],
    ["recon", "sradon", "--data", "t.npy", "--scanner", "array.yaml", "--grid", "3", "--voxel", "4",
     "--iterations", "2", "--penalty", "tv:0.1", "--nonneg", "-o", "a.nii"],
    ["recon", "c.Cdh", "--voxel", "40", "--iterations", "1", "-o", "a.nii"],
    ["recon", "e.lmdT", "--voxel", "40", "--iterations", "1", "-o", "a.nii"],
    ["info", "c.Cdh", "--plot", "a.png"],
    ["recon", "--like", "r.json", "--iterations", "3", "-o", "a.nii"],
    ["filter", "median:3", "x.nii", "-o", "a.nii"],
    ["measure", "roi", "x.nii", "--sphere", "0,0,0,18", "--json"],
    ["measure", "profile", "x.nii", "--from", "-50,0,0", "--to", "50,0,0", "-o", "p.csv"],
    ["measure", "fwhm", "x.nii", "--below", "5"],
    ["measure", "diff", "x.nii", "r.nii"],
    ["view", "x.nii", "-o", "a.png", "--kind", "mip"],
    ["convert", "c.Cdh", "a.lmdT", "--force"],
    ["convert", "s.f32", "a.txt", "--event-unit-mm", "10"],
    ["report", "r.nii", "--truth", "x.nii", "--title", "a", "-o", "a.html"],
    ["bench", "ray", "--repeats", "1"],
    ["bench", "oat", "--operator", "ubp", ";", "bench", "oat"],
    ["recon", "ray", "--events", "e.lmdT", "--sens", "none", "--grid", "3", "--voxel", "20", "--stop-after", "1e-6",
     "-o", "a.nii", ";", "recon", "ray", "--events", "e.lmdT", "--sens", "none", "--grid", "3", "--voxel", "20",
     "--resume", "-o", "a.nii"],
    ["reproduce", "wang2013", "--scale", "tiny", "-o", "p"],
    ["demo", "strip", "-o", "d"],
    ["help", "recon"],
    ["bench", "end-to-end", "--cases", "plain,srm", "--events", "1e5,1e6", "--plot", "a.svg"],
    ["motion", "c.Cdh", "--grid", "3,3,3", "--voxel", "20", "--frame-s", "5", "--events-per-frame", "3", "--rounds", "2",
     "--reference-frames", "1", "--picture", "a.svg", "-o", "a.csv"],
    ["resample", "x.nii", "--like", "r.nii", "--shift", "1,2,3", "-o", "a.nii"],
    ["nema", "resolution", "e.lmdT", "--scanner", "ring.yaml", "-o", "n.html"],
    ["warp", "x.nii", "--field", "u.nii", "--field-axes", "lps", "--adjoint", "--mass", "-o", "a.nii"],
    ["gate", "t.csv", "--levels=1,2", "-o", "g.csv", ";", "gate", "e.lmdT", "--from-data", "pca", "--phase", "4", "--band", "0.1,0.5",
     "--frame-s", "1", "--signal", "s.csv", "-o", "h.csv"],
    ["timing", "ring.yaml", "e.lmdT", "--source", "cylinder:0,0,0,50,50", "--coincidence-ns", "4", "--randoms-share", "0.2", "--per-crystal",
     "-o", "t.json"],
    ["rates", "t.csv", "--half-life-s", "60", "--background", "-o", "r.json"],
    ["mu", "x.nii", "--kvp", "120", "--like", "r.nii", "--smooth", "9", "--shift", "1,2,3", "-o", "a.nii"],
    ["recon", "ray", "--events", "e.lmdT", "--scanner", "ring.yaml", "--grid", "3", "--voxel", "20", "--iterations", "1",
     "--duration-s", "9", "--isotope", "C-11", "--calibration", "3.5", "--suv", "--weight-kg", "70", "--dose-mbq", "300",
     "--residual-mbq", "2", "--injected-at", "23:30", "--started-at", "2026-11-16T00:10:15", "-o", "a.nii"],
    ["calibrate", "x.nii", "--concentration", "5", "--at", "09:15", "--started-at", "10:00", "--roi",
     "cylinder:0,0,0,9,9,x", "-o", "k.json"],
    ["bids", "x.nii", "--subject", "01", "--session", "a", "--tracer-name", "FDG", "-o", "study"],
    ["view", "x.nii", "--overlay", "r.nii", "--at", "0,0,0", "-o", "a.html"],
]


def likes():
    ray = {"model": "ray", "events": "e.lmdT", "scanner": "ring.yaml", "grid": [3, 3, 3],
           "voxel": [20.0, 20.0, 20.0], "method": "mlem", "iterations": 2, "output": "a.nii"}
    yield "recon", "recon", ray
    yield "streamed", "recon", {**ray, "method": "osem", "subsets": 2, "stream": True, "block": 9, "tof-fwhm-ps": None}
    yield "frames", "recon", {**ray, "events": "c.Cdh", "frames": "0,4,10", "filter": "gaussian:9"}
    yield "sound", "recon", {"model": "sradon", "data": "t.npy", "scanner": "array.yaml", "grid": [3, 3, 3],
                             "voxel": 4, "iterations": 2, "nonneg": True, "output": "a.nii"}
    yield "phantom", "phantom", {"name": "shapes.yaml", "output": "a.nii", "mu": "b.nii", "grid": [3, 3, 3]}
    yield "simulate", "simulate", {"scanner": "ring.yaml", "image": "x.nii", "output": "a.lmdT", "counts": 20,
                                   "exact": True, "seed": 3}
    yield "filter", "filter", {"filter": "median:3", "input": "x.nii", "output": "a.nii"}
    yield "srm", "srm", {"source": "panels.yaml", "output": "a.srm", "pairs": 40, "symmetry": "none"}
    yield "sens", "sens", {**{k: ray[k] for k in ("model", "scanner", "grid", "voxel", "output")}}


def command_seeds():
    for name, scanner in (("cylinder", SMALL_RING), ("panels", SMALL_PANELS), ("detectors", DETECTORS),
                          ("strips", STRIPS), ("transducers", SMALL_ARRAY)):
        yield "cmd_scanner", name, yaml(scanner).encode()
        yield "cmd_scanner", name + "-json", json.dumps(scanner).encode()
    for name, shapes in (("shapes", SHAPES), ("few", {"shapes": SHAPES["shapes"][:2]}), ("nema", NEMA),
                         ("smooth", {"smooth_fwhm_mm": 2, "shapes": SHAPES["shapes"][:1]})):
        yield "cmd_shapes", name, yaml(shapes).encode()
        yield "cmd_shapes", name + "-json", json.dumps(shapes).encode()
    yield "cmd_shapes", "ellipses", b"# top first\nellipse 0 0 30 60 0 0.3\nellipse 5 -6 12e1 110 -40 .1\n"
    rows = [0, 0, 0, 0, 0, 0, 0, .25, 1, 0, 0, 1, 0, -1, 0, .125]
    yield "cmd_import", "npy", npy("<f4", "(2, 8)", struct.pack("<16f", *rows))
    yield "cmd_import", "bytes", bytes([0, 0, 0, 0, 0, 0, 0, 64, 1, 0, 0, 1, 0, 255, 0, 32])
    yield "cmd_report", "image", json.dumps(RECORD).encode() + b"\0" + nii([3, 3, 3], 16, 32, bytes(108))
    yield "cmd_report", "record", json.dumps({
        **RECORD, "verb": "recon", "inputs": [{"name": "x.nii", "bytes": 460, "xxh64": "0"},
                                              {"name": "e.lmdT", "bytes": 9, "xxh64": "1"}],
        "results": {"loglik": [-9.5, -8, -7.25], "image": {"max": 3}}, "Units": "counts/mm"}).encode()
    yield "cmd_report", "scatter", json.dumps({
        **RECORD, "verb": "recon", "parameters": {"scatter-error": 0.01}, "results": {"scatter": {
            "method": "sss+mc", "counts": 1120, "share": 0.28, "randoms_share": 0.1, "c": 1.1, "error": 0.02,
            "outside_matter": 0.2, "map_cut": True, "ends_active": False,
            "rounds": [{"c": 0.75, "scale": 0.75, "trues": 900, "scatter": 250, "share": 0.25, "change": None}],
            "seen": {"s_mm": [-90, 90], "z_mm": [-40, 50], "beside": {"counts": 130, "expected": 100},
                     "over_s": {p: [1, 9.5, 2] for p in PARTS}, "over_z": {p: [5, 6] for p in PARTS},
                     "sinogram": {"s": 3, "phi": 2, "step": 2.5, **{p: ["1 9 2", "0 8 1"] for p in PARTS}}}}}}).encode()
    for name, verb, parameters in likes():
        yield "cmd_like", name, json.dumps({"isotome": "0.1.0", "verb": verb, "parameters": parameters}).encode()
    for i, words in enumerate(RUNS):
        yield "cmd_argv", "%02d-%s" % (i, words[0]), "\n".join(words).encode()


# ---- up to 1 MiB that should not take a second ----

def fill(text, size=ROOM):
    return text * (size // len(text))


def numbered(form, size=ROOM):
    parts, total, i = [], 0, 0
    while total + len(form % i) <= size:
        parts.append(form % i)
        total += len(parts[-1])
        i += 1
    return "".join(parts)


def slow_yaml():
    yield "tags", numbered("%%TAG !%x! x\n") + "---\nkind: cylinder\n"
    yield "tags-after-break", "\u0085" + "\u0085".join(
        numbered("%%TAG !%x! x\n", LARGE // 2).split("\n"))
    yield "tags-behind", "kind: cylinder\n...\n" + numbered("%%TAG !%x! x\n")
    yield "version", fill("%YAML 1.1\n")
    yield "deep-flow", "a: " + fill("[")
    yield "deep-flow-lines", "a: " + fill("[\n")
    yield "deep-flow-maps", fill("{a: ")
    yield "deep-block", fill("- ")
    yield "deep-question", fill("? ")
    yield "deeper-and-deeper", "".join(" " * i + "a:\n" for i in range(1400))
    yield "list", "shapes: [" + fill("1,") + "1]"
    yield "list-of-empty", "shapes: [" + fill("[],") + "1]"
    yield "list-of-maps", "shapes: [" + fill("{a: },") + "1]"
    yield "list-lines", "shapes:\n" + fill("- 1\n")
    yield "long-key", fill("k") + ": 1"
    yield "keys", numbered("k%x: 1\n")
    yield "maps-of-keys", "shapes: [" + fill("{" + numbered("k%x: 1, ", 900) + "}, ") + "]"
    yield "digits", "kind: cylinder\nrings: " + fill("9")
    yield "zeros", "kind: cylinder\nrings: 0." + fill("0") + "1"
    yield "comments", fill("#\n")
    yield "breaks", fill("\n")
    yield "blanks", fill(" ")
    yield "tabs", fill("\t")
    yield "quoted", "a: \"" + fill("\\x41") + "\""
    yield "quoted-blanks", "a: \"" + fill("x  \n  ") + "\""
    yield "plain-lines", "a: " + fill("x\n ")
    yield "plain-blanks", "a: x" + fill(" ") + "y"
    yield "block-lines", "a: |\n" + fill("  x\n")
    yield "block-breaks", "a: >\n" + fill("\n") + "  x"
    yield "colons", fill("a: ")
    yield "simple-keys", fill("a\n")
    yield "anchors", "a: [" + numbered("&a%x 1, ") + "]"
    yield "documents", fill("---\n")
    yield "shapes", "shapes:\n" + fill("- {type: point, centre_mm: [1, 2, 3], activity: 1}\n")
    yield "unknown-shapes", "shapes:\n" + fill("- {type: %s, activity: 1}\n" % ("x" * 64))
    yield "most-crystals", yaml({**CYLINDER, "rings": 1000, "crystals_per_ring": 10000,
                                 "block": {"crystals": 10}})
    yield "most-crystals-of-a-ring", yaml({**CYLINDER, "rings": 1, "crystals_per_ring": 10000000,
                                           "block": {"crystals": 10}})
    yield "most-rings", yaml({**CYLINDER, "rings": 5000000, "crystals_per_ring": 2,
                              "min_crystal_distance": 1, "block": {"crystals": 1}})


def slow_json():
    yield "deep-lists", fill("[")
    yield "deep-maps", fill('{"a":')
    yield "deep-closed", '{"a":' + fill("[", 2000) + fill("]", 2000) + "}"
    yield "list", '{"shapes": [' + fill("1,") + "1]}"
    yield "list-of-lists", '{"shapes": [' + fill("[],") + "1]}"
    yield "keys", "{" + numbered('"k%x":1,') + '"k":1}'
    one = "{" + numbered('"k%x":1,', 900) + '"k":1},'
    yield "maps-of-keys", '{"shapes": [' + fill(one) + "1]}"
    yield "escapes", '{"a": "' + fill("\\u00e9") + '"}'
    yield "text", '{"a": "' + fill("x") + '"}'
    yield "digits", '{"rings": 0.' + fill("0") + "1}"
    yield "blanks", fill(" \n") + "{}"


def slow():
    for name, text in slow_yaml():
        yield "yaml", name, text.encode()
    for name, text in slow_json():
        yield "json", name, text.encode()
        yield "sidecar", name, text.encode()
        yield "sidecar", "parameters-" + name, \
            b'{"verb": "phantom", "parameters": {"output": "x", "flag": ' + text.encode() + b"}}"
        yield "raw", name, text.encode() + b"\0x"
    yield "npy", "header", npy("<f4", "(" + fill(" ", ROOM - 4096) + "1,)", bytes(4), version=2)
    yield "npy", "transposed", npy("|u1", "(1000, 1000)", bytes(1000000), fortran=True)
    yield "npy", "eight-axes", npy("|u1", "(5, 5, 5, 5, 5, 5, 5, 5)", bytes(5 ** 8), fortran=True)
    yield "nifti", "flipped.nii", nii([1000, 1000, 1], 2, 8, bytes(1000000), sform=1, flip=True)
    yield "nifti", "members.nii.gz", fill(gzip.compress(b"", mtime=0))
    yield "nifti", "bomb.nii.gz", gzip.compress(nii([512, 512, 64], 2, 8, bytes(1 << 24)), mtime=0)
    yield "ipasc", "many", fill(b"\xf0\7")
    yield "table", "many", fill(b"\x14\x08\0\3")
    yield "msot", "records", msot(2, 3, (700,), 4000)
    yield "msot", "deep", fill(b"<a>")
    yield "msot", "attributes", b"<a " + numbered('b%x="1" ').encode() + b"/>"
    yield "msot", "text", b"<WAVELENGTHS><WAVELENGTH>" + fill(b"7")
    yield "msot", "entities", b"<!DOCTYPE a [" + numbered('<!ENTITY a%x "b">', LARGE // 2).encode() + b"]>"
    yield "events", "lmdt-many", b".lmdT\n" + fill(events(100))
    yield "strip", "lines", b"t" + fill(b"1 2 3\n")
    yield "strip", "blanks", b"t" + fill(b" \n")
    yield "strip", "long-numbers", b"t" + fill(b"1." + b"0" * 50 + b"1 2 3\n")
    yield "strip", "ellipses", b"e" + fill(b"ellipse 0 0 1 1 0 1\n")
    yield "strip", "comments", b"e" + fill(b"#\n")
    yield "dicom", "deep", dicom(more=fill(struct.pack("<2HI", 0xfffe, 0xe000, 0xffffffff), ROOM - 1024))
    yield "dicom", "elements", dicom(more=fill(struct.pack("<2H2sH", 0x0040, 0x0275, b"LO", 0), ROOM - 1024))
    yield "castor", "keys", numbered("k%x: 1\n").encode()
    yield from (("petsird", name, data) for name, data in petsird_slow(ROOM))
    yield "castor", "colons", fill(b":")
    yield "interfile", "keys", b"!INTERFILE :=\n" + numbered("k%x := 1\n").encode()
    yield "interfile", "list", interfile(48, **{"matrix size [2]": "{" + fill("1,", LARGE // 2) + "}"})
    yield "interfile", "goes-on", b"!INTERFILE :=\n" + fill(b"\\\n")
    yield "interfile", "segments", b"!INTERFILE :=\n" + fill(b"!matrix size [ 7 ] := {1,2}\n")
    yield "castor", "list", castor(1, bytes(12), hscan=HSCAN.replace("7,-1", fill("1,", LARGE // 2)))
    yield "geom", "keys", geom(24) + numbered("k%x: 1\n", ROOM - 4096).encode()
    yield "geom", "value", geom(24, rsectors_ZShift=fill("1,", ROOM - 4096))
    yield "geom", "most", geom(30000, number_of_crystals_axial=30, number_of_crystals_transaxial=250)
    yield "castor", "many", castor(LARGE // 13, struct.pack("<3I", 7, 0, 1) * (LARGE // 13))
    yield "petlink", "many", petlink([0x40000000 + 5 * 344 + 172] * (LARGE // 8) + [0x80000001] * (LARGE // 9))
    yield "petlink", "keys", numbered("k%x:=1\n").encode()
    many = [k % 97 - 48.0 for k in range(ROOM // 24 // 6)]
    yield "events", "root-many", root_file({name: ("f", many) for name in GATE_9})
    yield "events", "root-packed", root_file({name: ("f", [0.0] * (ROOM // 5)) for name in GATE_9}, packed=True)
    yield "events", "gate-lines", GATE + fill(gate())
    yield "events", "gate-blanks", GATE + fill(b" \n")
    yield "events", "gate-columns", GATE + fill(b"1 ", 65000)
    yield "events", "gate-long-numbers", GATE + \
        gate().replace(b"1.250000000001", b"1." + b"0" * 50) * 1000
    yield "events", "npy-many", b".npy\n" + npy("|u1", "(500000, 2)", bytes([0, 4]) * 500000)
    header = b'{"key": "' + fill(b"0", ROOM - 4096) + b'"}'
    yield "srm", "ranges", srm(ranges=24000)
    yield "srm", "text", srm(command=fill("x", ROOM - 4096))
    yield "checkpoint", "header", b"ISOTOMEC" + struct.pack("<II", 1, len(header)) + header
    header = b'{"key": "0000000000000009", "items": [' + fill(b"{},", ROOM - 4096) + b"1]}"
    yield "checkpoint", "items", b"ISOTOMEC" + struct.pack("<II", 1, len(header)) + header


def as_commands():
    """Formats of which whole commands are given the reader's own files."""
    for reader, name, data in seeds():
        if reader in ("castor", "srm", "msot", "ipasc"):
            yield "cmd_" + reader, name, data


def regressions():
    with open(REGRESSIONS) as f:
        for line in f:
            if not line.startswith("#"):
                reader, name, data = line.split(" ")
                yield reader, "regression-" + name, base64.b64decode(data)


def keep(reader, name, path):
    with open(path, "rb") as f, open(REGRESSIONS, "a") as out:
        out.write("%s %s %s\n" % (reader, name, base64.b64encode(f.read()).decode()))


def main(argv):
    large = argv[1:2] == ["--large"]
    if argv[1:2] == ["--keep"] and len(argv) == 5:
        return keep(*argv[2:])
    if len(argv) != 2 + large or argv[-1].startswith("-"):
        sys.exit(__doc__)
    for reader, name, data in slow() if large else (*seeds(), *as_commands(), *regressions()):
        assert len(data) <= max(LARGE, 1 << 20), (reader, name, len(data))
        os.makedirs(os.path.join(argv[-1], reader), exist_ok=True)
        with open(os.path.join(argv[-1], reader, name), "wb") as f:
            f.write(data)


main(sys.argv)
