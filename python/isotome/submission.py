# SPDX-License-Identifier: BSD-3-Clause
"""PETRIC's Submission: the library's method for a penalised likelihood, one iteration of it an iteration of CIL."""

from __future__ import annotations

import queue
import threading
from typing import Any

from cil.optimisation.algorithms import Algorithm  # type: ignore[import-not-found]

from . import petric
from .problem import Problem


class Passes:
    """Images of problem.reconstruct, one at a time: a thread computes a pass when asked for, and then waits."""

    def __init__(self, problem: Problem):
        self._problem = problem
        self._steps: queue.Queue = queue.Queue()
        self._go = threading.Semaphore(0)
        self._error: BaseException | None = None
        self._enough = False
        self._thread: threading.Thread | None = None

    def _after(self, step: Any) -> bool:
        self._steps.put(step)
        self._go.acquire()
        return self._enough

    def _run(self) -> None:
        try:
            self._problem.reconstruct(callback=self._after)
        except BaseException as error:  # raised where it was asked for
            self._error = error
        finally:
            self._steps.put(None)

    def next(self) -> Any:
        """The step after the next pass; None where the run has ended."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="isotome-passes", daemon=True)
            self._thread.start()
        else:
            self._go.release()
        step = self._steps.get()
        if step is None:
            self._steps.put(None)  # and so for whoever asks again
            if self._error is not None:
                raise self._error
        return step

    def end(self) -> None:
        """Ends the run after its pass."""
        self._enough = True
        self._go.release()
        if self._thread is not None:
            self._thread.join()


class Submission(Algorithm):
    """svrg with the preconditioner of docs/priors.md on a dataset of PETRIC, by Isotome's projector.

        algorithm = isotome.submission.Submission(data)           # data: of petric.get_data
        algorithm.run(numpy.inf, callbacks=metrics + isotome.submission.submission_callbacks)

    An iteration is what the method does until its next image, one or two passes over the data; `done` is its
    number. Sinograms are read from the folder data.path; images come from data where it has them. `passes` is
    how often the data are gone through at most; from then on, or once the image has settled to `tolerance`,
    iterations leave the image as it is. options: parameters of isotome.ray (subsets, seed, ...).
    """

    def __init__(
        self,
        data: Any,
        passes: int = 40,
        tolerance: float = 0,
        method: str = "svrg",
        device: str = "auto",
        update_objective_interval: int = 1,
        **options: Any,
    ):
        super().__init__(update_objective_interval=update_objective_interval)
        self.folder = petric.read(data.path)
        self.unit, problem = petric.problem(
            self.folder, method=method, passes=passes, tolerance=tolerance, device=device, **options
        )
        self.passes = Passes(problem)
        self.initial = data.OSEM_image
        self.x = data.OSEM_image.clone()
        self.done = 0  # iterations of the method so far
        self.ended = False  # whether the run has: nothing changes any more
        self._objective = float("nan")
        self.configured = True

    def update(self) -> None:
        """What the method does until its next image."""
        step = None if self.ended else self.passes.next()
        if step is None:
            self.ended = True
            return
        self.x.fill(petric.in_its_unit(step.image, self.unit))
        self.done, self._objective = step.iteration, step.objective

    def update_objective(self) -> None:
        """Of the pass before: what svrg maximises, times -1, as CIL minimises; NaN where it was not computed."""
        self.loss.append(-self._objective)

    def end(self) -> None:
        """Gives back the memory of the run."""
        self.passes.end()

    def __del__(self) -> None:
        if hasattr(self, "passes"):
            self.passes.end()


class UntilEnd:
    """A callback that stops the algorithm once its image has settled, or all passes are done."""

    def __call__(self, algorithm: Submission) -> None:
        if algorithm.ended:
            raise StopIteration


submission_callbacks = [UntilEnd()]
