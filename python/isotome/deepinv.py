# SPDX-License-Identifier: BSD-3-Clause
"""Operators and scans for deepinv: a LinearPhysics with the noise of counts.

    physics = isotome.deepinv.Physics(A)                  # y = A x, images (B, C, *A.in_shape)
    physics = isotome.deepinv.of_problem(problem)         # Poisson(m A x + r) of a scan
    y = isotome.deepinv.counts(problem)                   # its data, (1, 1, *A.out_shape)
    fidelity = physics.likelihood()                       # deepinv's PoissonLikelihood with that background

Time of flight, attenuation, normalisation and the PSF are those of the problem. A batch of images goes through one
traversal of the rays where the operator can (isotome.torch).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from deepinv.physics import LinearPhysics, NoiseModel  # type: ignore[import-not-found]

from . import errors
from .operator import Diagonal, Operator
from .problem import Problem
from .torch import Projector


class Counts(NoiseModel):
    """Poisson(z + r) of a mean z, of which what is below 0 counts as 0.

    background: r, a number or a tensor of the data's shape. rng: a torch.Generator for draws that can be repeated.
    """

    def __init__(self, background: float | torch.Tensor = 0.0, rng: torch.Generator | None = None):
        super().__init__(rng=rng)
        r = torch.as_tensor(background, dtype=torch.float32)
        if not bool((r >= 0).all()):
            raise errors.ArgumentError(f"background: the smallest value is {float(r.min())}, must not be below 0")
        self.register_buffer("background", r)

    def forward(self, x: torch.Tensor, seed: int | None = None, **_parameters: Any) -> torch.Tensor:
        self.rng_manual_seed(seed)
        return torch.poisson(x.clamp(min=0) + self.background.to(x), generator=self.rng)


class Physics(LinearPhysics):
    """y = m A x as a deepinv LinearPhysics, with Counts as its noise where a background is given.

    A: an operator. mult: factors m of the data, as attenuation and normalisation; None: 1. background: r, a number or
    an array of the data's shape; None: no noise, unless you say noise_model=. more: what LinearPhysics takes besides.
    planes: whether an image's planes are its channels, as networks of two dimensions want them: images are then
    (B, *A.in_shape) and data (B, *A.out_shape).
    Tensors are computed on where the operator is: `.to(device)` moves the background alone.
    """

    def __init__(
        self,
        A: Operator,
        mult: Any = None,
        background: Any = None,
        *,
        rng: torch.Generator | None = None,
        planes: bool = False,
        **more: Any,
    ):
        if not isinstance(A, Operator):
            raise errors.ArgumentError(f"given {type(A).__name__}, wanted an isotome.Operator")
        if mult is not None:
            A = Diagonal(np.asarray(mult, np.float32).reshape(A.out_shape)) @ A
        if background is not None:
            if "noise_model" in more:
                raise errors.ArgumentError("given background and noise_model, wanted one of them")
            r = torch.as_tensor(np.array(background, np.float32))
            more["noise_model"] = Counts(r if r.dim() == 0 else r.reshape(A.out_shape), rng)
        projector = Projector(A)

        def forward(x: torch.Tensor, **_parameters: Any) -> torch.Tensor:
            return projector(x)

        def adjoint(y: torch.Tensor, **_parameters: Any) -> torch.Tensor:
            return projector.adjoint(y)

        super().__init__(A=forward, A_adjoint=adjoint, img_size=A.in_shape if planes else (1, *A.in_shape), **more)
        self.projector = projector  # which copies of this share

    @property
    def operator(self) -> Operator:
        """m A."""
        return self.projector.operator

    def likelihood(self) -> Any:
        """deepinv's PoissonLikelihood of the data, with the background of the noise: -y log(m A x + r) + m A x."""
        from deepinv.optim import PoissonLikelihood  # type: ignore[import-not-found]

        return PoissonLikelihood(bkg=getattr(self.noise_model, "background", 0.0))


def _problem(value: object) -> Problem:
    if not isinstance(value, Problem):
        raise errors.ArgumentError(f"given {type(value).__name__}, wanted an isotome.Problem")
    return value


def of_problem(problem: Problem, **more: Any) -> Physics:
    """The physics of a scan: operator, factors m and additive term r of the problem. more: as in Physics.

    Data are counts of every line that could have some: a list of events has no such likelihood.
    """
    y, r, m = _problem(problem).data()
    if y is None:
        raise errors.ArgumentError(
            "given a list of events, whose likelihood needs a sensitivity, wanted counts: a histogram, or Physics(A)"
        )
    return Physics(problem.operator(), m, 0.0 if r is None else r, **more)


def counts(problem: Problem) -> torch.Tensor:
    """The counts of a scan, (1, 1, *data): of a list of events 1 each."""
    y = _problem(problem).data().y
    shape = problem.operator().out_shape
    values = np.ones(shape, np.float32) if y is None else y
    return torch.from_numpy(np.array(values, np.float32).reshape(1, 1, *shape))
