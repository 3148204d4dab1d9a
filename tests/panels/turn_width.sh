#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What turning cures: a source of 6 mm between heads of 84 mm, 120 mm apart, seen at one, two and six angles. 10 iterations of
# noiseless data by the analytic matrix. Widths along the heads' normal and across, and the least sensitivity over its mean
# within 25 mm. Then by model ray, from events along the lines between the crystals' centres, as often as each line sees the
# source.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >heads.yaml <<END
kind: panels
crystals: [29, 4]
pitch_mm: [2.9, 2.9]
crystal_mm: [2.9, 2.9, 10]
gap_mm: 120
layers: 1
voxels_per_pitch: [1, 1]
planes: 29
plane_mm: 2.9
END
printf 'time_s,angle_deg\n0,0\n' >1.csv
printf '# rule: step\ntime_s,angle_deg\n0,0\n1,90\n' >2.csv
printf '# rule: step\ntime_s,angle_deg\n0,0\n1,30\n2,60\n3,90\n4,120\n5,150\n' >6.csv
run srm heads.yaml --analytic --share 1 --threads 1 -o m.srm
check "a source" <<'END'
import numpy as np
z, y, x = (2.9 * (np.indices((4, 29, 29))[a] - half) for a, half in enumerate((1.5, 14, 14)))
np.save("x.npy", np.exp(-(x**2 + y**2 + z**2) / 2 / (6 / 2.3548)**2))
END
for n in 1 2 6; do
	turn=(--srm m.srm --gantry $n.csv --duration-s $n --threads 1)
	run project srm x.npy "${turn[@]}" -o y$n.npy
	run recon srm --data y$n.npy "${turn[@]}" --iterations 10 -o x$n.npy
	run sens srm "${turn[@]}" -o s$n.npy
done
check "widths" <<'END'
import numpy as np
def width(p):
    above = np.flatnonzero(p > p.max() / 2)
    a, b = above[0], above[-1]
    return 2.9 * (b + (p[b] - p.max() / 2) / (p[b] - p[b + 1]) - a + (p[a] - p.max() / 2) / (p[a] - p[a - 1]))
y, x = (2.9 * (np.indices((29, 29))[a] - 14) for a in range(2))
middle = np.hypot(x, y) < 25
# a second program's: normal, across, with voxels and planes of its own
for n, normal, across, least in (1, 12.6, 4.3, 0.06), (2, 5.8, 5.7, 0.49), (6, 5.9, 6.0, 0.70):
    f, s = np.load(f"x{n}.npy").astype(float), np.load(f"s{n}.npy").astype(float)[2]
    k = np.unravel_index(f.argmax(), f.shape)
    if k[1:] != (14, 14):
        raise SystemExit(f"{n} angles: the peak is at {k}")
    got = width(f[k[0], :, 14]), width(f[k[0], 14])
    print(n, "angles:", got, s[middle].min() / s[middle].mean())
    if not (abs(got[0] / normal - 1) < 0.15 and abs(got[1] / across - 1) < 0.15):
        raise SystemExit(f"{n} angles: widths {got}, expected {normal} and {across}")
    if not s[middle].min() / s[middle].mean() > least:
        raise SystemExit(f"{n} angles: the least sensitivity is {s[middle].min() / s[middle].mean()}")
END

# ---- model ray ----
sed -e 's/^crystals: .*/crystals: [28, 28]/' -e 's/^pitch_mm: .*/pitch_mm: [3, 3]/' -e 's/^crystal_mm: .*/crystal_mm: [3, 3, 10]/' \
	-e 's/^plane_mm: .*/plane_mm: 3/' heads.yaml >lines.yaml
check "events" <<'END'
import numpy as np
random = np.random.default_rng(1)
c = 3 * (np.arange(28) - 13.5)
x, z = (a.ravel() for a in np.meshgrid(c, c, indexing="ij"))
i, j = (a.ravel() for a in np.meshgrid(np.arange(784), np.arange(784), indexing="ij"))
p, q = (np.c_[x[k], np.full(len(k), y), z[k]] for k, y in ((i, -60.), (j, 60.)))
far = np.cross(p, q - p) / np.linalg.norm(q - p, axis=1)[:, None] # from the middle, of each line
weight = np.exp(-(far ** 2).sum(1) / 2 / (6 / 2.3548) ** 2)
for n in 1, 2, 6:
    line = np.repeat(np.arange(len(p)), random.multinomial(150000, weight / weight.sum()))
    angle = np.sort(random.integers(0, n, len(line)))
    random.shuffle(line)
    np.save(f"e{n}.npy", np.c_[p[line], q[line], np.zeros(len(line))].astype("f4"))
    np.save(f"t{n}.npy", 1000 * angle + 500)
END
for n in 1 2 6; do
	run recon ray --events e$n.npy --event-times t$n.npy --scanner lines.yaml --gantry $n.csv --duration-s $n --grid "29,29,9" \
		--voxel 3 --method mlem --iterations 10 --sens-floor 0 -o r$n.npy
done
check "widths by model ray" <<'END'
import numpy as np
def width(p):
    above = np.flatnonzero(p > p.max() / 2)
    a, b = above[0], above[-1]
    return 3 * (b + (p[b] - p.max() / 2) / (p[b] - p[b + 1]) - a + (p[a] - p.max() / 2) / (p[a] - p[a - 1]))
for n, normal, across in (1, None, None), (2, 5.8, 5.7), (6, 5.9, 6.0):
    f = np.load(f"r{n}.npy").astype(float)
    k = np.unravel_index(f.argmax(), f.shape)
    got = width(f[k[0], :, k[2]]), width(f[k[0], k[1]])
    print("ray,", n, "angles:", got)
    if n == 1 and not got[0] > 1.3 * got[1]:
        raise SystemExit(f"heads that stand do not blur along their normal: {got}")
    if n > 1 and not (abs(got[0] / normal - 1) < 0.15 and abs(got[1] / across - 1) < 0.15):
        raise SystemExit(f"ray, {n} angles: widths {got}, expected {normal} and {across}")
END
