# SPDX-License-Identifier: BSD-3-Clause
"""An unrolled network of deepinv, trained on simulated scans through Isotome's projector.

Three steps x <- max(D(x - x/s grad f(x)), 0), with f the Poisson likelihood of the counts and s = A* 1: without D they
are steps of MLEM. The denoisers D, small networks of deepinv's, are trained on random discs, so that the last image
comes close to the truth. deepinv has the likelihood and the networks, isotome.deepinv the scan:

    physics = isotome.deepinv.Physics(A, background=r)     # y = Poisson(A x + r)

The picture is unrolled.png. SIZE=0.1 in the environment takes a tenth of the training.
"""

import os

import deepinv
import torch

import isotome

SIZE = float(os.environ.get("SIZE", 1))
torch.manual_seed(1)

# ## 60 x 48 parallel lines through 48 x 48 pixels of 4 mm, about 40 counts on a line, a quarter of them background

turns = torch.exp(1j * torch.pi / 60 * torch.arange(60))[:, None, None]
ends = turns * (torch.arange(-94.0, 95, 4)[:, None] + torch.tensor([-150j, 150j]))  # x + i y, mm
lines = torch.stack([ends.real, ends.imag, 0 * ends.real], dim=-1).reshape(-1, 6)
grid = isotome.Grid((48, 48, 1), (4, 4, 4))
A = isotome.ray(lines.numpy(), grid=grid).operator() / 5
physics = isotome.deepinv.Physics(A, background=10, planes=True)
sensitivity = physics.A_adjoint(torch.ones(1, *A.out_shape))

# ## Scans of random discs in an ellipse

v, u = torch.meshgrid(2 * [torch.linspace(-1, 1, 48)], indexing="ij")


def scans(number):
    a, b, radius, activity = torch.rand(4, number, 6, 1, 1)
    discs = 2 * activity * ((u - a + 0.5) ** 2 + (v - b + 0.5) ** 2 < (0.06 + 0.15 * radius) ** 2)
    truth = discs.sum(1, keepdim=True) + (u**2 / 0.75 + v**2 / 0.5 < 1)
    return truth, physics(truth)


# ## The network: steps of MLEM's length, and denoisers that at first do nothing

fidelity = physics.likelihood()
denoisers = torch.nn.ModuleList(deepinv.models.DnCNN(1, 1, depth=3, nf=8, bias=False, pretrained=None) for _ in range(3))
for denoiser in denoisers:
    torch.nn.init.zeros_(denoiser.out_conv.weight)


def image(y, denoisers=()):
    x = torch.ones(len(y), *A.in_shape)
    for denoiser in [torch.nn.Identity()] * 5 + list(denoisers):  # five steps of MLEM, and those of the network
        x = torch.relu(denoiser(x - x / sensitivity * fidelity.grad(x, y, physics)))
    return x


# ## Training: batches of four scans, which go through the rays together

optimiser = torch.optim.Adam(denoisers.parameters(), lr=3e-3)
for _ in range(round(150 * SIZE)):
    truth, y = scans(4)
    (image(y, denoisers) - truth).square().mean().backward()
    optimiser.step()
    optimiser.zero_grad()

# ## Scans that it was not trained on

truth, y = scans(8)
start, x = image(y), image(y, denoisers).detach()
print("error: {:.2f} MLEM, {:.2f} unrolled".format(*((w - truth).norm() / truth.norm() for w in (start, x))))
images = [isotome.Image(w[0].numpy(), grid) for w in (truth, start, x)]
isotome.show(images, titles=["Truth", "MLEM", "Unrolled"], window=(0, 3), path="unrolled.png")
