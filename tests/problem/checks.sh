#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Inputs that do not fit each other: each is refused or warned of, --accept takes it, and inputs that fit are silent.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >ring.yaml <<'END'
{kind: cylinder, radius_mm: 330, rings: 8, ring_pitch_mm: 12, crystals_per_ring: 120, crystal_mm: [16, 11, 20],
 min_crystal_distance: 20, pair_weight: solid-angle, tof: {fwhm_ps: 400}, time: {coincidence_ns: 4.5}}
END
sed 's/tof: {fwhm_ps: 400}, //' ring.yaml >plain.yaml
grid=(--grid '26,26,9' --voxel '16,16,12')
run phantom cylinder "${grid[@]}" -o truth.nii --mu mu.nii
run simulate ring.yaml truth.nii --mu mu.nii --counts 20000 --seed 3 --duration-s 60 -o e.lmdT
run sens ray --scanner ring.yaml --mu mu.nii "${grid[@]}" -o sens.nii
"$PYTHON" - <<'END'
import nibabel
import numpy as np

e = np.fromfile("e.lmdT", "<f4").reshape(-1, 7)

def events(name, ends=1, second=1, times=1):
    v = e.copy()
    v[:, :6] *= ends
    v[:, 3:6] *= second
    v[:, 6] *= times
    v.tofile(name)

events("cm.lmdT", .1)
events("m.lmdT", 1e-3)
events("half.lmdT", second=.1)
events("ns.lmdT", times=1e-3)
events("s.lmdT", times=1e-12)
events("fs.lmdT", times=1e3)
mu = nibabel.load("mu.nii")
v = np.asarray(mu.dataobj)

def save(name, v, affine):
    nibabel.save(nibabel.Nifti1Image(v.astype("f4"), affine), name)

moved = mu.affine.copy()
moved[0, 3] += 10000
save("far.nii", v, moved)
beside = mu.affine.copy()
beside[0, 3] += 250
save("beside.nii", v, beside)
save("um.nii", v, mu.affine @ np.diag([1000, 1000, 1000, 1]))
save("metre.nii", v, np.diag([1e-3, 1e-3, 1e-3, 1]) @ mu.affine)
save("per_cm.nii", 10 * v, mu.affine)
save("zero.nii", 0 * v, mu.affine)
short = mu.affine.copy()
short[2, 3] += 36
save("short.nii", v[:, :, 3:6], short)
eff = np.ones(8 * 120, "f4")
eff[np.random.default_rng(1).random(eff.size) < .2] = 0
np.save("dead.npy", eff)
np.save("singles.npy", np.full(8 * 120, 1e7, "f4"))
np.save("additive.npy", np.full(len(e), 50, "f4"))
END

common=(recon ray --scanner ring.yaml "${grid[@]}" --sens sens.nii --iterations 3 --force)

# refused CHECK MESSAGE ARGS...: exit code 3 and no image; with --accept CHECK an image, and the words in its record.
refused() {
	rm -f x.nii x.json
	expect 3 "${common[@]}" "${@:3}" -o x.nii
	err_has "$2"
	err_has "; --accept $1 takes it all the same"
	[ ! -e x.nii ] || fail "an image was written"
	run "${common[@]}" "${@:3}" --accept "$1" -o x.nii
	err_has "warning: "
	err_has "$2"
	checked "$1" doubtful "$2"
}

# warned CHECK MESSAGE ARGS...
warned() {
	run "${common[@]}" "${@:3}" -o x.nii
	err_has "$2"
	checked "$1" doubtful "$2"
}

# checked CHECK VERDICT [MESSAGE]: what the record says
checked() {
	check "record of $1" "$@" <<-'END'
		import sys
		from checks import record, require

		r = record("x.json")
		require(r["checks"].get(sys.argv[1]) == sys.argv[2], r["checks"])
		require(len(sys.argv) < 4 or any(sys.argv[3] in w for w in r["warnings"]), r["warnings"])
	END
}

# ---- what fits ----
run "${common[@]}" --events e.lmdT --mu mu.nii -o x.nii
! grep -q warning err || fail "a false alarm"
for name in ends time-differences attenuation matter counts border faint-voxels; do checked $name fits; done

# ---- ends ----
refused ends '10 times as far; are the ends in cm (mm are expected)' --events cm.lmdT --mu mu.nii
refused ends 'are the ends in m (mm are expected)' --events m.lmdT
run recon ray --events half.lmdT --sens sens.nii "${grid[@]}" --tof-fwhm-ps 0 --iterations 1 --force -o x.nii
err_has 'the second 33'
checked ends doubtful
expect 3 recon ray --events m.lmdT --sens sens.nii "${grid[@]}" --tof-fwhm-ps 0 --iterations 1 --force -o y.nii
err_has 'the image is 416 mm wide: are the ends in cm or m'

# ---- time differences ----
refused time-differences 'are they in ns (ps are expected)' --events ns.lmdT --mu mu.nii
refused time-differences 'are they in s (ps are expected)' --events s.lmdT --mu mu.nii
refused time-differences 'are they in fs (ps are expected)' --events fs.lmdT --mu mu.nii
run "${common[@]}" --events ns.lmdT --tof-fwhm-ps 0 -o x.nii # they are not used

# ---- attenuation ----
refused attenuation 'does not meet the image' --events e.lmdT --mu far.nii
refused attenuation "is the map's voxel, 1.6e+04 mm, in mm" --events e.lmdT --mu um.nii
refused attenuation "is the map's voxel, 0.016 mm, in mm" --events e.lmdT --mu metre.nii
refused attenuation 'is this map in 1/cm' --events e.lmdT --mu per_cm.nii
warned attenuation 'is 0 everywhere' --events e.lmdT --mu zero.nii
warned attenuation 'its matter is cut off at z = -18 mm' --events e.lmdT --mu short.nii
warned matter 'of the activity that is seen lies where beside.nii has no matter' --events e.lmdT --mu beside.nii

# ---- factors ----
warned efficiencies 'lie on crystals whose efficiency is 0' --events e.lmdT --mu mu.nii --norm dead.npy
refused randoms 'more than the 20' --events e.lmdT --mu mu.nii --singles singles.npy --duration-s 60
warned counts 'the additive term all others' --events e.lmdT --mu mu.nii --additive additive.npy

# ---- the image ----
run recon ray --events e.lmdT --scanner plain.yaml --tof-fwhm-ps 0 --grid 6,6,9 --voxel 16,16,12 --iterations 8 --force -o x.nii
err_has 'of the activity lies in the outermost voxels'
checked border doubtful

# ---- the words of --accept ----
expect 2 "${common[@]}" --events e.lmdT --accept end -o y.nii
err_has "--accept names no check 'end'; did you mean ends"
run "${common[@]}" --events cm.lmdT --mu far.nii --accept ends,attenuation -o x.nii

# ---- several ranks see the same ----
[ "${ISO_TEST_QUICK:-0}" = 0 ] || exit 0
need_ranks
expect_ranks 3 3 "${common[@]}" --events cm.lmdT --mu mu.nii -o y.nii
err_has '10 times as far; are the ends in cm'
