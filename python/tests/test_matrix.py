# SPDX-License-Identifier: BSD-3-Clause
"""System matrices: made, cut, added, written, used as operators and by problems."""

import gc
import threading

import numpy as np
import pytest
from made import panels, program, ring

import isotome
from isotome import Matrix


@pytest.fixture
def heads(tmp_path):
    return isotome.Scanner(panels(tmp_path))


@pytest.fixture
def analytic(heads, context):
    return Matrix.analytic(heads, share=1, context=context)


def unfolded(rows, heads):
    """The whole matrix (lors, voxels) of rows without layers, by hand: shifts over the pitch cells."""
    p, g = heads.panels, heads.grid
    (ncx, ncz), (dx, dz) = p.crystals, p.per_pitch
    whole = np.zeros((ncx, ncz, ncx, ncz, *g.shape))
    plane, px, pz = rows[:, :3].astype(int).T
    for cx, cz in np.ndindex(ncx, ncz):
        hit = rows[:, 3:7].astype(int) + (cx, cz, cx, cz)
        fits = ((hit >= 0) & (hit < (ncx, ncz, ncx, ncz))).all(axis=1)
        places = (*hit[fits].T, cz * dz + pz[fits], plane[fits], cx * dx + px[fits])
        np.add.at(whole, places, rows[fits, 7])
    return whole.reshape(ncx * ncz * ncx * ncz, -1)


def images(rows, p):
    """Rows of one folded column of each class, and all their images by mirrors, head exchange and swap."""
    found = {}
    for plane, px, pz, ux, uz, lx, lz, w in rows:
        for flip_x in (0, 1):
            for flip_z in (0, 1):
                for exchange in (0, 1):
                    for swap in (0, 1):
                        a = [px, pz, ux, uz, lx, lz]
                        y = plane
                        if flip_x:
                            a[0], a[2], a[4] = p.per_pitch[0] - 1 - a[0], -a[2], -a[4]
                        if flip_z:
                            a[1], a[3], a[5] = p.per_pitch[1] - 1 - a[1], -a[3], -a[5]
                        if exchange:
                            y, a[2:] = p.planes - 1 - y, [*a[4:], *a[2:4]]
                        if swap:
                            a = [a[1], a[0], a[3], a[2], a[5], a[4]]
                        found[(y, *a)] = w
    return np.array([(*key, w) for key, w in found.items()])


def test_the_operator_is_the_rows(analytic, heads, context):
    whole = unfolded(images(analytic.rows(), heads.panels), heads)
    A = analytic.operator(context=context)
    x = np.random.default_rng(0).random(A.in_shape, dtype=np.float32)
    assert np.allclose(A(x).ravel(), whole @ x.ravel(), rtol=1e-4, atol=1e-6 * A(x).max())
    assert A.adjointness_test() < 1e-6
    for rule in ("groups", "mod", "random"):
        B = analytic.operator(subset_rule=rule, subsets=3, context=context)
        assert np.allclose(B(x), A(x), rtol=1e-4, atol=1e-6 * A(x).max())
        assert B.n_subsets == 3


def test_matrices_are_those_of_the_program(tmp_path, heads, context):
    how = ["--pairs", 20_000, "--seed", 4, "--share", 0.7]
    program("srm", heads.path, *how, "-o", "m.srm", "--export", "m.npy", folder=tmp_path)
    m = Matrix.transport(heads, pairs=20_000, seed=4, share=0.7, context=context)
    assert np.array_equal(m.rows(), np.load(tmp_path / "m.npy"))
    file = Matrix.read(tmp_path / "m.srm", context=context)
    assert np.array_equal(file.rows(), m.rows()) and file.info.command.startswith("isotome srm")
    assert file.info._replace(command="") == m.info


def test_transport_converges_to_solid_angles_and_scatter(heads, context):
    """More pairs, the same probability; what fits the scanner is below one, and what is recorded above."""
    few, many = (Matrix.transport(heads, pairs=n, context=context).info for n in (20_000, 100_000))
    assert few.usable == pytest.approx(many.usable, rel=0.1) and few.usable < few.recorded < 1
    assert many.core_counts > 3 * few.core_counts and many.source == "transport" and many.pairs == 100_000


def test_two_runs_are_one_long_run(heads, context):
    empty = Matrix.transport(heads, pairs=0, context=context)
    assert empty.info.pairs == 0 and empty.info.elements == 0
    first = empty.simulate(30_000, context=context)
    second = Matrix.transport(heads, pairs=0, context=context).simulate(20_000, first=30_000, context=context)
    both = (first + second).threshold(share=0.8, context=context)
    long = Matrix.transport(heads, pairs=50_000, context=context)
    assert np.array_equal(both.rows(), long.rows()) and both.info == long.info
    assert first.info.pairs == 30_000  # the sum is another matrix
    first += second
    assert first.info.pairs == 50_000
    goes_on = Matrix.transport(heads, pairs=30_000, context=context).simulate(20_000, context=context)
    assert np.array_equal(goes_on.threshold(share=0.8, context=context).rows(), long.rows())


def test_thresholds(analytic, context):
    full = analytic.info
    assert full.kept == pytest.approx(1)
    half = analytic.threshold(share=0.5, context=context).info
    assert 0.5 <= half.kept < 0.6 and half.elements < full.elements / 2
    all_weights = analytic.threshold(share=1, context=context).rows()[:, -1]
    kept = analytic.threshold(min_weight=1e-4, context=context).rows()[:, -1]
    assert kept.min() >= 1e-4 and len(kept) == (all_weights >= 1e-4).sum()
    per = analytic.threshold(per_column=20, context=context).info
    assert per.elements <= 20 * per.columns
    rows = analytic.threshold(share=1, max_offset=1, context=context).rows()
    assert abs(rows[:, 3:5] - rows[:, 5:7]).max() <= 1


def test_rows_go_out_and_come_back(analytic, heads, context):
    back = Matrix.from_rows(heads, analytic.rows(), context=context)
    assert back.info.source == "import"
    x = np.random.default_rng(1).random(heads.grid.shape, dtype=np.float32)
    a, b = (m.operator(context=context)(x) for m in (analytic, back))
    assert np.allclose(a, b, rtol=1e-4, atol=1e-6 * a.max())


def test_files(analytic, heads, tmp_path, context):
    m = Matrix.transport(heads, pairs=10_000, context=context)
    m.write(tmp_path / "m.srm")
    with pytest.raises(isotome.ArgumentError, match="m.srm"):
        m.write(tmp_path / "m.srm")
    m.write(tmp_path / "m.srm", force=True)
    m.write(tmp_path / "final.srm", final=True)
    again, final = Matrix.read(tmp_path / "m.srm"), Matrix.read(tmp_path / "final.srm")
    assert again.info == m.info and final.info.elements == m.info.elements and not final.info.has_counts
    with pytest.raises(isotome.ArgumentError):
        final.threshold(share=0.5)
    with pytest.raises(isotome.ArgumentError, match="counts"):
        again += analytic
    assert not Matrix.read(tmp_path / "m.srm", counts=False).info.has_counts
    damaged = bytearray((tmp_path / "m.srm").read_bytes())
    damaged[-100] ^= 1
    (tmp_path / "bad.srm").write_bytes(damaged)
    with pytest.raises(isotome.InputError, match="bad.srm"):
        Matrix.read(tmp_path / "bad.srm")


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_a_problem_takes_a_matrix(heads, tmp_path, context):
    m = Matrix.transport(heads, pairs=20_000, context=context)
    m.write(tmp_path / "m.srm")
    lors = isotome.simulate_panels("point", heads, counts=3000, context=context).lors
    how = {"iterations": 4, "context": context}
    p = isotome.srm(lors, srm=m, **how)
    want = isotome.srm(lors, srm=tmp_path / "m.srm", **how).reconstruct()
    assert np.array_equal(p.reconstruct(), want)
    peak = np.unravel_index(np.argmax(want), want.shape)
    assert all(abs(i - n / 2) <= 1 for i, n in zip(peak, want.shape))
    assert p.record["inputs"][0]["name"] == "(srm in memory)"
    with pytest.raises(isotome.ArgumentError, match="given to a problem"):
        m.threshold(share=0.5)
    del m
    gc.collect()
    assert np.array_equal(p.reconstruct(), want)
    A = p.operator()
    del p
    gc.collect()
    assert A(np.ones(A.in_shape, np.float32)).max() > 0


def test_one_call_at_a_time(heads, context):
    m = Matrix.transport(heads, pairs=0, context=context)
    told = []

    def during(step):
        try:
            m.threshold(share=0.5)
        except isotome.BusyError as error:
            told.append(str(error))
        assert "busy" in repr(m)

    m.simulate(20_000, context=context, progress=during)
    assert told and "serves another call" in told[0]
    m.threshold(share=0.5, context=context)


def test_a_stop_leaves_whole_rounds(heads, context):
    m = Matrix.transport(heads, pairs=0, context=context)
    failed = []

    def work():
        try:
            m.simulate(10**12, context=context)
        except isotome.Cancelled as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        context.cancel()
        thread.join(0.05)
    assert failed
    m.simulate(1000, context=context)
    assert m.info.pairs >= 1000 and m.threshold(share=0.5, context=context).info.elements > 0


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda s, t: Matrix(3), "is made by"),
        (lambda s, t: Matrix.read(t / "none.srm"), "none.srm"),
        (lambda s, t: Matrix.read(None), "NoneType"),
        (lambda s, t: Matrix.analytic(ring(t)), "wanted panels"),
        (lambda s, t: Matrix.transport(s, pairs=-1), "pairs"),
        (lambda s, t: Matrix.transport(s, pairs=10, symmetry="some"), "symmetry"),
        (lambda s, t: Matrix.transport(s, pairs=10, outcomes=9), "outcomes"),
        (lambda s, t: Matrix.transport(s, pairs=10, share=0), "share"),
        (lambda s, t: Matrix.transport(s, pairs=10, transport=3), "transport"),
        (lambda s, t: Matrix.transport(s, pairs=0).threshold(share=1), None),
        (lambda s, t: Matrix.transport(s, pairs=0).operator(), None),
        (lambda s, t: Matrix.transport(s, pairs=0).write(t / "m.txt"), "m.txt"),
        (lambda s, t: Matrix.transport(s, pairs=0).rows(), None),
        (lambda s, t: isotome.srm(srm=Matrix.transport(s, pairs=0)), "no elements"),
        (lambda s, t: Matrix.analytic(s).operator(subsets=0), "subsets"),
        (lambda s, t: Matrix.analytic(s).operator(subsets=10**6), "subsets"),
        (lambda s, t: Matrix.analytic(s).operator(subset_rule="x"), "subset_rule"),
        (lambda s, t: Matrix.analytic(s).threshold(), "given 0 of"),
        (lambda s, t: Matrix.analytic(s).threshold(share=1, min_weight=1e-3), "given 2 of"),
        (lambda s, t: Matrix.analytic(s).simulate(10), None),
        (lambda s, t: Matrix.from_rows(s, np.ones((3, 5), np.float32)), None),
        (lambda s, t: Matrix.from_rows(s, np.full((3, 8), np.nan, np.float32)), "nan"),
        (lambda s, t: Matrix.from_rows(s, np.empty((0, 8), np.float32)), None),
        (lambda s, t: Matrix.from_rows(s, np.full((3, 8), 1e30, np.float32)), None),
        (lambda s, t: isotome.srm(norm=Matrix.analytic(s)), "as srm="),
        (lambda s, t: isotome.ray(srm=Matrix.analytic(s)), "no parameter 'srm'"),
    ],
)
def test_wrong_arguments(make, message, heads, tmp_path):
    with pytest.raises(isotome.IsotomeError, match=message):
        make(heads, tmp_path)
    m = Matrix.analytic(heads)
    with pytest.raises(TypeError):
        m + 3
    with pytest.raises(isotome.ArgumentError, match="itself"):
        m += m
