#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Transducers and traces that can give no image: each is refused or warned of, with the reason.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

array() { # LINES that say where the transducers are, and more
	printf '%s\n' 'kind: transducers' 'sampling_mhz: 10' 'first_sample_us: 6' 'samples: 160' "$@"
}
speed='speed_mm_per_us: 1.5'
sphere='sphere: {radius_mm: 20, rings: 12, views: 16}'
array "$sphere" "$speed" >s.yaml
cat >ball.yaml <<-END
	smooth_fwhm_mm: 1
	shapes:
	  - {type: sphere, centre_mm: [1, 0, 0], radius_mm: 3, activity: 1}
END
run simulate s.yaml ball.yaml -o y.npy
check "lists and traces" <<-'END'
	import numpy as np
	th = (np.repeat(np.arange(12), 16) + .5) * np.pi / 12
	ph = np.tile(np.arange(16), 12) * np.pi / 8
	out = np.stack([np.sin(th) * np.cos(ph), np.sin(th) * np.sin(ph), np.cos(th)], -1)
	np.save("p.npy", 20 * out)
	np.save("away.npy", out)
	out[1::3] *= -1
	out[2::3] *= -1
	np.save("some.npy", out)
	np.save("none.npy", np.zeros(192))
	y = np.load("y.npy")
	np.save("loud.npy", (y / abs(y).max() * 1e38).astype("f4"))
	np.save("silent.npy", 0 * y)
	np.save("short.npy", y[:, :100])
END
list=('positions: p.npy' "$speed")
array "${list[@]}" 'normals: away.npy' >away.yaml
array "${list[@]}" 'normals: some.npy' 'areas: ones.npy' >some.yaml
array "${list[@]}" 'areas: none.npy' >none.yaml
check "areas" <<-'END'
	import numpy as np
	np.save("ones.npy", np.ones(192))
	np.save("huge.npy", np.full(3, 1e300))
END
grid=(--grid 20 --voxel 0.5)
recon() { # CODE MODEL SCANNER DATA OPTIONS...
	expect "$1" recon "$2" --scanner "$3" --data "$4" "${grid[@]}" -q "${@:5}" -o no.nii
	[ "$1" = 0 ] || [ ! -e no.nii ] || fail "a refused run left an image"
}
warned() { # MODEL SCANNER DATA OPTIONS...
	run recon "$1" --scanner "$2" --data "$3" "${grid[@]}" "${@:4}" -o warned.nii --force
}

# ---- transducers that see nothing of the image, or stand for nothing ----
recon 3 ubp away.yaml y.npy --weights solid-angle
err_has "no transducer faces the image: 192 of 192 normals point away from the grid's centre"
warned ubp away.yaml y.npy		# on a sphere the normals do not count
warned ubp some.yaml y.npy --weights solid-angle
err_has "64 of 192 normals point away from the grid's centre"
recon 3 ubp none.yaml y.npy
err_has 'the areas of all 192 transducers are 0'
recon 3 ubp none.yaml y.npy --weights solid-angle
err_has 'the areas of all 192 transducers are 0'
recon 3 sradon none.yaml y.npy --weigh area
err_has '--weigh area: none.yaml says 0 for the areas of all transducers'
recon 3 sradon away.yaml y.npy --weigh area
err_has '--weigh area: away.yaml does not say the areas'

# ---- values that overflow, and values that are 0 ----
recon 3 ubp s.yaml loud.npy
err_has 'of 8000 voxels are not finite: the data are too large'
recon 3 ubp s.yaml loud.npy --weights solid-angle
err_has 'of 8000 voxels are not finite'
recon 3 ubp s.yaml loud.npy --speeds 1.4,1.6,3
err_has '--speeds: at 1.4 mm/us: sharpness: the image is not finite'
recon 3 sradon s.yaml loud.npy --iterations 2
err_has 'the data, the start image or mu are too large'
recon 3 svoxel s.yaml loud.npy --fmax-mhz 1.5 --iterations 3
err_has 'voxels are not finite'
for model in ubp sradon svoxel; do
	warned $model s.yaml silent.npy
	err_has 'silent.npy: all values of the traces are 0'
	err_has 'the image is 0 in every voxel'
done
array "$sphere" "$speed" 'eir: huge.npy' >huge.yaml
expect 3 simulate huge.yaml ball.yaml -o no.npy
err_has 'the traces are not finite: activities of ball.yaml'

# ---- the speed of sound ----
warned ubp s.yaml y.npy
mv warned.nii first.nii
array "$sphere" >mute.yaml
array "$sphere" 'speed_mm_per_us: 0' >still.yaml
for name in mute still; do
	recon 2 ubp $name.yaml y.npy
	err_has "--speed is missing: $name.yaml does not say a speed of sound above 0"
	warned ubp $name.yaml y.npy --speed 1.5
	same warned.nii first.nii
	expect 3 simulate $name.yaml ball.yaml -o no.npy
	err_has "$name.yaml: does not say the speed of sound"
	run info $name.yaml
	out_has 'no speed of sound: --speed gives it'
done
array "$sphere" 'speed_mm_per_us: 15' >fast.yaml
recon 3 ubp fast.yaml y.npy
err_has 'fast.yaml: at 15 mm/us: transducers: the record holds 6 to 21.9 us'
warned ubp fast.yaml y.npy --speeds 1.45,1.55,3
check "the best of the speeds, and one that is not heard" <<-'END'
	from checks import *
	near("best", record("warned.json")["results"]["speed_mm_per_us"], 1.5, 1e-9)
END
recon 3 ubp s.yaml y.npy --speeds 1.5,8.1,4
err_has 's.yaml: at 5.9 mm/us: transducers: the record holds'
warned ubp s.yaml y.npy --speeds 1.1,1.5,3
err_has 'at 1.1 mm/us sound of the image arrives from'

# ---- which file it was ----
recon 3 ubp s.yaml short.npy
err_has 'short.npy: traces: an array (192, 100), must be'
recon 3 sradon s.yaml short.npy
err_has 'short.npy: traces: an array (192, 100), must be'
recon 3 svoxel s.yaml short.npy --fmax-mhz 1
err_has 'short.npy: traces: an array (192, 100), must be'
if "$ISOTOME" simulate s.yaml ball.yaml -o y.hdf5 >out 2>err; then
	expect 3 convert short.npy no.hdf5 --scanner s.yaml
	err_has 'short.npy: traces: an array (192, 100), must be'
	run convert y.npy mute.hdf5 --scanner mute.yaml	# IPASC need not have a speed
	recon 2 ubp mute.hdf5 mute.hdf5
	err_has '--speed is missing: mute.hdf5'
else
	err_has 'this build has no HDF5'
fi
check "responses of no use" <<-'END'
	import numpy as np
	np.save("zero.npy", np.zeros(20))
END
array "$sphere" "$speed" 'eir: zero.npy' >deaf.yaml
expect 3 recon ubp --scanner deaf.yaml --data y.npy "${grid[@]}" -o no.nii
err_has 'deaf.yaml: traces: the impulse response is 0 everywhere'

# ---- simulate says what is wrong with a scanner, whatever its kind would have been ----
simulate() {
	expect 3 simulate "$1" ball.yaml -o no.npy
	err_has "$2"
}
sed 's/views: 16}/views: 16/' s.yaml >bad.yaml
simulate bad.yaml 'bad.yaml:'
sed 's/transducers/transducer/' s.yaml >kind.yaml
simulate kind.yaml 'kind.yaml:1: kind is '
sed '/kind/d' s.yaml >nokind.yaml
simulate nokind.yaml "nokind.yaml"
simulate nowhere.yaml 'nowhere.yaml: No such file'
[ ! -e no.npy ] || fail "a refused run left traces"
