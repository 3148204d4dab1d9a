# SPDX-License-Identifier: BSD-3-Clause
"""Problems: parameters, arrays in place of files, results, records."""

import inspect

import numpy as np
import pytest
from conftest import BOX, SCANNERS, sound_problem, strip_problem

import isotome


def test_a_function_a_model_from_its_table():
    assert {"ray", "strip", "srm", "ubp", "svoxel", "sradon"} <= set(isotome.models)
    for model in isotome.models:
        function = getattr(isotome, model)
        assert function.__name__ == model
        names = list(inspect.signature(function).parameters)
        assert names[0] in ("events", "data") and names[1] == "context"
        for name in names[2:]:
            assert f"\n{name}: " in function.__doc__
    assert "\nvoxel: 3 x float; default " in isotome.ray.__doc__


def test_parameters_are_checked_as_they_are_set(context):
    with pytest.raises(isotome.ArgumentError, match="iterations"):
        isotome.ray(iteratoins=3, context=context)
    with pytest.raises(isotome.ArgumentError, match="iterations"):
        isotome.ray(iterations="many", context=context)
    with pytest.raises(isotome.ArgumentError, match="voxel"):
        isotome.ray(voxel=(1, 2), context=context)
    with pytest.raises(isotome.ArgumentError, match="psf: given dict"):
        isotome.ray(psf={}, context=context)
    with pytest.raises(isotome.ArgumentError, match="curve: given ndarray"):
        isotome.ray(curve=np.ones((2, 2), np.float32), context=context)
    with pytest.raises(isotome.ArgumentError, match="method: .*without zeros"):
        isotome.ray(method="mlem\0x", context=context)
    with pytest.raises(isotome.ArgumentError, match="data of model sradon: given Events"):
        isotome.sradon(isotome.Events(np.ones((1, 7), np.float32)), context=context)
    with pytest.raises(isotome.ArgumentError, match="context: given str"):
        isotome.ray(context="cpu")
    with pytest.raises(TypeError, match="events twice"):
        isotome.ray("a.lmdT", events="b.lmdT")


def test_parameters_read_back(problem):
    p = problem.parameters
    assert p["voxel"] == "4,4,4" and p["grid"] == "16,12,8" and p["subsets"] == "4"
    assert problem.grid == isotome.Grid((16, 12, 8), (4, 4, 4), (0, 0, 0))
    assert "method='osem'" in repr(problem)


def test_a_missing_file_is_an_input_error(context, tmp_path):
    p = isotome.ray(tmp_path / "none.lmdT", context=context, **BOX)
    with pytest.raises(isotome.InputError, match="none.lmdT"):
        p.operator()


def test_six_columns_have_no_times(context, lines, image):
    six = isotome.ray(np.ascontiguousarray(lines[:, :6]), context=context, **BOX).operator()
    seven = isotome.ray(lines, context=context, **BOX).operator()
    assert np.array_equal(six(image), seven(image))


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda v: v.astype(np.float64), "lines: given values of float64, wanted float32"),
        (lambda v: v[:, :5].copy(), r"lines: given shape \(2000, 5\), wanted \(n, 7\) or \(n, 6\)"),
        (lambda v: v[:, :6], "contiguous"),
        (lambda v: isotome.Events(v, count=np.ones(3, np.float32)), r"count: given shape \(3,\), wanted"),
        (lambda v: isotome.Events(v, time_ms=np.ones(2000)), "time_ms: given values of float64, wanted uint"),
        (lambda v: isotome.Events(v, isotope="x" * 16), "isotope"),
    ],
)
def test_wrong_events_are_refused(context, lines, spoil, message):
    with pytest.raises(isotome.ArgumentError, match=message):
        isotome.ray(spoil(lines), context=context)


def test_events_with_counts_factors_and_additive_terms(context, lines, image):
    random = np.random.default_rng(6)
    y, add, mult = (random.random(len(lines), dtype=np.float32) + 1 for _ in range(3))
    p = isotome.ray(isotome.Events(lines, count=y, add=add, mult=mult), context=context, sens="none", **BOX)
    data = p.data()
    assert all(v.flags.writeable for v in data)
    assert np.array_equal(data.y, y) and np.array_equal(data.mult, mult) and np.allclose(data.add, add)
    assert np.allclose(p.project(image), mult * p.operator()(image) + add, rtol=1e-5)


def test_sensitivity_as_an_array(context, lines):
    sens = np.full((8, 12, 16), 2, np.float32)
    p = isotome.ray(lines, context=context, sens=sens, iterations=1, **BOX)
    q = isotome.ray(lines, context=context, sens="none", iterations=1, **BOX)
    with pytest.warns(isotome.IsotomeWarning):
        twice = q.reconstruct()
    assert np.allclose(p.reconstruct(), twice / 2, rtol=1e-5)
    wrong = isotome.ray(lines, context=context, sens=sens[:-1], **BOX)
    with pytest.raises(isotome.IsotomeError, match="sens"):
        wrong.reconstruct()


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_reconstruction_tells_of_its_steps(problem):
    steps = []
    image = problem.reconstruct(callback=steps.append)
    assert image.shape == (8, 12, 16) and image.dtype == np.float32 and image.min() >= 0
    assert [s.done for s in steps if s.stage == "osem"] == list(range(9))
    assert problem.record["verb"] == "recon"
    assert np.array_equal(problem.reconstruct(), image)


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_a_callback_stops_by_true_or_by_an_exception(problem):
    with pytest.raises(isotome.Cancelled, match="stopped after 2 of 8 updates"):
        problem.reconstruct(callback=lambda step: step.done == 2)

    def fails(step):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        problem.reconstruct(callback=fails)
    assert problem.reconstruct().max() > 0


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_a_callback_may_use_operators(problem):
    A = problem.operator()
    norms = []
    problem.reconstruct(callback=lambda step: norms.append(A.adjointness_test()))
    assert norms and max(norms) < 1e-5


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_files_are_written_with_their_record(problem, tmp_path):
    image = problem.reconstruct(tmp_path / "x.npy")
    assert np.array_equal(np.load(tmp_path / "x.npy"), image)
    assert (tmp_path / "x.npy.json").is_file()
    with pytest.raises(isotome.ArgumentError, match="x.npy"):
        problem.reconstruct(tmp_path / "x.npy")
    problem.write(tmp_path / "y.npy", image * 2)
    assert np.array_equal(np.load(tmp_path / "y.npy"), image * 2)


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_sensitivity_of_a_scanner(context):
    p = isotome.ray(
        scanner=SCANNERS / "small-animal.yaml", grid=(6, 6, 6), voxel=8, sens_share=1e-4, context=context
    )
    s = p.sensitivity()
    assert s.shape == (6, 6, 6) and s[3, 3, 3] > s[0, 0, 0] >= 0


def test_strips(context):
    p = strip_problem(context, iterations=1)
    x = p.reconstruct()
    assert x.size == np.prod(p.grid.n) and x.max() > 0
    assert p.operator()(np.ones(p.operator().in_shape, np.float32)).shape == (500,)
    with pytest.raises(isotome.ArgumentError, match=r"wanted \(n, 3\)"):
        isotome.strip(np.ones((4, 2), np.float32), context=context)


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_sound(context):
    p = sound_problem("sradon", context, iterations=2)
    x = p.reconstruct()
    assert x.shape == (8, 8, 8)
    y = p.project(x)
    assert y.shape == (384, 256)
    assert np.allclose(p.operator()(x), y.ravel(), rtol=1e-4, atol=1e-5 * abs(y).max())
    assert sound_problem("svoxel", context, iterations=1).reconstruct().shape == (8, 8, 8)
    ubp = sound_problem("ubp", context)
    assert ubp.reconstruct().shape == (8, 8, 8)
    with pytest.raises(isotome.ArgumentError, match="no way back"):
        ubp.project(x)


def test_freed_problems_are_refused(problem):
    problem.free()
    with pytest.raises(isotome.ArgumentError, match="given a problem that was freed"):
        problem.reconstruct()
    assert "freed" in repr(problem)
