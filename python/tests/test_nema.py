# SPDX-License-Identifier: BSD-3-Clause
"""Figures after NEMA: dictionaries, and what is refused."""

import json

import numpy as np
import pytest

import isotome


def places(folder):
    (folder / "places.json").write_text(json.dumps({"angle_deg": 10}))
    return folder / "places.json"


def test_a_uniform_mouse_phantom(tmp_path, context):
    image = isotome.Image(np.full((64, 36, 36), 2, np.float32), isotome.Grid((36, 36, 64), (1, 1, 1)), "Bq/ml")
    image.save(tmp_path / "x.nii")
    r = isotome.nema.mouse(tmp_path / "x.nii", places(tmp_path), context=context)["nu4"]
    assert r["uniform"]["mean"] == pytest.approx(2) and r["uniform"]["std_percent"] == pytest.approx(0, abs=1e-9)
    assert [rod["diameter_mm"] for rod in r["rods"]] == [5, 4, 3, 2, 1]
    assert all(rod["rc"] == pytest.approx(1) for rod in r["rods"])
    assert [c["name"] for c in r["cold"]] == ["water", "air"]


def test_a_missing_half_life_is_refused(tmp_path, context):
    (tmp_path / "s.yaml").write_text("activity_mbq: 1\nruns: [{events: a.lmdT, duration_s: 1}]\n")
    with pytest.raises(isotome.IsotomeError, match="half life"):
        isotome.nema.counting(tmp_path / "s.yaml", context=context)
