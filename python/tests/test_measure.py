# SPDX-License-Identifier: BSD-3-Clause
"""Measures and filters, against what NumPy makes of the same values."""

import math

import numpy as np
import pytest

import isotome
from isotome import Grid, Image, measure

GRID = Grid((20, 16, 12), (2.0, 2.5, 3.0), (4.0, -6.0, 10.0))
MOVED = GRID._replace(centre=(0.0, 0.0, 0.0))
BALL = (4, -6, 9, 5)


def places(grid=GRID):
    """x, y, z of the voxel centres, mm, each of the shape of the image."""
    axes = [grid.centre[a] + (np.arange(grid.n[a]) - (grid.n[a] - 1) / 2) * grid.voxel[a] for a in range(3)]
    z, y, x = np.meshgrid(axes[2], axes[1], axes[0], indexing="ij")
    return x, y, z


@pytest.fixture
def image():
    return Image(np.random.default_rng(0).random(GRID.shape, dtype=np.float32), GRID)


def gaussian(at, fwhm, grid=GRID):
    return Image(
        np.exp(
            -4 * math.log(2) * sum(((p - c) / w) ** 2 for p, c, w in zip(places(grid), at, fwhm))
        ).astype(np.float32),
        grid,
    )


# ---- regions ----


def regions():
    x, y, z = places()
    return [
        ({"sphere": (6.3, -4, 9, 7.7)}, (x - 6.3) ** 2 + (y + 4) ** 2 + (z - 9) ** 2 <= 7.7**2),
        (
            {"cylinder": (6.3, -4, 9, 7.7, 11)},
            ((x - 6.3) ** 2 + (y + 4) ** 2 <= 7.7**2) & (abs(z - 9) <= 5.5),
        ),
        (
            {"cylinder": [6.3, -4, 9, 7.7, 11, "x"]},
            ((z - 9) ** 2 + (y + 4) ** 2 <= 7.7**2) & (abs(x - 6.3) <= 5.5),
        ),
        (
            {"box": (0.1, 9, -7, 3, 4, 12)},
            (x >= 0.1) & (x <= 9) & (y >= -7) & (y <= 3) & (z >= 4) & (z <= 12),
        ),
        ({"mask": (x > 3) & (y < 1)}, (x > 3) & (y < 1)),
        ({"mask": Image((z > 3).astype(np.float64), GRID)}, z > 3),
    ]


@pytest.mark.parametrize("region, inside", regions())
def test_roi(image, region, inside):
    r, values = measure.roi(image, **region), np.asarray(image)[inside].astype(np.float64)
    assert r.voxels == inside.sum() > 10 and math.isclose(r.volume, r.voxels * 15.0)
    assert np.allclose(
        (r.mean, r.std, r.pstd, r.min, r.max, r.sum),
        (
            values.mean(),
            values.std(),
            100 * values.std() / values.mean(),
            values.min(),
            values.max(),
            values.sum(),
        ),
        rtol=1e-9,
    )


def test_tbr(image):
    x, y, z = places()
    means = [
        np.asarray(image, np.float64)[(x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2 <= r * r].mean()
        for a, b, c, r in ((0, 0, 10, 6), (10, -10, 5, 5))
    ]
    found = measure.tbr(image, tumour=(0, 0, 10, 6), background=(10, -10, 5, 5))
    assert math.isclose(found, means[0] / means[1], rel_tol=1e-9)


# ---- profiles and widths ----


def test_profile(image):
    x, y, z = places()
    linear = Image((2 * x - y + 0.5 * z).astype(np.float32), GRID)
    start, end = np.array([-5.0, -10, 0]), np.array([12.0, 5, 20])
    p = measure.profile(linear, start, end, samples=31)
    assert p.value.shape == p.distance.shape == (31,) and p.place.shape == (31, 3)
    assert np.allclose(p.place[0], start) and np.allclose(p.place[-1], end)
    assert np.allclose(p.value, p.place @ [2, -1, 0.5], atol=1e-4)
    assert np.allclose(p.distance, np.linalg.norm(p.place - start, axis=1))
    assert np.allclose(measure.profile(linear, start, end, samples=31, width=3).value, p.value, atol=0.05)
    ends = [(side, y[0, 3, 0], z[4, 0, 0]) for side in (x.min(), x.max())]
    along = measure.profile(image, *ends)
    assert np.allclose(along.value, image[4, 3], atol=1e-6)


def test_fwhm():
    grid = Grid((64, 64, 64), (0.5, 0.5, 0.5), (1.0, 2.0, 3.0))
    peak = gaussian((2.2, 1.1, 4.3), (5.0, 6.0, 7.0), grid)
    w = measure.fwhm(peak, (2, 1, 4), window=30)
    assert np.allclose([v.centre for v in w], (2.2, 1.1, 4.3), atol=0.05)
    assert np.allclose([v.fwhm for v in w], (5, 6, 7), rtol=0.01)
    tenth = math.sqrt(math.log(10) / math.log(2))
    assert np.allclose([v.fwtm for v in w], np.multiply((5, 6, 7), tenth), rtol=0.01)
    raised = measure.fwhm(peak + 1, (2, 1, 4), window=30, background=1)
    assert math.isclose(raised.x.fwhm, w.x.fwhm, rel_tol=1e-4)
    assert math.isnan(measure.fwhm(Image(np.ones(GRID.shape), GRID), (4, -6, 10)).x.fwhm)


# ---- rods, quartiles ----


def test_quartiles():
    values = np.random.default_rng(2).random(37)
    q = measure.quartiles(values)
    assert q.n == 37 and np.allclose(q[1:], np.percentile(values, (0, 25, 50, 75, 100)), rtol=1e-6)
    assert measure.quartiles([3, np.nan, np.inf]) == (1, 3, 3, 3, 3, 3)
    none = measure.quartiles([])
    assert none.n == 0 and all(math.isnan(v) for v in none[1:])


def test_rods_of_a_phantom(tmp_path):
    shapes = tmp_path / "rods.yaml"
    rod = "  - {{type: cylinder, centre_mm: [{}, 0, 0], radius_mm: 1.5, length_mm: 20, activity: 1}}\n"
    shapes.write_text("shapes:\n" + "".join(rod.format(x) for x in (-6, 0, 6)))
    grid = Grid((120, 40, 20), (0.25, 0.25, 1.0))
    x, y, z = places(grid)
    wide = sum(np.exp(-4 * math.log(2) * ((x - c) ** 2 + y**2) / 2.0**2) for c in (-6, 0, 6))
    (rods,) = measure.rods(Image(wide, grid), shapes)
    assert (rods.diameter, rods.rods, rods.pairs, rods.profiles) == (3, 3, 2, 6)
    assert math.isclose(rods.fwhm.median, 2, rel_tol=0.02)
    assert math.isclose(rods.valley, 2 * math.exp(-4 * math.log(2) * 9 / 4), abs_tol=0.01)
    assert rods.resolved == 1
    drawn = measure.boxplot([rods.fwhm, rods.fwtm], ["FWHM", "FWTM"], "mm")
    assert isinstance(drawn, isotome.Picture) and drawn.pixels.std() > 0


# ---- whole arrays ----


def test_petric():
    rng = np.random.default_rng(3)
    ref = rng.uniform(1, 2, (4, 5, 6)).astype("f4")
    x = ref + rng.normal(0, 0.02, ref.shape).astype("f4")
    whole, background = np.ones_like(ref), np.zeros_like(ref)
    background[:2] = 1
    regions = [np.zeros_like(ref), np.zeros_like(ref)]
    regions[0][3, 1:3], regions[1][2, :, 4] = 1, 7
    got = measure.petric(x, ref, whole=whole, background=background, regions=regions)
    norm = ref[:2].mean(dtype=float)
    off = x.astype(float) - ref
    assert math.isclose(got.norm, norm, rel_tol=1e-9)
    assert math.isclose(got.rmse_whole, np.sqrt((off**2).mean()) / norm, rel_tol=1e-9)
    assert math.isclose(got.rmse_background, np.sqrt((off[:2] ** 2).mean()) / norm, rel_tol=1e-9)
    assert np.allclose(got.aem, [abs(off[r != 0].mean()) / norm for r in regions], rtol=1e-9)
    assert not got.converged
    assert measure.petric(ref, ref, whole=whole, background=background).converged
    with pytest.raises(isotome.InputError, match="mask of the background is 0"):
        measure.petric(x, ref, whole=whole, background=0 * whole)


def test_diff_and_rmse(image):
    random = np.random.default_rng(3)
    a, b = (random.random(GRID.shape, dtype=np.float32).astype(np.float64) for _ in range(2))
    e = a - b
    d = measure.diff(a, b)
    norm = np.linalg.norm
    assert np.allclose(
        d, (abs(e).max(), e.mean(), norm(e.ravel()) / norm(b.ravel()), 100 * abs(e).sum() / b.sum())
    )
    assert measure.diff(a, a) == (0, 0, 0, 0) and measure.diff([1], [0]).percent == math.inf
    error = np.sqrt((e**2).mean())
    assert np.allclose(measure.rmse(a, b), (a.size, 1, error, error / b.mean()))
    inside = b > 0.5
    k = (a * b)[inside].sum() / (a * a)[inside].sum()
    fit = measure.rmse(a, b, mask=inside, scale="fit")
    assert fit.n == inside.sum() and np.allclose(fit[1:3], (k, np.sqrt((((k * a) - b)[inside] ** 2).mean())))
    assert math.isclose(measure.rmse(a, b, scale="sum").scale, b.sum() / a.sum(), rel_tol=1e-9)
    assert measure.rmse(np.arange(5), np.arange(5)).rmse == 0


def test_sharpness(image):
    x = np.asarray(image, np.float64) - 0.4
    assert math.isclose(measure.sharpness(x), x.size * (x**2).sum() / abs(x).sum() ** 2, rel_tol=1e-6)


# ---- NEMA ----


def test_nema(tmp_path):
    where = tmp_path / "nema.yaml"
    where.write_text(
        "spheres:\n"
        "  - {centre_mm: [0, 0, 0], diameter_mm: 12, ratio: 4}\n"
        "background:\n  - {centre_mm: [20, 0]}\n  - {centre_mm: [-20, 0]}\n"
        "slices_mm: [0, 5]\n"
        "lung: {centre_mm: [0, 20], diameter_mm: 6}\n"
    )
    grid = Grid((121, 121, 21), (0.5, 0.5, 1.0))
    x, y, z = places(grid)
    values = np.where(x > 0, 1.1, 0.9) + 0 * z
    values[x**2 + y**2 + z**2 <= 6**2] = 3
    values[x**2 + (y - 20) ** 2 <= 5**2] = 0.25
    found = measure.nema(Image(values, grid), where)
    (sphere,) = found.spheres
    assert sphere.centre == (0, 0, 0) and sphere.diameter == 12
    assert math.isclose(sphere.background, 1, rel_tol=1e-5) and math.isclose(sphere.mean, 3, rel_tol=0.03)
    assert math.isclose(sphere.contrast, 100 * (sphere.mean - 1) / 3, rel_tol=1e-5)
    assert math.isclose(sphere.variability, 100 * np.std([0.9, 0.9, 1.1, 1.1], ddof=1), rel_tol=1e-3)
    assert math.isclose(found.lung, 25, rel_tol=1e-5)
    with pytest.raises(isotome.InputError, match="none.yaml"):
        measure.nema(Image(values, grid), tmp_path / "none.yaml")


# ---- filters ----


def test_gaussian(context):
    grid = Grid((60, 50, 40), (1.0, 1.5, 2.0))
    point = Image(np.zeros(grid.shape, np.float32), grid, "Bq")
    point[20, 25, 30] = 1
    for how, widths in (("gaussian:8", (8, 8, 8)), ("gaussian:6,9,0", (6, 9, 0))):
        y = isotome.filter(point, how, context)
        assert y.grid == grid and y.unit == "Bq" and math.isclose(y.sum(), 1, rel_tol=1e-4)
        for axis, (w, place) in enumerate(zip(widths, places(grid))):
            spread = math.sqrt(float((y * (place - place[20, 25, 30]) ** 2).sum()))
            assert abs(spread - w / 2.3548) <= 0.03 * w  # it ends at 3 sigma
    assert point.sum() == 1 and point[20, 25, 30] == 1
    flat = isotome.filter(Image(np.full(grid.shape, 3), grid), "gaussian:8", context)
    assert np.allclose(flat, 3, rtol=1e-5)


def test_median(context, image):
    y = isotome.filter(np.asarray(image), "median:3", context)
    padded = np.pad(np.asarray(image), 1, mode="edge")
    cubes = np.lib.stride_tricks.sliding_window_view(padded, (3, 3, 3))
    assert np.array_equal(np.asarray(y), np.median(cubes.reshape(*image.shape, 27), axis=3))


def test_frames_are_filtered_one_by_one(context, image):
    series = Image(np.stack([image, 2 * image, image[::-1]]), GRID)
    y = isotome.filter(series, "gaussian:5", context)
    assert y.grid == GRID and y.shape == series.shape
    for k in range(3):
        assert np.array_equal(y[k], isotome.filter(series[k], "gaussian:5", context))


def test_psf_as_an_operator(context, image):
    P = isotome.Psf(GRID, (5, 6, 7), context)
    assert P.in_shape == P.out_shape == GRID.shape and P.adjointness_test() < 1e-6
    point = np.zeros(GRID.shape, np.float32)
    point[6, 8, 10] = 1
    assert np.allclose(P(point), isotome.filter(Image(point, GRID), "gaussian:5,6,7", context), atol=1e-6)
    assert np.allclose(P(image), P.adjoint(image), rtol=1e-5)
    assert np.array_equal(P.clone()(image), P(image)) and np.array_equal(P.subset(0)(image), P(image))
    assert np.array_equal(isotome.Psf(GRID, 5, context)(image), isotome.Psf(GRID, [5, 5, 5], context)(image))


def test_psf_behind_a_model(operator, image, context):
    grid = Grid((16, 12, 8), (4.0, 4.0, 4.0))
    P = isotome.Psf(grid, 6, context)
    x = np.ones(grid.shape, np.float32)
    assert np.array_equal((operator @ P)(x), operator(P(x))) and (operator @ P).adjointness_test() < 1e-5


# ---- what is refused ----


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda x: measure.roi(x), "Argument", "given 0 regions, wanted one"),
        (lambda x: measure.roi(x, sphere=(0, 0, 0, 1), box=(0,) * 6), "Argument", "given 2 regions"),
        (lambda x: measure.roi(x, sphere=(0, 0, 0)), "Argument", "sphere: given .* wanted 4 numbers"),
        (lambda x: measure.roi(x, sphere="big"), "Argument", "wanted 4 numbers"),
        (lambda x: measure.roi(x, sphere=(0, 0, 0, -1)), "Argument", "radius is -1"),
        (lambda x: measure.roi(x, sphere=(0, 0, math.nan, 1)), "Argument", "4 finite numbers"),
        (lambda x: measure.roi(x, sphere=(1e6, 0, 0, 1)), "Input", "voxel"),
        (lambda x: measure.roi(x, cylinder=(0, 0, 0, 1, 1, "q")), "Argument", "axis of the cylinder"),
        (lambda x: measure.roi(x, cylinder=3), "Argument", "cylinder: given 3, wanted 5 numbers"),
        (lambda x: measure.roi(x, cylinder=(0, 0, 0, 1, 0)), "Argument", "length is 0"),
        (lambda x: measure.roi(x, box=(1, 0, 0, 1, 0, 1)), "Argument", "must be finite and rise"),
        (lambda x: measure.roi(x, mask=np.zeros(GRID.shape)), "Input", "all voxels are 0"),
        (lambda x: measure.roi(x, mask=np.ones((3, 3, 3))), "Argument", r"mask: given shape \(3, 3, 3\)"),
        (lambda x: measure.roi(x, mask=Image(x, MOVED)), "Argument", "another grid"),
        (lambda x: measure.roi(x, mask="mask.nii"), "Argument", "mask: given values of <U8"),
        (lambda x: measure.roi(np.asarray(x), sphere=(0, 0, 0, 9)), "Argument", "3 axes without grid"),
        (lambda x: measure.roi(x[0], sphere=(0, 0, 0, 9)), "Argument", "2 axes without grid"),
        (lambda x: measure.roi(x * math.nan, sphere=(0, 0, 0, 9)), "Argument", "must be finite"),
        (lambda x: measure.roi(x[:0], sphere=(0, 0, 0, 9)), "Argument", "at least one value"),
        (lambda x: measure.roi(x.astype(complex), sphere=(0, 0, 0, 9)), "Argument", "complex128"),
        (lambda x: measure.roi(np.ones((1,) * 9), sphere=(0, 0, 0, 9)), "Argument", "9 axes"),
        (lambda x: measure.tbr(0 * x, tumour=BALL, background=BALL), "Input", "background is 0"),
        (lambda x: measure.tbr(x, tumour=BALL, background=3), "Argument", "background: given 3"),
        (lambda x: measure.profile(x, (0, 0, 10), (0, 0, 10)), "Argument", "same place"),
        (lambda x: measure.profile(x, (0, 0, 10), (0, 0, 1000)), "Input", "outside the image"),
        (lambda x: measure.profile(x, (0, 0, 10), (0, 0, math.inf)), "Argument", "3 finite numbers"),
        (lambda x: measure.profile(x, (0, 0, 10), (0, 0, 12), samples=1), "Argument", "samples: given 1"),
        (lambda x: measure.profile(x, (0, 0, 10), (0, 0, 12), samples=10**12), "Argument", "samples"),
        (lambda x: measure.profile(x, (0, 0, 10), (0, 0, 12), samples=2.5), "Argument", "wanted an integer"),
        (lambda x: measure.profile(x, (0, 0, 10), (0, 0, 12), width=-1), "Argument", "width is -1"),
        (lambda x: measure.profile(x, 3, (0, 0, 12)), "Argument", "start: given 3, wanted 3 numbers"),
        (lambda x: measure.fwhm(x, (1000, 0, 0)), "Input", "no voxel within 20 mm of x = 1000"),
        (lambda x: measure.fwhm(x, (0, 0, 10), window=-3), "Argument", "window is -3"),
        (lambda x: measure.fwhm(x, (0, 0, 10), window="x"), "Argument", "window: given 'x'"),
        (lambda x: measure.rods(x, "nothing"), "Argument", "phantom 'nothing' is neither"),
        (lambda x: measure.rods(x, None), "Argument", "phantom: given NoneType"),
        (lambda x: measure.rods(x, "spheres"), "Argument", "not round"),
        (lambda x: measure.diff(x, x[1:]), "Argument", "b: given shape"),
        (lambda x: measure.diff(x, Image(x, MOVED)), "Argument", "given on Grid"),
        (lambda x: measure.diff([], []), "Argument", "at least one value"),
        (lambda x: measure.diff([math.nan], [1]), "Argument", "must be finite"),
        (lambda x: measure.rmse(x, x, scale="best"), "Argument", "scale: given 'best'"),
        (lambda x: measure.rmse(x, x, mask=0 * x), "Input", "mask must not be 0"),
        (lambda x: measure.rmse(0 * x, x, scale="fit"), "Input", "can't be scaled"),
        (lambda x: measure.sharpness(0 * x), "Input", "0 everywhere"),
        (lambda x: measure.nema(x), "Input", "leaves the image"),
        (lambda x: measure.boxplot([], []), "Argument", "boxplot"),
        (lambda x: measure.boxplot([(1, 2)], ["a"]), "Argument", "boxplot: wanted Quartiles"),
        (lambda x: isotome.filter(x, "gauss:3"), "Argument", "gauss"),
        (lambda x: isotome.filter(x, "gaussian:-3"), "Argument", "FWHM along x is -3"),
        (lambda x: isotome.filter(x, "gaussian:nan"), "Argument", "'gaussian:nan' is not known"),
        (lambda x: isotome.filter(x, "median:4"), "Argument", "4"),
        (lambda x: isotome.filter(x, None), "Argument", "filter: given NoneType, wanted a text"),
        (lambda x: isotome.filter(x, 3), "Argument", "filter: given int"),
        (lambda x: isotome.filter(np.asarray(x), "gaussian:3"), "Argument", "given without a grid"),
        (lambda x: isotome.filter(x[0], "median:3"), "Argument", r"given shape \(16, 20\)"),
        (lambda x: isotome.filter(x[:0], "median:3"), "Argument", "given shape"),
        (lambda x: isotome.filter(x * math.inf, "median:3"), "Argument", "must be finite"),
        (lambda x: isotome.filter(x, "median:3", context=1), "Argument", "context: given int"),
        (lambda x: isotome.Psf("grid", 3), "Argument", "grid: given str"),
        (lambda x: isotome.Psf(GRID, (1, 2)), "Argument", "fwhm: given"),
        (lambda x: isotome.Psf(GRID, math.nan), "Argument", "3 finite numbers"),
        (lambda x: isotome.Psf(GRID, -1), "Argument", "FWHM along x is -1"),
        (lambda x: isotome.Psf(GRID, 1, context="cpu"), "Argument", "context: given str"),
    ],
)
def test_what_is_refused(image, call, kind, message):
    with pytest.raises(getattr(isotome, f"{kind}Error"), match=message):
        call(image)


def test_read_only_arrays_are_taken(image):
    values = np.asarray(image).copy()
    values.flags.writeable = False
    still = Image(values, GRID)
    assert measure.sharpness(still) == measure.sharpness(image)
    assert isotome.filter(still, "median:3").flags.writeable
    assert measure.quartiles(values).n == values.size
