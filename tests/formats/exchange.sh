#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Traces that go to files of other programs and come back: a record that begins after the pulse, axes
# of wavelengths and frames, transducers from such a file, suffixes, planes, orders, and bad arrays.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_hdf5

ring() { # FIRST SAMPLES
	cat <<-END
		kind: transducers
		sphere: {radius_mm: 20, rings: 1, views: 64, polar_deg: [90, 90]}
		aperture_mm: [1, 2]
		speed_mm_per_us: 1.5
		sampling_mhz: 20
		first_sample_us: $1
		samples: $2
		grueneisen: 2
	END
}
ring 8 240 >late.yaml
ring 8 230 >short.yaml
ring 8.02 240 >between.yaml
cat >ball.yaml <<-END
	smooth_fwhm_mm: 0.8
	shapes:
	  - {type: sphere, centre_mm: [2, -1, 0], radius_mm: 1.5, activity: 1}
END
left_out='traces begin at the laser pulse; 160 samples before first_sample_us are left out'

# ---- there and back: the same image from each, by every model, to the bit ----
run simulate late.yaml ball.yaml -o y.npy
run convert y.npy y.hdf5 --scanner late.yaml
run convert y.hdf5 back.npy
for model in ubp sradon svoxel; do
	case $model in ubp) how=() ;; sradon) how=(--iterations 2) ;; svoxel) how=(--iterations 2 --fmax-mhz 1) ;; esac
	for data in y.npy y.hdf5 back.npy; do
		run recon "$model" --data $data --scanner late.yaml --grid 16 "${how[@]}" -o "$model-$data.nii"
		[ $data = y.npy ] || err_has "$data: $left_out"
	done
	same "$model-y.npy.nii" "$model-y.hdf5.nii"
	same "$model-y.npy.nii" "$model-back.npy.nii"
done
run convert back.npy again.hdf5 --scanner late.yaml
err_has "back.npy: $left_out"
check "what is written again" <<-'END'
	from checks import *
	import h5py
	a, b = (h5py.File(n)["binary_time_series_data"][()] for n in ("y.hdf5", "again.hdf5"))
	require(a.shape == (64, 400, 1, 1) and (a == b).all() and not a[:, :160].any(), "traces")
END
for scanner in short between; do
	expect 3 recon ubp --data y.hdf5 --scanner $scanner.yaml --grid 8 -o no.nii
	err_has 'y.hdf5: 64 traces of 400 samples every 0.05 us, where the scanner has 64 of'
	expect 3 recon ubp --data back.npy --scanner $scanner.yaml --grid 8 -o no.nii
	err_has 'back.npy: traces: an array (64, 400), must be (transducers, samples), here (64, 2'
done
sed 's/sampling_mhz: 20/sampling_mhz: 40/; s/samples: 240/samples: 80/' late.yaml >faster.yaml
expect 3 recon ubp --data y.hdf5 --scanner faster.yaml --grid 8 -o no.nii
err_has 'every 0.05 us, where the scanner has 64 of 80 every 0.025 us'
sed 's/sampling_mhz: 20/sampling_mhz: 20.1/; s/samples: 240/samples: 400/' late.yaml >other.yaml
run recon ubp --data y.hdf5 --scanner other.yaml --grid 8 -o other.nii
err_has "y.hdf5: sampled at 20 MHz, but the scanner's 20.1 MHz hold"
cp "$SOURCE/examples/scanners/optoacoustic-small.yaml" small.yaml
run simulate small.yaml "$SOURCE/examples/phantoms/smooth-spheres.yaml" -o small.hdf5

# ---- wavelengths and frames of an array: as those of a file ----
check "several" <<-'END'
	import numpy as np
	y = np.load("y.npy")
	six = np.stack([np.stack([(1 + 3 * f + w) * y for w in range(3)]) for f in range(2)])
	np.save("six.npy", six)
	six[1, 0] = 0
	np.save("pause.npy", six)
END
run convert six.npy six.hdf5 --scanner late.yaml
for data in six.npy six.hdf5; do
	several=(recon ubp --data "$data" --scanner late.yaml --grid 16)
	run "${several[@]}" -o "first-$data.nii"
	err_has "$data holds 3 wavelengths and 2 frames"
	run "${several[@]}" --wavelength all --frame all -o "all-$data.nii"
	run "${several[@]}" --wavelength 2 --frame 2 -o "fifth-$data.nii"
	run recon sradon --data $data --scanner late.yaml --grid 16 --iterations 2 --frame all -o "cg-$data.nii"
	expect 2 "${several[@]}" --frame all --speeds 1.4,1.6,3 -q -o no.nii
	err_has '--speeds is for one image'
done
for kind in first all fifth cg; do same $kind-six.npy.nii $kind-six.hdf5.nii; done
same first-six.npy.nii ubp-y.npy.nii
check "images of six" <<-'END'
	from checks import *
	six, fifth, cg = image("all-six.npy.nii"), image("fifth-six.npy.nii"), image("cg-six.npy.nii")
	require(six.shape == (6, 1, 16, 16) and cg.shape == (2, 1, 16, 16), "shapes")
	near("fifth", fifth, six[4], 0)
	near("scale", six[5], 6 * six[0], 1e-4 * abs(six).max())
	require(record("all-six.npy.json")["results"]["images"][5] ==
	        {"wavelength": 3, "frame": 2, "nm": None}, "record")
END
run recon ubp --data pause.npy --scanner late.yaml --grid 8 --frame all -o pause.nii
err_has 'pause.npy: all values of the traces are 0'
err_has 'image 2 is 0 in every voxel'
expect 2 recon ubp --data six.npy --scanner late.yaml --grid 8 --wavelength 4 -o no.nii
err_has "--wavelength is '4', must be all or a number from 1 to 3"
expect 2 recon ubp --data y.npy --scanner late.yaml --grid 8 --frame 2 -o no.nii
err_has "--frame is '2', must be all or a number from 1 to 1"

# ---- transducers from a file of traces, in every command ----
run simulate y.hdf5 ball.yaml -o from_file.npy
run convert from_file.npy from_file.hdf5 --scanner y.hdf5
run recon ubp --data from_file.npy --scanner y.hdf5 --grid 16 -o a.nii
run recon ubp --data from_file.hdf5 --grid 16 -o b.nii
same a.nii b.nii
run backproject ubp from_file.npy --scanner y.hdf5 --grid 16 -o c.nii
run measure diff a.nii c.nii --below 1e-6
check "no speed" <<-'END'
	import h5py, shutil
	shutil.copy("y.hdf5", "mute.hdf5")
	del h5py.File("mute.hdf5", "a")["meta_data/speed_of_sound"]
END
run convert from_file.npy still_mute.hdf5 --scanner mute.hdf5
expect 3 simulate mute.hdf5 ball.yaml -o no.npy
err_has 'mute.hdf5: does not say the speed of sound'
expect 3 simulate missing.hdf5 ball.yaml -o no.npy
err_has 'missing.hdf5'
small_ring >cylinder.yaml
expect 3 convert y.npy no.hdf5 --scanner cylinder.yaml
err_has 'a scanner of another kind'

# ---- suffixes in upper case ----
cp y.hdf5 Y.HDF5
cp y.npy Y.NPY
cp late.yaml LATE.YAML
run info Y.HDF5 Y.NPY LATE.YAML
run recon ubp --data Y.NPY --scanner LATE.YAML --grid 16 -o UBP.NII
same UBP.NII ubp-y.npy.nii
run convert Y.HDF5 BACK.NPY
same BACK.NPY back.npy
run convert BACK.NPY Z.H5 --scanner Y.HDF5
xml() { # of a ring of three, a record of four samples
	echo '<P><SAMPLING-FREQUENCY unit-modifier="M">20</SAMPLING-FREQUENCY>'
	for at in '0.02 0' '0 0.02' '-0.02 0'; do
		read -r x y <<<"$at"
		echo "<PROJECTION><VALUE>$x</VALUE><VALUE>$y</VALUE><VALUE>0</VALUE></PROJECTION>"
	done
	echo '<RECORDED-LENGTH>4</RECORDED-LENGTH><DataModelScanFrame/></P>'
}
xml >SCAN.MSOT
head -c 24 /dev/zero >SCAN.BIN
if "$ISOTOME" info SCAN.MSOT >out 2>err; then
	run convert SCAN.MSOT scan.npy
	check "both files are inputs" <<-'END'
		from checks import *
		require([i["name"] for i in record("scan.npy.json")["inputs"]] == ["SCAN.MSOT", "SCAN.BIN"], "inputs")
	END
	rm SCAN.BIN
	expect 3 info SCAN.MSOT
	err_has 'SCAN.bin'
else
	err_has 'this build has no expat'
fi

# ---- one number: one plane of a planar array, where it lies ----
run recon ubp --help
out_has 'the image has one plane if all transducers'
plane=(recon ubp --data y.npy --scanner late.yaml)
run "${plane[@]}" --grid 12 -o plane.nii
run "${plane[@]}" --grid 12,12,12 -o cube.nii
run recon --like plane.json -o like.nii
same plane.nii like.nii
check "a ring beside the origin" <<-'END'
	import numpy as np
	a = 2 * np.pi * np.arange(64) / 64
	np.save("p.npy", np.stack([20 * np.cos(a), 20 * np.sin(a), 0 * a + 5], 1))
END
sed 's/^sphere:.*/positions: p.npy\ncentre_mm: [0, 0, 5]/' late.yaml >above.yaml
run recon ubp --data y.npy --scanner above.yaml --grid 12 --voxel 0.5 -o above.nii
run recon ubp --data y.npy --scanner above.yaml --grid 12 --voxel 0.5 --centre 0,0,4 -o moved.nii
run recon --like above.json -o above_like.nii
same above.nii above_like.nii
check "planes" <<-'END'
	from checks import *
	require(image("plane.nii").shape == (1, 12, 12) and image("cube.nii").shape == (12, 12, 12), "shapes")
	require(image("above.nii").shape == (1, 12, 12), "with a voxel")
	near("z", [centres(n)[2].mean() for n in ("above.nii", "moved.nii")], [5, 4], 1e-5)
END
run simulate small.yaml "$SOURCE/examples/phantoms/smooth-spheres.yaml" -o small.npy
run recon ubp --data small.npy --scanner small.yaml --grid 6 --voxel 2 -o ball.nii
check "a sphere has no plane" <<<'from checks import *; require(image("ball.nii").shape == (6, 6, 6), "shape")'

# ---- detectors without numbers: in the order in which they were made, where that is tracked ----
check "names of planets" <<-'END'
	import h5py, shutil
	ids = "meta_data_device/detectors"
	for name, track in ("tracked", True), ("untracked", False):
	    shutil.copy("y.hdf5", name + ".hdf5")
	    with h5py.File(name + ".hdf5", "a") as f:
	        old = f[ids]
	        f.move(ids, "old")
	        new = f.create_group(ids, track_order=track)
	        for i, key in enumerate(sorted(f["old"])):	# row i: names that fall as i rises
	            f.copy(f"old/{key}", new, name=chr(ord("z") - i // 8) + chr(ord("z") - i % 8) + "-x")
	        del f["old"]
END
run recon ubp --data y.hdf5 --grid 16 -o named.nii
run recon ubp --data tracked.hdf5 --grid 16 -o tracked.nii
same named.nii tracked.nii
grep -q 'have a number' err && fail "a warning of what is known"
run recon ubp --data untracked.hdf5 --grid 16 -o untracked.nii
err_has 'not all detectors have a number'
cmp -s named.nii untracked.nii && fail "names that fall are read as if they rose"

# ---- bad arrays ----
check "bad arrays" <<-'END'
	import numpy as np
	six = np.load("six.npy")
	np.save("three.npy", six[0])
	np.save("five.npy", six[None])
	np.save("none.npy", six[:0])
	np.save("turned.npy", six.transpose(2, 3, 0, 1))
	six[1, 2, 63, 239] = np.nan
	np.save("nan.npy", six)
	whole = open("six.npy", "rb").read()
	open("cut.npy", "wb").write(whole[:len(whole) // 2])
	open("large.npy", "wb").write(whole.replace(b"(2, 3, 64, 240), }" + 18 * b" ",
	                              b"(9223372036854775807, 3, 64, 240), }"))
END
if [[ " ${models[*]} " == *' svoxel '* ]]; then	# three axes may be spectra, but not of another shape
	expect 3 recon svoxel --data three.npy --scanner late.yaml --grid 8 --fmax-mhz 1 -q -o no.nii
	err_has 'three.npy: an array (3, 64, 240), spectra are (transducers, lines, 2)'
fi
refuse() { # FILE WHY
	expect 3 recon ubp --data "$1.npy" --scanner late.yaml --grid 8 --wavelength all --frame all -o no.nii
	err_has "$2"
	expect 3 convert "$1.npy" no.hdf5 --scanner late.yaml
	err_has "$2"
}
refuse three 'three.npy: traces: an array of 3 axes'
refuse five 'five.npy: traces: an array of 5 axes'
refuse turned 'turned.npy: traces: an array (2, 3), must be (transducers, samples), here (64, 240)'
refuse nan 'nan.npy'
refuse cut 'cut.npy'
refuse large 'large.npy'
refuse none 'none.npy'
[ ! -e no.nii ] && [ ! -e no.npy ] && [ ! -e no.hdf5 ] || fail "a refused run left a file"
