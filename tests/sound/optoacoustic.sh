#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Transducers from description to image: simulate, recon ubp, its options, and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

scanner() {
	cat <<-END
		kind: transducers
		sphere: {radius_mm: 65, rings: ${1:-32}, views: ${2:-45}, polar_deg: [0.703125, ${3:-175.078125}]}
		speed_mm_per_us: 1.54
		sampling_mhz: 20
		first_sample_us: 17.5
		samples: 1022
		grueneisen: 2000
	END
}
scanner >s.yaml
scanner 64 45 177.890625 >fine.yaml

run info s.yaml
out_has 'scanner           transducers'
out_has 'transducers       1440'

# ---- the study of the paper on every tenth node: RMSE 0.02241 and 0.01216 ----
nodes="--grid 21,21,44 --voxel 1.4"
# shellcheck disable=SC2086
run phantom nine-spheres $nodes --centre 0,0,0 -o truth.nii
run simulate s.yaml nine-spheres -o y.npy
# shellcheck disable=SC2086
run recon ubp --data y.npy --scanner s.yaml $nodes -o x.nii
run simulate fine.yaml nine-spheres -o fine.npy
# shellcheck disable=SC2086
run recon ubp --data fine.npy --scanner fine.yaml $nodes -o fine.nii
check "RMSE of the paper's data sets" <<-END
	from checks import *
	truth = image("truth.nii")
	for name, want in ("x", 0.02241), ("fine", 0.01216):
	    rmse = np.sqrt(np.mean((image(name + ".nii") - truth) ** 2))
	    near(name, rmse, want, 0.01 * want)
	r = record("x.json")
	require(r["results"]["speed_mm_per_us"] == 1.54 and r["results"]["hann_mhz"] is None, "record")
	require(r["Units"] == "absorbed energy" and r["warnings"] == [], "unit and warnings")
	require(np.load("y.npy").shape == (1440, 1022), "shape of traces")
END

# backproject is the same operator; there is no forward
# shellcheck disable=SC2086
run backproject ubp y.npy --scanner s.yaml $nodes -o back.nii
run measure diff back.nii x.nii --below 1e-6
expect 2 project ubp truth.nii --scanner s.yaml -o p.npy
err_has 'there is no way back'
expect 2 sens ubp --scanner s.yaml --grid 8 --voxel 1 -o p.nii
err_has 'no sensitivity'
# shellcheck disable=SC2086
run recon ubp --data fine.npy --scanner fine.yaml $nodes --weights solid-angle -o angle.nii
run measure rmse angle.nii truth.nii --below 1

# ---- noise by seed; the same run again ----
run simulate s.yaml nine-spheres --noise 0.1 --seed 7 -o a.npy
run simulate s.yaml nine-spheres --noise 0.1 --seed 7 -o b.npy
same a.npy b.npy
run simulate --like a.npy.json -o c.npy
same a.npy c.npy
check "width of the noise" <<-END
	from checks import *
	y, a = np.load("y.npy"), np.load("a.npy")
	near("sigma", (a - y).std(), 0.1 * abs(y).max(), 0.002 * abs(y).max())
END

# ---- the band that the traces tell: of noisy ones alone ----
# shellcheck disable=SC2086
run recon ubp --data y.npy --scanner s.yaml $nodes --band-mhz 0,0 -o every.nii
# transducers that are left out might as well have heard nothing
check "traces with silence" <<'END'
import numpy as np
y = np.load("y.npy")
y[[2, 6, 7, 8]] = 0
np.save("silent.npy", y)
END
run recon ubp --data silent.npy --scanner s.yaml $nodes --band-mhz 0,0 -o silent.nii
run recon ubp --data y.npy --scanner s.yaml $nodes --band-mhz 0,0 --without 3,7-9 -o without.nii
same silent.nii without.nii
cmp -s every.nii without.nii && fail "--without changes nothing"
for words in 0 3, 3-2 3,x 3-4-5 1-99999; do
	expect 2 recon ubp --data y.npy --scanner s.yaml $nodes --without "$words" -o no.nii
	err_has "--without is '$words', must be numbers of transducers from 1 to"
done
same every.nii x.nii
# shellcheck disable=SC2086
run recon ubp --data a.npy --scanner s.yaml $nodes -o heard.nii
err_has 'MHz (--band-mhz 0,0 uses all). Above the band neighbouring transducers do not agree'
# shellcheck disable=SC2086
run recon ubp --data a.npy --scanner s.yaml $nodes --band-mhz 0,0 -o noisy.nii
# shellcheck disable=SC2086
run recon ubp --data a.npy --scanner s.yaml $nodes --band-mhz 0,1 -o said.nii
check "band" <<-END
	from checks import *
	error = lambda name: np.sqrt(np.mean((image(name) - image("truth.nii")) ** 2))
	require(error("heard.nii") < 0.2 * error("noisy.nii"), "the band takes the noise away")
	band = lambda name: record(name)["results"]["band_mhz"]
	require(band("x.json") is None and band("noisy.json") is None, "clean traces, and 0,0: no band")
	heard = band("heard.json")
	require(heard["low"] == 0 and 0.7 < heard["high"] < 1.6 and "neighbouring" in heard["why"], "found")
	require(band("said.json") == {"low": 0, "high": 1, "why": "asked for"}, "said")
END

# ---- impulse response: simulated, and taken out again ----
check "make a response" <<-END
	import numpy as np
	t = np.arange(40) * 0.05
	np.save("h.npy", 0.05 * 8 * np.exp(-((t - 0.4) / 0.15) ** 2) * np.cos(2 * np.pi * 1.2 * (t - 0.4)))
END
{ cat fine.yaml; echo 'eir: h.npy'; } >eir.yaml
"$ISOTOME" simulate eir.yaml nine-spheres -o u.npy 2>err || fail "simulate with a response"
check "response in the traces" <<-END
	from checks import *
	h, y, u = np.load("h.npy"), np.load("fine.npy"), np.load("u.npy")
	near("u", u[77], np.convolve(y[77], h)[:1022], 1e-5 * abs(u).max())
END
# shellcheck disable=SC2086
run recon ubp --data u.npy --scanner eir.yaml $nodes -o taken.nii
run measure rmse taken.nii truth.nii --below 1.2
check "5 MHz is the default" <<-END
	from checks import *
	require(record("taken.json")["results"]["hann_mhz"] == 5, "hann_mhz")
END
# shellcheck disable=SC2086
run recon ubp --data u.npy --scanner eir.yaml $nodes --hann-mhz 0 -o left.nii
expect 1 measure rmse left.nii truth.nii --below 1.5

# ---- the speed of sound, from the sharpness of one plane ----
plane=(--data fine.npy --scanner fine.yaml --grid "$(size 105,105,1 53,53,1)" --voxel "$(size 0.28 0.56)")
speeds=$(size 9 3)
run recon ubp "${plane[@]}" --centre 0,0,0 --speeds "1.5,1.58,$speeds" -o scan.nii
check "the true speed is found" <<-END
	from checks import *
	r = record("scan.json")["results"]
	require(len(r["speeds"]) == $speeds, "as many speeds")
	near("best", r["speed_mm_per_us"], 1.54, 1e-9)
END
run recon ubp "${plane[@]}" --speed 1.54 -o one.nii
run measure diff one.nii scan.nii --below 1e-6
run recon ubp "${plane[@]}" --speeds 1.5,1.53,3 -o end.nii
err_has 'the true speed may lie beyond'

# ---- lists: areas missing, not on one sphere ----
check "positions" <<-END
	import numpy as np
	t, p = np.meshgrid(np.linspace(0.1, 3, 20), np.linspace(0, 6, 20))
	p = 65 * np.stack([np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)], -1).reshape(-1, 3)
	p[::2] *= 1.05
	np.save("p.npy", p)
END
sed 's/^sphere:.*/positions: p.npy/' s.yaml >list.yaml
run info list.yaml
out_has 'no areas'
run simulate list.yaml nine-spheres -o list.npy
run recon ubp --data list.npy --scanner list.yaml --grid 20 --voxel 1 -o list.nii
err_has 'list.yaml gives no areas'
err_has 'not on one sphere'

# ---- refused ----
recon() { expect "$1" recon ubp --scanner "${3:-s.yaml}" --data "$2" "${@:4}" -o no.nii; }
small="--grid 8 --voxel 1"
check "bad data" <<-END
	import numpy as np
	y = np.load("y.npy")
	np.save("short.npy", y[:, :1000])
	np.save("flat.npy", y.ravel())
	y[3, 5] = np.nan
	np.save("nan.npy", y)
END
# shellcheck disable=SC2086
{
	recon 3 short.npy s.yaml $small
	err_has 'an array (1440, 1000), must be (transducers, samples), here (1440, 1022)'
	recon 3 flat.npy s.yaml $small
	err_has 'an array of 1 axes'
	recon 3 nan.npy s.yaml $small
	err_has 'nan.npy'
	recon 3 y.npy s.yaml --grid 140 --voxel 1
	err_has 'lies inside the image'
	sed 's/^samples:.*/samples: 20/' s.yaml >deaf.yaml
	recon 3 y.npy deaf.yaml $small
	err_has 'the record holds 17.5 to 18.45 us, but the image is heard from'
	sed 's/^speed.*/speed_mm_per_us: 0/' s.yaml >still.yaml
	recon 2 y.npy still.yaml $small
	err_has '--speed is missing: still.yaml does not say a speed of sound above 0'
	sed 's/^samples:.*/samples: 500/' s.yaml >half.yaml
	run simulate half.yaml nine-spheres -o half.npy
	run recon ubp --data half.npy --scanner half.yaml $nodes -o half.nii
	err_has 'the record holds'
	recon 2 y.npy s.yaml $small --method mlem
	err_has "--method is 'mlem', must be one of fbp"
	recon 2 y.npy s.yaml $small --iterations 3
	err_has '--iterations does not go with model ubp'
	recon 2 y.npy s.yaml $small --speeds 1.6,1.5,3
	err_has '--speeds is 1.6,1.5,3'
	recon 2 y.npy s.yaml $small --speeds 1.4,1.5,3 --speed 1.5
	err_has 'give one of them'
}
expect 2 recon ray --events e.lmdT --grid 8 --voxel 1 --method cg -o no.nii
err_has "--method is 'cg', must be one of mlem, osem, svrg"
expect 2 simulate s.yaml truth.nii -o no.npy
err_has 'transducers hear spheres, not images'
expect 2 simulate s.yaml cylinder -o no.npy
err_has 'is no sphere'
expect 2 simulate s.yaml nine-spheres --counts 5 -o no.npy
err_has '--counts is not for a scanner of kind transducers'
small_ring >ring.yaml
expect 2 simulate ring.yaml truth.nii --noise 1 -o no.lmdT
err_has '--noise is for scanners of kind transducers'
[ ! -e no.nii ] && [ ! -e no.npy ] || fail "a refused run left a file"
