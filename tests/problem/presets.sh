#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Presets of recon: what is chosen, what it stands for, what turns the default off.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

solid_ring 4 >ring.yaml
run phantom spheres --grid 16,16,8 --voxel 10,10,9 -o truth.nii
run simulate ring.yaml truth.nii --counts 6000 --exact --duration-s 10 --device cpu -o 'my scan.Cdh'
data=('my scan.Cdh')

# preset NAME IMAGE ARGS...: the run says what it stands for, on one line, and that command makes the same bytes
preset() {
	local name=$1 image=$2
	shift 2
	run recon "$@" --threads 2 -o "$image"
	[ "$(grep -c 'stands for' err)" = 1 ] || fail "$*: not one line with what it stands for"
	sed -n "s/^isotome recon: preset $name stands for: isotome //p" err >line
	[ -s line ] || fail "$*: not preset $name"
	! grep -q -e --preset line || fail "$*: stands for itself"
	cp "$image" kept.nii
	eval "\"$ISOTOME\" $(cat line) --force" 2>err || fail "the command of $*"
	! grep -q 'stands for' err || fail "the command of $* is a preset too"
	same kept.nii "$image"
	run recon "$@" --threads 2 --force -o "$image" # the record of the preset again
}

# ---- each preset ----
preset quick quick.nii "${data[@]}"
grep -qx "recon 'my scan.Cdh' --threads 2 -o quick.nii --method osem --iterations 2 --subsets 6 --voxel 5 --filter gaussian:10" line ||
	fail "the choice of quick: $(cat line)"
preset quick asked.nii "${data[@]}" --preset quick
same quick.nii asked.nii
preset quick equals.nii "${data[@]}" --preset=quick
same quick.nii equals.nii
preset quick events.nii ray --events 'my scan.Cdh' --scanner ring.yaml --preset quick
preset clinical clinical.nii "${data[@]}" --preset clinical
grep -q -e '--psf 3.4 --filter gaussian:6' line || fail "the choice of clinical: $(cat line)"
preset converged converged.nii "${data[@]}" --preset converged
grep -q -e '--method svrg --iterations 40 --penalty rdp:rel=2 --voxel 5' line || fail "the choice of converged: $(cat line)"

check "the record of a preset" <<'END'
import json
r = json.load(open("quick.json"))
p, preset = r["parameters"], r["results"]["preset"]
assert p["preset"] == "quick" and p["method"] == "osem" and p["subsets"] == 6, p
assert p["voxel"] == [5, 5, 5] and p["grid"] is None and p["filter"] == "gaussian:10", p
assert preset["name"] == "quick" and preset["by_default"] and preset["counts"] == 6000, preset
assert 5 < preset["crystal_mm"] < 5.3, preset
chosen = {c["parameter"]: c["value"] for c in preset["chosen"]}
assert chosen == {"method": "osem", "iterations": "2", "subsets": "6", "voxel": "5", "filter": "gaussian:10"}, chosen
assert all(c["why"] for c in preset["chosen"])
assert r["stands_for"].endswith("--voxel 5 --filter gaussian:10"), r["stands_for"]
assert not json.load(open("asked.json"))["results"]["preset"]["by_default"]
END

# ---- what turns the default off, and what does not ----
run recon "${data[@]}" --preset none -o raw.nii
! grep -q 'stands for' err || fail "--preset none stands for something"
check "the raw run is that of the defaults" <<'END'
import json
r = json.load(open("raw.json"))
p = r["parameters"]
assert p["preset"] == "none" and p["method"] == "mlem" and p["iterations"] == 10 and p["voxel"] is None, p
assert "preset" not in r["results"] and "stands_for" not in r
END
run sens ray --events 'my scan.Cdh' -o sens.nii
for off in '--method mlem' '--iterations 1' '--method osem --subsets 2' '--grid 20,20,8' '--voxel 10' '--centre 0,0,0' \
	'--filter gaussian:9' '--sens sens.nii' '--start sens.nii' '--save-every 5'; do
	# shellcheck disable=SC2086
	run recon "${data[@]}" $off --force -o off.nii
	! grep -q 'stands for' err || fail "$off: the preset is still on"
	grep -q '"preset": null' off.json || fail "$off: the record names a preset"
done
for on in '--psf 4' '--tof-fwhm-ps 0' '--seed 2' '--projector joseph' '--duration-s 20'; do
	# shellcheck disable=SC2086
	run recon "${data[@]}" $on --force -o on.nii
	grep -q 'preset quick stands for' err || fail "$on: the preset is off"
done

# ---- what is given wins, and the preset fills the rest ----
preset quick more.nii "${data[@]}" --preset quick --iterations 3
grep -q -e '--iterations 3 --threads 2 -o more.nii --method osem --subsets 6 --voxel 5' line || fail "with --iterations: $(cat line)"
preset quick mlem.nii "${data[@]}" --preset quick --method mlem
grep -q -e '-o mlem.nii --voxel 5 --filter gaussian:10$' line || fail "with --method: $(cat line)"
preset quick size.nii "${data[@]}" --preset quick --grid 24,24,9
! grep -q -e --voxel line || fail "with --grid: $(cat line)"
expect 2 recon "${data[@]}" --preset fast -o no.nii
err_has "--preset is 'fast'"
expect 2 recon strip --preset quick -o no.nii

# ---- like, resume, dry-run, frames, ranks ----
run recon --like quick.json --threads 2 -o again.nii
! grep -q 'stands for' err || fail "a record stands for itself"
same quick.nii again.nii
run recon --like clinical.json -o again.nii --force
same clinical.nii again.nii
run recon --like quick.json --iterations 1 -o fewer.nii
grep -q '"subsets": 6' fewer.json || fail "--like with --iterations: not the values of the record"
expect 2 recon --like quick.json --preset clinical -o no.nii
err_has "--preset does not go with --like"
expect 0 recon "${data[@]}" --dry-run -o none.nii
grep -q 'in all' out && err_has "preset quick stands for" && [ ! -e none.nii ] || fail "a dry run"
expect 143 recon "${data[@]}" --threads 2 --checkpoint-minutes 0 --stop-after 1e-9 -o part.nii
run recon "${data[@]}" --threads 2 --resume -o part.nii
same quick.nii part.nii
preset quick series.nii "${data[@]}" --frames 0:5:10
grep -q -e '--subsets 3 ' line || fail "a frame has half of the counts: $(cat line)"
run recon "${data[@]}" --to-s 5 --force -o half.nii
err_has "--subsets 3 "
run recon "${data[@]}" -q --force -o quiet.nii
[ ! -s err ] || fail "-q says something"

# ---- a point spread function at the edge of the field of view, beyond which the sensitivity is set to 0 ----
run simulate ring.yaml truth.nii --counts 6000 --exact --randoms 0.5 --device cpu -o edge.Cdh
run recon edge.Cdh --method osem --subsets 6 --iterations 4 --voxel 5 --psf 6 -o edge.nii
! grep -q 'less than 1 % of the greatest sensitivity' err || fail "the edge grows"
check "the edge" <<'END'
import nibabel
image = nibabel.load("edge.nii").get_fdata()
if not 1e-3 < image.max() < 1:
    raise SystemExit(f"the greatest value is {image.max()}")
END

# ---- histograms: counts, not lines ----
run recon "$TEST_DATA/interfile/cylinder.hs" -o bins.nii
err_has "preset quick stands for"
check "counts of a histogram" <<'END'
import json
preset = json.load(open("bins.json"))["results"]["preset"]
assert preset["counts"] > 0, preset
END
check "planes of lines inside voxels: the cylinder lies about z = 0" <<'END'
import nibabel
image = nibabel.load("bins.nii")
planes = image.get_fdata().sum((0, 1))
z = sum((i - (len(planes) - 1) / 2) * p for i, p in enumerate(planes)) / planes.sum() * image.header.get_zooms()[2]
assert abs(z) < 0.3, z
END

# ---- a filter moves a point to voxels that more lines cross, which is no fault of the sensitivity ----
echo 'shapes: [{type: sphere, radius_mm: 1, activity: 1}]' >point.yaml
run phantom point.yaml --grid 21,21,21 --voxel 2 -o point.nii
run simulate "$SOURCE/examples/scanners/clinical-ring.yaml" point.nii --counts 20000 -o point.lmdT
run recon point.lmdT --scanner "$SOURCE/examples/scanners/clinical-ring.yaml" -o point.img.nii
! grep -q 'the image expects' err || fail "a warning of the filter's making"
echo passed
