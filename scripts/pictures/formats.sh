#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the pictures of docs/formats.md: what comes out where a file is all that `recon` is given, and a filter besides.
# Files are the samples of tests/data, or simulated here, of PETLINK by NumPy. Takes under two minutes on two cores.
#
#   scripts/pictures/formats.sh [PROGRAM]      default: build/isotome
set -euo pipefail
program=$(realpath "${1:-$(dirname "$0")/../../build/isotome}")
source=$(realpath "$(dirname "$0")/../..")
data=$source/tests/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

isotome() { "$program" "$@" -q; }

# draw NAME OPTIONS...: NAME.nii as a small picture
draw() {
	isotome view "$1.nii" --labels none "${@:2}" -o "$source/docs/pictures/formats/$1.png" --force
}

# A mouse on a scanner of its size, as CASToR's files and as ends alone.
cp "$source/examples/scanners/small-animal.yaml" scanner.yaml
isotome phantom mouse -o mouse.nii
isotome simulate scanner.yaml mouse.nii --counts 4e5 -o scan.lmdT
isotome convert scan.lmdT scan.Cdh --scanner scanner.yaml
isotome recon scan.Cdh --filter gaussian:2 -o castor.nii
isotome recon scan.lmdT --filter gaussian:2 -o ends.nii
isotome recon scan.lmdT --scanner scanner.yaml --filter gaussian:2 -o scanner.nii
draw castor --at 0,0,0 --percent 0,99.9 --zoom 1
draw scanner --at 0,0,0 --percent 0,99.9 --zoom 1
draw ends --at 0,0,0 --percent 0,99.9 --zoom 2

# Three balls of 15, 10 and 8 mm in the mMR, seen with randoms and their delayeds.
PYTHONPATH=$source/tests/cmd /usr/bin/python3 - <<'END2'
from petlink_words import *

draw = np.random.default_rng(1)
seen = []
for radius, n, centre in (15., 1000000, (-50., 30., 20.)), (10., 400000, (40., 30., 0.)), (8., 250000, (0., -45., 0.)):
    p = draw.normal(size=(n, 3))
    p *= (radius * draw.random(n) ** (1 / 3) / np.linalg.norm(p, axis=1))[:, None]
    seen.append(words(*lines(draw, n, p + centre), True))
any_place = lambda n: ([draw.integers(0, N, n) for _ in "12"], [draw.integers(0, Z, n) for _ in "12"])
seen += [words(*any_place(300000), True), words(*any_place(300000), False)]
seen = np.concatenate(seen)
write("balls", seen[draw.permutation(len(seen))])
END2
isotome recon balls.l --iterations 5 --filter gaussian:6 -o petlink.nii
draw petlink --kind mip --zoom 1

isotome recon "$data/petsird/point-0.12.0.petsird" --filter gaussian:8 -o petsird.nii
draw petsird --at max --zoom 3
isotome recon "$data/interfile/cylinder.hs" -o interfile.nii
draw interfile --at max --zoom 3
isotome recon "$data/root/coinc-lz4.root" --filter gaussian:10 -o root.nii
draw root --at max --zoom 1

isotome simulate "$source/examples/scanners/bialas2015.yaml" ellipses --counts 1e6 -o scan.f32
isotome recon scan.f32 --scanner "$source/examples/scanners/bialas2015.yaml" -o strip.nii
draw strip --zoom 2

cat >ring.yaml <<-END2
	kind: transducers
	sphere: {radius_mm: 20, rings: 1, views: 64, polar_deg: [90, 90]}
	aperture_mm: [1, 2]
	speed_mm_per_us: 1.5
	sampling_mhz: 20
	samples: 400
END2
cat >balls.yaml <<-END2
	smooth_fwhm_mm: 0.8
	shapes:
	  - {type: sphere, centre_mm: [2, -1, 0], radius_mm: 1.5, activity: 1}
	  - {type: sphere, centre_mm: [-3, 2, 0], radius_mm: 1, activity: 1}
END2
isotome simulate ring.yaml balls.yaml -o scan.hdf5
isotome recon scan.hdf5 -o sound.nii
draw sound --window 0,1 --zoom 1

isotome mu "$data/dicom" -o mu.nii
draw mu --zoom 6 --map grey

du -bc "$source"/docs/pictures/formats/*.png
