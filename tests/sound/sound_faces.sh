#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Curved faces of transducers: keys of descriptions, --sir focus of svoxel and sradon, simulate, info, records; what MSOT
# files bring of them; and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

arc() { # FILE KEYS...: an arc of 24 elements, curved along z
	local file=$1
	shift
	printf '%s\n' 'kind: transducers' \
		'sphere: {radius_mm: 20, rings: 1, views: 24, azimuth_step_deg: 12}' "$@" \
		'speed_mm_per_us: 1.5' 'sampling_mhz: 10' 'first_sample_us: 6' 'samples: 150' >"$file"
}
arc cylinder.yaml 'aperture_mm: [14, 0.5]' 'focus_mm: [20, 0]'
arc flat.yaml 'aperture_mm: [8, 0.5]'
arc bowl.yaml 'bowl_mm: [6, 20]'
arc point.yaml
cat >ball.yaml <<-END
	smooth_fwhm_mm: 0.8
	shapes:
	  - {type: sphere, centre_mm: [3, 5, 0], radius_mm: 0.6, activity: 1}
	  - {type: sphere, centre_mm: [-1, -0.5, 0], radius_mm: 0.6, activity: 1}
END
for s in cylinder bowl flat; do run simulate $s.yaml ball.yaml -o $s.npy; done
cmp -s cylinder.npy flat.npy && fail "a focus changes nothing"

slice=(--grid '40,40,1' --voxel 0.4 --fmax-mhz 1.2 --iterations 6 --force)
run recon svoxel "${slice[@]}" --scanner cylinder.yaml --data cylinder.npy --sir focus -o focus.npy
run recon svoxel "${slice[@]}" --scanner cylinder.yaml --data cylinder.npy -o point.npy
run recon svoxel "${slice[@]}" --scanner bowl.yaml --data bowl.npy --sir focus --sir-error 1e-3 -o bowl_image.npy
run recon sradon --grid '40,40,1' --voxel 0.4 --iterations 1 --step 2 --scanner cylinder.yaml --data cylinder.npy --sir focus \
	-o sradon.npy
check "two spheres of equal height, and the record" <<-'END'
	import json
	import numpy as np
	def heights(name):
	    x = np.load(name).reshape(40, 40)
	    at = lambda mx, my: x[int(round(my / .4 + 19.5)) - 1:][:3, int(round(mx / .4 + 19.5)) - 1:][:, :3].max()
	    return at(3, 5), at(-1, -.5)
	beside, middle = heights("focus.npy")
	beside_p, middle_p = heights("point.npy")
	assert beside > .6 * middle > 0, (beside, middle)
	assert beside / middle > 1.05 * beside_p / middle_p, (beside / middle, beside_p / middle_p)
	faces = json.load(open("focus.npy.json"))["faces"]
	n = faces["points"]
	assert faces["computed"] == (n[0] + 1) // 2 * n[1] and faces["curved"], faces
	assert "relative" in faces["values"], faces
END
run info cylinder.yaml
out_has 'shape cylinder; radius 20, 20'

# what is wrong
arc both.yaml 'aperture_mm: [8, 0.5]' 'bowl_mm: [6, 20]'
expect 3 info both.yaml
err_has 'bowl_mm stands in place of apertures'
arc short.yaml 'aperture_mm: [8, 0.5]' 'focus_mm: [3, 0]'
expect 3 info short.yaml
err_has 'at least half the width'
arc second.yaml 'aperture_mm: [8, 0.5]' 'focus_mm: [20, 20]'
expect 3 info second.yaml
err_has 'the second must be 0'
arc bare.yaml 'focus_mm: [20, 0]'
expect 3 info bare.yaml
err_has 'needs the size of the faces'
expect 2 recon svoxel "${slice[@]}" --scanner cylinder.yaml --data cylinder.npy --sir rect -o no.npy
err_has 'sir must be focus or point'
expect 2 recon svoxel "${slice[@]}" --scanner cylinder.yaml --data cylinder.npy --sir-error 1e-3 -o no.npy
err_has "sir near and focus"
expect 2 recon svoxel "${slice[@]}" --scanner point.yaml --data cylinder.npy --sir focus -o no.npy
err_has 'no aperture_mm'
[ -e no.npy ] && fail "an error left an image"

# an MSOT file names its array, whose elements are known
check "a scan" <<-'END'
	import numpy as np
	np.zeros((24, 200), "<u2").tofile("s.bin")
	with open("s.msot", "w") as f:
	    f.write('<P><TRANSDUCER>msot2</TRANSDUCER><SAMPLING-FREQUENCY unit-modifier="M">5</SAMPLING-FREQUENCY>')
	    for a in np.linspace(0, 4.7, 24):
	        f.write('<PROJECTION>%s</PROJECTION>' % "".join("<VALUE>%.9f</VALUE>" % v for v in
	                (.0405 * np.cos(a), .0405 * np.sin(a), 0)))
	    f.write('<RECORDED-LENGTH>200</RECORDED-LENGTH><WAVELENGTHS><WAVELENGTH>700</WAVELENGTH></WAVELENGTHS>'
	            '<DataModelScanFrame><LASER-ENERGY unit-modifier="m">74.5</LASER-ENERGY><TEMPERATURE>25</TEMPERATURE>'
	            '</DataModelScanFrame></P>')
END
run info s.msot
out_has 'shape cylinder; radius 40.5, 40.5'
out_has 'those of the array msot2 are 15 x 0.6 mm, focused at 40.5 mm'
run recon svoxel --data s.msot --grid 8,8,1 --voxel 1 --fmax-mhz 0.7 --sir focus --iterations 1 -o s.npy
grep -q '"energy_mj": 74.5' s.npy.json || fail "no energy of the pulse"
