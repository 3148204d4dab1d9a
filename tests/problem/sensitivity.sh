#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The sensitivity of a scanner: computed once and then taken from the cache, with the same image; and voxels that hardly any
# line crosses get no activity, by every method.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

printf 'kind: cylinder\nradius_mm: 60\nrings: 4\nring_pitch_mm: 6\ncrystals_per_ring: 64\nmin_crystal_distance: 8\n' >ring.yaml
run phantom sphere --grid 16,16,6 --voxel 4 -o p.nii
run simulate ring.yaml p.nii --counts 4000 --duration-s 60 -o e.Cdh
grid=(--grid 32,32,6 --voxel 4) # corners lie behind the crystals
recon=(recon ray --events e.Cdh --scanner ring.yaml "${grid[@]}" --iterations 2)

# ---- the second run takes it from the cache ----
export ISOTOME_CACHE=$work/kept ISOTOME_CACHE_SECONDS=0
taken='isotome recon: sensitivity taken from the cache: '
not_taken() { ! grep -q 'from the cache' err || fail "$1: taken from the cache"; }
entries() { find kept -type f | wc -l; }

run "${recon[@]}" -o first.nii
not_taken 'the first run'
[ "$(entries)" = 1 ] || fail "$(entries) entries after one run"
run "${recon[@]}" -o second.nii
entry=$(find "$work/kept" -type f)
err_has "$taken$entry"
! grep -q '^sensitivity' err || fail "the sensitivity is computed all the same"
same first.nii second.nii
grep -q "\"taken_from\": \"$entry\"" second.json || fail "the record does not say where the sensitivity is from"
! grep -q taken_from first.json || fail "the record of the first run names the cache"
run "${recon[@]}" --no-cache -o third.nii
not_taken '--no-cache'
same first.nii third.nii
run "${recon[@]}" --cache none -o third.nii --force
not_taken '--cache none'
run "${recon[@]}" --like second.json -o like.nii
err_has "$taken"
same first.nii like.nii

# ---- sens too; other models, methods and factors that are not in it share it; what is in it does not ----
run sens ray --scanner ring.yaml "${grid[@]}" -o kept.nii
err_has 'isotome sens: sensitivity taken from the cache: '
run sens ray --scanner ring.yaml "${grid[@]}" --no-cache -o made.nii
same kept.nii made.nii
run "${recon[@]}" --method osem --psf 4 --filter gaussian:8 -o other.nii
err_has "$taken"
check "a map" <<END
import nibabel
p = nibabel.load("p.nii")
nibabel.save(nibabel.Nifti1Image((p.get_fdata() > 0).astype("f4") * 0.0096, p.affine), "mu.nii")
END
before=$(entries)
for change in "--voxel 4,4,3.9" "--centre 0,0,1" "--rays 2" "--projector joseph" "--sens-share 0.5" \
	"--sens-share 0.5 --sens-seed 2" "--mu mu.nii"; do
	sed -i '/crystal_mm/d' ring.yaml
	[ "$change" != "--rays 2" ] || echo 'crystal_mm: [5, 5, 20]' >>ring.yaml
	# shellcheck disable=SC2086
	run sens ray --scanner ring.yaml --grid 32,32,6 --voxel 4 $change -o changed.nii --force
	not_taken "$change"
done
[ "$(entries)" = $((before + 7)) ] || fail "$(entries) entries, $before before 7 changes"
sed -i '/crystal_mm/d; s/radius_mm: 60/radius_mm: 61/' ring.yaml
run sens ray --scanner ring.yaml "${grid[@]}" -o changed.nii --force
not_taken 'another radius'
sed -i 's/radius_mm: 61/radius_mm: 60/' ring.yaml

# ---- a damaged entry is made anew ----
truncate -s 200 "$entry"
run "${recon[@]}" -o mended.nii
not_taken 'a damaged entry'
same first.nii mended.nii
run "${recon[@]}" -o mended.nii --force
err_has "$taken$entry"

# ---- nowhere to keep it: the run goes on; a folder that somebody named is told of ----
touch file
ISOTOME_CACHE=$work/file/there run "${recon[@]}" -o nowhere.nii
err_has 'warning: the sensitivity is not kept for the next run: '
same first.nii nowhere.nii
(
	unset ISOTOME_CACHE XDG_CACHE_HOME
	HOME=$work/file run "${recon[@]}" -o nowhere.nii --force
	! grep -q 'not kept' err || fail "a warning of a home that can't be written"
	HOME='' run "${recon[@]}" -o nowhere.nii --force
	HOME=$work/home run "${recon[@]}" -o nowhere.nii --force
	HOME=$work/home run "${recon[@]}" -o nowhere.nii --force
	err_has "$taken$work/home/.cache/isotome/"
	export ISOTOME_CACHE_SECONDS=3600 # a computation quicker than that is not worth a file
	HOME=$work/idle run "${recon[@]}" -o nowhere.nii --force
	[ ! -e "$work/idle" ] || fail "kept, though it took no hour"
)
ISOTOME_CACHE_MB=much expect 2 "${recon[@]}" -o no.nii
err_has "ISOTOME_CACHE_MB is 'much', expected a number from 0 up"

# ---- ranks: the first looks, the others get it ----
if command -v mpirun >/dev/null && [ -e "$(dirname "$ISOTOME")/libisotome_mpi.so" ]; then
	rm -rf kept
	for k in 1 2; do
		mpirun --allow-run-as-root --oversubscribe --bind-to none -n 2 "$ISOTOME" "${recon[@]}" --threads 1 \
			-o ranks$k.nii 2>err || fail "two ranks"
		same first.nii ranks$k.nii
	done
	err_has 'sensitivity taken from the cache: '
	[ "$(entries)" = 1 ] || fail "$(entries) entries after runs of two ranks"
fi
export ISOTOME_CACHE=none

# ---- voxels that hardly any line crosses ----
run "${recon[@]}" -o floor.nii
grep -qE '^isotome recon: [1-9][0-9]* of [0-9]+ voxels \([0-9.]+ %\) get no activity, because hardly any line crosses them; --sens-floor 0 keeps them$' err ||
	fail "the floor acts, and nobody is told"
run "${recon[@]}" --sens-floor 0 -o all.nii
! grep -q 'hardly any' err || fail "--sens-floor 0 cuts voxels"
run "${recon[@]}" --sens kept.nii -o given.nii
same floor.nii given.nii
run "${recon[@]}" --stream -o stream.nii
same floor.nii stream.nii
run "${recon[@]}" --method osem --subsets 2 -o osem.nii
run "${recon[@]}" --frames 0,30,60 -o frames.nii
[ "$(grep -c 'hardly any' err)" = 1 ] || fail "told in every frame"
pen=("${recon[@]:0:${#recon[@]}-2}" --penalty rdp:1)
for method in svrg bsrem lbfgs; do run "${pen[@]}" --method $method --iterations 5 -o $method.nii; done
run "${pen[@]:0:${#pen[@]}-2}" --method kem --kernel floor.nii --iterations 2 -o kem.nii
run "${pen[@]:0:${#pen[@]}-2}" --method pdhg --penalty tv:0.01 --iterations 4 -o pdhg.nii
run "${recon[@]}" --sens none --sens-floor 0.1 -o idle.nii
err_has '--sens-floor has no effect'
expect 2 "${recon[@]}" --sens-floor 2 -o no.nii
check "the floor" <<'END'
import json
import nibabel, numpy as np
def read(name): return np.asarray(nibabel.load(name).dataobj)
s, image, everything = read("kept.nii"), read("floor.nii"), read("all.nii")
told = json.load(open("floor.json"))["results"]["sens_floor"]
floor = json.load(open("floor.json"))["parameters"]["sens-floor"]
# the rule of docs/list-mode.md, written a second time
cut = np.zeros(s.shape, bool)
best = max(np.median(p[p > 0]) for p in np.moveaxis(s, 2, 0))
for z in range(s.shape[2]):
    plane = s[:, :, z]
    seen = np.sort(plane[plane > 0])
    around = np.pad(plane, 1)
    near = np.max([around[i:i + plane.shape[0], j:j + plane.shape[1]] for i in range(3) for j in range(3)], axis=0)
    few = (plane < floor * seen[len(seen) // 2]) & (plane < floor * near)
    cut[:, :, z] = (plane > 0) & (few | (plane < floor / 100 * best))
assert cut.any() and floor == told["floor"] == 0.2
assert told["voxels_cut"] == cut.sum() and told["voxels_seen"] == (s > 0).sum(), (told, cut.sum())
r = np.hypot(*np.meshgrid(*[(np.arange(32) - 15.5) * 4] * 2))
assert r[cut.any(axis=2)].min() > 55, "a voxel inside the ring is cut"
assert (image[~cut & (s > 0)] > 0).mean() > 0.5
for name in "floor osem svrg bsrem lbfgs kem pdhg frames".split():
    x = read(name + ".nii")
    assert x.max() > 0 and not x[cut].any(), name
assert not image[cut].any() and everything[cut].max() > 0
assert all((s[:, :, z] > 0).any() and not cut[:, :, z].all() for z in (0, 5)), "an end plane is cut"
END
