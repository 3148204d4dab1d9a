#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Pages in a real browser: reports stand alone, are read at any width, light and dark, on paper and without
# scripts, whatever records hold is text, and a viewer shows what the arrays hold and does what it is told.
# ISO_TEST_FULL=1: every look of every page. CHROMIUM names the browser.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python
CHROMIUM=${CHROMIUM:-chromium}
command -v "$CHROMIUM" >/dev/null || skip "no $CHROMIUM here (Debian: chromium)"

solid_ring 6 >ring.yaml
echo 'shapes: [{type: cylinder, radius_mm: 40, length_mm: 48, activity: 1, mu_per_mm: 0.0096}]' >water.yaml
grid=(--grid 16,14,8 --voxel 8,8,6)
run phantom water.yaml "${grid[@]}" -o water.nii
run phantom water.yaml "${grid[@]}" -o again.nii --mu mu.nii
run simulate ring.yaml water.nii --counts 10000 -o events.lmdT
run recon ray --events events.lmdT --scanner ring.yaml "${grid[@]}" --method osem --subsets 4 --iterations 3 -o made.nii
run simulate ring.yaml water.nii --mu mu.nii --physics --energy-window 400,650 --energy-resolution 0.12 --counts 10000 \
	--randoms 0.2 --delayed late.lmdT -o scattered.lmdT
run recon ray --events scattered.lmdT --scanner ring.yaml --mu mu.nii "${grid[@]}" --delayed late.lmdT --coincidence-ns 5 \
	--scatter sss --scatter-rounds 1 --energy-window 400,650 --energy-resolution 0.12 --iterations 2 -o scattered.nii
run report made.nii -o one.html
run report scattered.nii made.nii --truth water.nii --title 'Two images' -o two.html
run phantom spheres --grid 70,60,12 --voxel 5,5,5 -o spheres.nii
run filter gaussian:8 spheres.nii -o blurred.nii
run report blurred.nii --truth spheres.nii -o spheres.html

"$PYTHON" "$SOURCE/tests/browser/hostile.py" scattered.nii || fail "can't write hostile records"
run report noted.nii -o plain.html # the same with texts that are harmless
run report hostile.nii -o hostile.html --title "$(cat hostile.txt)"
run report "$(cat name.txt)" hostile.nii --truth hostile.nii -o names.html
for kind in nul surrogate bytes deep; do
	run report damaged-$kind.nii -o damaged-$kind.html
done

"$PYTHON" "$SOURCE/tests/browser/viewer_images.py" || fail "can't write images"
run view image.nii -o alone.html
run view image.nii --overlay under.nii -o over.html
run view series.nii -o series.html
run view image.nii --labels axes -o axes.html
run view image.nii --overlay under.nii --overlay-map tide --overlay-opacity 0.7 -o tinted.html
run view spheres.nii -o wide.html
for image in heard hot tall; do run view $image.nii -o $image.html; done
run report image.nii --truth truth.nii -o pair.html

ISOTOME=$ISOTOME "$PYTHON" "$SOURCE/tests/browser/run.py" "$CHROMIUM" . || fail "pages in $CHROMIUM"
echo "all passed"
