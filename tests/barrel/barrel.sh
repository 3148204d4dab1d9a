#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Barrels from end to end: simulated scans are reconstructed to what they were made of; every file of events; what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >mini.yaml <<-END
	kind: barrel
	strips:
	  - {modules: 8, strips: 6, pitch_mm: 7, radius_mm: 120, width_mm: 6, depth_mm: 20, length_mm: 200}
	  - {modules: 8, strips: 6, pitch_mm: 7, radius_mm: 145, angle_deg: 22.5, width_mm: 6, depth_mm: 20, length_mm: 200}
	least_pair_distance_mm: 120
	time: {end_sigma_ps: 60, light_speed_mm_per_ps: 0.126, light_attenuation_mm: 300}
END
"$PYTHON" - <<'END'
import numpy as np, nibabel as nib
def save(name, v, voxel=(6, 6, 6)):
    n = v.shape[::-1]
    a = np.diag([*voxel, 1.0])
    a[:3, 3] = [-(n[k] - 1) / 2 * voxel[k] for k in range(3)]
    nib.save(nib.Nifti1Image(v.T.astype("f4"), a), name)
z, y, x = np.meshgrid(*[(np.arange(n) - (n - 1) / 2) * 6 for n in (17, 17, 17)], indexing="ij")
point = ((np.abs(x - 18) < 1) & (np.abs(y + 12) < 1) & (np.abs(z - 24) < 1)) * 1.0
save("point.nii", point)
save("cylinder.nii", ((np.hypot(x, y) < 40) & (np.abs(z) < 40)) * 1.0)
save("mu.nii", ((np.hypot(x, y) < 44) & (np.abs(z) < 44)) * 0.0096)
END

# a point beside the axes appears where it is, in every kind of file
run simulate mini.yaml point.nii --counts 1500 -o point.npy
run sens barrel --scanner mini.yaml --grid 17 --voxel 6 -o s.nii
run recon barrel --scanner mini.yaml --events point.npy --sens s.nii --grid 17 --voxel 6 --iterations 2 -o x.nii
run recon barrel --scanner mini.yaml --events point.npy --sens s.nii --grid 17 --voxel 6 --iterations 2 --threads 1 -o one.nii
"$PYTHON" - <<'END'
import numpy as np, struct
e = np.load("point.npy").astype("f8")
C = 0.299792458
with open("point.bin5", "wb") as f:
    for a, b, za, zb, dt in e:
        f.write(struct.pack("<IIfff", int(a), int(b), za, zb, dt))
with open("mlem.txt", "w") as f:  # metres, the greater number first
    for a, b, za, zb, dt in e:
        if a < b:
            a, b, za, zb, dt = b, a, zb, za, -dt
        f.write(f"{int(a)} {int(b)} {za / 1000:.9g} {zb / 1000:.9g} {dt * C / 1000:.9g}\n")
# four times at the ends of strips of 200 mm
r = np.zeros(len(e), [("strip1", "i4"), ("strip2", "i4")] + [(f"t{k}_{s}", "f8") for k in (1, 2) for s in ("minus", "plus")])
r["strip1"], r["strip2"] = e[:, 0], e[:, 1]
for k, z, t in ((1, e[:, 2], e[:, 4]), (2, e[:, 3], 0 * e[:, 4])):
    r[f"t{k}_minus"], r[f"t{k}_plus"] = t + (100 + z) / 0.126, t + (100 - z) / 0.126
np.save("times.npy", r)
np.save("swapped.npy", np.column_stack([e[:, :4], -e[:, 4]]))
np.save("turned.npy", np.ascontiguousarray(e[:, [1, 0, 3, 2, 4]] * [1, 1, 1, 1, -1]))
END
recon=(recon barrel --scanner mini.yaml --grid 17 --voxel 6 --method direct)
run "${recon[@]}" --events point.npy -o direct.nii
run "${recon[@]}" --events point.bin5 -o bin5.nii
run "${recon[@]}" --events mlem.txt --event-unit-mm 1000 -o mlem.nii
run "${recon[@]}" --events times.npy -o times.nii
run "${recon[@]}" --events swapped.npy --swap-dt -o swapped.nii
run "${recon[@]}" --events turned.npy -o turned.nii
"$ISOTOME" "${recon[@]}" --events - -o pipe.nii <point.bin5 >out 2>err || fail "events of a pipe"
check "the point is where it was, in every kind of file" <<'END'
import nibabel as nib, numpy as np
def load(n): return nib.load(n + ".nii").get_fdata().transpose(2, 1, 0)
x = load("x")
c = [(np.arange(17) - 8) * 6.0] * 3
z, y, xx = np.meshgrid(*c, indexing="ij")
at = [float((v * x).sum() / x.sum()) for v in (xx, y, z)]
assert np.allclose(at, [18, -12, 24], atol=0.8), at
d = load("direct")
for n in ("bin5", "mlem", "times", "swapped", "turned", "pipe"):
    far = np.abs(load(n) - d).sum()  # places next to the border of a voxel
    assert far <= 6, (n, far)
assert open("one.nii", "rb").read() == open("x.nii", "rb").read()
assert abs(d.sum() - 1500) < 60 and np.abs((xx * d).sum() / d.sum() - 18) < 2
END

# the chance of an event is what comes of a simulation, with strips that shade others; counts are kept
run sens barrel --scanner mini.yaml --grid 17 --voxel 6 --mu mu.nii -o s_mu.nii
run simulate mini.yaml cylinder.nii --counts 8000 -o c.npy
run simulate mini.yaml cylinder.nii --mu mu.nii --counts 3000 -o cmu.npy
run recon barrel --scanner mini.yaml --events cmu.npy --mu mu.nii --sens s_mu.nii --grid 17 --voxel 6 --method osem --subsets 2 --iterations 2 --filter gaussian:8 -o c.nii
run recon barrel --scanner mini.yaml --events point.npy --sens s.nii --grid 17 --voxel 6 --iterations 1 --additive 1e-9 -o r.nii
run recon barrel --scanner mini.yaml --events point.npy --sens s.nii --grid 17 --voxel 6 --iterations 3 --method bsrem --subsets 2 --penalty quadratic:rel=0.1 -o p.nii
check "sensitivity against simulation; level of a cylinder; emissions" <<'END'
import json, nibabel as nib, numpy as np
def load(n): return nib.load(n + ".nii").get_fdata().transpose(2, 1, 0)
def decays(n):
    e = json.load(open(n + ".npy.json"))["results"]["events"]
    return e["events"] / e["decays"]
s, s_mu, f = load("s"), load("s_mu"), load("cylinder")
want, got = (s * f).sum() / f.sum(), decays("c")
assert abs(got / want - 1) < 0.05, (got, want)
want, got = (s_mu * f).sum() / f.sum(), decays("cmu")
assert abs(got / want - 1) < 0.07, (got, want)
x = load("c")
assert abs((s_mu * x).sum() / 3000 - 1) < 0.1, (s_mu * x).sum()
z, y, xx = np.meshgrid(*[(np.arange(17) - 8) * 6.0] * 3, indexing="ij")
core = (np.hypot(xx, y) < 25) & (np.abs(z) < 25)
level = x[core].mean() * f.sum() / (3000 / ((s_mu * f).sum() / f.sum()))
assert abs(level - 1) < 0.15, level
END

# GOJA: exact places, lines that are none, types; volumes are strips or not
"$PYTHON" - <<'END'
import numpy as np
C = 0.299792458
rng = np.random.default_rng(3)
def strip(m, k, R=120.0): # first layer
    phi, off = 2 * np.pi * m / 8, (k - 2.5) * 7
    return np.array([R * np.cos(phi) - off * np.sin(phi), R * np.sin(phi) + off * np.cos(phi)])
def lines(n, shift, kinds):
    for i in range(n):
        m, k, j = rng.integers(0, 4), rng.integers(0, 6), rng.integers(0, 6)
        p, q = strip(m, k), strip(m + 4, j)
        u, t = 0.5 + rng.uniform(-0.1, 0.1), rng.uniform(-0.3, 0.3)
        o = p * (1 - u) + q * u
        ra, rb = np.linalg.norm(p - o), np.linalg.norm(q - o)
        s = np.sqrt(1 + t * t)
        v = [p[0] / 10, p[1] / 10, ra * t / 10, ra * s / C, q[0] / 10, q[1] / 10, -rb * t / 10, rb * s / C,
             m * 6 + k + shift, (m + 4) * 6 + j + shift, 400, 400, kinds[i % len(kinds)]] + [0] * 6
        yield "\t".join(f"{x:.2f}" if c in (0, 1, 2, 4, 5, 6) else f"{x:.1f}" if c in (3, 7) else f"{x:g}" for c, x in enumerate(v))
open("goja.txt", "w").write("\n".join(lines(200, 0, (1, 1, 2, 4))) + "\n")
open("shifted.txt", "w").write("\n".join(lines(200, 1000, (1,))) + "\nnot a line\n")
open("other.txt", "w").write("\n".join(l.replace(l.split("\t")[0], "55.00", 1) for l in lines(20, 0, (1,))) + "\n")
END
goja=(recon barrel --scanner mini.yaml --grid 17 --voxel 6 --method direct)
run "${goja[@]}" --events goja.txt -o g.nii
grep -q 'taken as measured' err || fail "nothing is said of exact places"
run "${goja[@]}" --events goja.txt --trues-only --smear 7 -o t.nii
run "${goja[@]}" --events shifted.txt --smear 7 -o v.nii
grep -q '1 lines are no events.*line 201' err || fail "the bad line is not told"
expect 3 "${goja[@]}" --events other.txt -o no.nii
grep -q 'another scanner' err || fail "hits in no strip"
check "events of GOJA" <<'END'
import nibabel as nib
n = {k: nib.load(k + ".nii").get_fdata().sum() for k in "gtv"}
assert n["g"] == 200 and n["t"] == 100 and n["v"] == 200, n
END

# what is refused
head -c 999 point.bin5 >cut.bin5
expect 3 "${recon[@]}" --events cut.bin5 -o no.nii
grep -q '49 whole events' err || fail "a cut file"
expect 2 recon barrel --scanner mini.yaml --events point.npy --grid 25 --voxel 4,5,4 -o no.nii
expect 2 recon barrel --scanner mini.yaml --events point.npy --sigma-cut 9 -o no.nii
expect 2 recon barrel --scanner mini.yaml --events point.npy --kernel gauss -o no.nii
expect 2 recon barrel --scanner mini.yaml --events point.npy --grid 5 --voxel 4 --centre 300,0,0 -o no.nii
expect 3 recon barrel --scanner "$SOURCE/examples/scanners/bialas2015.yaml" --events point.npy -o no.nii
sed 's/modules: 8, strips: 6/modules: 8, strips: 1/' mini.yaml >few.yaml
expect 3 recon barrel --scanner few.yaml --events point.npy --grid 5 --voxel 4 --method direct -o no.nii
grep -q 'its numbers are 0 to 15' err || fail "another scanner"
expect 2 simulate mini.yaml point.nii --randoms 0.2 -o no.npy
expect 2 simulate mini.yaml point.nii -o no.lmdT
[ ! -e no.nii ] || fail "a refused run left an image"
