# SPDX-License-Identifier: BSD-3-Clause
"""Steps of a long call, and what progress=True shows of them: bars of tqdm if it is installed, else a line on stderr."""

from __future__ import annotations

import sys
import warnings
from typing import Any, Callable, NamedTuple

_EVERY_S = 0.2  # a line on a terminal is written anew no sooner
_WIDTH = 79


class Progress(NamedTuple):
    """A step of a long call, as a callback gets it."""

    stage: str
    done: int
    total: int
    elapsed_s: float
    left_s: float | None  # None: not known yet
    note: str
    unit: str  # what it counts, "events"; "": nothing but steps
    per_s: float  # so many of these a second; 0: not known yet
    brief: bool  # beside the work itself, maybe within another stage, as the reading of a file


class Bars:
    """A bar of tqdm for each stage that is not at its end; in Jupyter a bar of the notebook."""

    def __init__(self, make: Callable[..., Any]):
        self._make = make
        self._bars: dict[str, Any] = {}

    def __call__(self, p: Progress) -> None:
        if p.stage not in self._bars:
            unit = f" {p.unit or 'steps'}"
            self._bars[p.stage] = self._make(
                total=p.total or None, desc=p.stage, unit=unit, unit_scale=bool(p.unit), leave=not p.brief
            )
        bar = self._bars[p.stage]
        if p.note:
            bar.set_postfix_str(p.note, refresh=False)
        bar.update(p.done - bar.n)
        if 0 < p.total <= p.done:
            self._bars.pop(p.stage).close()

    def close(self) -> None:
        while self._bars:
            self._bars.popitem()[1].close()


class Line:
    """One line a stage on stderr: on a terminal it follows the work, elsewhere it comes at the stage's end."""

    def __init__(self, to: Any = None):
        self._to = sys.stderr if to is None else to
        self._follows = bool(getattr(self._to, "isatty", lambda: False)())
        self._open = False  # the line has no end yet
        self._last_s = 0.0  # when it was written

    @staticmethod
    def _words(p: Progress) -> str:
        unit = f" {p.unit}" if p.unit else ""
        left = f", {p.left_s:.0f} s left" if p.left_s is not None and p.done < p.total else ""
        note = f", {p.note}" if p.note else ""
        return f"{p.stage}: {p.done} of {p.total}{unit}, {p.elapsed_s:.1f} s{left}{note}"

    def __call__(self, p: Progress) -> None:
        ended = p.done >= p.total
        if p.brief or not (self._follows or ended):
            return
        if not ended and self._open and 0 <= p.elapsed_s - self._last_s < _EVERY_S:
            return
        self._last_s, self._open = p.elapsed_s, self._follows and not ended
        line = self._words(p)
        self._to.write((f"\r{line[:_WIDTH]:{_WIDTH}}" if self._follows else line) + ("\n" if ended else ""))
        self._to.flush()

    def close(self) -> None:
        if self._open:
            self._open = False
            self._to.write("\n")


def shown() -> Bars | Line:
    """What shows progress here."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tqdm, about bars of notebooks
            from tqdm.auto import tqdm  # type: ignore[import-untyped]
    except ImportError:
        return Line()
    return Bars(tqdm)
