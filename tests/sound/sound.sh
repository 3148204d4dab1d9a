#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Optoacoustic images by least squares: a smooth ball heard by a small sphere of transducers, traces
# by the closed form, through both models; what is refused; stop and resume.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

RINGS=$(size 8 4) VIEWS=$(size 12 6)
export RINGS VIEWS
array() { # SPEED
	cat <<-END
		kind: transducers
		sphere: {radius_mm: 20, rings: $RINGS, views: $VIEWS}
		aperture_mm: [1, 1]
		speed_mm_per_us: $1
		sampling_mhz: 20
		first_sample_us: 8
		samples: 220
		grueneisen: 2
	END
}
array 1.5 >array.yaml

check "traces of a ball" <<'END'
import numpy as np
from math import erf
from os import environ
rings, views = int(environ["RINGS"]), int(environ["VIEWS"])
c, gamma, radius, s = 1.5, 2, 1.5, .35
t = 8 + np.arange(220) / 20
theta = np.pi / rings * (np.arange(rings) + .5)
phi = 2 * np.pi / views * np.arange(views)
th, ph = [a.ravel() for a in np.meshgrid(theta, phi, indexing="ij")]
at = 20 * np.stack([np.sin(th) * np.cos(ph), np.sin(th) * np.sin(ph), np.cos(th)], 1)
normal = lambda z: np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
share = np.vectorize(lambda z: .5 * (1 + erf(z / np.sqrt(2))))
def q(x):
    a, b = (radius - x) / s, (-radius - x) / s
    return x * (share(a) - share(b)) + s * (normal(b) - normal(a))
place = np.array([.6, -.3, .4])
d = np.linalg.norm(at - place, axis=1)[:, None]
p = gamma / (2 * d) * q(d - c * t)
np.save("traces.npy", p.astype("f4"))
axis = (np.arange(24) - 11.5) * .4
z, y, x = np.meshgrid(axis, axis, axis, indexing="ij")
r = np.maximum(np.sqrt((x - place[0])**2 + (y - place[1])**2 + (z - place[2])**2), 1e-4)
np.save("truth.npy", (q(r) / r).astype("f4"))
bad = p.copy()
bad[3, 5] = np.nan
np.save("nan.npy", bad)
np.save("short.npy", p[:, :100])
END

on_grid=(--scanner array.yaml --grid 24 --voxel 0.4)
low=(--fmax-mhz 1.5)	# above, the voxels are no longer small against the wave
close() { # FILE MOST
	check "$1 against the truth" "$1" "$2" <<-'END'
		import sys
		import numpy as np
		x, truth = np.load(sys.argv[1]), np.load("truth.npy")
		off = np.sqrt(np.mean((x - truth)**2))
		print(sys.argv[1], "RMSE", off)
		if x.shape != truth.shape or not off < float(sys.argv[2]):
		    raise SystemExit(f"RMSE {off}")
	END
}

# ---- both models ----
run project svoxel truth.npy "${on_grid[@]}" --lines 1 -o line.npy
run recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy --iterations 12 -o sph.npy --curve cost.csv
close sph.npy "$(size 0.015 0.06)"
run recon sradon "${on_grid[@]}" --data traces.npy --iterations 6 -o int.npy
close int.npy "$(size 0.015 0.06)"
run recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy --iterations 12 --penalty quadratic:1e-3 \
	-o smooth.npy --save-every 5
[ -e smooth_it005.npy ] && [ -e smooth_it010.npy ] || fail "--save-every wrote nothing"
cmp -s sph.npy smooth.npy && fail "the penalty changed nothing"

# ---- tikhonov: by MU, or relative to the operator; a smaller image ----
run recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy --iterations 12 --penalty tikhonov:rel=0.05 -o tik.npy
mu=$(python3 -c 'import json; print(repr(json.load(open("tik.npy.json"))["ReconMethodParameterValues"][1]))')
run recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy --iterations 12 --penalty "tikhonov:$mu" -o tik_mu.npy
cmp tik.npy tik_mu.npy || fail "rel=0.05 is not tikhonov:$mu"
run recon sradon --scanner array.yaml --grid 12 --voxel 0.8 --data traces.npy --iterations 5 --penalty tikhonov:rel=0.05 --nonneg \
	-o tik_int.npy
check "tikhonov makes images smaller" <<-END
	from checks import *
	plain, small, signs = (np.load(n) for n in ("sph.npy", "tik.npy", "tik_int.npy"))
	require((small ** 2).sum() < .95 * (plain ** 2).sum(), "the sum of squares")
	require((small * plain).sum() > .9 * ((small ** 2).sum() * (plain ** 2).sum()) ** .5, "another image")
	require(signs.min() == 0 and signs.max() > 0, "signs")
END
expect 2 recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy --penalty tv:rel=0.1 -o no.npy
err_has "--penalty is 'tv:rel=0.1', must be KIND:MU"

# ---- transducers by their areas: nearer in fewer iterations ----
run recon sradon "${on_grid[@]}" --data traces.npy --iterations 3 -o equal.npy
run recon sradon "${on_grid[@]}" --data traces.npy --iterations 3 --weigh area -o area.npy
check "weights by area" <<-END
	from checks import *
	truth = np.load("truth.npy")
	a, b = (((np.load(n) - truth) ** 2).mean() ** .5 for n in ("area.npy", "equal.npy"))
	require(a < $(size .8 1) * b, f"RMSE {a} by area, {b} else")	# few rings do not crowd
END
expect 2 recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy --curve traces.npy -o no.npy
err_has '--curve traces.npy and --data traces.npy are one file'
expect 2 recon svoxel traces.npy "${on_grid[@]}" "${low[@]}" --curve traces.npy -o no.npy
err_has '--curve traces.npy and FILE traces.npy are one file'
expect 2 recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy --curve no.npy -o no.npy
err_has '--output no.npy and --curve no.npy are one file'
expect 2 recon ubp "${on_grid[@]}" --data traces.npy --weigh area -o no.npy
err_has '--weigh'

long=(--iterations "$(size 40 5)")
run recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy "${long[@]}" --nonneg -o nonneg.npy
close nonneg.npy "$(size 0.005 0.08)"
run recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy "${long[@]}" --nonneg --penalty tv:1e-4 \
	-o tv.npy --curve tv.csv
close tv.npy "$(size 0.003 0.08)"
check "no voxel is below 0" <<'END'
import numpy as np
from checks import record, require
for name in "nonneg.npy", "tv.npy":
    require(np.load(name).min() == 0, name)
require(abs(np.load("nonneg.npy") - np.load("tv.npy")).max() > 0, "total variation changed nothing")
said = record("tv.npy.json")
require((said["ReconMethodParameterLabels"][1], said["ReconMethodParameterValues"][1]) == ("tv", 1e-4), "penalty")
END

# ---- conjugate gradients that keep to the bound: a third of FISTA's iterations, as good an image ----
nncg=(recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy --method nncg --iterations "$(size 13 5)")
run "${nncg[@]}" -o nncg.npy --curve nncg.csv
close nncg.npy "$(size 0.005 0.08)"
run "${nncg[@]}" --precondition image --penalty tikhonov:1e-9 -o scaled.npy
close scaled.npy "$(size 0.008 0.08)"
check "nncg: no voxel below 0, a cost that falls to FISTA's" <<-END
	from checks import *
	for name in "nncg.npy", "scaled.npy":
	    require(np.load(name).min() >= 0, name)
	cost, fista = (record(n)["results"]["cost"] for n in ("nncg.npy.json", "nonneg.npy.json"))
	require((np.diff(cost) < 0).all(), "the cost rises")
	require(cost[-1] < $(size 1.05 2) * fista[-1], f"cost {cost[-1]}, FISTA's {fista[-1]}")
	require((np.load("nncg.npy") != np.load("scaled.npy")).any(), "the preconditioner changed nothing")
END
expect 143 "${nncg[@]}" -o parts.npy --stop-after 1e-9
run "${nncg[@]}" -o parts.npy --resume
same parts.npy nncg.npy
rm parts.npy parts.npy.json
expect 2 "${nncg[@]}" --penalty tv:1e-4 -o no.npy
err_has '--method nncg has no total variation'
expect 2 recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy --precondition image -o no.npy
err_has '--precondition goes with --method nncg, not cg'

check "the curve falls, and is that of the record" <<'END'
import numpy as np
from checks import record, require
curve = np.loadtxt("cost.csv", delimiter=",", skiprows=1)
require(curve.shape == (13, 3), f"curve of shape {curve.shape}")
require((np.diff(curve[:, 1]) < 0).all(), "the cost rises")
require(np.allclose(record("sph.npy.json")["results"]["cost"], curve[:, 1]), "not the record's")
END

# ---- project and backproject: <Ax, y> = <x, A* y> ----
for way in "svoxel" "svoxel --sir rect" "sradon --sampling alg4"; do
	read -ra words <<<"$way"
	run project "${words[0]}" truth.npy "${on_grid[@]}" "${words[@]:1}" -o y.npy --force
	run backproject "${words[0]}" y.npy "${on_grid[@]}" "${words[@]:1}" -o x.npy --force
	check "adjoint of $way" <<-'END'
		import numpy as np
		from checks import near
		y, x, truth = (np.load(f + ".npy").astype(float) for f in ("y", "x", "truth"))
		near("products", (x * truth).sum() / (y * y).sum(), 1, 1e-5)
	END
done

grep -q 'shorter than two voxels' y.npy.json && fail "sradon warns of lines"
run project svoxel truth.npy "${on_grid[@]}" -o y.npy --force
err_has 'shorter than two voxels'

# ---- spectra as data: those that project wrote ----
run project svoxel truth.npy "${on_grid[@]}" "${low[@]}" -o spectra.npy
run recon svoxel "${on_grid[@]}" "${low[@]}" --data spectra.npy --iterations "$(size 20 3)" \
	-o from_spectra.npy
close from_spectra.npy "$(size 0.015 0.08)"

# ---- lines anywhere: f0 + l df ----
record_df=0.0454545454545454545	# 1/(2 x 11 us)
run project svoxel truth.npy "${on_grid[@]}" --f0-mhz $record_df --df-mhz $record_df --lines 33 -o same.npy
same same.npy spectra.npy
odd=(--f0-mhz 0.107 --df-mhz 0.0613)
run project svoxel truth.npy "${on_grid[@]}" "${odd[@]}" "${low[@]}" -o odd.npy
run project svoxel --like odd.npy.json -o again.npy
same odd.npy again.npy
if [ "$(size full quick)" = full ]; then
	run project svoxel truth.npy "${on_grid[@]}" "${odd[@]}" "${low[@]}" --transform direct -o direct.npy
	check "lines beside multiples of df" <<-'END'
		from checks import *
		got, want = np.load("odd.npy").astype(float), np.load("direct.npy").astype(float)
		require(got.shape[1:] == (23, 2), f"shape {got.shape}")
		near("spectra", got, want, 5e-6 * abs(want).max())
		lines = record("odd.npy.json")["lines"]
		near("lines", [lines["f0_mhz"], lines["df_mhz"]], [.107, .0613], 1e-15)
	END
fi
"$PYTHON" -c 'import numpy as np
y = np.load("odd.npy")
np.save("complex.npy", y[..., 0] + 1j * y[..., 1])
np.save("fortran.npy", np.asfortranarray((y[..., 0] + 1j * y[..., 1]).astype("c16")))
np.save("cut.npy", y[:-1])
np.save("column.npy", np.ones(len(y), "c8"))'
for data in complex fortran; do	# spectra say how many lines there are
	run recon svoxel "${on_grid[@]}" "${odd[@]}" --data $data.npy --iterations "$(size 20 3)" -o of_$data.npy
done
run recon svoxel "${on_grid[@]}" --f0-mhz 6.1 --df-mhz 0.01 --data complex.npy --dry-run -o no.npy
out_has "transducers and lines"
expect 3 recon svoxel "${on_grid[@]}" "${odd[@]}" --lines 22 --data complex.npy --dry-run -o no.npy
err_has 'complex.npy: an array'
for data in complex odd; do
	run backproject svoxel $data.npy "${on_grid[@]}" "${odd[@]}" -o back_$data.npy
done
same back_complex.npy back_odd.npy
run backproject svoxel odd.npy "${on_grid[@]}" "${odd[@]}" --lines 23 -o back.npy
same back.npy back_odd.npy
close of_complex.npy "$(size 0.03 0.09)"
same of_complex.npy of_fortran.npy
run recon svoxel "${on_grid[@]}" "${odd[@]}" "${low[@]}" --data traces.npy --iterations "$(size 20 3)" -o of_traces.npy
close of_traces.npy "$(size 0.03 0.09)"
expect 3 recon svoxel "${on_grid[@]}" "${odd[@]}" --lines 22 --data complex.npy -o no.npy
err_has 'complex.npy: an array'
expect 3 recon svoxel "${on_grid[@]}" "${odd[@]}" --data column.npy -o no.npy
err_has 'column.npy: complex numbers of 1 axes, spectra are (transducers, lines)'
expect 3 recon sradon "${on_grid[@]}" --data complex.npy -o no.npy
err_has 'complex.npy: complex elements'
expect 3 recon svoxel "${on_grid[@]}" "${odd[@]}" "${low[@]}" --data cut.npy -o no.npy
err_has 'spectra are (transducers, lines, 2)'
expect 2 recon svoxel "${on_grid[@]}" --f0-mhz 2 "${low[@]}" --data traces.npy -o no.npy
err_has '--f0-mhz is 2: no line up to 1.5 MHz'
expect 2 recon svoxel "${on_grid[@]}" --f0-mhz 9 --lines 100 --data traces.npy -o no.npy
err_has 'end above 10 MHz, half the sampling rate'

# ---- accuracy: 1e-3 for images, 1e-6 for projections, else as one asks; it chooses the kernel ----
run recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy --iterations 12 --accuracy 1e-6 -o fine.npy
run recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy --iterations 2 --bins-per-wave 8 -o eight.npy
for e in 1e-1 1e-2 1e-3 1e-4; do
	run project svoxel truth.npy "${on_grid[@]}" "${low[@]}" --accuracy $e -o near_$e.npy
done
run project svoxel truth.npy "${on_grid[@]}" "${low[@]}" --width 3 -o three.npy
run project svoxel truth.npy "${on_grid[@]}" "${low[@]}" --width 2 --accuracy 1e-6 -o two.npy
err_has '--accuracy is 1e-06: 2 taps and 32 bins a wave have an error of'
expect 2 project svoxel truth.npy "${on_grid[@]}" "${low[@]}" --sir rect --width 3 -o no.npy
err_has 'width is 3, rectangles need 4'
sed '/aperture/d' array.yaml >points.yaml
expect 2 recon svoxel --scanner points.yaml --grid 24 --voxel 0.4 "${low[@]}" --data traces.npy --sir rect -o no.npy
err_has 'no aperture_mm'
check "accuracy" <<-'END'
	from checks import *
	y = np.load("spectra.npy").astype(float)
	for e in "1e-1", "1e-2", "1e-3", "1e-4":
	    off = np.linalg.norm(np.load(f"near_{e}.npy") - y) / np.linalg.norm(y)
	    require(0 < off < 1.5 * float(e), f"accuracy {e}: off by {off}")
	kernel = lambda name: record(name + ".npy.json")["kernel"]
	require(kernel("spectra")["accuracy"] == 1e-6 and kernel("spectra")["width"] == 7, "projections")
	require(kernel("sph")["accuracy"] == 1e-3 and kernel("sph")["width"] < 5, "images")
	require(kernel("fine") == kernel("spectra"), "1e-6 by hand")
	require(kernel("eight")["bins_per_wave"] == 8 and kernel("three")["width"] == 3, "given")
	require(kernel("near_1e-2")["expected_error"] <= 1e-2, "expected")
	require(kernel("sph")["bins"] >= 33 * kernel("sph")["bins_per_wave"], "bins")
	a, b = np.load("sph.npy"), np.load("fine.npy")
	require(0 < abs(a - b).max() < 1e-3 * abs(b).max(), f"images differ by {abs(a - b).max()}")
END

# ---- stop and go on ----
stop=(recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy --iterations 12)
expect 143 "${stop[@]}" -o parts.npy --stop-after 1e-9
err_has 'resume continues from'
[ -e parts.npy.ckpt ] || fail "no checkpoint"
run "${stop[@]}" -o parts.npy --resume
same parts.npy sph.npy
[ ! -e parts.npy.ckpt ] || fail "the checkpoint is still there"

# total variation and sign: stopped, killed behind a checkpoint, and gone on with
prox=(recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy "${long[@]}" --nonneg --penalty tv:1e-4)
expect 143 "${prox[@]}" -o parts.npy --force --stop-after 1e-9
err_has 'iterations; resume continues from parts.npy.ckpt'
rm parts.npy parts.npy.json
"$ISOTOME" "${prox[@]}" -o parts.npy --resume --checkpoint-minutes 0 >out 2>err &
pid=$!
begun=$(md5sum parts.npy.ckpt)
while [ "$(md5sum parts.npy.ckpt 2>/dev/null)" = "$begun" ] && kill -0 $pid 2>/dev/null; do
	sleep 0.01
done
kill -s KILL $pid 2>/dev/null || fail "the run ended before SIGKILL could be sent"
wait $pid 2>/dev/null || true
[ ! -e parts.npy ] || fail "a killed run wrote its image"
run "${prox[@]}" -o parts.npy --resume --save-every "$(size 39 4)" --curve parts.csv
same parts.npy tv.npy
same parts.csv tv.csv
grep -qE '"resumed_from_iteration": [1-9]' parts.npy.json || fail "the run began anew"
[ -e "parts_it0$(size 39 04).npy" ] || fail "--save-every wrote no image"
[ ! -e parts.npy.ckpt ] || fail "the checkpoint is still there"

# ---- refused ----
expect 2 recon svoxel "${on_grid[@]}" "${low[@]}" --data traces.npy --method mlem -o no.npy
err_has "--method is 'mlem', must be one of cg, nncg, pdhg"
expect 2 recon sradon "${on_grid[@]}" --data traces.npy --subsets 4 -o no.npy
err_has '--subsets does not go with model sradon'
expect 2 recon sradon "${on_grid[@]}" --data traces.npy --penalty tv -o no.npy
err_has "--penalty is 'tv'"
expect 2 recon sradon "${on_grid[@]}" --data traces.npy --nonneg --tolerance 0.1 -o no.npy
err_has '--tolerance does not go with --nonneg'
expect 2 recon sradon --scanner array.yaml --voxel 0.4 --data traces.npy -o no.npy
err_has 'the number of its voxels is missing'
expect 2 recon sradon "${on_grid[@]}" -o no.npy
err_has '--data is missing'
expect 3 recon sradon "${on_grid[@]}" --data nan.npy -o no.npy
expect 3 recon sradon "${on_grid[@]}" --data short.npy -o no.npy
expect 3 recon svoxel "${on_grid[@]}" "${low[@]}" --data short.npy -o no.npy
expect 3 recon svoxel --scanner array.yaml --grid 128 --voxel 0.4 --data traces.npy -o no.npy
array 0 >still.yaml
expect 2 recon sradon --scanner still.yaml --grid 24 --voxel 0.4 --data traces.npy -o no.npy
err_has '--speed is missing: still.yaml does not say a speed of sound above 0'
[ ! -e no.npy ] || fail "a refused run left no.npy"
