# SPDX-License-Identifier: BSD-3-Clause
"""Recordings: traces and transducers to IPASC and back."""

import gc

import numpy as np
import pytest
from conftest import SCANNERS

import isotome

SMALL = SCANNERS / "optoacoustic-small.yaml"


def array(n=6, samples=20, **more):
    angle = 2 * np.pi * np.arange(n) / n
    normals = -np.stack([np.cos(angle), np.sin(angle), np.zeros(n)], axis=1)
    return isotome.Transducers(-40 * normals, normals, dt_us=0.1, samples=samples, speed=1.52, **more)


@pytest.fixture
def traces():
    return np.random.default_rng(0).standard_normal((3, 2, 6, 20), dtype=np.float32)


@pytest.fixture
def file(tmp_path, traces):
    try:
        isotome.write_recording(tmp_path / "r.hdf5", traces, array(aperture=np.full((6, 2), 2.0)))
    except isotome.IsotomeError as error:
        if "this build has no" in str(error):
            pytest.skip(str(error))
        raise
    return tmp_path / "r.hdf5"


def test_traces_and_transducers_come_back(file, traces):
    r = isotome.read_recording(file)
    assert (r.frames, r.wavelengths, r.shape) == (3, 2, (3, 2, 6, 20))
    for frame in range(3):
        for wavelength in range(2):
            assert np.array_equal(r.read(wavelength, frame), traces[frame, wavelength])
    want, t = array(), r.transducers
    assert np.allclose(t.positions, want.positions, atol=1e-4)
    assert np.allclose(t.normals, want.normals, atol=1e-6)
    assert t.speed == pytest.approx(1.52) and t.dt_us == pytest.approx(0.1) and t.first_us == 0
    assert np.allclose(t.aperture, 2) and t.n == 6
    assert r.range() == (traces.min(), traces.max())
    assert "3 frames of 2 wavelengths" in repr(r)


def test_transducers_outlive_their_recording(file):
    t = isotome.read_recording(file).transducers
    gc.collect()
    assert np.allclose(np.linalg.norm(t.positions, axis=1), 40)


def test_one_frame_of_a_scanner(tmp_path, context):
    """Traces that begin after the pulse have zeros put before them."""
    scanner = isotome.Scanner(SMALL)
    y = isotome.simulate_traces("nine-spheres", scanner, context=context)
    isotome.write_recording(tmp_path / "y.h5", y, scanner)
    r = isotome.read_recording(tmp_path / "y.h5")
    lead = round(17.4 / 0.2)
    assert r.shape == (1, 1, 384, 256 + lead)
    assert not r.read()[:, :lead].any() and np.array_equal(r.read()[:, lead:], y)
    again = isotome.simulate_traces("nine-spheres", r, context=context)
    assert np.allclose(again[:, lead:] * 2000, y, atol=1e-3 * abs(y).max())  # gamma is not in the file


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_a_recording_stands_for_its_file(tmp_path, context):
    y = isotome.simulate_traces("nine-spheres", SMALL, context=context)
    isotome.write_recording(tmp_path / "y.hdf5", y, SMALL)
    how = {"grid": (8, 8, 8), "voxel": 3, "context": context}
    x = isotome.ubp(isotome.read_recording(tmp_path / "y.hdf5"), **how).reconstruct()
    assert np.array_equal(x, isotome.ubp(tmp_path / "y.hdf5", **how).reconstruct()) and abs(x).max() > 0


def test_existing_files_are_kept_unless_forced(file, traces):
    with pytest.raises(isotome.ArgumentError, match="r.hdf5"):
        isotome.write_recording(file, traces, array())
    isotome.write_recording(file, traces[:1], array(), force=True)
    assert isotome.read_recording(file).frames == 1


def test_speed_that_is_not_said(tmp_path, file, traces):
    t = array()
    t.speed = 0
    isotome.write_recording(tmp_path / "s.hdf5", traces, t)
    assert isotome.read_recording(tmp_path / "s.hdf5").transducers.speed == 0
    with pytest.raises(isotome.ArgumentError, match="speed"):
        isotome.simulate_traces("nine-spheres", tmp_path / "s.hdf5")


def test_wrong_arguments(file, tmp_path, traces):
    r = isotome.read_recording(file)
    for wrong in ((2, 0), (0, 3), (-1, 0), (0.5, 0), ("a", 0)):
        with pytest.raises(isotome.ArgumentError, match="wanted an integer from 0"):
            r.read(*wrong)
    with pytest.raises(isotome.InputError, match="none.hdf5"):
        isotome.read_recording(tmp_path / "none.hdf5")
    (tmp_path / "bad.hdf5").write_bytes(b"no hdf5")
    with pytest.raises(isotome.InputError, match="bad.hdf5"):
        isotome.read_recording(tmp_path / "bad.hdf5")
    with pytest.raises(isotome.IsotomeError, match="r.npy"):
        isotome.read_recording(tmp_path / "r.npy")
    with pytest.raises(isotome.ArgumentError, match="path: given int"):
        isotome.read_recording(3)
    new = tmp_path / "new.hdf5"
    for wrong, message in (
        (traces[0, 0, :5], "traces: given shape"),
        (traces[0], "traces: given shape"),
        (traces[:0], "traces: given shape"),
        (traces + 0j, "complex"),
        (traces * np.float32(np.nan), "nan"),
    ):
        with pytest.raises(isotome.ArgumentError, match=message):
            isotome.write_recording(new, wrong, array())
    with pytest.raises(isotome.ArgumentError, match="wanted transducers"):
        isotome.write_recording(new, traces, 3)
    with pytest.raises(isotome.ArgumentError, match="msot"):
        isotome.write_recording(tmp_path / "x.msot", traces, array())
    assert not new.exists()
