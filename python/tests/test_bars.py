# SPDX-License-Identifier: BSD-3-Clause
"""progress=True: bars of tqdm, or lines on stderr without it."""

import io
import sys

import numpy as np
import pytest
from conftest import BOX, make_lines
from made import ring

import isotome
from isotome import bars
from isotome.context import Progress

pytestmark = pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")


@pytest.fixture
def no_tqdm(monkeypatch):
    for name in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, None)


def step(done, total=4, elapsed_s=1.0, **more):
    values = {"stage": "mlem", "left_s": None, "note": "", "unit": "", "per_s": 0.0, "brief": False, **more}
    return Progress(done=done, total=total, elapsed_s=elapsed_s, **values)


def test_a_line_for_each_stage(problem, no_tqdm, capfd):
    quiet = problem.reconstruct(progress=False)
    assert capfd.readouterr().err == ""
    assert np.array_equal(problem.reconstruct(progress=True), quiet)
    lines = capfd.readouterr().err.splitlines()
    assert any(line.startswith("osem: 8 of 8, ") for line in lines) and len(lines) < 10


def test_bars_of_tqdm(problem, capfd):
    pytest.importorskip("tqdm")
    problem.reconstruct(progress=True)
    assert "8/8" in capfd.readouterr().err


def test_every_long_call_takes_it(problem, context, tmp_path, no_tqdm, capfd):
    scanner = isotome.Scanner(ring(tmp_path))
    grid = isotome.Grid((8, 8, 4), (4, 4, 4))
    image = isotome.phantom("cylinder", grid)
    isotome.simulate(image, scanner, counts=1e4, context=context, progress=True)
    assert capfd.readouterr().err.startswith("simulate: ")
    p = isotome.ray(make_lines(50), scanner=scanner, context=context, **BOX)
    p.load(progress=True).operator(progress=True)
    p.sensitivity(progress=True)
    assert "sensitivity: " in capfd.readouterr().err
    p.backproject(p.project(np.ones((8, 12, 16)), progress=True), progress=True)
    isotome.em(problem.operator(), sens=np.ones((8, 12, 16)), iterations=3, progress=True)
    assert "osem: 12 of 12" in capfd.readouterr().err


def test_wrong_progress_is_refused(problem):
    for wrong in (3, "yes", [True]):
        with pytest.raises(isotome.ArgumentError, match="progress: given .*, wanted a function of a Progress, or True"):
            problem.reconstruct(progress=wrong)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_is_written_anew():
    to = Terminal()
    line = bars.Line(to)
    line(step(1, left_s=7.2, unit="events", note="logL 3"))
    line(step(2, elapsed_s=1.1))  # too soon
    line(step(3, elapsed_s=1.9))
    line(step(1, stage="read", brief=True))
    line(step(4, elapsed_s=2.0))
    first, second, last = to.getvalue().split("\r")[1:]
    assert first.rstrip() == "mlem: 1 of 4 events, 1.0 s, 7 s left, logL 3"
    assert second.rstrip() == "mlem: 3 of 4, 1.9 s"
    assert last.rstrip() == "mlem: 4 of 4, 2.0 s" and last.endswith("\n") and to.getvalue().count("\n") == 1
    line(step(1))
    line.close()
    line.close()
    assert to.getvalue().endswith(" \n") and to.getvalue().count("\n") == 2


def test_elsewhere_a_stage_is_told_at_its_end():
    to = io.StringIO()
    line = bars.Line(to)
    for done in range(5):
        line(step(done, unit="events"))
    line.close()
    assert to.getvalue() == "mlem: 4 of 4 events, 1.0 s\n"


def test_bars_end_with_their_call():
    made = []

    class Bar:
        def __init__(self, **how):
            self.how, self.n, self.closed = how, 0, 0
            made.append(self)

        def update(self, n):
            self.n += n

        def set_postfix_str(self, note, refresh):
            self.note = note

        def close(self):
            self.closed += 1

    shown = bars.Bars(Bar)
    shown(step(1))
    shown(step(2, total=9, stage="read", brief=True, unit="events"))
    shown(step(4, note="logL 1"))
    shown(step(1))
    shown.close()
    assert [(b.n, b.closed) for b in made] == [(4, 1), (2, 1), (1, 1)]
    assert made[0].note == "logL 1" and made[0].how["leave"] and not made[1].how["leave"]
    assert made[1].how["unit"] == " events" and made[1].how["total"] == 9
