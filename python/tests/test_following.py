# SPDX-License-Identifier: BSD-3-Clause
"""Images of frames as they come: from arrays, files and pipes, in batches, warm and cold."""

import os
import threading

import numpy as np
import pytest

import isotome

FRAME = (32, 220)
GRID = {"grid": (24, 24, 1), "voxel": 0.5, "fmax_mhz": 1.4}
YAML = """
kind: transducers
sphere: {radius_mm: 15, rings: 1, views: 32}
speed_mm_per_us: 1.5
sampling_mhz: 20
first_sample_us: 4.5
samples: 220
grueneisen: 1
"""


@pytest.fixture
def scanner(tmp_path):
    (tmp_path / "ring.yaml").write_text(YAML)
    return tmp_path / "ring.yaml"


@pytest.fixture
def problem(scanner, context):
    more = {"nonneg": True, "penalty": "tikhonov:rel=0.01", "iterations": 12}
    return isotome.svoxel(scanner=scanner, context=context, **GRID, **more)


@pytest.fixture
def frames():
    """A disc that moves."""
    angle = 2 * np.pi * np.arange(FRAME[0]) / FRAME[0]
    at = 15 * np.stack([np.cos(angle), np.sin(angle)], 1)
    t = 4.5 + np.arange(FRAME[1]) / 20
    found = []
    for k in range(5):
        d = np.linalg.norm(at - [k - 2, 1], axis=1)[:, None]
        x = (d - 1.5 * t) / 0.6
        found.append(x * np.exp(-x * x) / d)
    return np.rint(np.array(found) / np.max(np.abs(found)) * 20000).astype("<i2")


def test_arrays(problem, frames):
    images = list(problem.follow(frames))
    assert len(images) == 5 and images[0].shape == (1, 24, 24) and images[0].unit == "absorbed energy"
    assert images[0].grid.voxel[0] == 0.5 and min(x.min() for x in images) >= 0
    for k, image in enumerate(images):  # where the disc is: x from k - 2 mm
        place = np.unravel_index(image[0].argmax(), (24, 24))[1]
        assert abs((place - 11.5) * 0.5 - (k - 2)) <= 0.75
    for source in (frames, [frames[:2], frames[2], frames[3:]], frames.astype(np.float32), frames.astype(float)):
        for batch in (1, 2, 8):
            assert np.array_equal(list(problem.follow(source, batch=batch)), images)


def test_generators_are_not_read_ahead(problem, frames):
    taken = []

    def source():
        for k, frame in enumerate(frames):
            taken.append(k)
            yield frame

    images = problem.follow(source())
    next(images)
    assert taken == [0]
    assert len(list(images)) == 4


def test_stream(problem, frames):
    want = np.array(list(problem.follow(frames)))
    stream = problem.follow(batch=2)
    assert stream.frames == 0 and np.array_equal(stream(frames), want)
    one = stream(frames[3])
    assert isinstance(one, isotome.Image) and np.array_equal(one, want[3]) and stream.frames == 6
    assert stream.eigenvalue > 0 and "6 frames" in repr(stream)
    with pytest.raises(isotome.ArgumentError, match="behind frames of int16"):
        stream(frames.astype(np.float32))
    with pytest.raises(isotome.ArgumentError, match=r"wanted \(n, 32, 220\)"):
        stream(frames[:, :, :100])


def test_it_is_what_reconstruct_finds(scanner, context, frames):
    more = {"nonneg": True, "penalty": "tikhonov:rel=0.05", "iterations": 200, "scanner": scanner, "context": context}
    image = next(isotome.svoxel(**GRID, **more).follow(frames))
    plain = isotome.svoxel(frames[0].astype(np.float32), **GRID, **more).reconstruct()
    assert np.abs(image - plain).max() < 5e-3 * plain.max()


def test_files(problem, frames, tmp_path):
    want = np.array(list(problem.follow(frames)))
    raw, npy = tmp_path / "raw", tmp_path / "x.npy"
    frames.tofile(raw)
    np.save(npy, frames)
    assert np.array_equal(list(problem.follow(raw)), want)
    assert np.array_equal(list(problem.follow(str(npy), batch=3, sample_type="f32")), want)
    with open(npy, "rb") as file:
        assert np.array_equal(list(problem.follow(file)), want)
    with open(raw, "ab") as file:
        file.write(b"1234567")
    with pytest.warns(isotome.IsotomeWarning, match="cut and left out: 7 of its 14080"):
        assert np.array_equal(list(problem.follow(raw)), want)


def test_a_pipe(problem, frames, tmp_path):
    want = np.array(list(problem.follow(frames)))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def feed():
        with open(pipe, "wb", buffering=0) as file:
            data = frames.tobytes()
            for i in range(0, len(data), 5000):
                file.write(data[i : i + 5000])

    thread = threading.Thread(target=feed)
    thread.start()
    assert np.array_equal(list(problem.follow(pipe)), want)
    thread.join()


def test_warm(problem, frames):
    same = np.repeat(frames[:1], 4, axis=0)
    cold, warm = (list(problem.follow(same, warm=w)) for w in (False, True))
    assert np.array_equal(cold[0], cold[3]) and np.array_equal(cold[0], warm[0])
    assert not np.array_equal(warm[0], warm[1])
    turns = list(problem.follow(same, warm=True, wavelengths=2, batch=2))
    assert np.array_equal(turns[1], warm[0]) and np.array_equal(turns[3], warm[1])


def test_refused(problem, frames, scanner, context, tmp_path):
    with pytest.raises(isotome.ArgumentError, match="batch"):
        problem.follow(batch=0)
    with pytest.raises(isotome.ArgumentError, match="sample_type"):
        next(problem.follow(frames, sample_type="f64"))
    np.save(tmp_path / "double.npy", frames.astype(float))
    with pytest.raises(isotome.InputError, match="float64"):
        next(problem.follow(tmp_path / "double.npy"))
    np.save(tmp_path / "turned.npy", np.ascontiguousarray(frames.transpose(0, 2, 1)))
    with pytest.raises(isotome.InputError, match="220, 32"):
        next(problem.follow(tmp_path / "turned.npy"))
    with pytest.raises(isotome.ArgumentError, match="model sradon makes no images of frames"):
        next(isotome.sradon(scanner=scanner, grid=(8, 8, 1), voxel=0.5, context=context).follow(frames))
    bad = frames.astype(np.float32)
    bad[1, 2, 3] = np.nan
    with pytest.raises(isotome.InputError, match="frame 2 holds no finite numbers"):
        list(problem.follow(bad))
    assert list(problem.follow(iter([]))) == []
