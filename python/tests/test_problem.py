# SPDX-License-Identifier: BSD-3-Clause
"""Problems: parameters, arrays in place of files, results, records."""

import contextlib
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
    assert "\nvoxel: 3 x float, mm; default " in isotome.ray.__doc__


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
    with pytest.raises(isotome.ArgumentError, match="'data' of model sradon takes .* an array, not list-mode events"):
        isotome.sradon(isotome.Events(np.ones((1, 7), np.float32)), context=context)
    with pytest.raises(isotome.ArgumentError, match="context: given str"):
        isotome.ray(context="cpu")
    with pytest.raises(TypeError, match="events twice"):
        isotome.ray("a.lmdT", events="b.lmdT")


def test_descriptions_say_where_a_number_may_stand_for_a_file():
    lines = isotome.ray.__doc__.splitlines()
    assert "additive: file or array or float" in lines
    assert any(line.startswith("calibration: file or float") for line in lines)
    assert "mu: file or array" in lines


def test_parameters_read_back(problem):
    p = problem.parameters
    assert p["voxel"] == "4,4,4" and p["grid"] == "16,12,8" and p["subsets"] == "4"
    assert problem.grid == isotome.Grid((16, 12, 8), (4, 4, 4), (0, 0, 0))
    assert "method='osem'" in repr(problem)


@pytest.mark.parametrize(
    "model, name, file",
    [
        ("ray", "events", "none.lmdT"),
        ("ray", "scanner", "none.yaml"),
        ("ray", "mu", "none.nii"),
        ("ray", "norm", "none.npy"),
        ("ray", "sens", "none.nii"),
        ("ray", "start", "none.nii"),
        ("ray", "kernel", "none.nii,k=20"),
        ("strip", "events", "none.f32"),
        ("srm", "srm", "none.srm"),
        ("ubp", "data", "none.hdf5"),
    ],
)
def test_a_missing_file_is_refused_when_it_is_given(context, tmp_path, model, name, file):
    with pytest.raises(isotome.MissingFileError) as error:
        getattr(isotome, model)(context=context, **{name: str(tmp_path / file)})
    assert str(error.value) == f"{tmp_path}/{file.partition(',')[0]}: No such file or directory"
    assert isinstance(error.value, (isotome.InputError, ValueError)) and isinstance(error.value, FileNotFoundError)


def test_every_reader_says_that_a_file_is_missing(context, tmp_path):
    for read, name in (
        (isotome.read, "none.nii"),
        (isotome.read_events, "none.Cdh"),
        (isotome.read_recording, "none.hdf5"),
        (isotome.open, "none.Cdh"),
        (isotome.Scanner, "none.yaml"),
        (isotome.Matrix.read, "none.srm"),
    ):
        with pytest.raises(isotome.InputError, match=name) as told:
            read(tmp_path / name)
        # wheels have no HDF5, and say that first
        assert isinstance(told.value, FileNotFoundError) or "this build has no HDF5" in str(told.value)
    for name, word in (("sens", "none"), ("kappa", "auto")):
        assert isotome.ray(context=context, **{name: word}).parameters[name] == word


def test_repr_is_short(problem, context, tmp_path):
    assert repr(problem) == (
        "<isotome.Problem ray on cpu: events='(events in memory)', grid='16,12,8', voxel='4,4,4',\n"
        "  method='osem', iterations='2', subsets='4', sens='none'>"
    )
    assert repr(isotome.ray(context=context)) == "<isotome.Problem ray on cpu>"
    deep = tmp_path / ("d" * 200)
    deep.mkdir()
    values = {name: isotome.ray(context=context)._table[name] for name in problem.parameters}
    many = isotome.ray(context=context)
    for p in values.values():
        if p.file == 1:
            (deep / p.name).touch()
            many._set(p.name, deep / p.name)
        elif p.type in (1, 2) and not p.words:
            with contextlib.suppress(isotome.ArgumentError):  # out of its range
                many._set(p.name, (0.25,) * max(p.numbers, 1))
    for line in (lines := repr(many).split("\n")):
        assert len(line) <= 100
    assert len(lines) <= 10 and lines[0].startswith("<isotome.Problem ray on cpu: events='...ddd")


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_any_real_type_is_taken(context, lines):
    def made(change):
        image = np.arange(8 * 12 * 16).reshape(8, 12, 16) % 7
        events = isotome.Events(change(lines), count=change(np.arange(len(lines)) % 3))
        p = isotome.ray(
            events, context=context, start=change(image + 1), mu=change(image / 1e4), sens=change(image), iterations=2, **BOX
        )
        return p.reconstruct(), p.project(change(image)), p.backproject(change(np.ones(len(lines))))

    float32 = made(lambda v: np.ascontiguousarray(v, np.float32))
    for change in (np.float64, lambda v: np.asfortranarray(v, np.float32), lambda v: v.astype(">f8")):
        for got, want in zip(made(change), float32):
            assert got.dtype == np.float32 and np.array_equal(got, want)


def test_crystal_numbers_and_times_of_any_integer_type(context, lines):
    kinds = (np.uint32, np.int64, np.uint8)
    got = [isotome.Events(lines, time_ms=(np.arange(len(lines)) % 99).astype(k)) for k in kinds]
    frames = [isotome.ray(e, context=context, frames=(0, 0.05, 0.1), sens="none", **BOX).reconstruct() for e in got]
    assert all(np.array_equal(f, frames[0]) for f in frames)


def test_six_columns_have_no_times(context, lines, image):
    six = isotome.ray(np.ascontiguousarray(lines[:, :6]), context=context, **BOX).operator()
    seven = isotome.ray(lines, context=context, **BOX).operator()
    assert np.array_equal(six(image), seven(image))


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda v: v + 0j, "lines: given values of complex64, wanted real numbers"),
        (lambda v: v[:, :5] + 0j, r"lines: given shape \(2000, 5\), wanted \(n, 7\) or \(n, 6\)"),
        (lambda v: v[:, :5].copy(), r"lines: given shape \(2000, 5\), wanted \(n, 7\) or \(n, 6\)"),
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
    image = problem.reconstruct(progress=steps.append)
    assert image.shape == (8, 12, 16) and image.dtype == np.float32 and image.min() >= 0
    assert [s.done for s in steps if s.stage == "osem"] == list(range(9))
    assert problem.record["verb"] == "recon"
    assert np.array_equal(problem.reconstruct(), image)


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_progress_stops_by_true_or_by_an_exception(problem):
    with pytest.raises(isotome.Cancelled, match="stopped after 2 of 8 updates"):
        problem.reconstruct(progress=lambda step: step.done == 2)

    def fails(step):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        problem.reconstruct(progress=fails)
    assert problem.reconstruct().max() > 0


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_a_callback_may_use_operators(problem):
    A = problem.operator()
    norms = []
    problem.reconstruct(progress=lambda step: norms.append(A.adjointness_test()))
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
    assert np.allclose(p.operator()(x), y, rtol=1e-4, atol=1e-5 * abs(y).max())
    assert sound_problem("svoxel", context, iterations=1).reconstruct().shape == (8, 8, 8)
    ubp = sound_problem("ubp", context)
    assert ubp.reconstruct().shape == (8, 8, 8)
    with pytest.raises(isotome.ArgumentError, match="no way back"):
        ubp.project(x)


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_accuracy_of_sound(context):
    x = np.random.default_rng(3).standard_normal((8, 8, 8)).astype(np.float32)
    fine = sound_problem("svoxel", context).project(x)  # projections are good to 1e-6

    def off(**how):
        y = sound_problem("svoxel", context, **how).operator()(x)
        return np.linalg.norm(y - fine) / np.linalg.norm(fine)

    assert 0 < off() < 1.5e-3  # operators are for images: 1e-3
    assert off(accuracy=1e-6) == 0
    assert 5e-3 < off(width=2, bins_per_wave=5) < 5e-2
    with pytest.raises(isotome.ArgumentError, match="width"):
        off(width=1)


def test_freed_problems_are_refused(problem):
    problem.free()
    with pytest.raises(isotome.ArgumentError, match="given a problem that was freed"):
        problem.reconstruct()
    assert "freed" in repr(problem)


# ---- images between iterations ----


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_a_callback_sees_each_image(problem):
    steps = []
    image = problem.reconstruct(callback=steps.append)
    assert [(s.iteration, s.iterations, s.frame) for s in steps] == [(1, 2, 0), (2, 2, 0)]
    assert all(isinstance(s.image, isotome.Image) and s.image.grid == problem.grid for s in steps)
    assert all(s.image.unit == image.unit for s in steps)
    assert np.array_equal(steps[1].image, image) and not np.array_equal(steps[0].image, image)
    assert steps[0].objective < steps[1].objective
    curve = problem.record["results"]["loglik"]
    assert [s.objective for s in steps] == pytest.approx([sum(curve[:4]), sum(curve[4:])], rel=1e-12)


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_true_of_a_callback_gives_the_image_so_far(context, lines, tmp_path):
    def of(iterations):
        return isotome.ray(lines, context=context, sens="none", iterations=iterations, **BOX)

    p = of(6)
    image = p.reconstruct(tmp_path / "x.npy", callback=lambda step: step.iteration == 3)
    assert np.array_equal(image, of(3).reconstruct())
    assert np.array_equal(np.load(tmp_path / "x.npy"), image)
    results = p.record["results"]
    assert results["iteration"] == 3 and results["stopped_by_caller"] and len(results["loglik"]) == 3
    assert not (tmp_path / "x.npy.ckpt").exists()
    p.reconstruct()
    assert "stopped_by_caller" not in p.record["results"]


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_an_exception_of_a_callback_is_raised_and_the_run_goes_on(context, lines, tmp_path):
    def of(**more):
        return isotome.ray(lines, context=context, sens="none", iterations=5, **BOX, **more)

    def fails(step):
        if step.iteration == 2:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        of().reconstruct(tmp_path / "x.npy", callback=fails)
    assert (tmp_path / "x.npy.ckpt").is_file() and not (tmp_path / "x.npy").exists()
    with pytest.raises(isotome.ArgumentError, match="resume"):
        of().reconstruct(tmp_path / "x.npy")
    seen = []
    p = of(resume=True)
    image = p.reconstruct(tmp_path / "x.npy", callback=lambda step: seen.append(step.iteration))
    assert seen == [3, 4, 5] and np.array_equal(image, of().reconstruct())
    assert p.record["results"]["resumed_from_update"] == 2


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_frames_and_least_squares_show_their_images(context, lines):
    times = np.linspace(0, 9999, len(lines)).astype(np.uint32)
    p = isotome.ray(
        isotome.Events(lines, time_ms=times, duration_s=10.0),
        context=context, sens="none", iterations=2, frames="0,3,6,10", **BOX,
    )
    steps = []

    def until_the_second_frame(step):
        steps.append((step.frame, step.iteration))
        return steps[-1] == (1, 1)

    image = p.reconstruct(callback=until_the_second_frame)
    assert steps == [(0, 1), (0, 2), (1, 1)] and image.shape == (2, 8, 12, 16)
    costs = []
    for more in ({}, {"nonneg": True}):
        sound = sound_problem("sradon", context, iterations=3, **more)
        sound.reconstruct(callback=lambda s: costs.append(s.objective))
        assert costs[-1] == pytest.approx(sound.record["results"]["cost"][-1], rel=1e-12)
        assert costs[-1] < costs[-2]
    assert len(costs) == 6


def test_wrong_callbacks_are_refused(problem):
    with pytest.raises(isotome.ArgumentError, match="callback: given int, wanted a function"):
        problem.reconstruct(callback=3)
    with pytest.raises(isotome.ArgumentError, match="progress: given int, wanted a function of a Progress"):
        problem.reconstruct(progress=3)


def test_a_callback_without_iterations_is_refused(context):
    p = sound_problem("ubp", context)
    with pytest.raises(isotome.ArgumentError, match="callback: .* without iterations, wanted progress="):
        p.reconstruct(callback=lambda step: True)
    assert p.reconstruct().shape == (8, 8, 8)


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
@pytest.mark.parametrize("answer", [True, 1, np.bool_(True), np.array(True), "enough"])
def test_whatever_is_true_ends_the_run(problem, answer):
    seen = []
    problem.reconstruct(callback=lambda step: (seen.append(step.iteration), answer)[1])
    assert seen == [1]
    with pytest.raises(isotome.Cancelled):
        problem.reconstruct(progress=lambda step: answer)


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
@pytest.mark.parametrize("answer", [None, False, 0, np.array(False), ""])
def test_nothing_else_does(problem, answer):
    seen = []

    def look(step):
        seen.append(step.iteration)
        return answer

    problem.reconstruct(callback=look, progress=lambda step: answer)
    assert seen == [1, 2]


def test_an_answer_that_is_neither_is_an_error(problem):
    for words in ({"callback": lambda step: np.ones(2)}, {"progress": lambda step: np.ones(2)}):
        with pytest.warns(isotome.IsotomeWarning), pytest.raises(ValueError, match="ambiguous"):
            problem.reconstruct(**words)


def test_data_have_their_natural_shape(context):
    p = sound_problem("sradon", context)
    y = p.data().y
    A = p.operator()
    assert y.shape == A.out_shape == (384, 256) and A.ordered().out_shape == (384 * 256,)
    assert A.clone().out_shape == A.out_shape
    assert A.adjoint(y).shape == (8, 8, 8)


def test_no_array_takes_the_place_of_a_scanner(context):
    with pytest.raises(isotome.ArgumentError, match="'scanner' of model ray takes a file alone"):
        isotome.ray(scanner=np.ones((3, 3), np.float32), context=context)


def test_the_grid_is_known_before_the_data(context):
    assert isotome.ray(context=context, **BOX).grid.n == (16, 12, 8)


# ---- what stands for parameters, and what does not ----


def test_a_grid_says_size_voxel_and_centre(context, lines):
    grid = isotome.Grid((16, 12, 8), (4.0, 3.0, 2.5), (1.0, 0.1, -3.0))
    assert isotome.ray(lines, context=context, grid=grid).grid == grid
    with pytest.raises(isotome.ArgumentError, match="voxel: given besides an isotome.Grid"):
        isotome.ray(lines, context=context, grid=grid, voxel=2)
    with pytest.raises(isotome.ArgumentError, match="wanted cubes"):
        isotome.sradon(context=context, grid=grid)
    with pytest.raises(isotome.ArgumentError, match="grid: given isotome.Grid for model strip, wanted 2 x int"):
        isotome.strip(context=context, grid=grid)
    with pytest.raises(isotome.ArgumentError, match="voxel: given isotome.Grid"):
        isotome.ray(context=context, voxel=grid)
    cubes = grid._replace(voxel=(2.0, 2.0, 2.0))
    assert isotome.sradon(context=context, grid=cubes).parameters["voxel"] == "2"


def test_objects_that_cannot_stand_for_a_file_are_named(context):
    class Tensor:
        shape = (3, 3)

    with pytest.raises(isotome.ArgumentError, match="mu: given Tensor of .*, wanted a NumPy array or a file"):
        isotome.ray(mu=Tensor(), context=context)
    transducers = isotome.Scanner(SCANNERS / "optoacoustic-small.yaml").transducers
    with pytest.raises(isotome.ArgumentError, match="scanner: given Transducers, wanted a file or an isotome.Scanner"):
        isotome.sradon(scanner=transducers, context=context)


def test_long_and_odd_paths_read_back(context, tmp_path):
    folder = tmp_path / ("x" * 200) / ("y" * 200)
    folder.mkdir(parents=True)
    long, odd = str(folder / "mu.nii"), str(tmp_path / "\udcff.nii")  # a byte that is not of UTF-8
    for name in (long, odd):
        open(name, "w").close()
    assert isotome.ray(mu=long, context=context).parameters["mu"] == long
    p = isotome.ray(mu=odd, context=context)
    assert p.parameters["mu"] == odd and "mu=" in repr(p)


def test_data_named_twice(lines, context):
    with pytest.raises(isotome.ArgumentError, match="events, data: given both"):
        isotome.ray(lines, data="e.lmdT", context=context)


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_a_run_like_another(problem, lines, context, tmp_path):
    first = problem.reconstruct(tmp_path / "x.nii")
    again = isotome.ray(lines, context=context, like=tmp_path / "x.json")
    assert again.parameters["subsets"] == "4" and np.array_equal(again.reconstruct(), first)
    with pytest.raises(isotome.InputError, match="not the record"):
        isotome.strip(context=context, like=tmp_path / "x.json")


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_force_and_resume_of_one_call(problem, tmp_path):
    path, A = tmp_path / "x.nii", problem.operator()
    first = problem.reconstruct(path)
    with pytest.raises(isotome.IsotomeError, match="x.nii"):
        problem.reconstruct(path)
    assert np.array_equal(problem.reconstruct(path, force=True), first)
    assert problem.record["results"]["loglik"] and problem.parameters["force"] == "false"
    with pytest.raises(isotome.IsotomeError, match="x.nii"):
        problem.reconstruct(path)

    def fail(step):
        raise RuntimeError("enough")

    other = tmp_path / "y.nii"
    with pytest.raises(RuntimeError, match="enough"):
        problem.reconstruct(other, callback=fail)
    assert (tmp_path / "y.nii.ckpt").exists()
    steps = []
    assert np.array_equal(problem.reconstruct(other, callback=steps.append, resume=True), first)
    assert [step.iteration for step in steps] == [2]
    assert A(np.asarray(first)).any()  # of data that were loaded anew since


def test_an_image_is_written_on_the_problems_grid(problem, tmp_path):
    problem.write(tmp_path / "x.nii", np.ones(problem.grid.shape, np.float32))
    assert isotome.read(tmp_path / "x.nii").grid == problem.grid
    with pytest.raises(isotome.ArgumentError, match="without a grid"):
        problem.write(tmp_path / "y.nii", np.ones((2, 2, 2), np.float32))


def test_sens_is_taken_without_the_psf(lines, context):
    scan = dict(context=context, scanner=SCANNERS / "small-animal.yaml", iterations=2, **BOX)
    plain = isotome.ray(lines, **scan).sensitivity()
    blurred = isotome.ray(lines, psf=12, **scan)
    given = isotome.ray(lines, psf=12, sens=plain, **scan)
    assert np.allclose(given.reconstruct(), blurred.reconstruct(), rtol=1e-4)


def test_a_refused_thread_leaves_warnings_to_the_call(problem):
    problem._calls["another"] = -1
    problem._warned[-1] = ["its warning"]
    try:
        with pytest.raises(isotome.BusyError):
            problem.load()
        assert problem._warned == {-1: ["its warning"]}
    finally:
        del problem._calls["another"], problem._warned[-1]


# ---- of a file alone ----


def test_a_file_tells_its_model(context, lines, image, tmp_path):
    isotome.write_events(tmp_path / "scan.lmdT", lines)
    p = isotome.open(tmp_path / "scan.lmdT", context=context, sens="none", iterations=2, **BOX)
    named = isotome.ray(tmp_path / "scan.lmdT", context=context, sens="none", iterations=2, **BOX)
    assert p.model == "ray" and np.array_equal(p.reconstruct(), named.reconstruct())
    (tmp_path / "strips.txt").write_text("1 2 3\n" * 4)
    assert isotome.open(tmp_path / "strips.txt", context=context).model == "strip"
    isotome.write(tmp_path / "x.npy", image)
    with pytest.raises(isotome.InputError, match="x.npy: does not tell a model"):
        isotome.open(tmp_path / "x.npy", context=context)
    with pytest.raises(isotome.InputError, match="none.lmdT: No such file"):
        isotome.open(tmp_path / "none.lmdT", context=context)


def test_the_scanner_and_the_grid_of_events(context, tmp_path):
    """Events say where their scanner is; its field of view is the grid."""
    path = SCANNERS / "small-animal.yaml"
    scanner = isotome.Scanner(path)
    a, b = np.array([scanner.pair(i) for i in range(0, scanner.pairs, scanner.pairs // 20000)]).T
    lines = np.hstack([scanner.positions[a], scanner.positions[b]]).astype(np.float32)
    p = isotome.ray(lines, context=context)
    with pytest.warns(isotome.IsotomeWarning, match="assumed, from the ends of its events: cylinder of radius"):
        assumed = p.grid
    given = isotome.ray(lines, scanner=scanner, context=context).grid
    assert given == scanner.grid
    assert np.allclose(np.multiply(assumed.n, assumed.voxel), np.multiply(given.n, given.voxel), rtol=0.1)
    assert isotome.ray(lines, scanner=scanner, voxel=4, context=context).grid.voxel == (4, 4, 4)


def test_preset_chooses_what_nobody_gave(context, lines):
    ring = dict(scanner=SCANNERS / "small-animal.yaml", context=context)
    lines[:, [0, 1, 3, 4]] *= 64 / 60  # onto its crystals
    p = isotome.ray(lines, preset="quick", iterations=1, **ring)
    assert p.grid.voxel == (1.5, 1.5, 1.5) and p.parameters["method"] == "osem"
    image = p.reconstruct()
    chosen = {c["parameter"]: c["value"] for c in p.record["results"]["preset"]["chosen"]}
    assert chosen == {"method": "osem", "subsets": "2", "voxel": "1.5", "filter": "gaussian:3"}
    assert p.record["parameters"]["preset"] == "quick"
    told = isotome.ray(lines, method="osem", subsets=2, iterations=1, voxel=1.5, filter="gaussian:3", **ring)
    assert np.array_equal(image, told.reconstruct())
    assert p.sensitivity().shape == image.shape
    # without the word nothing is chosen
    plain = isotome.ray(lines, iterations=1, **ring)
    assert "preset" not in plain.parameters and plain.grid.voxel == (0.8, 0.8, 0.8)
    assert plain.parameters["method"] == "mlem"


def ring_problem(lines, **given):
    """Lines in the small ring's field, on a grid whose corners lie behind the crystals."""
    return isotome.ray(lines, scanner=SCANNERS / "small-animal.yaml", grid=(24, 24, 6), voxel=6, **given)


def test_the_sensitivity_comes_from_the_cache(context, lines, tmp_path, monkeypatch):
    monkeypatch.setenv("ISOTOME_CACHE_SECONDS", "0")
    folder = tmp_path / "kept"
    first = ring_problem(lines, context=context, cache=folder).sensitivity()
    assert [f.suffix for f in folder.iterdir()] == [".cache"]
    p = ring_problem(lines, context=context, cache=folder)
    second = p.sensitivity()
    assert np.array_equal(first, second)
    assert str(folder) in p.record["results"]["sensitivity"]["taken_from"]
    for off in ({"cache": "none"}, {"cache": folder, "no_cache": True}):
        p = ring_problem(lines, context=context, **off)
        assert np.array_equal(first, p.sensitivity())
        assert "taken_from" not in p.record["results"]["sensitivity"]


def test_no_activity_where_hardly_any_line_crosses(context, lines):
    scan = dict(context=context, iterations=2, **BOX)
    s = np.ones(tuple(reversed(BOX["grid"])), np.float32)
    image = np.asarray(isotome.ray(lines, sens=s, **scan).reconstruct())
    hot = np.unravel_index(np.argmax(image), image.shape)
    s[hot] = 0.01
    p = isotome.ray(lines, sens=s, **scan)
    assert image[hot] > 0 and p.reconstruct()[hot] == 0
    assert p.record["results"]["sens_floor"] == {"floor": 0.2, "voxels_cut": 1, "voxels_seen": s.size}
    assert isotome.ray(lines, sens=s, sens_floor=0, **scan).reconstruct()[hot] > image[hot]
