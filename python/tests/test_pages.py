# SPDX-License-Identifier: BSD-3-Clause
"""Pages: what is written, from which words, and wrong words."""

import numpy as np
import pytest

import isotome
from isotome import Grid, Image

GRID = Grid((6, 5, 4), (2.0, 2.0, 2.0))


@pytest.fixture
def image():
    return Image(np.arange(120, dtype=np.float32).reshape(GRID.shape), GRID)


def test_viewer(image, tmp_path):
    page = tmp_path / "x.html"
    isotome.write_viewer(page, image)
    assert "<script" in page.read_text()
    isotome.write_viewer(
        page, image, overlay=image[::-1], title="A & B", name="x.nii", map="grey", window=(0, 50), at=(1, 0, 2)
    )
    assert "A &amp; B" in page.read_text() and "x.nii" in page.read_text()
    isotome.write_viewer(page, np.ones((3, 4, 5, 6)), frame=2)
    late = 1e-3 * np.stack([np.zeros((4, 5, 6)), np.ones((4, 5, 6)), np.zeros((4, 5, 6))])
    isotome.write_viewer(page, late, overlay=late[1], overlay_map="tide", opacity=0.25, labels="none")
    text = page.read_text(encoding="utf-8")
    for words in ('"frame": 1', '"opacity": 0.25', '"labels": "none"', '"map": "tide"'):
        assert words in text


def test_report(image, tmp_path):
    files = [tmp_path / "a.nii", tmp_path / "b.nii"]
    for k, file in enumerate(files):
        isotome.write(file, image * (k + 1))
    page = tmp_path / "r.html"
    isotome.write_report(page, files[0])
    assert "a.nii" in page.read_text() and "<script" in page.read_text()
    ends = ((-3, 0, 0), (3, 0, 0))
    isotome.write_report(page, files, title="Two", truth=files[0], profile=ends, viewer=False)
    assert "Two" in page.read_text() and "<script" not in page.read_text()


@pytest.mark.parametrize(
    "words, said",
    [
        ({"map": "mauve"}, "mauve"),
        ({"frame": 3}, "frame is 3"),
        ({"at": (99, 0, 0)}, "outside"),
        ({"at": (1, 2)}, "at"),
        ({"window": (2, 1)}, "window"),
    ],
)
def test_wrong_words(image, tmp_path, words, said):
    with pytest.raises(isotome.IsotomeError, match=said):
        isotome.write_viewer(tmp_path / "x.html", image, **words)
    assert not (tmp_path / "x.html").exists()


def test_wrong_files(image, tmp_path):
    with pytest.raises(isotome.IsotomeError, match="written as .html"):
        isotome.write_viewer(tmp_path / "x.png", image)
    with pytest.raises(isotome.IsotomeError, match="missing.nii"):
        isotome.write_report(tmp_path / "r.html", tmp_path / "missing.nii")
    with pytest.raises(isotome.IsotomeError, match="0 images"):
        isotome.write_report(tmp_path / "r.html", [])
    with pytest.raises(isotome.IsotomeError, match="two places"):
        isotome.write_report(tmp_path / "r.html", "a.nii", profile=((0, 0, 0),))
