#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# PETLINK list mode that NumPy wrote, as a Siemens mMR would: a point source off all axes appears where it is, delayeds
# of the same file become its randoms, and every scanner of the examples can be read.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

for s in "$SOURCE"/examples/scanners/*.yaml; do
	run info "$s"
done
mmr=$SOURCE/examples/scanners/siemens-mmr.yaml

"$PYTHON" - <<'END'
from petlink_words import *

draw = np.random.default_rng(1)
prompts = words(*lines(draw, 100000, [-50., 30., 20.]), True)[:8000]
any_place = [draw.integers(0, N, 400000) for _ in range(2)], [draw.integers(0, Z, 400000) for _ in range(2)]
delayeds = words(*any_place, False)[:40000]
both = np.concatenate([prompts, delayeds])[draw.permutation(len(prompts) + len(delayeds))]
write("both", both)
write("prompts", prompts)
write("late", both[both < 1 << 30])
END

run info both.l
! grep -q 'data file' out || fail "the words of PETLINK lie in the file itself"
out_has "bytes $(printf '%*s' 12 '')$(stat -c %s both.l)"
out_has 'PETLINK list mode'
out_has 'Siemens mMR'
out_has 'events            8000'
out_has 'delayeds          40000'
run info both.l.hdr
out_has 'events            8000'

grid="--scanner $mmr --grid 25 --voxel 4 --centre 50,-30,-20 --iterations 4"
# shellcheck disable=SC2086
run recon ray --events prompts.l $grid -o plain.nii
! grep -q delayed err || fail "a file without delayeds speaks of them"
# shellcheck disable=SC2086
run recon ray --events both.l.hdr $grid --accept randoms -o both.nii # more of them than prompts
err_has "randoms are taken from its 40000 delayed events"
# shellcheck disable=SC2086
run recon ray --events both.l $grid --delayed late.l --accept randoms -o given.nii
# shellcheck disable=SC2086
run recon ray --events both.l $grid --delayed none -o none.nii
check "where the source is, and randoms" <<'END'
import nibabel, numpy as np, json

image = {n: nibabel.load(n + ".nii").get_fdata() for n in ("plain", "both", "given", "none")}
assert (image["both"] == image["given"]).all()
assert not (image["both"] == image["none"]).all()
for name, x in image.items():
    at = np.unravel_index(x.argmax(), x.shape)
    assert at == (12, 12, 12), (name, at)
inputs = [i["name"] for i in json.load(open("both.json"))["inputs"]]
assert "both.l.hdr" in inputs and "both.l" in inputs, inputs
END

# With the scanner and the field of view of the file; its corners, where lines end, are left out.
run recon prompts.l --voxel 8 --iterations 4 -o all.nii
err_has "the field of view of Siemens mMR"
check "the source in the field of view" <<'END'
import nibabel, numpy as np

image = nibabel.load("all.nii")
x = image.get_fdata()
at = image.affine @ [*np.unravel_index(x.argmax(), x.shape), 1]
assert (abs(at[:3] - (50, -30, -20)) <= 4.1).all(), at
assert x[0, 0].max() == 0 and x[-1, -1].max() == 0 and x[0, x.shape[1] // 2].max() >= 0
END
