#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Options that have no effect in a run say so: a case for each row of src/problem/check/idle.c, with one in which the
# option has its effect.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

# idle OPTION WHY ARGS...: the note is told, and is in the record
idle() {
	local option=$1 why=$2
	shift 2
	run recon "$@" --force -o x.nii
	err_has "warning: --$option has no effect: $why"
	grep -qF "'$option' has no effect: " x.json || fail "the record has no note of $option"
}

# works OPTION ARGS...: nothing of the kind is said
works() {
	local option=$1
	shift
	run recon "$@" --force -o x.nii
	! grep -qF -e "--$option has no effect" err || fail "isotome recon $*: --$option has an effect"
}

# ---- list mode ----
solid_ring 2 >ring.yaml
sed '/^tof/d' ring.yaml >plain.yaml
run phantom spheres --grid 16,16,8 --voxel 10,10,9 -o truth.nii
run simulate ring.yaml truth.nii --counts 2000 --device cpu -o e.lmdT
check "a map, efficiencies" <<'END'
import nibabel as nib
import numpy as np
mu = np.full((8, 8, 4), .005, "f4")
nib.save(nib.Nifti1Image(mu, np.array([[20., 0, 0, -70], [0, 20, 0, -70], [0, 0, 18, -27], [0, 0, 0, 1]])), "mu.nii")
np.save("eff.npy", np.ones(288, "f4"))
np.save("rates.npy", np.full(288, 100., "f4"))
END
ray=(ray --events e.lmdT --grid '8,8,4' --voxel '20,20,18' --iterations 2)
tof=("${ray[@]}" --scanner ring.yaml)
ray=("${ray[@]}" --scanner plain.yaml --tof-fwhm-ps 0)

idle sens-share "--sens is none" "${ray[@]}" --sens none --sens-share .5
idle sens-seed "--sens is none" "${ray[@]}" --sens none --sens-seed 3
works sens-share "${ray[@]}" --sens-share .5 --sens-seed 3
works sens-seed "${ray[@]}" --sens-share .5 --sens-seed 3
idle sens-seed "all pairs are taken" "${ray[@]}" --sens-seed 3
run sens ray --scanner plain.yaml --grid 8,8,4 --voxel 20,20,18 -o s.nii
idle sens-share "--sens is an image that was made before" "${ray[@]}" --sens s.nii --sens-share .5
idle coincidence-ns "there are no randoms: neither --delayed nor --singles" "${ray[@]}" --coincidence-ns 4
idle coincidence-ns "randoms of --delayed without time of flight do not need it" "${ray[@]}" --delayed e.lmdT --coincidence-ns 4
works coincidence-ns "${ray[@]}" --singles rates.npy --duration-s 10 --coincidence-ns 4
for option in '--tof-truncate 2' --swap-dt; do
	name=${option%% *}
	# shellcheck disable=SC2086
	idle "${name#--}" "there is no time of flight" "${ray[@]}" $option
	# shellcheck disable=SC2086
	works "${name#--}" "${tof[@]}" $option
done
idle no-multiplicity "the events are no projection data" "${ray[@]}" --no-multiplicity
idle branching "there is no --calibration" "${ray[@]}" --branching .9
works branching "${ray[@]}" --branching .9 --calibration 1e3 --duration-s 10
for option in weight-kg dose-mbq residual-mbq; do
	idle $option "--suv is not asked for" "${ray[@]}" --$option 3
done
idle injected-at "--suv is not asked for" "${ray[@]}" --injected-at 12:00:00

# ---- factors that cancel: the same image as without them ----
run recon "${ray[@]}" --sens none -o bare.nii
idle mu "--sens is none and nothing is added" "${ray[@]}" --sens none --mu mu.nii
check "attenuation that cancels" <<'END'
import nibabel as nib
import numpy as np
a, b = (nib.load(f).get_fdata() for f in ("bare.nii", "x.nii"))
if abs(a - b).max() > 1e-4 * a.max():
    raise SystemExit("it does not")
END
idle norm "--sens is none and nothing is added" "${ray[@]}" --sens none --norm eff.npy
works mu "${ray[@]}" --sens none --mu mu.nii --additive 0.001
works mu "${ray[@]}" --mu mu.nii

# ---- methods ----
idle subset-rule "there is one subset" "${ray[@]}" --subset-rule random
works subset-rule "${ray[@]}" --method osem --subsets 2 --subset-rule random
idle seed "nothing is random" "${ray[@]}" --seed 5
idle seed "nothing is random" "${ray[@]}" --method osem --subsets 2 --seed 5
works seed "${ray[@]}" --method osem --subsets 2 --subset-rule random --seed 5
idle save-every "there are no more --iterations than that" "${ray[@]}" --save-every 2
works save-every "${ray[@]}" --save-every 1
idle unseen "there is no --penalty" "${ray[@]}" --method svrg --unseen keep
works step "${ray[@]}" --method svrg --penalty rdp:rel=.1 --step .5 --unseen keep --seed 3
! grep -q 'has no effect' err || fail "what svrg has an effect of"
expect 2 recon "${ray[@]}" --method osem --subset-rule mod -o no.nii
err_has '--subset-rule is mod, which is for directions of srm; model ray has interleaved, blocks and random'

# a record has all parameters, defaults too: nobody gave them
run recon "${ray[@]}" --force -o x.nii
run recon ray --like x.json -o like.nii
! grep -q 'has no effect' err || fail "a repeated run tells of options that nobody gave"

# ---- strips ----
strips=$SOURCE/examples/scanners/bialas2015.yaml
run simulate "$strips" ellipses --counts 2000 --seed 3 --device cpu -o e.f32
strip=(strip --scanner "$strips" --events e.f32 --device cpu --pixel 10)
for option in '--kernel gauss' '--gamma 1e-4' '--form raw'; do
	name=${option%% *}
	# shellcheck disable=SC2086
	idle "${name#--}" "--method direct has no kernel" "${strip[@]}" --method direct $option
	# shellcheck disable=SC2086
	works "${name#--}" "${strip[@]}" --iterations 2 $option
done
idle edge "--method direct has no kernel" "${strip[@]}" --method direct --kernel tan --edge
idle sens-rule "--method direct has no sensitivity" "${strip[@]}" --method direct --sens-rule 5point
idle sens-rule "--form raw has no sensitivity" "${strip[@]}" --iterations 2 --form raw --sens-rule 5point
idle sens-rule "--sens is none" "${strip[@]}" --iterations 2 --sens none --sens-rule 5point
idle sens "--form raw has no sensitivity" "${strip[@]}" --iterations 2 --form raw --sens none
works sens-rule "${strip[@]}" --iterations 2 --sens-rule 5point
idle strategy "the CPU has one way" "${strip[@]}" --iterations 2 --strategy warp

# ---- traces ----
printf '%s\n' 'kind: transducers' 'sphere: {radius_mm: 40, rings: 4, views: 6}' 'speed_mm_per_us: 1.5' \
	'sampling_mhz: 20' 'samples: 800' >s.yaml
run simulate s.yaml nine-spheres -o y.npy
svoxel=(svoxel --scanner s.yaml --data y.npy --grid '9,9,13' --voxel 3 --iterations 1)
idle width "--transform direct has no kernel" "${svoxel[@]}" --fmax-mhz .1 --transform direct --width 6
works width "${svoxel[@]}" --fmax-mhz .1 --width 6
idle bins-per-wave "--transform direct has no kernel" "${svoxel[@]}" --fmax-mhz .1 --transform direct --bins-per-wave 6
works bins-per-wave "${svoxel[@]}" --fmax-mhz .1 --bins-per-wave 6
idle accuracy "--transform direct has no kernel" "${svoxel[@]}" --fmax-mhz .1 --transform direct --accuracy .01
idle accuracy "--width and --bins-per-wave say the kernel" "${svoxel[@]}" --fmax-mhz .1 --width 2 --bins-per-wave 6 --accuracy .01
works accuracy "${svoxel[@]}" --fmax-mhz .1 --accuracy .01
works fmax-mhz "${svoxel[@]}" --fmax-mhz .1
idle fmax-mhz "--lines says how many there are" "${svoxel[@]}" --fmax-mhz .1 --lines 4

# ---- scatter ----
printf '%s\n' 'energy: {window_kev: [430, 650], resolution: 0.12}' >>plain.yaml
scatter=("${ray[@]}" --mu mu.nii --scatter-rounds 1)
idle scatter-seed "--scatter sss has no Monte Carlo" "${scatter[@]}" --scatter sss --scatter-seed 3
idle scatter-error "--scatter sss has no Monte Carlo" "${scatter[@]}" --scatter sss --scatter-error .1
idle scatter-poses-mm "nothing moves" "${scatter[@]}" --scatter sss --scatter-poses-mm 5
works scatter-seed "${scatter[@]}" --scatter mc --scatter-seed 3 --scatter-error .3
! grep -q 'has no effect' err || fail "what the Monte Carlo has an effect of"
