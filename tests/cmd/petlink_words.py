# SPDX-License-Identifier: BSD-3-Clause
"""PETLINK list mode as a Siemens mMR would write it, of sources in STIR's axes. Head first, supine: our axes are STIR's
with all signs changed."""
import numpy as np

N, Z, VIEWS, BINS, R, PITCH = 504, 64, 252, 344, 335., 4.0625

HEADER = """!INTERFILE:=
!originating system:=2008
%%SMS-MI header name space:=PETLINK bin address
name of data file:=%s.l
isotope name:=F-18
image duration (sec):=1
%%patient orientation:=HFS
number of rings:=64
%%LM event and tag words format (bits):=32
%%axial compression:=1
%%maximum ring difference:=60
%%number of projections:=344
%%number of views:=252
"""


def lines(draw, n, source):
    """n lines in all directions through a point (3), or through a point each (n, 3), as places and rings of their
    ends."""
    source = np.broadcast_to(source, (n, 3))
    way = draw.normal(size=(n, 3))
    a = way[:, 0] ** 2 + way[:, 1] ** 2
    b = way[:, 0] * source[:, 0] + way[:, 1] * source[:, 1]
    root = np.sqrt(b * b + a * (R * R - source[:, 0] ** 2 - source[:, 1] ** 2))
    ends = [source + way * ((s * root - b) / a)[:, None] for s in (1, -1)]
    places = [np.rint(np.arctan2(p[:, 0], -p[:, 1]) / (2 * np.pi) * N).astype(int) % N for p in ends]
    rings = [np.rint(p[:, 2] / PITCH + (Z - 1) / 2).astype(int) for p in ends]
    return places, rings


def words(places, rings, prompt):
    """Those of the lines that the scanner sees."""
    (d1, d2), (r1, r2) = places, rings
    t = (d1 - d2 + N // 2 + N // 2) % N - N // 2
    view = (d1 - (t >> 1)) % N
    turn = view >= VIEWS  # the same line from its other end
    d1, d2, r1, r2 = np.where(turn, (d2, d1, r2, r1), (d1, d2, r1, r2))
    t = (d1 - d2 + N // 2 + N // 2) % N - N // 2
    view = (d1 - (t >> 1)) % N
    q = r2 - r1
    good = (d1 % 9 > 0) & (d2 % 9 > 0) & (abs(q) <= 60) & (t >= -172) & (t < 172) & (view < VIEWS)
    good &= (np.minimum(r1, r2) >= 0) & (np.maximum(r1, r2) < Z)
    order = sorted(range(-60, 61), key=lambda q: (abs(q), q > 0))
    first = dict(zip(order, np.cumsum([0] + [Z - abs(q) for q in order])))
    plane = np.array([first.get(int(x), 0) for x in q]) + np.minimum(r1, r2)
    return ((int(prompt) << 30) | ((plane * VIEWS + view) * BINS + t + 172))[good].astype("<u4")


def write(name, what):
    what.tofile(name + ".l")
    with open(name + ".l.hdr", "w") as f:
        f.write(HEADER % name)
