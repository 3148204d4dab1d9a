#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A sparse matrix of the user's own, from .npz files of every kind, against NumPy: MLEM and OSEM, data that do not fit, damage.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >small.py <<'END'
import io
import zipfile
from checks import *

NX, NY, NZ, ROWS = 6, 5, 2, 90


def dense():
    rng = np.random.default_rng(3)
    return (rng.uniform(0, 1, (ROWS, NX * NY * NZ)) * (rng.uniform(0, 1, (ROWS, NX * NY * NZ)) < .2)).astype("f4")


def lines(a):
    """indptr, indices and data of the rows of a."""
    at = [np.flatnonzero(row) for row in a]
    return dict(indptr=np.cumsum([0] + [len(i) for i in at]), indices=np.concatenate(at).astype("i4"),
                data=np.concatenate([row[i] for row, i in zip(a, at)]))


def npz(a, kind="csr"):
    return dict(format=kind.encode(), shape=np.array(a.shape), **lines(a if kind == "csr" else a.T))
END
"$PYTHON" - <<'END'
from small import *

rng = np.random.default_rng(4)
a = dense()
m, r = rng.uniform(20, 60, ROWS), rng.uniform(2, 9, ROWS)
np.savez("csr.npz", **npz(a))
np.savez_compressed("packed.npz", **npz(a))
np.savez_compressed("csc.npz", **npz(a, "csc"))
np.savez("coo.npz", **npz(a, "coo"))
np.save("y.npy", rng.poisson(m * (a @ rng.gamma(2, 1, NX * NY * NZ)) + r).astype("f4").reshape(9, 10))
np.save("m.npy", m.astype("f4"))
np.save("r.npy", r.astype("f4"))
np.save("short.npy", np.ones(7, "f4"))
bad = npz(a)
for name, key, value in (("index", "indices", 999), ("start", "indptr", 10**9), ("number", "data", np.nan)):
    one = {k: np.array(v) for k, v in bad.items()}
    one[key][5] = value
    np.savez(name + ".npz", **one)
np.savez("few.npz", **{k: v for k, v in bad.items() if k != "indices"})
whole = open("packed.npz", "rb").read()
open("cut.npz", "wb").write(whole[:len(whole) // 2])
open("torn.npz", "wb").write(whole[:300] + bytes(100) + whole[400:])
END

with=(--data y.npy --norm m.npy --additive r.npy --grid 6,5,2 --voxel 2,2,3 --sens-floor 0)
for kind in csr packed csc; do
	run recon matrix --matrix $kind.npz "${with[@]}" --method mlem --iterations 8 -o $kind.nii
	same csr.nii $kind.nii
done
run recon matrix --matrix csr.npz "${with[@]}" --method osem --subsets 4 --iterations 3 -o osem.nii
run sens matrix --matrix csr.npz --norm m.npy --grid 6,5,2 --voxel 2,2,3 -o s.nii
run project matrix csr.nii --matrix csr.npz --norm m.npy --additive r.npy -o p.npy
check "images of a matrix" <<'END'
from small import *
a, y, m, r = dense().astype(float), np.load("y.npy").ravel(), np.load("m.npy"), np.load("r.npy")


def em(k, n):
    x = np.ones(a.shape[1])
    for i in range(n * k):
        rows = slice(i % k, None, k)
        b, s = a[rows], m[rows] @ a[rows]
        to = x / np.maximum(s, 1e-30) * (b.T @ (y[rows] / (b @ x + r[rows] / m[rows])))
        x = np.where(s > 0, to, x)  # a voxel that no row of the subset sees stays
    return x


for name, want in (("csr.nii", em(1, 8)), ("osem.nii", em(4, 3))):
    got = image(name)
    require(got.shape == (NZ, NY, NX), f"{got.shape}")
    near(name, np.abs(got.ravel() - want).max() / want.max(), 0, 1e-5)
near("sensitivity", np.abs(image("s.nii").ravel() / (m @ a) - 1).max(), 0, 1e-5)
want = m * (a @ image("csr.nii").ravel()) + r
near("projection", np.abs(np.load("p.npy").ravel() / want - 1).max(), 0, 1e-5)
END

# other methods, and a run that repeats
run recon matrix --matrix csr.npz "${with[@]}" --method svrg --penalty quadratic:rel=0.1 -o svrg.nii
run recon matrix --like osem.json -o again.nii
same osem.nii again.nii

refuse() { # CODE WORDS MATRIX OPTIONS
	expect "$1" recon matrix --matrix "$3" --data y.npy "${@:4}" -o no.nii
	err_has "$2"
}
refuse 2 '--grid is missing: how the 60 columns of csr.npz are an image' csr.npz
refuse 2 'the grid has 6 x 5 x 3 = 90 voxels, csr.npz has 60 columns' csr.npz --grid 6,5,3
refuse 3 'short.npy: 7 values, csr.npz has 90 rows' csr.npz --grid 6,5,2 --norm short.npy
refuse 3 "coo.npz: a matrix of format 'coo'; tocsr() of SciPy makes one that is read" coo.npz --grid 6,5,2
refuse 3 'index.npz: index 5 is 999, must be 0 to 59' index.npz --grid 6,5,2
refuse 3 'start.npz: its indptr does not rise from 0 to' start.npz --grid 6,5,2
refuse 3 'number.npz: array data: value 5 is not finite' number.npz --grid 6,5,2
refuse 3 'few.npz: holds no array indices' few.npz --grid 6,5,2
refuse 3 'cut.npz: not a whole .npz file' cut.npz --grid 6,5,2
refuse 3 'torn.npz: ' torn.npz --grid 6,5,2
refuse 3 'y.npy: not a whole .npz file' y.npy --grid 6,5,2
[ ! -e no.nii ] || fail "a refused run leaves an image"
