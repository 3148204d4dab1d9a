#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Following a scan of a barrel: the image of one pass of OSEM over blocks, however the events come; and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >mini.yaml <<-END
	kind: barrel
	strips:
	  - {modules: 8, strips: 6, pitch_mm: 7, radius_mm: 120, width_mm: 6, depth_mm: 20, length_mm: 200}
	least_pair_distance_mm: 120
	time: {sigma_z_mm: 8, crt_fwhm_ps: 300}
END
"$PYTHON" - <<'END'
import numpy as np, nibabel as nib
z, y, x = np.meshgrid(*[(np.arange(9) - 4) * 10.0] * 3, indexing="ij")
affine = np.diag([10.0, 10, 10, 1])
affine[:3, 3] = -40
for name, v in ("activity.nii", np.hypot(x - 10, y) < 20), ("mu.nii", (np.hypot(x, y) < 35) * .0096):
    nib.save(nib.Nifti1Image(v.T.astype("f4"), affine), name)
END
run simulate mini.yaml activity.nii --mu mu.nii --counts 4000 -o e.bin5
run sens barrel --scanner mini.yaml --grid 9 --voxel 10 --mu mu.nii -o s.nii
model=(recon barrel --scanner mini.yaml --grid 9 --voxel 10 --mu mu.nii)
follow=("${model[@]}" --follow --block 1000)
run "${model[@]}" --events e.bin5 --sens s.nii --method osem --subsets 4 --iterations 1 --subset-rule blocks -o osem.npy

# pieces that end within events, a pipe, a file that grows
run "${follow[@]}" --events e.bin5 --idle-s 0.3 -o file.npy
(head -c 30001 e.bin5; sleep 0.2; tail -c +30002 e.bin5) | "$ISOTOME" "${follow[@]}" --events - -o pipe.npy >out 2>err ||
	fail "standard input: $(cat err)"
head -c 50007 e.bin5 >grows.bin5
(sleep 0.7; tail -c +50008 e.bin5 >>grows.bin5) &
run "${follow[@]}" --events grows.bin5 --idle-s 2 -o grown.npy
wait
same file.npy pipe.npy
same file.npy grown.npy
check "OSEM over blocks" <<'PY'
from checks import *
got, want = np.load("file.npy"), np.load("osem.npy")
near("image", got, want, 1e-5 * want.max())
r = record("file.npy.json")["results"]
require(r["events"]["seen"] == 4000 and r["follow"]["updates"] == 4 and r["events"]["beyond_the_strips"] >= 0, r)
require(r["follow"]["ended"] == "no more events came", r)
require(open("file.png", "rb").read(8) == b"\x89PNG\r\n\x1a\n", "no picture")
PY

# an additive term of all events, and a live page; threads change nothing
run "${follow[@]}" --events e.bin5 --idle-s 0.2 --additive 1e-7 --threads 1 -o one.npy
run "${follow[@]}" --events e.bin5 --idle-s 0.2 --additive 1e-7 --live -o two.npy
same one.npy two.npy

head -c 999 e.bin5 >cut.bin5
expect 3 "${follow[@]}" --events - -o no.npy < <(cat cut.bin5)
err_has "49 whole events of 20 bytes, and 19 bytes more"
"$PYTHON" -c 'open("other.bin5", "wb").write(bytes([200, 0, 0, 0] * 5) * 1000)'
expect 3 "${follow[@]}" --events other.bin5 --idle-s 0.1 -o no.npy
err_has "of strips that the scanner does not have"
expect 3 "${follow[@]}" --events s.nii --idle-s 0.1 -o no.npy
err_has "read as they come are .bin5, a pipe"
expect 2 "${follow[@]}" --events e.bin5 --additive e.bin5 -o no.npy
err_has "one number for all events"
expect 2 "${model[@]}" --events e.bin5 --block 2000 -o no.npy
err_has "--block needs --follow"
run "${follow[@]}" --events e.bin5 --dry-run -o no.npy
[ ! -e no.npy ] || fail "something was written"
