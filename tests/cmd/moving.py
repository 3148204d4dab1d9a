# SPDX-License-Identifier: BSD-3-Clause
"""A head that moves from frame to frame, for tests of `isotome motion`: images of it in any pose, and scans put one behind the
other. A pose is 3 x 4, x_scanner = R x_object + T, lengths are mm."""
import numpy as np


def pose(degrees, shift):
    """A rotation vector about the origin, then a shift."""
    v = np.radians(degrees)
    angle = np.linalg.norm(v)
    u = v / angle if angle > 0 else v
    k = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
    r = np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k
    return np.column_stack([r, shift])


def apply(p, x):
    return x @ p[:, :3].T + p[:, 3]


def inverse(p):
    return np.column_stack([p[:, :3].T, -p[:, :3].T @ p[:, 3]])


def head(scale=1.0):
    """Ellipsoids (centre, semi-axes, activity), later ones in place of earlier ones: scalp, grey and white matter, ventricles,
    ganglia, cerebellum, and 40 balls for gyri."""
    grey = np.array([0, 5, -2.]), np.array([64, 80, 68.])
    shapes = [((0, 0, 0), (72, 88, 78), .6), (*grey, 4), ((0, 5, -2), (52, 68, 56), 1.6),
              ((18, 10, 5), (9, 26, 14), .2), ((-18, 10, 5), (9, 26, 14), .2),
              ((25, -5, -8), (9, 12, 9), 5), ((-25, -5, -8), (9, 12, 9), 5), ((0, -50, -40), (38, 22, 20), 4)]
    for k in range(40):
        z, t = 1 - (2 * k + 1) / 40, k * np.pi * (3 - np.sqrt(5))
        way = np.array([np.sqrt(1 - z * z) * np.cos(t), np.sqrt(1 - z * z) * np.sin(t), z])
        shapes.append((grey[0] + .86 * grey[1] * way, (9, 9, 9), .8 if k % 2 else 6))
    return [(scale * np.array(c), scale * np.array(a), v) for c, a, v in shapes]


def skull(scale=1.0):
    """Attenuation, 1/mm, as head()."""
    return [(np.zeros(3), scale * np.array([76, 92, 82.]), .015), (np.zeros(3), scale * np.array([70, 86, 76.]), .0099)]


def paint(path, shapes, p, n, voxel, fine=2):
    """The shapes in a pose on a grid of n = (nx, ny, nz) voxels about the origin, each the mean of fine^3 points."""
    import nibabel
    back, sum_ = inverse(p), np.zeros(n)
    for sub in np.ndindex(fine, fine, fine):
        axes = [(np.arange(n[a]) - .5 * (n[a] - 1) + (sub[a] + .5) / fine - .5) * voxel for a in range(3)]
        value = np.zeros(n, "f4")
        for centre, semi, v in shapes:
            at, reach = apply(p, centre), semi.max()
            box = tuple(slice(*np.searchsorted(axes[a], (at[a] - reach, at[a] + reach))) for a in range(3))
            x = np.stack(np.meshgrid(*(axes[a][box[a]] for a in range(3)), indexing="ij"), -1)
            value[box][(((apply(back, x) - centre) / semi)**2).sum(-1) <= 1] = v
        sum_ += value
    affine = np.diag([voxel] * 3 + [1.])
    affine[:3, 3] = [-.5 * (k - 1) * voxel for k in n]
    image = nibabel.Nifti1Image((sum_ / fine**3).astype("f4"), affine)
    image.header.set_xyzt_units("mm")
    nibabel.save(image, path)


def join(parts, out, frame_s):
    """CASToR scans of frame_s seconds each (NAME.Cdh, NAME.Cdf), one behind the other in time, as OUT.Cdh, OUT.Cdf."""
    record = [("t", "<u4"), ("tof", "<f4"), ("c1", "<u4"), ("c2", "<u4")]
    events = []
    for k, part in enumerate(parts):
        e = np.fromfile(part + ".Cdf", record)
        e["t"] += round(1000 * frame_s * k)
        events.append(e)
    events = np.concatenate(events)
    events.tofile(out + ".Cdf")
    lines = []
    for line in open(parts[0] + ".Cdh"):
        key = line.split(":")[0]
        if key == "Number of events":
            line = f"{key}: {len(events)}\n"
        elif key == "Data filename":
            line = f"{key}: {out.split('/')[-1]}.Cdf\n"
        elif key == "Duration (s)":
            line = f"{key}: {frame_s * len(parts)}\n"
        elif key == "List TOF measurement range (ps)":
            line = f"{key}: {2 * np.ceil(np.abs(events['tof']).max()):.17g}\n"
        lines.append(line)
    with open(out + ".Cdh", "w") as f:
        f.writelines(lines)


def sphere(radius, n=200):
    k = np.arange(n)
    z, t = 1 - (2 * k + 1) / n, k * np.pi * (3 - np.sqrt(5))
    return radius * np.stack([np.sqrt(1 - z * z) * np.cos(t), np.sqrt(1 - z * z) * np.sin(t), z], 1)


def errors(got, want, radius):
    """Of one pose, mm: at the origin, and mean and greatest over a sphere about it."""
    x = sphere(radius)
    d = np.linalg.norm(apply(got, x) - apply(want, x), axis=1)
    return np.linalg.norm(got[:, 3] - want[:, 3]), d.mean(), d.max()


def table(path):
    """An own table of poses: times and 3 x 4 matrices."""
    rows = np.array([[float(v) for v in line.split(",")] for line in open(path)
                     if not line.startswith(("#", "time_s"))])
    w, x, y, z = rows[:, 1:5].T
    r = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                  [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                  [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]).transpose(2, 0, 1)
    return rows[:, 0], np.concatenate([r, rows[:, 5:8, None]], 2)
