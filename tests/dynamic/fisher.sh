#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recon --fisher: standard deviations of regions against the spread over independent scans, files, record and refusals.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

solid_ring 6 >ring.yaml
run phantom cylinder --grid '12,12,6' --voxel '10,10,10' -o labels.nii
recon=(recon ray --grid '12,12,6' --voxel 10 --scanner ring.yaml)
penalty=(--penalty quadratic:rel=0.3 --method lbfgs --fisher --regions labels.nii)
scans=$(size 10 3)
for ((k = 1; k <= scans; k++)); do
	run simulate ring.yaml labels.nii --counts 8000 --duration-s 60 --seed "$k" -o "e$k.Cdh"
	run "${recon[@]}" --events "e$k.Cdh" "${penalty[@]}" -o "x$k.nii"
	sed -n 2p "x${k}_regions.tsv" >>rows.tsv
done
err_has 'statistical error alone'
awk -v scans="$scans" '{ sum += $2; square += $2 * $2; sd += $3 } END {
	n = NR; spread = sqrt((square - sum * sum / n) / (n - 1)); sd /= n
	print "sd", sd, "of", n, "scans", spread
	exit !(n == scans && sd > 0 && (scans < 10 || (sd > .5 * spread && sd < 2 * spread)))
}' rows.tsv || fail "the spread of scans"
[ -s x1_regions_cov.npy ] || fail "no covariance"
grep -q '"wres"' x1.json || fail "no residual in the record"

# one iteration from a wrong scale is far from the maximum: the image is kept, and told of
run "${recon[@]}" --events e1.Cdh --penalty quadratic:rel=0.3 --method svrg --iterations 1 --start labels.nii --fisher \
	--regions labels.nii -o far.nii
err_has 'no covariance: the image is far from the maximum'
[ ! -e far_regions.tsv ] || fail "a covariance far from the maximum"

refused() { # words of the message, then options
	words=$1
	shift
	expect 2 "${recon[@]}" --events e1.Cdh --regions labels.nii "$@" -o no.nii
	err_has "$words"
}
refused '--fisher needs --penalty' --method svrg --fisher
refused '--fisher goes with --method' --method osem --fisher
refused '--fisher does not go with --penalty tv' --method svrg --fisher --penalty tv:1
refused '--fisher does not go with --kappa auto' --method svrg --fisher --penalty rdp:1 --kappa auto
refused '--fisher does not go with --filter' --method svrg --fisher --penalty rdp:1 --filter gaussian:10
refused '--regions needs' --method svrg --penalty rdp:1
expect 2 "${recon[@]}" --events e1.Cdh --method svrg --penalty rdp:1 --fisher -o no.nii
err_has '--fisher needs --regions'
# labels are looked at before the iterations
expect 3 "${recon[@]}" --events e1.Cdh "${penalty[@]:0:5}" --regions x1.nii -o no.nii
err_has 'labels are whole numbers'
! grep -q 'passes over the data' err || fail "labels were read after the run"
[ ! -e no.nii ] || fail "an image of what was refused"
