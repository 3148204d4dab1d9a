#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Traces in files of other programs: IPASC through h5py's eyes, the many ways others write it, MSOT
# scans, several wavelengths and frames, planes, and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_hdf5
out_has 'wavelength nm     700, 750'

cat >ring.yaml <<-END
	kind: transducers
	sphere: {radius_mm: 20, rings: 1, views: 64, polar_deg: [90, 90]}
	aperture_mm: [1, 2]
	speed_mm_per_us: 1.5
	sampling_mhz: 20
	samples: 400
END
cat >ball.yaml <<-END
	smooth_fwhm_mm: 0.8
	shapes:
	  - {type: sphere, centre_mm: [2, -1, 0], radius_mm: 1.5, activity: 1}
END

# ---- what is written, as h5py sees it ----
run simulate ring.yaml ball.yaml -o y.npy
run simulate ring.yaml ball.yaml -o direct.hdf5
err_has 'has no place for what ring.yaml says: areas'
run convert y.npy y.hdf5 --scanner ring.yaml
check "fields of the standard" <<-'END'
	from checks import *
	import h5py, re
	y = np.load("y.npy")
	for name in "y.hdf5", "direct.hdf5":
	    f = h5py.File(name, "r")
	    data, meta, device = f["binary_time_series_data"], f["meta_data"], f["meta_data_device"]
	    require(data.shape == (64, 400, 1, 1) and data.dtype == "<f4", "four axes")
	    require((data[:, :, 0, 0] == y).all(), "traces")
	    text = lambda key: meta[key].asstr()[()]
	    require(re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text("uuid")), "uuid")
	    require((text("encoding"), text("compression"), text("data_type"), text("dimensionality")) ==
	            ("UTF-8", "raw", "float", "time"), "words")
	    require(list(meta["sizes"][()]) == [64, 400, 1, 1], "sizes")
	    near("rate", meta["ad_sampling_rate"][()], 20e6, 1e-3)
	    near("speed", meta["speed_of_sound"][()], 1500, 1e-9)
	    require(len(device["general/field_of_view"]) == 6 and "unique_identifier" in device["general"] and
	            device["general/num_detectors"][()] == 64 and "illuminators" in device, "device")
	    ids = list(device["detectors"])
	    require(ids == [f"{i:010}" for i in range(64)], "ids of ten digits")
	    one = device["detectors/0000000016"]
	    near("position", one["detector_position"][()], [0, 0.02, 0], 1e-12)
	    near("orientation", one["detector_orientation"][()], [0, -1, 0], 1e-12)
	    require(one["detector_geometry_type"].asstr()[()] == "CUBOID", "geometry type")
	    near("geometry", one["detector_geometry"][()], [0.001, 0.002, 0], 1e-12)
END

# ---- the same image from both; a plane of 12.5 mm by itself ----
run recon ubp --data y.npy --scanner ring.yaml -o a.nii
run recon ubp --data y.hdf5 --scanner ring.yaml -o b.nii
run measure diff a.nii b.nii --below 1e-6
grep -v speed ring.yaml >mute.yaml
run recon ubp --data y.hdf5 --scanner mute.yaml -o mute.nii	# the speed is that of the data
same b.nii mute.nii
run recon ubp --data y.hdf5 -o own.nii
err_has 'y.hdf5 gives no areas'
check "the grid of a planar array, and the ball in it" <<-'END'
	from checks import *
	x = image("own.nii")
	require(x.shape == (1, 256, 256), f"shape {x.shape}")
	grid = centres("own.nii")
	near("extent", [grid[0].min(), grid[0].max()], [-6.2256, 6.2256], 1e-3)
	at = np.unravel_index(x.argmax(), x.shape)
	near("ball", [grid[0][at], grid[1][at]], [2, -1], 1.5)
	require(record("own.json")["results"]["images"] == [{"wavelength": 1, "frame": 1, "nm": None}], "record")
END
for way in "svoxel --fmax-mhz 2" sradon; do
	read -ra words <<<"$way"
	run recon "${words[@]}" --data y.hdf5 --grid 16,16,1 --iterations 2 -o "${words[0]}.nii"
	check "one plane by $way" "${words[0]}.nii" <<-'END'
		from checks import *
		x = image(sys.argv[1])
		require(x.shape == (1, 16, 16), f"shape {x.shape}")
		grid = centres(sys.argv[1])
		at = np.unravel_index(x.argmax(), x.shape)
		near("ball", [grid[0][at], grid[1][at]], [2, -1], 1.5)
	END
done
run recon ubp --data y.hdf5 --voxel 0.5 --speed 1.55 -o other.nii
check "a voxel given, a speed given" <<-'END'
	from checks import *
	require(image("other.nii").shape == (1, 25, 25), "shape")
	near("speed", record("other.json")["results"]["speed_mm_per_us"], 1.55, 1e-12)
END
run recon ubp --data y.hdf5 --grid 64,64,1 --band-mhz 0.2,5 -o band.nii
run recon ubp --data y.hdf5 --grid 64,64,1 -o all.nii
expect 1 measure diff band.nii all.nii --below 1

# ---- wavelengths and frames: one behind the other ----
check "several" <<-'END'
	import numpy as np
	y = np.load("y.npy")
	np.save("six.npy", np.stack([np.stack([(1 + 3 * f + w) * y for w in range(3)]) for f in range(2)]))
END
run convert six.npy six.hdf5 --scanner ring.yaml
run convert six.hdf5 back.npy
check "all traces come back" <<-'END'
	from checks import *
	require((np.load("six.npy") == np.load("back.npy")).all(), "traces")
	import h5py
	with h5py.File("six.hdf5", "a") as f:
	    require(f["binary_time_series_data"].shape == (64, 400, 3, 2), "axes")
	    f["meta_data/acquisition_wavelengths"] = np.array([700e-9, 750e-9, 800e-9])
END
small=(--grid 20,20,1 --voxel 0.6)
run recon ubp --data six.hdf5 "${small[@]}" -o first.nii
err_has 'holds 3 wavelengths and 2 frames'
run recon ubp --data six.hdf5 "${small[@]}" --wavelength all --frame all -o all6.nii
run recon ubp --data six.hdf5 "${small[@]}" --wavelength 750 --frame 2 -o fifth.nii
run recon ubp --data six.hdf5 "${small[@]}" --wavelength 2 --frame all -o two.nii
run recon svoxel --data six.hdf5 "${small[@]}" --fmax-mhz 1 --iterations 2 --frame all --wavelength 1 -o cg.nii
check "images" <<-'END'
	from checks import *
	first, six, fifth, two, cg = [image(n + ".nii") for n in ("first", "all6", "fifth", "two", "cg")]
	require(six.shape == (6, 1, 20, 20) and two.shape == (2, 1, 20, 20), "shapes")
	for k in range(6):
	    near(f"image {k}", six[k], (1 + k) * first, 1e-4 * abs(first).max() * (1 + k))
	near("fifth", fifth, six[4], 0)
	near("two", two, six[[1, 4]], 0)
	near("least squares", cg[1], 4 * cg[0], 1e-3 * abs(cg).max())
	r = record("all6.json")["results"]["images"]
	require([i["nm"] for i in r] == [700, 750, 800] * 2 and r[5] ==
	        {"wavelength": 3, "frame": 2, "nm": 800}, "record")
	require(len(record("cg.json")["results"]["images"]) == 2, "record of cg")
END
# maps of what absorbs, after the images: those of isotome unmix
run recon ubp --data six.hdf5 "${small[@]}" --wavelength all --frame all --unmix HbO2,Hb -o both.nii
run unmix all6.nii -o apart.nii
for map in HbO2 Hb so2 so2_sd thb residual; do same "both_$map.nii" "apart_$map.nii"; done
same both.nii all6.nii
run recon ubp --data six.hdf5 "${small[@]}" --wavelength all --unmix HbO2,Hb,water -o both.npy
[ -e both_unmix.npy ] || fail "no maps beside both.npy"
expect 2 recon ubp --data six.hdf5 "${small[@]}" --wavelength all --unmix HbO2,Hb -o apart.nii
err_has 'apart_HbO2.nii'
[ -e apart.nii ] && fail "images without their maps"
expect 2 recon ubp --data six.hdf5 "${small[@]}" --wavelength 2 --unmix HbO2 -o no.nii
err_has '--unmix is for a recording of several wavelengths'
expect 2 recon ubp --data six.hdf5 "${small[@]}" --wavelength all --unmix HbO2,Hb,water,lipid -o no.nii
err_has "3 wavelengths can't tell 4 chromophores apart"
recon() { expect "$1" recon ubp --data "$2" "${small[@]}" "${@:3}" -o no.nii; }
recon 2 six.hdf5 --wavelength 4
err_has "--wavelength is '4', must be all or a number from 1 to 3, or its nm"
recon 2 six.hdf5 --frame 0
err_has "--frame is '0'"
recon 2 six.hdf5 --wavelength 1 --frame all --speeds 1.4,1.6,3
err_has '--speeds is for one image'
expect 2 recon svoxel --data six.hdf5 "${small[@]}" --fmax-mhz 1 --wavelength 1 --frame all --curve c.csv -o no.nii
err_has '--curve does not go with several images'
recon 2 y.npy --scanner ring.yaml --frame 2
err_has "--frame is '2', must be all or a number from 1 to 1"
recon 2 y.npy
err_has '--scanner is missing'
recon 2 y.hdf5 --band-mhz 5,1
err_has '--band-mhz is 5,1, must rise'

# ---- the many ways that others write it ----
check "make variants" <<-'END'
	import h5py, shutil
	import numpy as np
	def variant(name, change):
	    shutil.copy("six.hdf5", name + ".hdf5")
	    with h5py.File(name + ".hdf5", "a") as f:
	        change(f)
	def put(f, key, value):
	    if key in f:
	        del f[key]
	    f[key] = value
	data, speed, waves = "binary_time_series_data", "meta_data/speed_of_sound", "meta_data/acquisition_wavelengths"
	ids = "meta_data_device/detectors"
	def rename(f):
	    for i, name in enumerate(list(f[ids])):
	        f.move(f"{ids}/{name}", f"{ids}/detection_element_{i}")
	def three(f):
	    put(f, data, f[data][:, :, :, 0]); rename(f)
	def each(key, value):
	    def change(f):
	        for name in f[ids]:
	            put(f, f"{ids}/{name}/{key}", value)
	    return change
	variant("three", three)
	def banks(f):
	    names = list(f[ids])
	    for i, name in enumerate(names):
	        f.move(f"{ids}/{name}", f"{ids}/{'AB'[2 * i >= len(names)]}_{i % ((len(names) + 1) // 2)}")
	variant("banks", banks)
	variant("letters", lambda f: [f.move(f"{ids}/{name}", f"{ids}/{name}x") for name in list(f[ids])])
	variant("squeezed", lambda f: (put(f, data, f[data][:, :, 0, :]), put(f, waves, 700e-9)))
	variant("two", lambda f: put(f, data, f[data][:, :, 0, 0].astype("i2")))
	variant("packed", lambda f: (put(f, "x", f[data][()]), f.__delitem__(data), f.create_dataset(
	    data, data=f["x"][()], chunks=(8, 50, 3, 2), compression="gzip")))
	variant("none", lambda f: (put(f, speed, "None"), put(f, waves, "None"),
	                           put(f, "meta_data/time_gain_compensation", "None")))
	variant("map", lambda f: put(f, speed, np.full((2, 3, 4), 1500.)))
	variant("gain", lambda f: put(f, "meta_data/time_gain_compensation", np.ones(400)))
	variant("nm", lambda f: put(f, waves, np.array([700., 750, 800])))
	variant("long", each("detector_orientation", np.array([0, 0, 3.])))
	variant("disc", lambda f: (each("detector_geometry_type", "CIRCULAR")(f), each("detector_geometry", 0.001)(f)))
	def bare_face(f):
	    for k, size in ("0000000003", None), ("0000000005", np.zeros(3)):
	        put(f, ids + "/" + k + "/detector_geometry_type", "CUBOID")
	        if size is not None:
	            put(f, ids + "/" + k + "/detector_geometry", size)
	        else:
	            f.__delitem__(ids + "/" + k + "/detector_geometry")
	variant("bare_face", bare_face)
	# and what is wrong
	variant("fewer", lambda f: f.__delitem__(ids + "/0000000003"))
	variant("more", lambda f: put(f, ids + "/extra/detector_position", np.zeros(3)))
	variant("nowhere", lambda f: f.__delitem__(ids + "/0000000003/detector_position"))
	variant("flat", lambda f: put(f, ids + "/0000000003/detector_position", np.zeros(2)))
	variant("nan", lambda f: put(f, ids + "/0000000003/detector_position", np.full(3, np.nan)))
	variant("rate", lambda f: f.__delitem__("meta_data/ad_sampling_rate"))
	variant("zero", lambda f: put(f, "meta_data/ad_sampling_rate", 0.))
	variant("words", lambda f: put(f, data, "traces"))
	variant("bare", lambda f: f.__delitem__(data))
	variant("one", lambda f: put(f, data, np.zeros(5)))
	variant("five", lambda f: put(f, data, np.zeros((2, 2, 2, 2, 2))))
	variant("huge", lambda f: (f.__delitem__(data), f.create_dataset(data, (1000000, 1000000), "f4", chunks=(1, 1000))))
	variant("complex", lambda f: put(f, data, np.zeros((64, 400), complex)))
	variant("broken", lambda f: f[data].__setitem__((3, 5, 0, 0), np.inf))
	variant("group", lambda f: (f.__delitem__(data), f.create_group(data)))
	variant("link", lambda f: (f.__delitem__(data), f.__setitem__(data, h5py.ExternalLink("six.hdf5", data))))
	variant("faster", lambda f: put(f, speed, 1.5))
END
good() { recon 0 "$@" --force; }
for name in three banks letters squeezed two packed nm long gain disc map none; do
	case $name in map | none) more=(--speed 1.5) ;; *) more=() ;; esac
	good $name.hdf5 "${more[@]}"
	case $name in
	letters) err_has 'not all detectors have a number' ;;
	map) err_has 'a map of 24 speeds of sound' ;;
	gain) err_has 'a gain that depends on time' ;;
	disc) err_has '64 of 64 detectors are no CUBOID' ;;
	esac
	run measure diff no.nii first.nii --below "$([ $name = two ] && echo 200 || echo 1e-6)"
done
rm no.nii no.json
run info squeezed.hdf5
out_has 'wavelengths       1'
out_has 'frames            2'
run info three.hdf5
out_has 'wavelengths       3'
run info nm.hdf5
out_has 'wavelength nm     700, 750, 800'
recon 2 none.hdf5
err_has '--speed is missing: none.hdf5 does not say a speed of sound above 0'
run recon ubp --data none.hdf5 "${small[@]}" --speeds 1.45,1.55,3 -o speeds.nii
refuse() {
	expect 3 info "$1.hdf5"
	err_has "$2"
}
refuse fewer '63 detectors, the traces are of 64'
refuse more 'more than 64 detectors'
refuse nowhere 'detector_position is missing'
refuse flat 'has 2 values, expected 3'
refuse nan 'is not finite'
refuse rate 'has no ad_sampling_rate'
refuse zero 'ad_sampling_rate is 0 Hz'
refuse words 'is a text, traces were expected'
refuse bare 'not an IPASC file'
refuse one 'traces of 1 axes'
refuse five 'has 5 axes'
refuse huge 'more than the'
refuse complex 'neither numbers nor a text'
refuse broken 'sample 5 of transducer 3 is inf'
refuse group "can't be read"
refuse link 'is a link'

# a speed that can't be is not used, and --speed gives another; a face without a size is a point
run info faster.hdf5
out_has 'the speed of sound is 1.5 m/s, not from 10 to 100000, and is not used'
recon 2 faster.hdf5 -q
err_has '--speed is missing: faster.hdf5 does not say a speed of sound above 0'
good faster.hdf5 --speed 1.5
run measure diff no.nii first.nii --below 1e-6
good bare_face.hdf5
err_has '2 of 64 detectors are CUBOID without extents, and are taken as points'
rm no.nii no.json

# ---- MSOT ----
check "a scan of two wavelengths" <<-'END'
	import numpy as np
	y = np.load("six.npy")[:, :2]
	raw = np.round(30000 + 20000 * y / abs(y).max()).astype("<u2")
	raw.tofile("s.bin")
	with open("s.msot", "w") as f:
	    f.write('<?xml version="1.0" encoding="utf-8"?>\n<DataModelMsotProject><HARDWARE-DESC>'
	            '<SAMPLING-FREQUENCY unit="Hz" unit-modifier="M">20</SAMPLING-FREQUENCY><FRAME-DESC>\n')
	    for i in range(64):
	        a = 2 * np.pi * i / 64
	        f.write('<PROJECTION number="%d"><VALUE axis-ref="1">%.9f</VALUE><VALUE axis-ref="2">%.9f</VALUE>'
	                '<VALUE axis-ref="3">0</VALUE></PROJECTION>\n' % (i, .02 * np.cos(a), .02 * np.sin(a)))
	    f.write('</FRAME-DESC></HARDWARE-DESC><NUMBER-OF-FRAMES>6</NUMBER-OF-FRAMES>'
	            '<RECORDED-LENGTH>400</RECORDED-LENGTH><WAVELENGTHS>')
	    wave = '<WAVELENGTH unit="m" unit-modifier="n">%d</WAVELENGTH>'
	    f.write(wave % 700 + wave % 800 + '</WAVELENGTHS><ScanFrames>')
	    for k in range(4):
	        f.write('<DataModelScanFrame><Frame>' + wave % (700, 800)[k % 2] +
	                '<TEMPERATURE>25</TEMPERATURE></Frame></DataModelScanFrame>\n')
	    f.write('</ScanFrames></DataModelMsotProject>\n')
END
if ! "$ISOTOME" info s.msot >out 2>err; then
	err_has 'this build has no expat'
	exit 0
fi
out_has 'wavelength nm     700, 800'
out_has 'frames            2'
out_has 'speed mm per us   1.4967'
run recon ubp --data s.msot "${small[@]}" --wavelength 800 --frame 2 -o scan.nii
err_has 'the speed of sound is that of water at 25 C'
run convert s.msot s.hdf5
run recon ubp --data s.hdf5 "${small[@]}" --wavelength 2 --frame 2 -o scan5.nii
run measure diff scan.nii scan5.nii --below 1e-6
check "the ball in the scan" <<-'END'
	from checks import *
	x, first = image("scan.nii"), image("fifth.nii")
	near("shape", x / x.max(), first / first.max(), 0.1)
	require(len(record("scan.json")["inputs"]) == 2, "both files are inputs")
END
head -c 1000 s.bin >t && mv t s.bin
expect 3 recon ubp --data s.msot "${small[@]}" -o no2.nii
err_has 's.bin: 1000 bytes, must be a multiple of 51200'
rm s.bin
expect 3 info s.msot
err_has 's.bin'
expect 2 convert y.npy no.hdf5
err_has '--scanner is missing'
expect 2 convert y.npy no.msot --scanner ring.yaml
err_has 'only read'
[ ! -e no2.nii ] || fail "a refused run left an image"
