# SPDX-License-Identifier: BSD-3-Clause
"""Interfile projection data of STIR: bins against their crystal pairs, places of reconstructed sources."""

import json

import numpy as np
import pytest

import isotome
from conftest import samples

SAMPLES = samples("interfile")
EXPECTED = json.loads((SAMPLES / "expected.json").read_text())


class Header:
    """What a header of STIR's says of its bins, in STIR's own words; and the crystal pairs of a bin."""

    def __init__(self, path):
        pairs = [line.split(":=") for line in path.read_text().splitlines() if ":=" in line]
        self.keys = {key.strip(" !").lower(): value.strip() for key, value in pairs}
        number, numbers = self.number, self.numbers
        self.rings = int(number("number of rings"))
        self.detectors = int(number("number of detectors per ring"))
        self.radius = 10 * (
            number("inner ring diameter (cm)") / 2 + number("average depth of interaction (cm)")
        )
        self.pitch = 10 * number("distance between rings (cm)")
        self.offset = np.radians(number("view offset (degrees)"))
        self.views, self.tangential = int(number("matrix size [3]")), int(number("matrix size [1]"))
        self.planes = numbers("matrix size [2]")
        self.least = numbers("minimum ring difference per segment")
        self.most = numbers("maximum ring difference per segment")

    def number(self, key):
        return float(self.keys[key])

    def numbers(self, key):
        return [int(v) for v in self.keys[key].strip("{} ").split(",")]

    def bins(self):
        """Segment, view, axial and tangential place of each bin, in the order of the file."""
        for segment, planes in enumerate(self.planes):
            for view in range(self.views):
                for axial in range(planes):
                    for place in range(self.tangential):
                        yield segment, view, axial, place

    def pairs(self, segment, view, axial, place):
        """(detector 1, ring 1, detector 2, ring 2) of all pairs of a bin."""
        n, half = self.detectors, self.detectors // 2
        mash = half // self.views
        t = place - self.tangential // 2
        a, b = self.least[segment], self.most[segment]
        s = (2 * axial - (self.planes[segment] - 1)) / (1 if a == b else 2) + self.rings - 1
        assert s == int(s)
        for w in range(view * mash, (view + 1) * mash):
            one, two = (w + (t >> 1) + n) % n, (w - ((t + 1) >> 1) + half) % n
            for d in range(a, b + 1):
                ring1, ring2 = (s - d) / 2, (s + d) / 2
                if ring1 == int(ring1) and 0 <= min(ring1, ring2) and max(ring1, ring2) < self.rings:
                    yield one, int(ring1), two, int(ring2)

    def place(self, detector, ring):
        """In STIR's axes."""
        psi = 2 * np.pi * detector / self.detectors + self.offset
        return np.array(
            [
                self.radius * np.sin(psi),
                -self.radius * np.cos(psi),
                (ring - (self.rings - 1) / 2) * self.pitch,
            ]
        )


def angle_and_distance(line):
    """Of a line in the transverse plane: its direction, and on which side of the axis it passes how far."""
    dx, dy = line[3] - line[0], line[4] - line[1]
    return np.arctan2(dy, dx), (line[0] * dy - line[1] * dx) / np.hypot(dx, dy)


def copy_with(folder, sample, *lines):
    """A sample with more keys, of which the last counts."""
    text = (SAMPLES / f"{sample}.hs").read_text()
    (folder / f"{sample}.s").write_bytes((SAMPLES / f"{sample}.s").read_bytes())
    end = text.index("!END OF")
    (folder / f"{sample}.hs").write_text(text[:end] + "\n".join(lines) + "\n" + text[end:])
    return folder / f"{sample}.hs"


@pytest.mark.parametrize("sample", ["cylinder", "point-tof"])
def test_lines_are_the_means_of_the_crystal_pairs(sample, context):
    path = SAMPLES / f"{sample}.hs"
    header, events = Header(path), isotome.read_events(path, context=context, bins="counts")
    bins = list(header.bins())
    assert len(events) == len(bins) * EXPECTED[sample].get("tof_bins", 1) == EXPECTED[sample]["values"]
    assert events.count.sum(dtype=np.float64) == pytest.approx(EXPECTED[sample]["sum"], rel=1e-6)
    for j in np.random.default_rng(1).choice(len(bins), 600, replace=False):
        pairs = list(header.pairs(*bins[j]))
        segment = bins[j][0]
        full = len(range(header.least[segment], header.most[segment] + 1))
        assert events.mult[j] == len(pairs) > 0
        ends = np.array([np.r_[header.place(d1, r1), header.place(d2, r2)] for d1, r1, d2, r2 in pairs])
        stir = -events.lines[j, :6].astype(float)  # head first, supine: all axes are turned round
        # STIR's mean line leaves out that pairs of odd tangential places are turned by half a crystal
        turned = (bins[j][3] - header.tangential // 2) % 2 * np.pi / header.detectors
        angle, distance = angle_and_distance(stir)
        for end in ends:
            of_pair, distance_of_pair = angle_and_distance(end)
            assert distance_of_pair == pytest.approx(distance, abs=1e-3)
            assert (of_pair + turned - angle + np.pi) % (2 * np.pi) == pytest.approx(np.pi, abs=1e-5)
        assert stir[[2, 5]].mean() == pytest.approx(ends[:, [2, 5]].mean(), abs=1e-4)
        if len(pairs) == (full + 1) // 2:  # none is cut off at the axial ends
            assert stir[5] - stir[2] == pytest.approx((ends[:, 5] - ends[:, 2]).mean(), abs=1e-4)


def test_times_are_nearer_to_the_end_of_positive_positions(context):
    events = isotome.read_events(SAMPLES / "point-tof.hs", context=context)
    of = EXPECTED["point-tof"]
    sums = events.count.reshape(7, -1).sum(axis=1, dtype=np.float64)
    assert sums == pytest.approx(of["sum_by_tof_bin"], rel=1e-5)
    assert np.array_equal(np.unique(events.lines[:, 6]), 200.0 * np.arange(-3, 4))
    source = np.array(of["isotome_xyz_mm_HFS"])
    lines = events.lines.astype(float)
    nearer = np.linalg.norm(lines[:, 3:6] - source, axis=1) - np.linalg.norm(lines[:, :3] - source, axis=1)
    # dt = t1 - t2 > 0: end 2 is the nearer one
    assert (nearer * lines[:, 6] * events.count).sum() < 0



def places(grid):
    axes = [
        grid.centre[a] + (np.arange(grid.n[a]) - (grid.n[a] - 1) / 2) * grid.voxel[a] for a in range(3)
    ]
    return np.meshgrid(axes[2], axes[1], axes[0], indexing="ij")[::-1]


def centroid(image, share):
    values = np.asarray(image, float)
    weight = np.where(values > share * values.max(), values, 0)
    return np.array([np.average(c, weights=weight) for c in places(image.grid)])


GRID = {"grid": (56, 56, 15), "voxel": (4, 4, 3)}  # rings lie in the middle of slices, not between them


@pytest.mark.parametrize(
    ("position", "sign"),
    [
        ((), (1, 1)),
        (("patient orientation := head_in", "patient rotation := prone"), (-1, -1)),
        (("patient orientation := feet_in", "patient rotation := supine"), (-1, 1)),
        (("patient orientation := FFP",), (1, -1)),
    ],
)
def test_cylinder_lies_where_it_was(tmp_path, context, position, sign):
    path = copy_with(tmp_path, "cylinder", *position)
    image = isotome.ray(path, no_multiplicity=True, iterations=12, context=context, **GRID).reconstruct()
    want = np.array(EXPECTED["cylinder"]["isotome_xy_mm_HFS"]) * sign
    assert centroid(image, 0.5) == pytest.approx([*want, 0], abs=1.0)


@pytest.mark.parametrize("subsets", [1, 7])
def test_point_lies_on_its_side_with_time_of_flight(context, subsets):
    image = isotome.ray(
        SAMPLES / "point-tof.hs", no_multiplicity=True, iterations=20, subsets=subsets,
        method="osem" if subsets > 1 else "mlem", context=context, grid=(57, 57, 5), voxel=(4, 4, 3),
    ).reconstruct()  # fmt: skip
    want = EXPECTED["point-tof"]["isotome_xyz_mm_HFS"]
    assert centroid(image, 0.3) == pytest.approx(want, abs=1.5)
    values = np.asarray(image, float)
    at = np.array([c.ravel()[values.argmax()] for c in places(image.grid)])
    assert at == pytest.approx(want, abs=4.1)
    # of the opposite time differences the image is another
    other = isotome.ray(
        SAMPLES / "point-tof.hs", no_multiplicity=True, swap_dt=True, iterations=5, context=context,
        grid=(57, 57, 5), voxel=(4, 4, 3),
    ).reconstruct()  # fmt: skip
    assert np.linalg.norm(centroid(other, 0.3) - want) > 10


def small(path, context, **more):
    return isotome.ray(path, iterations=3, context=context, grid=(28, 28, 8), voxel=(8, 8, 6), **more)


def test_sensitivity_is_that_of_the_lines(context):
    p = small(SAMPLES / "cylinder.hs", context, bins="counts")
    events = isotome.read_events(SAMPLES / "cylinder.hs", context=context, bins="counts")
    s = p.sensitivity()
    back = p.operator().adjoint(events.mult)
    assert np.allclose(np.asarray(s), np.asarray(back), rtol=1e-5, atol=1e-5 * np.asarray(back).max())
    assert isotome.read_events(SAMPLES / "cylinder.hs", context=context).mult is None  # line integrals
    with pytest.raises(isotome.ArgumentError, match="'negative' is 'mend', must be clip, keep or refuse"):
        isotome.read_events(SAMPLES / "cylinder.hs", context=context, negative="mend")
    one = small(SAMPLES / "cylinder.hs", context).sensitivity()
    assert np.asarray(one).sum() < 0.8 * np.asarray(s).sum()


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"method": "osem", "subsets": 31},  # a subset has one tangential place alone
        {"method": "osem", "subsets": 5, "subset_rule": "random", "psf": 9},
        {"method": "osem", "subsets": 3, "subset_rule": "blocks"},
    ],
)
def test_streamed_is_the_same(context, more):
    a = small(SAMPLES / "cylinder.hs", context, **more).reconstruct()
    b = small(SAMPLES / "cylinder.hs", context, stream=True, **more).reconstruct()
    assert np.allclose(np.asarray(a), np.asarray(b), rtol=1e-5, atol=1e-6 * np.asarray(a).max())


def beside(folder, name, values):
    """Projection data with the header of the sample."""
    text = (SAMPLES / "cylinder.hs").read_text().replace("cylinder.s", f"{name}.s")
    (folder / f"{name}.hs").write_text(text)
    np.asarray(values, "<f4").tofile(folder / f"{name}.s")
    return folder / f"{name}.hs"


@pytest.mark.parametrize("stream", [False, True])
def test_norm_and_additive_beside_the_data(tmp_path, context, stream):
    """y = m (A x) + r, by files of m or 1/m, and r or r/m, gives the image of the arrays."""
    random = np.random.default_rng(5)
    sample = SAMPLES / "cylinder.hs"
    n = EXPECTED["cylinder"]["values"]
    m, r = random.uniform(0.5, 2, n).astype("f4"), random.uniform(0, 3, n).astype("f4")
    m[random.integers(0, n, 50)] = 0
    inverse = np.where(m > 0, 1 / np.where(m > 0, m, 1), 0)
    mu = isotome.Image(np.full((8, 28, 28), 0.002, "f4"), isotome.Grid((28, 28, 8), (8, 8, 6)))
    want = small(sample, context, norm=m, additive=r, mu=mu).reconstruct()
    alpha = small(sample, context, mu=mu, no_multiplicity=True).data().mult
    over = np.divide(r, m * alpha, out=np.zeros(n), where=m > 0)
    r_kept = np.where(m > 0, r, 0).astype("f4")
    files = {
        "m": beside(tmp_path, "m", m),
        "inverse": beside(tmp_path, "inverse", inverse),
        "r": beside(tmp_path, "r", r),
        "over": beside(tmp_path, "over", over),
    }
    got = small(sample, context, norm=files["m"], additive=files["r"], mu=mu, stream=stream).reconstruct()
    close(got, want)
    got = small(
        sample, context, norm=files["inverse"], norm_inverse=True, additive=files["r"], mu=mu, stream=stream
    ).reconstruct()
    close(got, want)
    want = small(sample, context, norm=m, additive=r_kept, mu=mu).reconstruct()
    got = small(
        sample, context, norm=files["m"], additive=files["over"], additive_over_m=True, mu=mu, stream=stream
    ).reconstruct()
    close(got, want)


def close(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert np.allclose(a, b, rtol=2e-4, atol=2e-5 * b.max())


def test_files_on_other_bins_are_refused(tmp_path, context):
    with pytest.raises(isotome.InputError, match="its bins are not those of"):
        small(SAMPLES / "cylinder.hs", context, norm=SAMPLES / "point-tof.hs").reconstruct()
    with pytest.raises(isotome.ArgumentError, match="'norm-inverse' needs 'norm'"):
        small(SAMPLES / "cylinder.hs", context, norm_inverse=True).reconstruct()


def test_attenuation_maps_are_per_cm(tmp_path, context):
    mu = np.full((8, 28, 28), 0.096, "<f4")
    mu.tofile(tmp_path / "mu.v")
    axes = "".join(
        f"!matrix size [{a}] := {n}\nscaling factor (mm/pixel) [{a}] := {d}\n"
        f"first pixel offset (mm) [{a}] := {0 if a == 3 else -(n - 1) / 2 * d}\n"
        for a, n, d in ((1, 28, 8), (2, 28, 8), (3, 8, 6))
    )
    (tmp_path / "mu.hv").write_text(
        "!INTERFILE :=\nname of data file := mu.v\nimagedata byte order := LITTLEENDIAN\n"
        f"!number format := float\n!number of bytes per pixel := 4\nnumber of dimensions := 3\n{axes}"
    )
    grid = isotome.Grid((28, 28, 8), (8, 8, 6))
    a = small(SAMPLES / "cylinder.hs", context, mu=tmp_path / "mu.hv").data().mult
    b = small(SAMPLES / "cylinder.hs", context, mu=isotome.Image(mu / 10, grid)).data().mult
    close(a, b)
