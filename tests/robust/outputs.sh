#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What stands in the place of an output, also as a link that leads nowhere; and outputs of equal runs, which are equal to
# the byte also where the format could tell the time.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

phantom=(phantom cylinder --grid 8 --voxel 4 -o)

# ---- links: without --force nothing is replaced; with it, the link is, and what it leads to stays ----
stays() { # LINK TEXT ARGS...
	local link=$1 text=$2
	shift 2
	expect 2 "$@"
	err_has "$text"
	[ -L "$link" ] || fail "isotome $* replaced the link $link"
}
ln -s nowhere/at-all x.nii
stays x.nii 'x.nii exists; --force replaces it' "${phantom[@]}" x.nii
[ ! -e x.json ] || fail "a refused run wrote its record"
run "${phantom[@]}" x.nii --force
[ -f x.nii ] && [ ! -L x.nii ] || fail "--force did not replace a link that leads nowhere"
echo mine >target
ln -s target y.nii
stays y.nii 'y.nii exists; --force replaces it' "${phantom[@]}" y.nii
run "${phantom[@]}" y.nii --force
[ -f y.nii ] && [ ! -L y.nii ] || fail "--force did not replace a link to a file"
[ "$(cat target)" = mine ] || fail "--force wrote through a link"
same x.nii y.nii
ln -s nowhere z.json
stays z.json 'z.json' "${phantom[@]}" z.nii
[ ! -e z.nii ] || fail "an image beside a record that is a link"
ln -s nowhere h.v
stays h.v 'h.v, which belongs to h.hv, exists; --force replaces it' "${phantom[@]}" h.hv
ln -s /dev/null device.nii
stays device.nii 'device.nii exists and is not a file' "${phantom[@]}" device.nii --force

cat >ring.yaml <<-'END'
	kind: cylinder
	radius_mm: 120
	rings: 4
	ring_pitch_mm: 12
	crystals_per_ring: 48
	min_crystal_distance: 12
	energy: {window_kev: [435, 650], resolution: 0.11}
END
run phantom cylinder --grid 12,12,6 --voxel 16,16,12 -o truth.nii --mu mu.nii
ln -s nowhere e.Cdf
stays e.Cdf 'e.Cdf, which belongs to e.Cdh, exists; --force' simulate ring.yaml truth.nii --counts 9000 --duration-s 60 -o e.Cdh
run simulate ring.yaml truth.nii --counts 9000 --duration-s 60 --force -o e.Cdh
recon=(recon ray --events e.Cdh --scanner ring.yaml --mu mu.nii --grid '12,12,6' --voxel '16,16,12' --iterations 2)
for end in ckpt frames rounds; do
	ln -s nowhere "r.nii.$end"
	stays "r.nii.$end" "r.nii.$end exists: --resume continues it" "${recon[@]}" --scatter sss --frames 0,30,60 -o r.nii
	rm "r.nii.$end"
done

# ---- equal runs, in two seconds ----
grep -qw hdf5 < <("$ISOTOME" --built-with | tr 'A-Z ,' 'a-z\n\n') || skip "this build has no HDF5"
for k in 1 2; do
	run "${recon[@]}" --scatter sss --scatter-rounds 1 --scatter-save "t$k.h5" -o "s$k.nii"
	sleep 1.1
done
same s1.nii s2.nii
same t1.h5 t2.h5
cat >array.yaml <<-'END'
	kind: transducers
	sphere: {radius_mm: 20, rings: 3, views: 4, polar_deg: [30, 150], azimuth_deg: 0}
	aperture_mm: [2, 2]
	speed_mm_per_us: 1.5
	sampling_mhz: 4
	first_sample_us: 8
	samples: 60
END
printf 'shapes:\n- {type: sphere, centre_mm: [1, 0, 0], radius_mm: 3, activity: 1}\n' >ball.yaml
run simulate array.yaml ball.yaml -o y.npy
run convert y.npy y1.hdf5 --scanner array.yaml
sleep 1.1
run convert y.npy y2.hdf5 --scanner array.yaml
same y1.hdf5 y2.hdf5
echo "all passed"
