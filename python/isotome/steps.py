# SPDX-License-Identifier: BSD-3-Clause
"""Iterations as callbacks see them, and what their answers mean to the library.

    def each(step):
        print(step.iteration, step.objective)
        return step.iteration == 5      # True: that is enough, the image as it is is the result
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from . import errors

ENOUGH = 1  # ISO_ENOUGH
_CANCEL = -7  # ISO_ECANCEL


class Step(NamedTuple):
    """The state after an iteration."""

    iteration: int  # done
    iterations: int  # at most
    frame: int  # which of several, from 0
    image: Any  # an Image, or of the kind of the start image; the callback's own
    objective: float  # EM: log-likelihood before its updates; least squares: cost after it


Callback = Callable[[Step], object]


class Watcher:
    """Tells a callback of iterations. Its exception ends the call, and is raised at the end of `with`."""

    def __init__(self, callback: Callback | None):
        if callback is not None and not callable(callback):
            raise errors.ArgumentError(
                f"callback: given {type(callback).__name__}, wanted a function of a Step"
            )
        self._callback = callback
        self._error: BaseException | None = None

    def tell(self, make: Callable[[], Step]) -> int:
        """What the library is to do after an iteration: 0 go on, ENOUGH, or stop as if cancelled."""
        enough = False

        def ask() -> None:
            nonlocal enough
            assert self._callback
            answer = self._callback(make())
            enough = answer is not None and bool(answer)

        failed = self.guard(ask)
        return failed or (ENOUGH if enough else 0)

    def guard(self, do: Callable[[], None]) -> int:
        """0, or where it raised an exception the code for a call that was cancelled."""
        try:
            do()
            return 0
        except BaseException as error:  # raised where the call was made
            self._error = error
            return _CANCEL

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._error is not None:
            raise self._error from None
