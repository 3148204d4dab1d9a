# SPDX-License-Identifier: BSD-3-Clause
"""Operators in PyTorch: layers that are differentiated by their adjoints, and Poisson likelihoods.

    P = isotome.torch.Projector(A)                     # an nn.Module: y = A x, and A* g goes back
    loss = 0.5 * (P(x) - y).square().sum()             # its gradient is A* (A x - y)
    z = isotome.torch.em_step(A, x, sens=s)            # a step of MLEM that can be trained through
    L = isotome.torch.log_likelihood(A, x, s)          # of list-mode events, with its gradient in one pass
    physics = isotome.torch.physics(A)                 # for deepinv

Tensors have any axes before those of the operator: x is (..., *A.in_shape), y is (..., *A.out_shape).
The operator computes in float32; types follow torch's rule for a product with a float32 tensor, so that
float16, bfloat16 and float32 give float32 (under autocast too) and float64 gives float64. A gradient has
the type of what it is the gradient of. Images and data must be finite; of a gradient that is not, as
torch.amp.GradScaler provokes it, what goes back is NaN.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import torch

from . import errors
from .operator import Adjoint, Operator

_REAL = torch.float32  # iso_real

# The step of EM sums integers, of which one is up to 2^-28 of an event (CUDA; on the CPU far less). Of a voxel
# below this share of the largest, what an event adds would be too few of them for a gradient, step / x.
_ONE_PASS = 1e-2


# ---- arguments ----


def _operator(A: object) -> Operator:
    if not isinstance(A, Operator):
        raise errors.ArgumentError(f"given {type(A).__name__}, wanted an isotome.Operator")
    return A


def _floating(values: object, name: str) -> torch.Tensor:
    """A tensor of real numbers."""
    if not isinstance(values, torch.Tensor):
        raise errors.ArgumentError(f"{name}: given {type(values).__name__}, wanted a torch.Tensor")
    if not values.is_floating_point():
        raise errors.ArgumentError(f"{name}: given values of {values.dtype}, wanted a floating type")
    if values.layout != torch.strided:
        raise errors.ArgumentError(f"{name}: given layout {values.layout}, wanted torch.strided")
    return values


def _given(values: object, shape: tuple[int, ...], name: str) -> torch.Tensor:
    """A tensor whose last axes are `shape`."""
    if not isinstance(values, torch.Tensor):
        raise errors.ArgumentError(f"{name}: given {type(values).__name__}, wanted a torch.Tensor")
    if values.dim() < len(shape) or values.shape[values.dim() - len(shape) :] != shape:
        wanted = ", ".join(["...", *map(str, shape)])
        raise errors.ArgumentError(f"{name}: given shape {tuple(values.shape)}, wanted ({wanted})")
    return _floating(values, name)


def _leading(values: torch.Tensor, shape: tuple[int, ...]) -> torch.Size:
    """The axes before those of `shape`."""
    return values.shape[: values.dim() - len(shape)]


def _over(values: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """One number an image, as a factor of images of that shape."""
    return values.reshape(*values.shape, *(1 for _ in shape))


def _sum(values: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """One sum an image, in double."""
    return values.flatten(values.dim() - len(shape)).sum(-1, dtype=torch.float64)


# ---- y = A x ----

# Graphs of torch.compile know an operator by its number. They do not keep it: whoever calls them does.
_known: weakref.WeakValueDictionary[int, Operator] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


def _number(A: Operator) -> tuple[int, bool]:
    """The number, and whether it is that of the adjoint."""
    adjoint = isinstance(A, Adjoint)
    A = A.H if adjoint else A
    number = getattr(A, "_torch_number", None)
    if number is None:
        number = next(_numbers)
        A._torch_number = number  # type: ignore[attr-defined]
        _known[number] = A
    return number, adjoint


def _of_number(number: int, adjoint: bool) -> Operator:
    A = _known.get(number)
    if A is None:
        raise errors.ArgumentError("a compiled graph whose operator is gone: keep the operator, or the module that has it")
    return A.H if adjoint else A


def _computed(A: Operator, x: torch.Tensor, gradient: bool) -> torch.Tensor:
    """A x for each x along the leading axes, in float32, several images through one traversal of the rays where the
    operator can. Of a gradient that is not finite, NaN."""
    x = x.detach().contiguous()
    y = x.new_empty(*_leading(x, A.in_shape), *A.out_shape)
    images, data = x.view(-1, *A.in_shape), y.view(-1, *A.out_shape)
    if gradient:
        finite = torch.isfinite(images.flatten(1).sum(1, dtype=torch.float64)).tolist()
        if not all(finite):
            for one, to, good in zip(images, data, finite):
                if good:
                    A(one, out=to)
                else:
                    to.fill_(torch.nan)
            return y
    if len(images) == 1:
        A(images[0], out=data[0])
    else:
        A.forward_many(images, out=data)
    return y


class _Linear(torch.autograd.Function):
    """A x for each x along the leading axes. It is linear: of every derivative of it, forward, backward or of the second
    order, the next is by A or A* again."""

    @staticmethod
    def forward(A: Operator, x: torch.Tensor, gradient: bool) -> torch.Tensor:  # type: ignore[override]
        return _computed(A, x, gradient)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.A, _, ctx.gradient = inputs

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:  # type: ignore[override]
        return None, _Linear.apply(ctx.A.H, g, True), None

    @staticmethod
    def jvp(ctx: Any, _A: None, dx: torch.Tensor, _gradient: None) -> Any:  # type: ignore[override]
        return _Linear.apply(ctx.A, dx, ctx.gradient)

    @staticmethod
    def vmap(_info, axes, A, x, gradient):  # type: ignore[override]
        return _Linear.apply(A, x.movedim(axes[1], 0), gradient), 0


def _register() -> Any:
    """torch.ops.isotome.linear, by which torch.compile has operators in its graphs. It has the shapes of its results
    (fake tensors), the way back, and vmap; PyTorch has no forward derivatives of such, so that _Linear stays."""

    @torch.library.custom_op("isotome::linear", mutates_args=())
    def linear(x: torch.Tensor, number: int, adjoint: bool, gradient: bool) -> torch.Tensor:
        return _computed(_of_number(number, adjoint), x, gradient)

    @linear.register_fake
    def _(x, number, adjoint, gradient):
        A = _of_number(number, adjoint)
        return x.new_empty(*_leading(x, A.in_shape), *A.out_shape)

    def keep(ctx, inputs, output):
        _, *ctx.which = inputs

    def back(ctx, g):
        number, adjoint, _ = ctx.which
        return linear(g, number, not adjoint, True), None, None, None

    linear.register_autograd(back, setup_context=keep)

    @linear.register_vmap
    def _(info, axes, x, number, adjoint, gradient):
        return linear(x.movedim(axes[0], 0), number, adjoint, gradient), 0

    return linear


# register_vmap, the last of what that takes, came with PyTorch 2.5
_registered = _register() if hasattr(torch.library, "register_vmap") else None


def _applied(A: Operator, x: torch.Tensor) -> torch.Tensor:
    if _registered is not None and torch.compiler.is_compiling():
        return _registered(x, *_number(A), False)
    return _Linear.apply(A, x, False)


def apply(A: Operator, x: torch.Tensor) -> torch.Tensor:
    """A x, differentiated by A*. x: (..., *A.in_shape)."""
    x = _given(x, _operator(A).in_shape, "x")
    return _applied(A, x.to(_REAL)).to(torch.promote_types(x.dtype, _REAL))


class Projector(torch.nn.Module):
    """y = A x as a layer without parameters: x (..., *A.in_shape) to y (..., *A.out_shape).

    It computes where the operator's context does, `.to(device)` does not move it; copies of the layer
    share the operator.
    """

    def __init__(self, A: Operator):
        super().__init__()
        self.operator = _operator(A)
        _number(A)  # before a graph asks for it

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return apply(self.operator, x)

    @property
    def adjoint(self) -> Projector:
        """x = A* y as a layer."""
        return Projector(self.operator.H)

    def extra_repr(self) -> str:
        return f"{self.operator.in_shape} -> {self.operator.out_shape}"

    def __deepcopy__(self, _memo: object) -> Projector:
        return Projector(self.operator)


# ---- Poisson ----


def _quotient(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a / b, and 0 where b is not above 0."""
    return torch.where(b > 0, a / torch.where(b > 0, b, 1), 0)


def _ratio(
    A: Operator,
    x: torch.Tensor,
    y: torch.Tensor | None,
    add: torch.Tensor | None,
    mult: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Ax + r/m and y / (Ax + r/m); 1 and 0 in rows where one of Ax + r/m and m is not above 0."""
    mean = apply(A, x)
    if add is not None:
        mean = mean + (add if mult is None else _quotient(add, mult))
    used = mean > 0 if mult is None else (mean > 0) & (mult > 0)
    mean = torch.where(used, mean, 1)
    return mean, torch.where(used, 1 if y is None else y, 0) / mean


def em_step(
    A: Operator,
    x: torch.Tensor,
    y: torch.Tensor | None = None,
    add: torch.Tensor | None = None,
    mult: torch.Tensor | None = None,
    *,
    sens: torch.Tensor | None = None,
) -> torch.Tensor:
    """x * A*(m y / (m A x + r)), with `sens` over it, which can be differentiated by x, y and add = r.

    y, add, mult: as in A.em_step, (..., *A.out_shape). sens: (..., *A.in_shape). By A and A* once, and once
    more each for the way back; where no gradient is wanted, A.em_step(x) does it in one pass.
    """
    x = _given(x, _operator(A).in_shape, "x")
    for name, values in (("y", y), ("add", add), ("mult", mult)):
        if values is not None:
            _given(values, A.out_shape, name)
    step = x * apply(A.H, _ratio(A, x, y, add, mult)[1])
    return step if sens is None else _quotient(step, _given(sens, A.in_shape, "sens"))


def _value_and_gradient(
    A: Operator,
    x: torch.Tensor,
    y: torch.Tensor | None,
    add: torch.Tensor | None,
    mult: torch.Tensor | None,
) -> tuple[float | torch.Tensor, torch.Tensor]:
    """sum of y log(m A x + r) and A*(m y / (m A x + r)) of one image, in one pass if its voxels allow it."""
    least, most = (float(v) for v in torch.aminmax(x))
    if least < 0:
        raise errors.ArgumentError(f"x: the smallest value is {least:g}, must not be below 0")
    if least > _ONE_PASS * most:
        step, statistics = A.em_step_with_statistics(x, y, add, mult)
        return statistics.log_likelihood, step / x
    mean, ratio = _ratio(A, x, y, add, mult)
    likely = mean if mult is None else mean * torch.where(mult > 0, mult, 1)
    return _sum(ratio * mean * torch.log(likely.double()), A.out_shape), apply(A.H, ratio)


class _LogLikelihood(torch.autograd.Function):
    """Values (...) in double, and gradients like x, which the way back uses."""

    @staticmethod
    def forward(A, x, y, add, mult):  # type: ignore[override]
        x = x.detach().contiguous()
        values = x.new_empty(_leading(x, A.in_shape), dtype=torch.float64)
        gradients = torch.empty_like(x)
        for k, one in enumerate(x.view(-1, *A.in_shape)):
            value, gradient = _value_and_gradient(A, one, y, add, mult)
            values.view(-1)[k], gradients.view(-1, *A.in_shape)[k] = value, gradient
        return values, gradients

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.A, *tensors = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1], *tensors)

    @staticmethod
    def backward(ctx, g, _):  # type: ignore[override]
        gradient, x, y, add, mult = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph=True: again, by what can itself be differentiated
            gradient = apply(ctx.A.H, _ratio(ctx.A, x, y, add, mult)[1])
        return None, (_over(g, ctx.A.in_shape) * gradient).to(x.dtype), None, None, None

    @staticmethod
    def vmap(_info, axes, A, x, *data):  # type: ignore[override]
        if any(axis is not None for axis in axes[2:]):
            raise errors.ArgumentError("vmap of log_likelihood: given a batch of data, wanted one of images")
        return _LogLikelihood.apply(A, x.movedim(axes[1], 0), *data), (0, 0)


def log_likelihood(
    A: Operator,
    x: torch.Tensor,
    sensitivity: torch.Tensor,
    y: torch.Tensor | None = None,
    add: torch.Tensor | None = None,
    mult: torch.Tensor | None = None,
) -> torch.Tensor:
    """sum of y log(m A x + r) - <sensitivity, x>, one number an image, in float64; x >= 0.

    y: None: ones, of list-mode events. y, add = r, mult = m: as in A.em_step, A.out_shape. Where all voxels
    are above a hundredth of the largest, value and gradient by x are of one pass over the data, else of two.
    """
    x = _given(x, _operator(A).in_shape, "x")
    data = [None if v is None else _data(A, v, name) for name, v in (("y", y), ("add", add), ("mult", mult))]
    s = _given(sensitivity, A.in_shape, "sensitivity")
    return _LogLikelihood.apply(A, x.to(_REAL), *data)[0] - _sum(s * x, A.in_shape)


def _data(A: Operator, values: object, name: str) -> torch.Tensor:
    """Data of one scan, as the operator takes them."""
    values = _floating(values, name)
    if values.shape != A.out_shape:
        raise errors.ArgumentError(f"{name}: given shape {tuple(values.shape)}, wanted {A.out_shape}")
    if values.requires_grad:
        raise errors.ArgumentError(
            f"{name}: given a tensor that requires a gradient, wanted one that does not: with Projector, "
            "(y * torch.log(P(x) + add)).sum() can be differentiated by y and add"
        )
    return values.to(_REAL).contiguous()


# ---- deepinv ----


def physics(A: Operator, **more: Any) -> Any:
    """A as a deepinv.physics.LinearPhysics: images (B, C, *A.in_shape), data (B, C, *A.out_shape).

    more: what LinearPhysics takes besides: noise_model=deepinv.physics.PoissonNoise(), max_iter=...
    """
    from deepinv.physics import LinearPhysics  # type: ignore[import-not-found]

    projector = Projector(A)

    def forward(x: torch.Tensor, **_parameters: Any) -> torch.Tensor:
        return projector(x)

    def adjoint(y: torch.Tensor, **_parameters: Any) -> torch.Tensor:
        return projector.adjoint(y)

    return LinearPhysics(A=forward, A_adjoint=adjoint, img_size=(1, *A.in_shape), **more)
