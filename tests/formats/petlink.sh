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

# Head first, supine: our axes are STIR's with all signs changed.
"$PYTHON" - <<'END'
import numpy as np

N, Z, VIEWS, BINS, R, PITCH = 504, 64, 252, 344, 335., 4.0625
draw = np.random.default_rng(1)


def lines(n, source):
    """Lines through a point of STIR's axes in all directions, as places and rings of their ends."""
    way = draw.normal(size=(n, 3))
    a = way[:, 0] ** 2 + way[:, 1] ** 2
    b = way[:, 0] * source[0] + way[:, 1] * source[1]
    root = np.sqrt(b * b + a * (R * R - source[0] ** 2 - source[1] ** 2))
    ends = [source + way * ((s * root - b) / a)[:, None] for s in (1, -1)]
    places = [np.rint(np.arctan2(p[:, 0], -p[:, 1]) / (2 * np.pi) * N).astype(int) % N for p in ends]
    rings = [np.rint(p[:, 2] / PITCH + (Z - 1) / 2).astype(int) for p in ends]
    return places, rings


def words(places, rings, prompt):
    (d1, d2), (r1, r2) = places, rings
    t = (d1 - d2 + N // 2 + N // 2) % N - N // 2
    view = (d1 - (t >> 1)) % N
    turn = view >= VIEWS  # the same line from its other end
    d1, d2, r1, r2 = np.where(turn, (d2, d1, r2, r1), (d1, d2, r1, r2))
    t = (d1 - d2 + N // 2 + N // 2) % N - N // 2
    view = (d1 - (t >> 1)) % N
    q = r2 - r1
    good = (d1 % 9 > 0) & (d2 % 9 > 0) & (abs(q) <= 60) & (t >= -172) & (t < 172) & (view < VIEWS)
    good &= (np.minimum(r1, r2) >= 0) & (np.maximum(r1, r2) < Z)
    order = sorted(range(-60, 61), key=lambda q: (abs(q), q > 0))
    first = dict(zip(order, np.cumsum([0] + [Z - abs(q) for q in order])))
    plane = np.array([first.get(int(x), 0) for x in q]) + np.minimum(r1, r2)
    return ((int(prompt) << 30) | ((plane * VIEWS + view) * BINS + t + 172))[good].astype("<u4")


prompts = words(*lines(100000, np.array([-50., 30., 20.])), True)[:8000]
any_place = [draw.integers(0, N, 400000) for _ in range(2)], [draw.integers(0, Z, 400000) for _ in range(2)]
delayeds = words(*any_place, False)[:40000]
both = np.concatenate([prompts, delayeds])[draw.permutation(len(prompts) + len(delayeds))]
both.tofile("both.l")
prompts.tofile("prompts.l")
both[both < 1 << 30].tofile("late.l")
header = """!INTERFILE:=
!originating system:=2008
%%SMS-MI header name space:=PETLINK bin address
name of data file:=%s.l
isotope name:=F-18
image duration (sec):=1
%%patient orientation:=HFS
number of rings:=64
%%LM event and tag words format (bits):=32
%%axial compression:=1
%%maximum ring difference:=60
%%number of projections:=344
%%number of views:=252
"""
for name in "both", "prompts", "late":
    open(name + ".l.hdr", "w").write(header % name)
END

run info both.l
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
run recon ray --events both.l.hdr $grid -o both.nii
err_has "randoms are taken from its 40000 delayed events"
# shellcheck disable=SC2086
run recon ray --events both.l $grid --delayed late.l -o given.nii
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
