# SPDX-License-Identifier: BSD-3-Clause
"""Simulated data against the program's, and against what the physics says in NumPy."""

import os
import signal
import threading

import numpy as np
import pytest
from conftest import SCANNERS
from made import panels, program, ring

import isotome

C = 0.299792458  # mm/ps


def ball(at=(0, 0, 0), radius=6, grid=24, voxel=2):
    """A ball of activity 1 and water in a box of voxels, as images."""
    g = isotome.Grid((grid,) * 3, (float(voxel),) * 3, (0.0, 0.0, 0.0))
    z, y, x = (np.indices(g.shape) - (grid - 1) / 2) * voxel
    inside = (x - at[0]) ** 2 + (y - at[1]) ** 2 + (z - at[2]) ** 2 <= radius**2
    return isotome.Image(inside.astype(np.float32), g)


def point(at):
    """One active voxel of 1 mm at a place."""
    g = isotome.Grid((1, 1, 1), (1.0, 1.0, 1.0), at)
    return isotome.Image(np.ones((1, 1, 1), np.float32), g)


@pytest.fixture
def small(tmp_path):
    return isotome.Scanner(ring(tmp_path))


# ---- crystals on a cylinder ----


def test_events_are_those_of_the_program(tmp_path, context, small):
    mu = 0.01 * (ball(radius=20) > 0).astype(np.float32)
    isotome.write(tmp_path / "x.nii", ball())
    isotome.write(tmp_path / "mu.nii", isotome.Image(mu, ball().grid))
    how = ["--counts", 3e4, "--randoms", 0.2, "--bent", 0.1, "--seed", 7]
    how += ["--duration-s", 100, "--isotope", "C-11"]
    how += ["--mu", "mu.nii", "--delayed", "d.lmdT", "--singles", "s.npy"]
    program("simulate", small.path, "x.nii", *how, "-o", "e.Cdh", folder=tmp_path)
    same = {"counts": 3e4, "randoms": 0.2, "duration_s": 100, "seed": 7}
    more = {"bent": 0.1, "mu": isotome.read(tmp_path / "mu.nii"), "isotope": "C-11", "context": context}
    activity = isotome.read(tmp_path / "x.nii")
    e = isotome.simulate(activity, small, **same, **more)
    file = isotome.read_events(tmp_path / "e.Cdh", context=context)
    for name in ("lines", "time_ms", "crystal"):
        assert np.array_equal(getattr(e, name), getattr(file, name)), name
    assert (e.tof_fwhm_ps, e.duration_s, e.isotope) == (200, 100, "C-11")
    late = isotome.simulate(activity, small, delayed=True, **same, **more)
    assert np.array_equal(late.lines, isotome.read_events(tmp_path / "d.lmdT", context=context).lines)
    singles = isotome.simulate_singles(small, half_life_s=isotome.half_life("C-11"), **same)
    assert np.array_equal(singles, np.load(tmp_path / "s.npy"))


def test_threads_do_not_change_events(small):
    one, two = (
        isotome.simulate(ball(), small, counts=4e4, context=isotome.Context("cpu", threads=n)) for n in (1, 2)
    )
    assert np.array_equal(one.lines, two.lines)


def test_numbers_of_events(small, context):
    e = isotome.simulate(ball(), small, counts=20_000, randoms=0.25, bent=0.1, context=context)
    assert abs(len(e) - 20_000) < 5 * np.sqrt(20_000)
    info = e.info
    assert info.trues + info.scatters + info.randoms == len(e)
    assert abs(info.randoms - 5000) < 5 * np.sqrt(5000) and abs(info.scatters - 2000) < 5 * np.sqrt(2000)
    assert info.randoms_per_pair * small.pairs == pytest.approx(5000)
    assert info.window_ps == 1000
    exact = isotome.simulate(ball(), small, counts=20_000, exact_counts=True, context=context)
    assert len(exact) == 20_000 and exact.info.trues == 20_000


def test_lines_and_times_of_a_point(small, context):
    at = np.array([12.0, -7.0, 3.0])
    e = isotome.simulate(point(tuple(at)), small, counts=20_000, tof_fwhm_ps=100, context=context)
    a, b = e.lines[:, :3].astype(float), e.lines[:, 3:6].astype(float)
    along = (b - a) / np.linalg.norm(b - a, axis=1)[:, None]
    off = (at - a) - ((at - a) * along).sum(axis=1)[:, None] * along
    assert np.linalg.norm(off, axis=1).max() < 4.5  # half the crystals' pitch, and the voxel
    dt = (np.linalg.norm(at - a, axis=1) - np.linalg.norm(at - b, axis=1)) / C
    assert abs((e.lines[:, 6] - dt).mean()) < 2
    # the spread of the crystals' and the voxel's size adds to that of the clock
    assert (e.lines[:, 6] - dt).std() == pytest.approx(100 / 2.3548, rel=0.05)
    assert np.array_equal(small.positions[e.crystal[:, 0]].astype(np.float32), e.lines[:, :3])
    none = isotome.simulate(point(tuple(at)), small, counts=1000, tof_fwhm_ps=0, context=context)
    assert not none.lines[:, 6].any() and none.tof_fwhm_ps == 0


def test_decay_over_the_scan(small, context):
    e = isotome.simulate(
        ball(), small, counts=20_000, duration_s=200, half_life_s=100, exact_counts=True, context=context
    )
    assert (np.diff(e.time_ms.astype(int)) >= 0).all() and e.time_ms.max() < 200_000
    early = (e.time_ms < 100_000).sum()
    assert early == pytest.approx(20_000 * 2 / 3, abs=5 * np.sqrt(20_000 / 4.5))
    assert isotome.half_life("F-18") == pytest.approx(109.77 * 60, rel=1e-3)


def test_attenuation_takes_more_decays(small, context):
    mu = isotome.Image(np.full((24,) * 3, 0.01, np.float32), ball().grid)
    with_mu, without = (
        isotome.simulate(ball(radius=2.5), small, counts=20_000, mu=m, context=context) for m in (mu, None)
    )
    lost = with_mu.info.decays / without.info.decays
    assert np.exp(0.01 * 48) < lost < np.exp(0.01 * 48 * 1.4)  # from axis to the corner of the box


def test_crystals_without_efficiency_see_nothing(small, context):
    eff = np.ones(small.crystals, np.float32)
    eff[::2] = 0
    e = isotome.simulate(ball(), small, counts=5000, eff=eff, randoms=0.3, context=context)
    assert (e.crystal % 2 == 1).all()


def test_randoms_are_uniform_over_the_window(small, context):
    e = isotome.simulate(ball(), small, counts=20_000, randoms=1, delayed=True, context=context)
    assert e.info.trues == 0 and abs(e.lines[:, 6]).max() <= 1000
    assert np.mean(e.lines[:, 6].astype(float) ** 2) == pytest.approx(1000**2 / 3, rel=0.03)


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_events_reconstruct_to_the_object(small, context):
    truth = ball(at=(8, -6, 2), radius=8, grid=20, voxel=3)
    e = isotome.simulate(truth, small, counts=1e5, context=context)
    p = isotome.ray(e, scanner=small, grid=20, voxel=3, iterations=12, context=context)
    x = p.reconstruct()
    assert np.corrcoef(x.ravel(), truth.ravel())[0, 1] > 0.9
    places = np.indices(x.shape)
    centres = [[np.average(i, weights=v) for i in places] for v in (np.asarray(x), np.asarray(truth))]
    assert np.allclose(*centres, atol=0.15)


def test_arrays_with_a_grid(small, context):
    x = ball()
    plain = np.asarray(x)
    want = isotome.simulate(x, small, counts=2000, mu=x * np.float32(0.01), context=context)
    got = isotome.simulate(
        plain, small, counts=2000, mu=plain * np.float32(0.01), grid=x.grid, context=context
    )
    assert np.array_equal(want.lines, got.lines)


# ---- an object that moves ----

POSES = np.array([[0, 1, 0, 0, 0, 0, 0, 0], [30, 0.8, 0, 0, 0.6, 8, -5, 3]])


def test_events_of_an_object_that_moves_are_those_of_the_program(tmp_path, small):
    cpu = isotome.Context("cpu")
    isotome.write(tmp_path / "x.nii", ball())
    np.save(tmp_path / "poses.npy", POSES)
    (tmp_path / "bed.csv").write_text("time_s,z_mm\n0,-5\n60,5\n")
    how = ["--counts", 3000, "--duration-s", 60, "--poses", "poses.npy", "--bed", "bed.csv", "--device", "cpu"]
    program("simulate", small.path, "x.nii", *how, "-o", "e.Cdh", folder=tmp_path)
    e = isotome.simulate(
        isotome.read(tmp_path / "x.nii"),
        small,
        counts=3000,
        duration_s=60,
        poses=POSES,
        bed=tmp_path / "bed.csv",
        context=cpu,
    )
    file = isotome.read_events(tmp_path / "e.Cdh", context=cpu)
    for name in ("lines", "time_ms", "crystal"):
        assert np.array_equal(getattr(e, name), getattr(file, name)), name


def test_lines_of_a_point_that_moves_pass_where_it_is(small):
    e = isotome.simulate(
        point((10.0, 0.0, 0.0)), small, counts=2000, duration_s=60, poses=POSES, context=isotome.Context("cpu")
    )
    late = e.time_ms >= 30000
    at, ends = np.array((0.28 * 10 + 8, 0.96 * 10 - 5, 3)), e.lines[late].astype(float)
    d = ends[:, 3:6] - ends[:, :3]
    off = np.linalg.norm(np.cross(at - ends[:, :3], d), axis=1) / np.linalg.norm(d, axis=1)
    assert len(off) > 500 and off.max() < 4


@pytest.mark.parametrize(
    "change, message",
    [
        ({"poses": 3}, "poses: given int"),
        ({"bed": np.ones(8)}, "bed: given an array"),
        ({"poses": np.ones((2, 5))}, "poses"),
        ({"poses": POSES, "duration_s": 0}, "length of the scan"),
        ({"poses": POSES, "exact_counts": True}, "exact"),
        ({"mu_fixed": ball()}, "mu_fixed"),
    ],
)
def test_what_is_wrong_with_a_motion_is_told(small, change, message):
    with pytest.raises(isotome.ArgumentError, match=message):
        isotome.simulate(ball(), small, **{"counts": 100, "duration_s": 60, **change}, context=isotome.Context("cpu"))


def test_a_simulation_can_be_stopped(small, context):
    steps = []

    def stop(step):
        steps.append(step)
        return True

    with pytest.raises(isotome.Cancelled):
        isotome.simulate(ball(), small, counts=3e6, context=context, progress=stop)
    assert steps and steps[0].stage == "simulate"
    assert len(isotome.simulate(ball(), small, counts=1000, context=context))


def test_ctrl_c_ends_a_simulation(small, context):
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        isotome.simulate(ball(), small, counts=3e7, context=context)
    timer.join()
    assert len(isotome.simulate(ball(), small, counts=1000, context=context))


def nan(x):
    x = x.copy()
    x[3, 3, 3] = np.nan
    return x


@pytest.mark.parametrize(
    "change, message",
    [
        ({"activity": np.ones((4, 4, 4), np.float32)}, "ndarray without a grid"),
        ({"activity": "spheres"}, "str without a grid"),
        ({"activity": ball() + 0j}, "complex64"),
        ({"activity": ball()[:, ::2]}, "grid|strides"),
        ({"activity": nan(ball())}, "nan"),
        ({"activity": ball() - 1}, "below 0"),
        ({"activity": ball() * np.float32(0)}, None),
        ({"grid": isotome.Grid((4, 4, 4), (1, 1, 1), (0, 0, 0))}, "shape"),
        ({"grid": "box"}, "grid"),
        ({"mu": np.ones((2, 2, 2), np.float32)}, "mu: given shape"),
        ({"mu": nan(ball())}, "mu: the value at"),
        ({"mu": 0.01}, "mu"),
        ({"eff": np.ones(3, np.float32)}, "eff: given shape"),
        ({"eff": -np.ones(1152, np.float32)}, "eff"),
        ({"eff": np.zeros(1152, np.float32)}, None),
        ({"counts": 0}, "counts: given 0"),
        ({"counts": np.inf}, "counts"),
        ({"counts": "many"}, "counts"),
        ({"counts": 1e12}, "memory|free"),
        ({"randoms": -0.1}, "randoms"),
        ({"randoms": 0.6, "bent": 0.6}, "shares"),
        ({"tof_fwhm_ps": -1}, "tof_fwhm_ps"),
        ({"duration_s": np.nan}, "duration_s"),
        ({"isotope": "F-18"}, "without duration_s"),
        ({"isotope": "X-1", "duration_s": 1}, "X-1"),
        ({"isotope": 18, "duration_s": 1}, "isotope"),
        ({"isotope": "F-18", "half_life_s": 3, "duration_s": 1}, "both"),
        ({"seed": -1}, "seed"),
        ({"seed": 0.5}, "seed"),
        ({"scanner": SCANNERS / "bialas2015.yaml"}, "not a cylinder"),
        ({"scanner": "none.yaml"}, "none.yaml"),
        ({"scanner": 3}, "int"),
        ({"context": "cpu"}, "context"),
    ],
)
def test_wrong_arguments(change, message, small, context):
    how = {"activity": ball(), "scanner": small, "counts": 100, "context": context, **change}
    with pytest.raises(isotome.IsotomeError, match=message):
        isotome.simulate(**how)


# ---- strips ----


def test_strips_are_those_of_the_program(tmp_path, context):
    scanner = SCANNERS / "bialas2015.yaml"
    program("simulate", scanner, "ellipses", "--counts", 5000, "--seed", 3, "-o", "e.npy", folder=tmp_path)
    e = isotome.simulate_strip("ellipses", scanner, 5000, seed=3, context=context)
    assert np.array_equal(e, np.load(tmp_path / "e.npy"))
    assert np.array_equal(isotome.simulate_strip("ellipses", scanner, 100, 3, 200, context), e[200:300])


def test_strips_of_a_small_ellipse(tmp_path, context):
    """z at the source is the mean of the two hits, weighted by the distances; dl tells y."""
    (tmp_path / "dot.txt").write_text("ellipse 30 20 0.1 0.1 0 1\n")
    scanner = isotome.Scanner(SCANNERS / "bialas2015.yaml")
    s = scanner.strips
    e = isotome.simulate_strip(tmp_path / "dot.txt", scanner, 20_000, context=context)
    up, down, dl = e.T.astype(float)
    tangent = (up - down) / (2 * s.radius)
    y = -dl / (2 * np.hypot(1, tangent))
    z = (up + down + 2 * y * tangent) / 2
    assert abs(up).max() < s.length / 2 + 5 * s.sigma_z
    good = abs(tangent) < 1
    assert y[good].mean() == pytest.approx(20, abs=1) and np.mean(z[good]) == pytest.approx(30, abs=1)
    assert y[good].std() == pytest.approx(s.sigma_dl / 2, rel=0.25)


def test_wrong_strips(context, small):
    scanner = SCANNERS / "bialas2015.yaml"
    with pytest.raises(isotome.ArgumentError, match="of kind cylinder, wanted strips"):
        isotome.simulate_strip("ellipses", small, 100, context=context)
    with pytest.raises(isotome.IsotomeError, match="ellipse"):
        isotome.simulate_strip("spheres", scanner, 100, context=context)
    for wrong in (0, -5, 1.5, np.inf, "x", None):
        with pytest.raises(isotome.ArgumentError, match="counts"):
            isotome.simulate_strip("ellipses", scanner, wrong, context=context)
    with pytest.raises(isotome.errors.MemoryError):
        isotome.simulate_strip("ellipses", scanner, 10**15, context=context)


# ---- panels ----


@pytest.fixture
def heads(tmp_path):
    return isotome.Scanner(panels(tmp_path))


def test_panels_are_those_of_the_program(tmp_path, context, heads):
    (tmp_path / "ball.yaml").write_text("shapes: [{type: sphere, radius_mm: 2, activity: 1}]\n")
    how = ["--physics", "--counts", 3000, "--randoms", 0.3, "--seed", 5, "--acollinearity"]
    how += ["--list", "e.lmdT", "--delayed", "d.npy"]
    program("simulate", heads.path, "ball.yaml", *how, "-o", "l.npy", folder=tmp_path)
    scan = isotome.simulate_panels(
        tmp_path / "ball.yaml",
        heads,
        counts=3000,
        randoms=0.3,
        seed=5,
        transport=isotome.Transport(acollinearity=True),
        events=True,
        delayed=True,
        context=context,
    )
    assert np.array_equal(scan.lors, np.load(tmp_path / "l.npy"))
    assert np.array_equal(scan.delayed, np.load(tmp_path / "d.npy"))
    assert np.array_equal(scan.events.lines, isotome.read_events(tmp_path / "e.lmdT").lines)


def test_events_of_panels_make_their_histogram(context, heads):
    x = isotome.phantom("point", heads.grid, context=context)
    scan = isotome.simulate_panels(x, heads, counts=2000, exact_counts=True, randoms=0.1, events=True)
    assert scan.lors.shape == (6, 8, 6, 8) and scan.lors.sum() == len(scan.events) == 2000
    assert (scan.info.trues, scan.info.randoms, scan.delayed) == (1800, 200, None)
    upper, lower = scan.events.crystal.T.astype(int)
    assert np.array_equal(np.bincount(upper * 48 + lower - 48, minlength=48 * 48), scan.lors.ravel())
    assert np.array_equal(heads.positions[upper].astype(np.float32), scan.events.lines[:, :3])
    plain = isotome.simulate_panels(x, heads, decays=20_000, exact_counts=True, context=context)
    assert plain.info.decays == 20_000 and plain.events is None and plain.lors.sum() == plain.info.trues


def test_what_events_of_panels_are(context, heads):
    x = isotome.phantom("point", heads.grid, context=context)
    mu = isotome.Image(np.full(x.shape, 0.0096, np.float32), x.grid)
    scan = isotome.simulate_panels(
        x, heads, decays=100_000, exact_counts=True, randoms=0.2, mu=mu, events=True, context=context
    )
    order, info = scan.info.order, scan.info
    assert order.dtype == np.uint8 and len(order) == len(scan.events) == info.trues + info.randoms
    assert np.sum(order == 255) == info.randoms > 0
    by = np.bincount(order[order < 255], minlength=8)
    assert tuple(by) == info.by_scatters and sum(info.by_scatters) == info.trues and by[1] > 0
    plain = isotome.simulate_panels(x, heads, decays=20_000, exact_counts=True, context=context)
    assert plain.info.order is None and plain.info.by_scatters == (plain.info.trues, *(7 * (0,)))


def test_randoms_by_rate(context, heads):
    x = isotome.phantom("point", heads.grid, context=context)
    scan = isotome.simulate_panels(
        x, heads, counts=2000, randoms_by_rate=True, duration_s=1e-3, delayed=True, context=context
    )
    assert scan.info.decays_per_s > 0 and 0 < scan.info.share < 1 and scan.delayed.sum() > 0


@pytest.mark.parametrize(
    "change, message",
    [
        ({"scanner": SCANNERS / "bialas2015.yaml"}, "wanted panels"),
        ({"activity": np.ones((16, 6, 12), np.float32)}, "without a grid"),
        ({"counts": 0}, "counts"),
        ({"randoms": 1}, "randoms"),
        ({"randoms_by_rate": True}, "duration_s"),
        ({"delayed": True}, "delayed"),
        ({"randoms": 0.1, "randoms_by_rate": True, "duration_s": 1}, "both"),
        ({"transport": {}}, "transport: given dict"),
        ({"transport": isotome.Transport(positron="X-1")}, "X-1"),
        ({"activity": "spheres", "grid": 3}, None),
    ],
)
def test_wrong_panels(change, message, context, heads):
    how = {"activity": "point", "scanner": heads, "counts": 100, "context": context, **change}
    with pytest.raises(isotome.IsotomeError, match=message):
        isotome.simulate_panels(**how)


# ---- transducers ----


def circle(n=12, radius=40.0):
    angle = 2 * np.pi * np.arange(n) / n
    positions = radius * np.stack([np.cos(angle), np.sin(angle), 0.1 * np.ones(n)], axis=1)
    normals = -positions / np.linalg.norm(positions, axis=1)[:, None]
    return isotome.Transducers(positions, normals, dt_us=0.05, samples=800, speed=1.5, gamma=2.0)


def test_traces_of_spheres_are_their_formula(context):
    """p(t) = gamma v (d - c t) / (2 d) where |d - c t| <= R."""
    t = circle()
    spheres = np.array([[3.0, -4.0, 2.0, 5.0, 1.5], [-9.0, 0.0, 0.0, 3.0, 0.5]])
    y = isotome.simulate_traces(spheres, t, context=context)
    path = t.speed * t.dt_us * np.arange(t.samples)
    want = np.zeros(t.shape)
    for *centre, radius, value in spheres:
        d = np.linalg.norm(t.positions - centre, axis=1)[:, None]
        want += np.where(abs(d - path) <= radius, t.gamma * value * (d - path) / (2 * d), 0)
    assert np.allclose(y, want, atol=1e-6 * want.max())


def test_traces_are_those_of_the_program(tmp_path, context):
    scanner = SCANNERS / "optoacoustic-small.yaml"
    how = ["--noise", 0.05, "--seed", 9, "-o", "y.npy"]
    program("simulate", scanner, "nine-spheres", *how, folder=tmp_path)
    y = isotome.simulate_traces("nine-spheres", scanner, noise=0.05, seed=9, context=context)
    assert np.array_equal(y, np.load(tmp_path / "y.npy"))
    clean = isotome.simulate_traces("nine-spheres", isotome.Scanner(scanner), context=context)
    assert (y - clean).std() == pytest.approx(0.05 * abs(clean).max(), rel=0.02)


def test_smoothed_spheres_and_impulse_response(context):
    t, sphere = circle(), np.array([[0.0, 0.0, 0.0, 5.0, 1.0]])
    sharp = isotome.simulate_traces(sphere, t, context=context)
    smooth = isotome.simulate_traces(sphere, t, smooth_fwhm=2, context=context)
    assert abs(np.diff(smooth)).max() < abs(np.diff(sharp)).max() / 5
    t.eir = np.array([0.0, 0.0, 2.0])  # two samples later, twice as loud
    late = isotome.simulate_traces(sphere, t, context=context)
    assert np.allclose(late[:, 2:], 2 * sharp[:, :-2], rtol=1e-5)


def test_silence_warns(context):
    t = circle()
    t.first_us = 1000.0
    with pytest.warns(isotome.IsotomeWarning, match="holds nothing"):
        isotome.simulate_traces(np.array([[0.0, 0, 0, 5, 1]]), t, context=context)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"positions": np.ones((12, 2))}, r"positions: given shape \(12, 2\)"),
        ({"positions": np.empty((0, 3))}, "n above 0"),
        ({"positions": [[1, 2, 3]]}, "positions: given list"),
        ({"positions": np.ones((12, 3), np.float32)}, "float32, wanted float64"),
        ({"positions": np.full((12, 3), np.nan)}, None),
        ({"normals": np.ones((11, 3))}, "normals: given shape"),
        ({"samples": 0}, "samples"),
        ({"samples": 2.5}, "samples"),
        ({"samples": 2**40}, "samples"),
        ({"speed": 0}, "speed"),
        ({"speed": -1.0}, "speed"),
        ({"dt_us": np.nan}, None),
        ({"aperture": np.ones(12)}, "aperture"),
        ({"area": np.ones(3)}, "area"),
        ({"eir": np.empty(0)}, "eir"),
        ({"ex": np.ones((1, 3))}, "ex"),
    ],
)
def test_wrong_transducers(change, message, context):
    t = circle()
    for name, value in change.items():
        setattr(t, name, value)
    with pytest.raises(isotome.IsotomeError, match=message):
        isotome.simulate_traces(np.array([[0.0, 0, 0, 5, 1]]), t, context=context)


def test_wrong_spheres(context, small):
    t = circle()
    bad = [np.ones((2, 4)), np.ones(5), np.empty((0, 5)), np.full((1, 5), np.nan), np.array([["a"] * 5])]
    for wrong in bad:
        with pytest.raises(isotome.IsotomeError):
            isotome.simulate_traces(wrong, t, context=context)
    with pytest.raises(isotome.IsotomeError):
        isotome.simulate_traces(np.array([[40.0, 0, 4, 5, 1]]), t, context=context)  # a transducer lies in it
    with pytest.raises(isotome.ArgumentError, match="wanted transducers"):
        isotome.simulate_traces("nine-spheres", small, context=context)
    with pytest.raises(isotome.ArgumentError, match="wanted transducers"):
        isotome.simulate_traces("nine-spheres", None, context=context)
    with pytest.raises(isotome.ArgumentError, match="noise"):
        isotome.simulate_traces("nine-spheres", t, noise=-1, context=context)


def test_traces_of_an_image_come_near(context):
    scanner = SCANNERS / "optoacoustic-small.yaml"
    x = isotome.phantom("nine-spheres", voxel=1.5, context=context)
    y = isotome.sradon(scanner=scanner, context=context).project(x)
    closed = isotome.simulate_traces("nine-spheres", scanner, context=context)
    assert y.shape == closed.shape and np.corrcoef(y.ravel(), closed.ravel())[0, 1] > 0.9


def test_photons_scatter_in_the_object(context, tmp_path):
    path = tmp_path / "ring.yaml"
    path.write_text(
        "kind: cylinder\nradius_mm: 100\nrings: 20\nring_pitch_mm: 4\ncrystals_per_ring: 160\n"
        "min_crystal_distance: 20\nenergy: {window_kev: [435, 650], resolution: 0.11}\n"
    )
    x = ball()
    mu = x * np.float32(0.0096) / x.max()
    e = isotome.simulate(x, path, decays=2e5, mu=mu, physics=True, grid=x.grid, context=context)
    info = e.info
    assert info is not None and info.order is not None
    assert len(info.order) == len(e) and sum(info.by_scatters) == len(e)
    assert np.count_nonzero(info.order == 0) == info.trues and info.by_scatters[1] == np.count_nonzero(info.order == 1)
    assert 0 < info.scatters < info.trues
    assert abs(info.decays - 2e5) < 5 * 2e5**0.5
    with pytest.raises(isotome.ArgumentError, match="mu"):
        isotome.simulate(x, path, decays=2e5, physics=True, grid=x.grid, context=context)
