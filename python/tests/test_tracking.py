# SPDX-License-Identifier: BSD-3-Clause
"""Registration and the motion of a head: poses of painted images, a still scan as the program finds it, and what is refused."""

import numpy as np
import pytest
from made import program, ring

import isotome
from isotome import Grid, Image

GRID = Grid((20, 20, 20), (5.0, 5.0, 5.0), (0.0, 0.0, 0.0))


def turn(angle, shift):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, shift[0]], [s, c, 0, shift[1]], [0, 0, 1, shift[2]]])


def paint(pose, grid=GRID):
    """Gaussian balls, none like another, at the places of a pose."""
    z, y, x = (np.indices(grid.shape) - 9.5) * 5
    at = np.array([[20, 5, -10], [-15, 20, 5], [5, -20, 15], [-10, -10, -20], [0, 10, 20]]) @ pose[:, :3].T + pose[:, 3]
    f = sum((1 + k) * np.exp(-((x - a[0]) ** 2 + (y - a[1]) ** 2 + (z - a[2]) ** 2) / 150) for k, a in enumerate(at))
    return Image(f.astype(np.float32), grid)


STILL, POSE = turn(0, (0, 0, 0)), turn(0.1, (3, -2, 1))


def test_a_pose_is_found(context):
    found = isotome.register(2 * paint(POSE), paint(STILL), context=context)
    assert np.abs(found.pose - POSE)[:, 3].max() < 0.1 and np.abs(found.pose - POSE)[:, :3].max() < 5e-3
    assert found.correlation > 0.99 and found.ended and 0 < found.steps <= 90
    again = isotome.register(paint(POSE), paint(STILL), start=[STILL, POSE], context=context)
    assert np.abs(again.pose - found.pose).max() < 1e-3


def test_images_that_can_not_be_registered(context):
    with pytest.raises(isotome.ArgumentError, match="without a grid"):
        isotome.register(np.ones((4, 4, 4)), paint(STILL), context=context)
    with pytest.raises(isotome.ArgumentError, match="another grid"):
        isotome.register(paint(STILL), paint(STILL, Grid(GRID.n, GRID.voxel, (1.0, 0.0, 0.0))), context=context)
    with pytest.raises(isotome.ArgumentError, match="3 x 4"):
        isotome.register(paint(STILL), paint(STILL), start=np.eye(4), context=context)
    with pytest.raises(isotome.InputError, match="is empty"):
        isotome.register(paint(STILL), 0 * paint(STILL), context=context)


def test_the_poses_of_a_scan_are_those_of_the_program(tmp_path, context):
    scanner = isotome.Scanner(ring(tmp_path))
    events = isotome.simulate(paint(STILL), scanner, counts=4000, duration_s=4, context=context)
    isotome.write_events(tmp_path / "e.Cdh", events, scanner)
    how = {"frame_s": 1, "events": 0, "rounds": 1, "iterations": 2, "grid": GRID}
    found = isotome.track(tmp_path / "e.Cdh", scanner, **how, context=context)
    assert found.poses.shape == (4, 13) and found.events.sum() == len(events) and found.grid == GRID
    program("motion", "e.Cdh", "--scanner", scanner.path, "--frame-s", 1, "--events-per-frame", 0, "--rounds", 1,
            "--iterations", 2, "--grid", "20,20,20", "--voxel", 5, "-o", "p.npy", folder=tmp_path)
    table = np.load(tmp_path / "p.npy")
    assert np.array_equal(table[:, 0], found.poses[:, 0])
    assert np.allclose(table[:, 5:], found.poses[:, [4, 8, 12]], equal_nan=True)
    given = isotome.track(tmp_path / "e.Cdh", scanner, **how, reference=paint(STILL), context=context)
    assert given.steps.min() > 0
    with pytest.raises(isotome.ArgumentError, match="times of events"):
        isotome.write_events(tmp_path / "e.lmdT", events)
        isotome.track(tmp_path / "e.lmdT", scanner, context=context)
