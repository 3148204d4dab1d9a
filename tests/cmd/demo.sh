#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The demo: what it prints can be pasted and gives the same image; it refuses, forces and stops.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

# ---- before the work ----
expect 0 demo --counts 2000 -o "it's here" --dry-run
[ ! -e "it's here" ] || fail "--dry-run made a folder"
out_has "cd 'it'\\''s here'"
out_has 'memory for'
expect 2 demo rnig -o d
err_has 'ring'
expect 2 demo
expect 2 demo --counts 10 -o d
expect 1 demo -o no/where
[ ! -e d ] || fail "a refused demo made a folder"

# ---- the run, and the same by hand ----
expect 0 demo --counts 2000 --threads 1 -o "it's here"
for text in "image   it's here/with-tof.nii" "report  it's here/report.html" 'time ' 'events ' \
	'error '; do
	out_has "$text"
done
grep -q '<h1>Hot spheres' "it's here/report.html" || fail "no report"
same "it's here/scanner.yaml" "$SOURCE/examples/scanners/clinical-ring.yaml"
run demo --counts 2000 --threads 1 -o "by hand" --dry-run
{
	echo "set -e; isotome() { \"$ISOTOME\" \"\$@\" >/dev/null 2>&1; }"
	sed '/^memory for/,$d' out
} >script
mkdir "by hand"
cp "it's here/scanner.yaml" "by hand"
bash script || fail "the printed commands do not run"
for image in without-tof with-tof; do
	same "it's here/$image.nii" "by hand/$image.nii"
done
cmp -s "by hand/without-tof.nii" "by hand/with-tof.nii" && fail "TOF makes no difference"

# the error it tells is that of measure, by the command that it tells
figures() { grep -o "\"$1\": [0-9.e-]*" out | cut -d' ' -f2 || fail "--json lacks $1"; }
error_of() { # FOLDER KEY IMAGE OPTIONS...: out is that of the demo
	local told
	told=$(figures "$2")
	run measure rmse "$1/$3" "$1/truth.nii" "${@:4}" --json
	[ "$told" = "$(figures nrmse)" ] || fail "$3: the demo tells an error of $told, measure $(figures nrmse)"
}

expect 2 demo --counts 2000 -o "it's here"
err_has 'truth.nii exists; --force replaces it'
expect 0 demo --counts 1000 -q --json --force -o "it's here"
[ ! -s err ] || fail "--quiet is not quiet"
error_of "it's here" nrmse_with_tof with-tof.nii --scale fit

# ---- noise at equal contrast: what is told is what the images of the iterations give ----
run demo --counts 4e5 --threads 2 --json -q -o enough
check "noise at equal contrast" <<-'END'
	import json
	from checks import *
	told = json.load(open("out"))["results"]
	truth = image("enough/truth.nii")
	hot, even = truth > 3.9, abs(truth - 1) < 1e-3
	def curve(name):
	    points = [(0, 0)]
	    for file in f"{name}_it001.nii", f"{name}_it002.nii", f"{name}.nii":
	        x = image("enough/" + file).astype(float)
	        mean = x[even].mean()
	        points.append(((x[hot].mean() / mean - 1) / (truth[hot].mean() - 1), x[even].std() / mean))
	    return np.array(points).T
	without, tof = curve("osem-without-tof"), curve("osem-with-tof")
	contrast = min(without[0, -1], tof[0, -1])
	near("contrast", told["contrast"], contrast, 1e-4)
	near("noise without", told["noise_without_tof"], np.interp(contrast, *without), 1e-4)
	near("noise with", told["noise_with_tof"], np.interp(contrast, *tof), 1e-4)
	require(told["noise_with_tof"] < 0.9 * told["noise_without_tof"], "time of flight lowers the noise")
END
grep -q '<h1>Hot spheres: time of flight lowers the noise from [0-9]* % to [0-9]* % at equal contrast' \
	enough/report.html || fail "the report does not begin with what was found"

# ---- the other one ----
run demo strip --counts 20000 -q --json -o strips
error_of strips nrmse_mlem mlem.nii --scale fit
grep -q '<h1>Ellipses' strips/report.html || fail "no report"
same strips/scanner.yaml "$SOURCE/examples/scanners/bialas2015.yaml"

# ---- optoacoustic: what is printed runs, up to the first image ----
expect 2 demo optoacoustic --counts 2000 -o sound
err_has '--counts is for ring and strip'
run demo optoacoustic -o sound --dry-run
out_has 'isotome measure rmse tv.nii truth.nii'
! grep -q 'scale fit' out || fail "the phantom's scale is that of the image"
{
	echo "set -e; isotome() { \"$ISOTOME\" \"\$@\" >/dev/null 2>&1; }"
	sed '/^# Least squares/,$d' out
} >script
mkdir sound
cp "$SOURCE/examples/scanners/optoacoustic-small.yaml" sound/scanner.yaml
cp "$SOURCE/examples/phantoms/smooth-spheres.yaml" sound/phantom.yaml
bash script || fail "the printed commands do not run"
run measure rmse sound/fbp.nii sound/truth.nii --below 3

# ---- a signal stops it ----
rm -f err
"$ISOTOME" demo --counts 5e7 -o long >out 2>err &
for _ in $(seq 100); do
	grep -qs simulate err && break
	sleep .1
done
sleep .5
kill -TERM $!
code=0
wait $! || code=$?
[ "$code" = 143 ] || fail "exit code $code after SIGTERM, expected 143"
[ ! -e long/events.lmdT ] || fail "an interrupted demo wrote its events"
echo "all passed"
