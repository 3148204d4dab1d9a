# SPDX-License-Identifier: BSD-3-Clause
"""Tables of poses: read, asked and written, against NumPy."""

import numpy as np
import pytest

import isotome

QUARTER = [0, -1, 0, 1, 1, 0, 0, 2, 0, 0, 1, 3]  # about z


def test_arrays_are_tables():
    p = isotome.Poses([[0, 1, 0, 0, 0, 0, 0, 0], [10, 1, 0, 0, 0, 4, 0, -8], [20] + 7 * [np.nan]])
    assert (len(p), p.rule, p.note) == (3, "linear", "")
    np.testing.assert_array_equal(p.times, [0, 10, 20])
    assert p.at(5).shape == (3, 4)
    np.testing.assert_allclose(p.at([[5, 15]])[0, :, :, 3], [[2, 0, -4], [4, 0, -8]])
    assert np.isnan(p.at(25)).all()


def test_matrices_rules_and_directions():
    rows = [[0, *QUARTER], [10, *np.eye(3, 4).ravel()]]
    p = isotome.Poses(rows, rule="step")
    np.testing.assert_allclose(p.at(9.9).ravel(), QUARTER, atol=1e-15)
    r, t = p.at(0)[:, :3], p.at(0)[:, 3]
    back = isotome.Poses(rows, rule="step", inverse=True).at(0)
    np.testing.assert_allclose(back, np.column_stack([r.T, -r.T @ t]))
    shift = np.column_stack([np.eye(3), [1, 0, 0]])
    turned = isotome.Poses(rows, rule="step", axes=shift).at(0)
    np.testing.assert_allclose(turned[:, 3], t + [1, 0, 0] - r @ [1, 0, 0])


def test_files(tmp_path):
    p = isotome.Poses([[0, *QUARTER], [1, *QUARTER]])
    for name in ("p.csv", "p.npy"):
        p.write(tmp_path / name)
        np.testing.assert_allclose(isotome.Poses(tmp_path / name).at([0, 0.5]), p.at([0, 0.5]), atol=1e-15)
    assert np.load(tmp_path / "p.npy").shape == (2, 8)
    p.write(tmp_path / "p.yrt.csv")
    assert isotome.Poses(tmp_path / "p.yrt.csv").rule == "step"
    with pytest.raises(isotome.IsotomeError, match="exists"):
        p.write(tmp_path / "p.csv")
    (tmp_path / "g.csv").write_text("time_s,angle_deg\n0,0\n8,720\n")
    assert isotome.Poses(tmp_path / "g.csv", kind="gantry").at(1)[1, 0] == 1
    with pytest.raises(isotome.InputError, match="turns a gantry"):
        isotome.Poses(tmp_path / "g.csv", kind="object")


def test_what_is_refused(tmp_path):
    with pytest.raises(isotome.InputError, match="row 1, column 1 .time_s.: 0 s does not come after 0 s"):
        isotome.Poses([[0, *QUARTER], [0, *QUARTER]])
    for table in ([0, 1], np.zeros((2, 3)), np.zeros((0, 8))):
        with pytest.raises(isotome.ArgumentError):
            isotome.Poses(table)
    with pytest.raises(isotome.ArgumentError, match="rule: given 'cubic'"):
        isotome.Poses([[0, *QUARTER]], rule="cubic")
    with pytest.raises(isotome.ArgumentError, match="axes"):
        isotome.Poses([[0, *QUARTER]], axes=np.eye(3))
    with pytest.raises(isotome.IsotomeError):
        isotome.Poses(tmp_path / "none.csv")
