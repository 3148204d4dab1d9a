# SPDX-License-Identifier: BSD-3-Clause
"""Events: some of them, files of all formats and back, memory of the library that arrays keep."""

import gc

import numpy as np
import pytest
from conftest import make_lines
from made import ring

import isotome


@pytest.fixture
def events():
    n = 500
    random = np.random.default_rng(2)
    lines = make_lines(n)
    lines[:, 6] = random.normal(0, 200, n)
    times = np.sort(random.integers(0, 10_000, n)).astype(np.uint32)
    return isotome.Events(lines, time_ms=times, tof_fwhm_ps=400, isotope="F-18")


@pytest.fixture
def on_crystals(tmp_path, events):
    """The same with their ends on the crystals of a ring, and that ring."""
    s = isotome.Scanner(ring(tmp_path))
    random = np.random.default_rng(3)
    pairs = np.array([s.pair(i) for i in random.integers(0, s.pairs, len(events))], np.uint32)
    events.lines[:, :3], events.lines[:, 3:6] = s.positions[pairs[:, 0]], s.positions[pairs[:, 1]]
    events.crystal = pairs
    return events, s


# ---- some of them ----


def test_slices_masks_and_numbers(events):
    assert len(events) == 500 and len(events[:100]) == 100
    early = events[events.time_ms < 2000]
    assert np.array_equal(early.lines, events.lines[events.time_ms < 2000])
    assert early.tof_fwhm_ps == 400 and early.isotope == "F-18" and early.count is None
    assert np.array_equal(events[[3, 1]].time_ms, events.time_ms[[3, 1]])
    assert np.array_equal(events[[-1]].lines, events.lines[-1:]) and np.array_equal(events[-1], events.lines[-1])
    for some in (events[::7], events[::-1]):
        assert some.lines.flags.c_contiguous and some.time_ms.flags.c_contiguous
    assert np.shares_memory(events[10:20].lines, events.lines)
    assert repr(events) == "<isotome.Events 500, TOF 400 ps, F-18, time_ms>"
    for wrong in (0.5, "x", None, np.ones((2, 2), bool), [1.5]):
        with pytest.raises(isotome.ArgumentError, match="wanted a slice"):
            events[wrong]
    for beyond in (500, [500], np.ones(3, bool)):
        with pytest.raises(IndexError):
            events[beyond]


def test_bad_events_are_counted(events):
    events.lines[3] = np.nan
    events.lines[5, 6] = np.inf
    events.lines[7, 3:6] = events.lines[7, :3]
    assert events._struct()[0].n_bad == 3 and events[:3]._struct()[0].n_bad == 0


# ---- files ----


@pytest.mark.parametrize("name", ["e.lmdT", "e.npy"])
def test_lines_come_back(events, tmp_path, context, name):
    isotome.write_events(tmp_path / name, events)
    back = isotome.read_events(tmp_path / name, context=context)
    assert np.array_equal(back.lines, events.lines)
    back.lines[0] = 0  # its memory is writable, and its own
    again = isotome.read_events(tmp_path / name, swap_dt=True, context=context)
    assert np.array_equal(again.lines[:, 6], -events.lines[:, 6])


def test_castor_keeps_all(on_crystals, tmp_path, context):
    events, s = on_crystals
    random = np.random.default_rng(4)
    events.mult, events.add = random.random((2, len(events)), np.float32)
    events.duration_s = 60.0  # scatter and randoms are rates there
    isotome.write_events(tmp_path / "e.Cdh", events, scanner=s)
    back = isotome.read_events(tmp_path / "e.Cdh", context=context)
    for name in ("lines", "time_ms", "crystal"):
        assert np.array_equal(getattr(back, name), getattr(events, name)), name
    assert np.allclose(back.mult, events.mult) and np.allclose(back.add, events.add)
    assert back.isotope == "F-18" and back.tof_fwhm_ps == 400 and back.duration_s == 60
    beside = isotome.Scanner(next(tmp_path.glob("*.hscan")))
    assert np.allclose(beside.positions, s.positions, atol=1e-4)


def test_crystal_numbers_need_a_scanner(on_crystals, tmp_path, context):
    events, s = on_crystals
    np.save(tmp_path / "c.npy", np.column_stack([events.crystal, events.lines[:, 6]]).astype(np.float32))
    with pytest.raises(isotome.IsotomeError, match="scanner"):
        isotome.read_events(tmp_path / "c.npy", context=context)
    back = isotome.read_events(tmp_path / "c.npy", scanner=s, context=context)
    assert np.array_equal(back.lines, events.lines) and np.array_equal(back.crystal, events.crystal)


def test_gate_text_with_bad_lines_warns(tmp_path, context):
    rows = np.zeros((5, 46))  # 23 columns a photon: time in s is number 6, the place number 8 to 10
    rows[:, 8:11], rows[:, 31:34] = (60, 1, 2), (-60, 3, 4)
    rows[:, 6] = 1e-12 * np.arange(5)
    text = "\n".join(" ".join(f"{v:g}" for v in row) for row in rows)
    (tmp_path / "g.dat").write_text(text + "\nnot numbers\n")
    with pytest.warns(isotome.IsotomeWarning, match="1 lines can't be used, the first is line 6"):
        back = isotome.read_events(tmp_path / "g.dat", context=context)
    assert np.allclose(back.lines[:, :6], (60, 1, 2, -60, 3, 4))
    assert np.allclose(back.lines[:, 6], np.arange(5))


def test_existing_files_are_kept_unless_forced(events, tmp_path):
    path = tmp_path / "e.npy"
    isotome.write_events(path, events)
    with pytest.raises(isotome.ArgumentError, match="e.npy"):
        isotome.write_events(path, events[:10])
    assert len(isotome.read_events(path)) == 500
    isotome.write_events(path, events[:10], force=True)
    assert len(isotome.read_events(path)) == 10


def test_strips_come_back(tmp_path, context):
    e = np.random.default_rng(5).normal(0, 50, (100, 3)).astype(np.float32)
    for name in ("e.f32", "e.npy", "e.txt"):
        isotome.write_strip_events(tmp_path / name, e)
        assert np.allclose(isotome.read_strip_events(tmp_path / name, context=context), e, rtol=1e-5), name
    ten = isotome.read_strip_events(tmp_path / "e.f32", mm=10, context=context)
    assert np.allclose(ten, 10 * e)
    ps = isotome.read_strip_events(tmp_path / "e.f32", dl_is_time=True, context=context)
    assert np.allclose(ps[:, 2], 0.299792458 * e[:, 2], rtol=1e-5)


def test_arrays_keep_the_memory_of_the_library(events, tmp_path, context):
    isotome.write_events(tmp_path / "e.lmdT", events)
    part = isotome.read_events(tmp_path / "e.lmdT", context=context).lines[100:110]
    gc.collect()
    more = [isotome.read_events(tmp_path / "e.lmdT", context=context) for _ in range(20)]
    assert np.array_equal(part, events.lines[100:110]) and len(more) == 20


# ---- what is refused ----


@pytest.mark.parametrize("damage", [b"", b"x", b"x" * 29])
def test_damaged_files(tmp_path, damage, context):
    (tmp_path / "e.lmdT").write_bytes(damage)
    with pytest.raises(isotome.InputError, match="e.lmdT"):
        isotome.read_events(tmp_path / "e.lmdT", context=context)


def test_a_scanner_that_differs_is_refused(on_crystals, tmp_path, context):
    events, scanner = on_crystals
    file, other = tmp_path / "e.Cdh", tmp_path / "other.yaml"
    isotome.write_events(file, events, scanner)
    other.write_text(ring(tmp_path).read_text().replace("radius_mm: ", "radius_mm: 1"))
    assert np.allclose(isotome.read_events(file, scanner, context=context).lines, events.lines)
    message = r"e.Cdh: brings a scanner of \d+ crystals .*; 'scanner' .* has .*; 'scanner-differs' takes it"
    for given in (other, isotome.Scanner(other)):
        with pytest.raises(isotome.ArgumentError, match=message):
            isotome.read_events(file, given, context=context)
    taken = isotome.read_events(file, other, scanner_differs=True, context=context)
    want = isotome.Scanner(other).positions[events.crystal[:, 0]]
    assert np.allclose(taken.lines[:, :3], want, atol=1e-3)


def test_wrong_arguments(events, tmp_path, context):
    with pytest.raises(isotome.InputError, match="none.lmdT"):
        isotome.read_events(tmp_path / "none.lmdT", context=context)
    with pytest.raises(isotome.IsotomeError, match="e.xyz"):
        isotome.read_events(tmp_path / "e.xyz", context=context)
    with pytest.raises(isotome.ArgumentError, match="path: given int"):
        isotome.read_events(3, context=context)
    with pytest.raises(isotome.ArgumentError, match="context: given str"):
        isotome.read_events(tmp_path / "none.lmdT", context="cpu")
    with pytest.raises(isotome.ArgumentError, match="events: given list"):
        isotome.write_events(tmp_path / "e.npy", [1, 2])
    with pytest.raises(isotome.ArgumentError, match="complex128, wanted real numbers"):
        isotome.write_events(tmp_path / "e.npy", np.ones((2, 7), complex))
    for name, values, message in (
        ("time_ms", [0.5, 1], "given values of float64, wanted uint32"),
        ("time_ms", [-1, 1], "given -1 among its values, wanted what uint32 holds"),
        ("time_ms", [1, 2**32], "given 4294967296 among its values"),
        ("crystal", [[1.5, 2], [3, 4]], "given values of float64, wanted uint32"),
        ("crystal", [[1.5, 2, 3], [3, 4, 5]], r"given shape \(2, 3\), wanted \(2, 2\)"),
    ):
        with pytest.raises(isotome.ArgumentError, match=f"{name}: {message}"):
            isotome.write_events(tmp_path / "e.npy", isotome.Events(np.ones((2, 7)), **{name: np.array(values)}))
    with pytest.raises(isotome.ArgumentError, match="scanner"):
        isotome.write_events(tmp_path / "e.Cdh", events)
    with pytest.raises(isotome.ArgumentError, match="e.xyz"):
        isotome.write_events(tmp_path / "e.xyz", events)
    with pytest.raises(isotome.ArgumentError, match=r"wanted \(n, 3\)"):
        isotome.write_strip_events(tmp_path / "e.f32", np.ones((4, 7), np.float32))
    with pytest.raises(isotome.ArgumentError, match="mm"):
        isotome.read_strip_events(tmp_path / "e.f32", mm=-1, context=context)
    histogram = isotome.Events(events.lines, count=np.ones(500, np.float32))
    with pytest.raises(isotome.IsotomeError):
        isotome.write_events(tmp_path / "h.npy", histogram)
    empty = np.empty((0, 7), np.float32)
    try:
        isotome.write_events(tmp_path / "none.npy", empty)
    except isotome.IsotomeError:
        assert not (tmp_path / "none.npy").exists()


def test_events_are_an_array(on_crystals):
    events, _ = on_crystals
    assert np.asarray(events) is events.lines  # and not a search through events of events
    assert np.array(events).base is None and np.array_equal(np.array(events), events.lines)
    assert np.asarray(events, np.float64).dtype == np.float64
    assert np.array_equal(events[3], events.lines[3]) and events[-1].shape == (7,)
    assert np.shares_memory(events.dt, events.lines) and np.array_equal(events.dt, events.lines[:, 6])
    assert sum(1 for _ in events) == len(events)
    with pytest.raises(IndexError):
        events[len(events)]
    without = isotome.Events(np.ascontiguousarray(events.lines[:, :6]))
    assert np.array_equal(without.dt, np.zeros(len(events), np.float32))


def test_events_one_behind_the_other(on_crystals):
    events, _ = on_crystals
    n = len(events)
    a, b = events[: n // 3], events[n // 3 :]
    a.duration_s = b.duration_s = 30.0
    both = isotome.Events.concatenate([a, b])
    for name in ("lines", "time_ms", "crystal"):
        assert np.array_equal(getattr(both, name), getattr(events, name)), name
    assert both.duration_s == 60 and both.isotope == events.isotope and both.tof_fwhm_ps == events.tof_fwhm_ps
    b.duration_s = 0.0
    assert isotome.Events.concatenate([a, b]).duration_s == 0  # not known
    b.time_ms = None
    with pytest.raises(isotome.ArgumentError, match="only some of the events have 'time_ms'"):
        isotome.Events.concatenate([a, b])
    c = events[:5]
    c.isotope = "C-11"
    with pytest.raises(isotome.ArgumentError, match="'isotope' differs"):
        isotome.Events.concatenate([events, c])
    with pytest.raises(isotome.ArgumentError, match="given no events"):
        isotome.Events.concatenate([])
