#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Events as NumPy arrays: end points or crystal numbers, with and without times, of several types.
# shellcheck source=lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=events.bash
. "$SOURCE/tests/cmd/events.bash"
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
np.save("four.npy", np.ones((5, 4)))
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
run info seven.npy
out_has 'as events'

expect 3 convert three.npy o.lmdT
err_has 'a scanner must say'
for name in beyond negative half nan; do
	expect 3 convert $name.npy o.lmdT --scanner ring.yaml
	err_has "$name.npy: event 77: crystal"
done
expect 3 convert fortran.npy o.lmdT
err_has 'Fortran order'
expect 3 convert four.npy o.lmdT
err_has 'events need an array (n, 7)'
expect 3 convert flat.npy o.lmdT
expect 2 convert seven.npy o.nii --swap-dt
[ ! -e o.lmdT ] || fail "o.lmdT was left"
echo "all passed"
