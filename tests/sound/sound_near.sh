#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A flat array 3 mm above a wide image, nearer than the image's corners: sradon makes the image. And the choice of
# its points: --step and --accuracy.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

check "places" <<-'END'
	import numpy as np
	x, y = np.meshgrid(np.linspace(-7, 7, 9), np.linspace(-7, 7, 9))
	flat = np.stack([x.ravel(), y.ravel(), np.full(81, 5.4)], -1)
	np.save("flat.npy", flat)
	flat[40, 2] = 2.6
	np.save("close.npy", flat)
	flat[40, 2] = 2.2
	np.save("inside.npy", flat)
END
for places in flat close inside; do
	printf '%s\n' 'kind: transducers' "positions: $places.npy" 'speed_mm_per_us: 1.5' 'sampling_mhz: 10' \
		'first_sample_us: 0' 'samples: 160' >$places.yaml
done
cat >ball.yaml <<-END
	smooth_fwhm_mm: 0.8
	shapes:
	  - {type: sphere, centre_mm: [1.2, -0.4, 0], radius_mm: 1.2, activity: 1}
END
on_grid=(--grid '40,40,12' --voxel 0.4 --centre '0,0,0')
run simulate flat.yaml ball.yaml -o y.npy
run recon sradon "${on_grid[@]}" --scanner flat.yaml --data y.npy --iterations 12 -o x.npy
check "the ball" <<-'END'
	import numpy as np
	x = np.load("x.npy").reshape(12, 40, 40)
	place = [(np.arange(n) - (n - 1) / 2) * .4 for n in x.shape]
	z, y, x_ = np.meshgrid(*place, indexing="ij")
	r = np.sqrt((x_ - 1.2) ** 2 + (y + .4) ** 2 + z ** 2)
	ball = np.clip((1.6 - r) / .8, 0, 1)
	like = np.corrcoef(ball.ravel(), x.ravel())[0, 1]
	assert like > .85, like
	k, j, i = np.unravel_index(x.argmax(), x.shape)
	assert np.hypot(place[2][i] - 1.2, place[1][j] + .4) < 1 and abs(place[0][k]) < 1, (i, j, k)
END

# ---- too near ----
expect 3 recon sradon "${on_grid[@]}" --scanner close.yaml --data y.npy -o no.npy
err_has 'transducer 40 is 0.2 mm from the image, must be at least a voxel (0.4 mm) outside'
expect 3 recon sradon "${on_grid[@]}" --scanner inside.yaml --data y.npy -o no.npy
err_has 'inside the image'

# ---- the distance between points ----
run project sradon x.npy "${on_grid[@]}" --scanner flat.yaml -o one.npy
run project sradon x.npy "${on_grid[@]}" --scanner flat.yaml --step 1 -o same.npy
cmp one.npy same.npy
run project sradon x.npy "${on_grid[@]}" --scanner flat.yaml --accuracy 1e-3 -o fine.npy
run project sradon x.npy "${on_grid[@]}" --scanner flat.yaml --accuracy 2e-2 -o coarse.npy
check "steps and errors" <<-'END'
	import json
	import numpy as np
	one, fine, coarse = (np.load(f"{name}.npy").astype(float) for name in ("one", "fine", "coarse"))
	steps = [json.load(open(f"{name}.npy.json"))["points"]["step_voxels"] for name in ("one", "fine", "coarse")]
	assert np.allclose(steps, [1, .5, 2 ** .5]), steps
	near, far = (np.linalg.norm(v - fine) / np.linalg.norm(fine) for v in (one, coarse))
	assert 1e-5 < near < .02 and far < .05 and near < far, (near, far)
END
run recon sradon "${on_grid[@]}" --scanner flat.yaml --data y.npy --accuracy 1e-3 --step 2 --iterations 1 -o both.npy
err_has "says the distance between points"
expect 2 project sradon x.npy "${on_grid[@]}" --scanner flat.yaml --accuracy 1e-6 -o no.npy
err_has accuracy
