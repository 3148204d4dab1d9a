#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Events as NumPy arrays: end points or crystal numbers, with and without times, of several types.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
# shellcheck source=events.bash
. "$SOURCE/tests/formats/events.bash"
need_python

"$PYTHON" - <<'END'
from point_source import *

n = 3000
e = Coincidences(n, 6)
p = crystals()
ends = np.hstack([p[e.c1], p[e.c2]])
dt = e.dt[:, None]
ids = np.stack([e.c1, e.c2], 1)
np.save("seven.npy", np.hstack([ends, dt]).astype("<f4"))
np.save("seven_big.npy", np.hstack([ends, dt]).astype(">f8"))
np.save("six.npy", ends)
np.save("three.npy", np.hstack([ids, dt]))
np.save("three_int.npy", np.hstack([ids, np.round(dt)]).astype("<i8"))
np.save("two.npy", ids.astype("<u2"))
np.save("fortran.npy", np.asfortranarray(ends))
bad = np.hstack([ids, dt])
for name, v in ("beyond", 2160), ("negative", -1), ("half", .5), ("nan", np.nan):
    bad[77, 1] = v
    np.save(f"{name}.npy", bad)
np.save("five.npy", np.ones((5, 5)))
time = e.time_ms.astype(float)
np.save("eight.npy", np.hstack([ends, dt, time[:, None]]))
np.save("four.npy", np.hstack([ids, dt, time[:, None]]))
records = np.zeros(n, np.dtype([("energy", "f4"), ("time_s", "f8"), ("p2", ">f4", 3), ("flag", "?"), ("p1", "f8", 3),
                                ("dt_ps", "f4")], align=True))
records["p1"], records["p2"], records["dt_ps"], records["time_s"] = ends[:, :3], ends[:, 3:], e.dt, time / 1e3
np.save("records.npy", records)
numbers = np.zeros(n, [("crystal1", "<u2"), ("crystal2", "<i4"), ("dt_ps", "<f4"), ("time_ms", "<u4")])
numbers["crystal1"], numbers["crystal2"], numbers["dt_ps"], numbers["time_ms"] = e.c1, e.c2, e.dt, e.time_ms
np.save("numbers.npy", numbers)
np.save("strange.npy", records[["energy", "p1"]])
np.save("triples.npy", np.arange(30.).reshape(10, 3))
np.save("values.npy", np.linspace(0, 1, 70).reshape(10, 7))
np.save("flat.npy", np.ones(70))
np.save("ones.npy", np.ones(n, "<f4"))
open("ring.yaml", "w").write(RING_YAML)
END

images seven.npy ones.npy
images three.npy ones.npy --scanner ring.yaml
no_tof six.npy ones.npy
no_tof two.npy ones.npy --scanner ring.yaml
for name in seven seven_big six; do
	run convert $name.npy $name.lmdT
done
for name in three three_int two; do
	run convert $name.npy $name.lmdT --scanner ring.yaml
done
run convert seven.lmdT again.npy
run convert three.npy three.Cdh --scanner ring.yaml
run convert three.Cdh three2.lmdT
same three.lmdT three2.lmdT
check "rows" <<'END'
from checks import *
want = np.load("seven.npy")
for name in "seven", "seven_big", "six", "three", "three_int", "two":
    got = np.fromfile(name + ".lmdT", "<f4").reshape(-1, 7)
    near(name + ": ends", got[:, :6], want[:, :6], 2e-5)
    near(name + ": t2 - t1", got[:, 6], 0 * want[:, 6] if name in ("six", "two") else -want[:, 6],
         .51 if name == "three_int" else 1e-4)
again = np.load("again.npy")
require(again.dtype == "<f4" and np.array_equal(again, want), "lmdT and back is another array")
END

# ---- times: rows of eight or four, records; the events of a frame ----
images eight.npy ones.npy
images records.npy ones.npy
images numbers.npy ones.npy --scanner ring.yaml
for name in eight records; do
	run convert $name.npy $name.Cdh --scanner ring.yaml
done
for name in four numbers; do
	run convert $name.npy $name.Cdh --scanner ring.yaml
done
for name in eight records four numbers; do
	run recon ray --events $name.npy --scanner ring.yaml "${grid[@]}" --sens none --iterations 1 \
		--frames 0,20,60 -o $name.nii
done
check "times" <<'END'
from checks import *
import nibabel
want = np.load("four.npy")
for name in "eight", "records", "four", "numbers":
    got = np.fromfile(name + ".Cdf", [("t", "<u4"), ("dt", "<f4"), ("c1", "<u4"), ("c2", "<u4")])
    require((got["t"] == want[:, 3]).all(), name + ": times")
    require((got["c1"] == want[:, 0]).all() and (got["c2"] == want[:, 1]).all(), name + ": crystals")
    near(name + ": t1 - t2", got["dt"], want[:, 2], 1e-4)
a, b = (np.asarray(nibabel.load(n + ".nii").dataobj, float) for n in ("records", "numbers"))
require(a.shape[3] == 2, f"{a.shape}")
near("events of frames, from records of ends and of crystals", a, b, 1e-4 * a.max())
END

# ---- what info makes of them ----
run info seven.npy
out_has 'seven.npy: events'
out_has 'NumPy rows'
run info records.npy --json
check "info of records" <<'END'
from checks import *
i = json.load(open("out"))[0]
require(i["kind"] == "events" and i["format"] == "NumPy records" and i["events"] == 3000, f"{i}")
require(i["warnings"][0] == "not used: fields 'energy', 'flag'" and len(i["warnings"]) == 2, f"{i}")
near("times", i["time_s"], [np.load("four.npy")[:, 3].min() / 1e3, np.load("four.npy")[:, 3].max() / 1e3], 1e-9)
END
run info four.npy
out_has 'four.npy: array'
run info four.npy --scanner ring.yaml
out_has 'four.npy: events'
run info values.npy
out_has 'values.npy: array'
run info triples.npy
out_has 'as strip events'
expect 3 info strange.npy
err_has 'records of events need the fields x1 y1 z1 x2 y2 z2'

expect 3 convert three.npy o.lmdT
err_has 'a scanner must say'
for name in beyond negative half nan; do
	expect 3 convert $name.npy o.lmdT --scanner ring.yaml
	err_has "$name.npy: event 77: crystal"
done
expect 3 convert fortran.npy o.lmdT
err_has 'Fortran order'
expect 3 convert four.npy o.lmdT
err_has 'a scanner must say'
expect 3 convert five.npy o.lmdT
err_has 'events need an array (n, 7)'
expect 3 convert strange.npy o.lmdT
err_has 'records of events need the fields'
expect 3 convert flat.npy o.lmdT
expect 2 convert seven.npy o.nii --swap-dt
[ ! -e o.lmdT ] || fail "o.lmdT was left"
echo "all passed"
