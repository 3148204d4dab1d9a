# SPDX-License-Identifier: BSD-3-Clause
"""Learned primal-dual steps, trained through the projector.

An algorithm with a dual variable h, such as PDHG, goes to and fro between data and image. Adler and Oektem
2018 (IEEE Trans. Med. Imaging 37, 1322) let small networks decide what to do there, between A and A*:

    h  <-  h + D(h, A x, y)            x  <-  x + Q(x, A* h)

Here three such steps, each with networks of its own, begin at an image of MLEM and are trained on random
discs to come close to the truth. isotome.torch differentiates A x by A*, and A* h by A.

The picture is learned_primal_dual.png. SIZE=0.1 in the environment takes a tenth of the training.
"""

import os

import torch

import isotome

SIZE = float(os.environ.get("SIZE", 1))
torch.manual_seed(1)

# ## 60 x 48 parallel lines through 48 x 48 pixels of 4 mm, as an operator of norm 1

turns = torch.exp(1j * torch.pi / 60 * torch.arange(60))[:, None, None]
ends = turns * (torch.arange(-94.0, 95, 4)[:, None] + torch.tensor([-150j, 150j]))  # x + i y, mm
lines = torch.stack([ends.real, ends.imag, 0 * ends.real], dim=-1).reshape(-1, 6)
A = isotome.ray(lines.numpy(), grid=(48, 48, 1), voxel=4).operator() * (1 / 210)
P = isotome.torch.Projector(A)
sensitivity = P.adjoint(torch.ones(A.out_shape))

# ## A scan of random discs in an ellipse, and its image after five iterations of MLEM

v, u = torch.meshgrid(2 * [torch.linspace(-1, 1, 48)], indexing="ij")


def scan():
    a, b, radius, activity = torch.rand(4, 6, 1, 1)
    discs = 2 * activity * ((u - a + 0.5) ** 2 + (v - b + 0.5) ** 2 < (0.06 + 0.15 * radius) ** 2)
    truth = discs.sum(0, keepdim=True) + (u**2 / 0.75 + v**2 / 0.5 < 1)
    y = torch.poisson(50 * P(truth)) / 50
    x = torch.ones(A.in_shape)
    for _ in range(5):
        x = A.em_step(x, y, sens=sensitivity)
    return truth, y, x


# ## Networks, which at first leave x and h as they are


def network(inputs):
    layers = [torch.nn.Conv2d(*sizes, 3, padding=1) for sizes in ((inputs, 8), (8, 8), (8, 1))]
    torch.nn.init.zeros_(layers[2].weight)
    return torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])


D, Q = (torch.nn.ModuleList(network(inputs) for _ in range(3)) for inputs in (3, 2))

# ## Training: three steps from the start, then one of the optimiser; every scan is a new one

optimiser = torch.optim.Adam([*D.parameters(), *Q.parameters()], lr=3e-3)
for _ in range(round(300 * SIZE)):
    truth, y, start = scan()
    x, h = start, torch.zeros_like(y)
    for k in range(3):
        h = h + D[k](torch.stack([h, P(x), y]).view(3, 60, 48)).view_as(h)
        x = x + Q[k](torch.cat([x, P.adjoint(h)]))
    optimiser.zero_grad()
    (x - truth).square().mean().backward()
    optimiser.step()

# ## The last scan, as it was before it was trained on

print("error: {:.2f} MLEM, {:.2f} learned".format(*((v - truth).norm() / truth.norm() for v in (start, x))))
images = [isotome.Image(v.detach(), isotome.Grid((48, 48, 1), (4, 4, 4))) for v in (truth, start, x)]
isotome.show(images, titles=["Truth", "MLEM", "Learned"], window=(0, 3), path="learned_primal_dual.png")
