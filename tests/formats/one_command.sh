#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `isotome recon FILE -o IMAGE` and nothing else: the model, the scanner, the grid and the sensitivity come
# from the file, and the source is found where it is. Then what follows from such defaults: records, --like, streams,
# dry runs, and what can't be told.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

"$PYTHON" - <<'END2'
from point_source import *

n = 3000
e = Coincidences(n, 1)
write_hscan("ring")
fields = [("time", "<u4", e.time_ms), ("tof", "<f4", e.dt), ("c1", "<u4", e.c1), ("c2", "<u4", e.c2)]
tof = {"TOF information flag": 1, "TOF resolution (ps)": FWHM_PS, "List TOF measurement range (ps)": 2000}
write_castor("list", n, fields, **tof)
write_castor("plain", n, [fields[0], *fields[2:]])
write_castor("counts", n, [fields[0], ("value", "<f4", np.ones(n)), *fields[2:]], mode="histogram")
rows = np.zeros((n, 2, 18))
for s, (p, t) in enumerate(((e.p1, e.t1), (e.p2, e.t2))):
    rows[:, s, 6] = t * 1e-12
    rows[:, s, 8:11] = p
write_gate("gate.dat", rows)
write_gate("gate.txt", rows, volumes=3)
np.savetxt("ends.csv", np.hstack([e.p1, e.p2, e.dt[:, None]]), "%.4f", ",", header="x1,y1,z1,x2,y2,z2,dt_ps", comments="")
np.save("ends.npy", np.hstack([e.p1, e.p2, e.dt[:, None]]).astype("<f4"))
both = np.zeros(n, [("p1", "f4", 3), ("p2", "f4", 3), ("crystal", "i4", 2)])
both["p1"], both["p2"], both["crystal"] = e.p1, e.p2, np.stack([e.c1, e.c2], 1) + 10000000
np.save("both.npy", both)  # numbers of a scanner that is not given
np.save("crystals.npy", np.stack([e.c1, e.c2], 1))
np.save("three.npy", np.zeros((5, 3)))
open("ring.yaml", "w").write(RING_YAML)
open("strips.txt", "w").write("1 2 3\n" * 20)
np.zeros((20, 3), "<f4").tofile("strips.f32")
END2
run convert ends.npy ends.lmdT

# ---- one file, one command ----

# lies NAME IMAGE WHAT X Y Z MM: `peak`, the greatest voxel, or `mean`, the centre of mass of what is above half the
# greatest value, lies within MM of X Y Z along each axis; "-": any.
lies() {
	check "$1" "${@:2}" <<-'END2'
		import sys
		import nibabel
		import numpy as np
		image = nibabel.load(sys.argv[1])
		v = np.asarray(image.dataobj, float)
		if v.max() <= 0 or not np.isfinite(v).all():
		    sys.exit(f"{sys.argv[1]}: no image")
		w = np.where(v >= v.max() / 2, v, 0)
		at = (np.unravel_index(v.argmax(), v.shape) if sys.argv[2] == "peak" else
		      [np.average(i, weights=w) for i in np.indices(v.shape)])
		at = nibabel.affines.apply_affine(image.affine, at)
		far = [abs(a - float(b)) for a, b in zip(at, sys.argv[3:6]) if b != "-"]
		if max(far) > float(sys.argv[6]):
		    sys.exit(f"{sys.argv[1]}: {sys.argv[2]} at {at}, expected {sys.argv[3:6]}")
	END2
}

# table <<END of lines FILE WHAT X Y Z MM [OPTIONS]: recon FILE OPTIONS, looked at by lies. Files that are not among the
# samples, and formats that this build was made without, are named and left out.
table() {
	local file path image what x y z mm options
	while read -r file what x y z mm options; do
		path=$file
		[ -e "$path" ] || path=$(find "$TEST_DATA" ${ISO_FOREIGN_SAMPLES:+"$ISO_FOREIGN_SAMPLES"} \
			-name "$file" | head -n 1)
		[ -n "$path" ] || { echo "no sample $file" && continue; }
		image=${file//./-}.nii # whose record is not that of the file
		# shellcheck disable=SC2086
		if ! "$ISOTOME" recon "$path" $options -o "$image" 2>err; then
			grep -q 'this build' err || fail "recon $file"
			echo "$file: $(cat err)" && continue
		fi
		lies "$file" "$image" "$what" "$x" "$y" "$z" "$mm"
		tested=$((tested + 1))
	done
}

tested=0
table <<'END2'
list.Cdh peak 22 -14 10 4
plain.Cdh peak 22 -14 10 4
counts.Cdh peak 22 -14 10 4
ends.lmdT peak 22 -14 10 4
ends.npy peak 22 -14 10 4
ends.csv peak 22 -14 10 4
gate.dat peak 22 -14 10 4
gate.txt peak 22 -14 10 4
both.npy peak 22 -14 10 4
END2
[ "$tested" = 9 ] || fail "$tested files were reconstructed"
# samples of other formats: of the project, or of a folder that ISO_FOREIGN_SAMPLES names
table <<'END2'
point-0.7.2.petsird peak 25 -12 6 5
point-0.12.0.petsird peak 25 -12 6 5
coinc-none.root peak 30 -15 8 5 --voxel 4 --sens none
cylinder.hs mean -30 20 - 5
point-tof.hs peak -40 -15 0 8 --no-multiplicity
END2
# the same events otherwise written
[ "${ISO_TEST_FULL:-0}" != 1 ] || table <<'END2'
point-0.9.1.petsird peak 25 -12 6 5
coinc-zlib.root peak 30 -15 8 5
coinc-lz4.root peak 30 -15 8 5
coinc-zstd.root peak 30 -15 8 5
coinc-lzma.root peak 30 -15 8 5
coinc-gate10.root peak 30 -15 8 5
coinc-gate10.hdf5 peak 30 -15 8 5
END2

# ---- what is said of it ----

run recon list.Cdh --preset none -o said.nii
run recon list.Cdh --iterations 1 --sens none -o one.nii
err_has 'the field of view of ring'
run recon ends.lmdT --iterations 1 -o assumed.nii
err_has 'does not say what scanner it is of; assumed, from the ends of its events: cylinder of radius 100'
check "records" <<'END2'
from checks import *
r = record("said.json")
p, a = r["parameters"], record("assumed.json")
require(p["model"] == "ray" and p["events"] == "list.Cdh", f"parameters {p}")
require(p["grid"] is p["voxel"] is p["scanner"] is p["centre"] is None, f"parameters {p}")
require(r["results"]["scanner"] == {"name": "ring", "crystals": 2160, "assumed": False}, f"{r['results']}")
require(a["results"]["scanner"]["assumed"] and "radius 100" in a["warnings"][0], f"{a['warnings']}")
END2

run info list.Cdh ends.lmdT
out_has 'scanner from      the file'
out_has 'scanner from      the ends of events'
out_has 'field of view     n 90, 90, 47; voxel_mm 2, 2, 2'
run info list.Cdh --plot plot.png
run info ring.yaml --plot plain.png
check "pictures" <<'END2'
from checks import *
import struct, zlib
def pixels(path):
    b = open(path, "rb").read()
    w, h = struct.unpack(">II", b[16:24])
    data, at = b"", 8
    while at < len(b):
        n = struct.unpack(">I", b[at:at + 4])[0]
        data += b[at + 8:at + 8 + n] if b[at + 4:at + 8] == b"IDAT" else b""
        at += 12 + n
    return np.frombuffer(zlib.decompress(data), np.uint8).reshape(h, 1 + 3 * w)
for name in "plot", "plain":
    require(pixels(name + ".png").shape[0] > 600, f"{name}.png")
END2
expect 2 info list.Cdh --plot plot.png
err_has 'exists'
expect 2 info list.Cdh ring.yaml --plot both.png
err_has '--plot draws one file'
expect 2 info "$SOURCE/examples/scanners/bialas2015.yaml" --plot strips.png
err_has 'has no crystals to draw'

# ---- the same by other words ----

run recon ray list.Cdh --iterations 1 --sens none -o word.nii
same word.nii one.nii
run sens list.Cdh -o sens.nii
run recon --events=list.Cdh --sens sens.nii -o told.nii
run recon -o late.nii --sens sens.nii list.Cdh
run recon ray --events list.Cdh --scanner ring.hscan --sens sens.nii -o scanner.nii
run recon --like said.json --sens sens.nii -o like.nii
run recon list.Cdh --sens sens.nii --stream --block 1000 -o stream.nii
for x in told late scanner like stream; do
	check "$x" $x <<-'END2'
		import sys
		from checks import *
		near(sys.argv[1], image(sys.argv[1] + ".nii"), image("said.nii"), 0)
	END2
done
# a file that is given takes the place of the record's
run recon plain.Cdh --like said.json --sens sens.nii -o plain2.nii
run recon plain.Cdh --sens sens.nii -o plain.nii
same plain.nii plain2.nii
run project said.nii --events list.Cdh -o rows.npy
run backproject rows.npy --events list.Cdh -o back.nii
run recon gate.txt --dry-run -o dry.nii
out_has 'memory for'
[ ! -e dry.nii ] || fail "a dry run wrote"

# ---- one of grid and voxel, or a centre ----

run recon list.Cdh --voxel 5 --iterations 1 --sens none -o voxel.nii
err_has 'grid of 36 x 36 x 21 voxels of 5 x 5 x 5 mm'
run recon list.Cdh --grid 45,45,24 --iterations 1 --sens none -o grid.nii
err_has 'grid of 45 x 45 x 24 voxels of 4 x 4 x 4 mm'
run recon list.Cdh --voxel 5 --centre 10,0,0 --iterations 1 --sens none -o centre.nii
check "centre" <<'END2'
from checks import *
near("moved", np.ravel([b - a for a, b in zip(centres("voxel.nii"), centres("centre.nii"))]).reshape(3, -1).T,
     np.tile([10, 0, 0], (36 * 36 * 21, 1)), 1e-4)
END2

# ---- what can't be told ----

expect 2 recon lits -o x.nii
err_has "'lits' is not a model"
expect 3 recon none.Cdh -o x.nii
err_has 'none.Cdh: No such file'
expect 3 recon --events none.Cdh -o x.nii
err_has 'none.Cdh: No such file'
expect 3 recon said.nii -o x.nii
err_has 'said.nii: this is an image or an array, and no measured data; command view shows it'
expect 3 recon three.npy -o x.nii
err_has 'name the model'
expect 3 recon crystals.npy -o x.nii
err_has 'holds crystal numbers'
expect 2 recon -o x.nii
err_has 'MODEL is missing'
expect 2 recon strips.txt -o x.nii
err_has 'scanner'
expect 2 recon strips.f32 -o x.nii
err_has 'scanner'
[ ! -e x.nii ] || fail "a failed run left an image"
"$PYTHON" -c 'import numpy as np
r = np.random.default_rng(1).normal(size=(500, 7)).astype("<f4")
r[:, [0, 3]] += 100
np.save("aside.npy", r)'
expect 3 recon aside.npy -o x.nii
err_has 'does not say what scanner it is of, and ends lie'
