# SPDX-License-Identifier: BSD-3-Clause
"""Images whose every voxel has a value of its own, on grids that differ along each axis.

    viewer_images.py        writes image, truth, under, series and its frames into the current folder
"""
import json

import nibabel
import numpy as np


def write(name, v, voxel, centre, record=None):
    """v[z, y, x], of several frames v[t, z, y, x]; centre of the grid in mm."""
    n = v.shape[:-4:-1]
    affine = np.diag([*voxel, 1.0])
    affine[:3, 3] = [c - (k - 1) / 2 * d for c, k, d in zip(centre, n, voxel)]
    image = nibabel.Nifti1Image(np.asarray(v.T, np.float32), affine)
    image.header.set_xyzt_units("mm")
    image.header["qform_code"] = 0
    nibabel.save(image, name + ".nii")
    if record:
        with open(name + ".json", "w", encoding="utf-8") as f:
            json.dump(record, f, indent=2)


def bumps(random, shape):
    z, y, x = np.indices(shape)
    v = np.zeros(shape)
    for _ in range(6):
        c = random.uniform(0, 1, 3) * shape
        v += random.uniform(1, 5) * np.exp(-((z - c[0]) ** 2 + (y - c[1]) ** 2 + (x - c[2]) ** 2) / 18)
    return v + random.uniform(0, .5, shape)


def main():
    random = np.random.default_rng(1)
    shape, voxel, centre = (14, 18, 22), (3, 2.5, 4), (5, -7, 11)
    truth = bumps(random, shape)
    record = {"verb": "recon", "command": "isotome recon ray -o image.nii", "Units": "kBq/mL", "warnings": [],
              "parameters": {"grid": [22, 18, 14]}}
    write("image", truth * .5 + random.uniform(0, .2, shape), voxel, centre, record)
    write("truth", truth, voxel, centre)
    write("under", 100 * bumps(random, (20, 16, 12)) - 200, (6, 4, 3), (2, -3, 8))
    series = np.array([truth * np.exp(-t / 2) for t in range(5)])
    for t, frame in enumerate(series):
        write(f"frame{t}", frame, voxel, centre)
    write("series", series, voxel, centre,
          {**record, "FrameTimesStart": [0, 60, 120, 300, 600], "FrameDuration": [60, 60, 180, 300, 300]})
    heard = bumps(random, shape) - 1.5
    write("heard", heard, voxel, centre, {**record, "Units": "absorbed energy"})
    hot = np.zeros(shape)
    hot[3:8, 6:11, 4:9] = 1
    hot[-1, 0, 0] = 1000
    hot[2:9, 5:12, 3:10] += .001 * np.arange(7)
    write("hot", hot, voxel, centre, record)
    write("tall", bumps(random, (60, 12, 16)), (3, 3, 3), centre)


if __name__ == "__main__":
    main()
