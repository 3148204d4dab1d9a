#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the pictures of a page of docs from runs of the program, and prints the figures that the page quotes:
#
#   scripts/pictures/pages.sh barrel [PROGRAM]      default: build/isotome
#   scripts/pictures/pages.sh beds [PROGRAM]      default: build/isotome
#   scripts/pictures/pages.sh breath [PROGRAM]      default: build/isotome
#   scripts/pictures/pages.sh commission [PROGRAM]      default: build/isotome
#   scripts/pictures/pages.sh formats [PROGRAM]      default: build/isotome
#   scripts/pictures/pages.sh lifetime [PROGRAM]      default: build/isotome
#   scripts/pictures/pages.sh list_mode [PROGRAM]      default: build/isotome
#   scripts/pictures/pages.sh motion [PROGRAM]      default: build/isotome
#   scripts/pictures/pages.sh priors [PROGRAM]      default: build/isotome
#   scripts/pictures/pages.sh scatter [FOLDER [PROGRAM [IMAGE]]]      default: new runs, build/isotome
#   scripts/pictures/pages.sh sound FOLDER [PROGRAM]      default: build/isotome
#   scripts/pictures/pages.sh strip [PROGRAM]      default: build/isotome
#   scripts/pictures/pages.sh turn [PROGRAM]      default: build/isotome
set -euo pipefail
source=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Makes the pictures of docs/tutorials/commissioning.md by the commands of that page, but with faults that are always the
# same. Takes two minutes on two cores.
commission() (
program=$(realpath "${1:-$source/build/isotome}")
cd "$work"

isotome() { "$program" "$@"; }
python3() { /usr/bin/python3 "$@"; }

awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$source/docs/tutorials/commissioning.md" |
	sed 's/default_rng()/default_rng(17)/' >commands
. ./commands
mkdir -p "$source/docs/pictures/commission"
cp flat-before.png flat-after.png rods-before.png rods-norm.png rods-after.png "$source/docs/pictures/commission"
)

# Makes the pictures of lifetimes in docs/jpet.md, and prints the lives of its regions. Takes two minutes on two cores.
lifetime() (
program=$(realpath "${1:-$source/build/isotome}")
scanner=$source/examples/scanners/jpet-modular.yaml
cd "$work"

/usr/bin/python3 - <<'END'
import nibabel as nib
import numpy as np
def save(name, v, h):
    n = v.shape[::-1]
    a = np.diag([h, h, h, 1.0])
    a[:3, 3] = [-(n[k] - 1) / 2 * h for k in range(3)]
    nib.save(nib.Nifti1Image(v.T.astype("f4"), a), name)
def body(n, h):
    z, y, x = np.meshgrid(*[(np.arange(k) - (k - 1) / 2) * h for k in n], indexing="ij")
    left, right = np.hypot(x + 30, y), np.hypot(x - 30, y)
    tau = np.where(left < 20, 1.6, np.where(right < 20, 2.4, 2.0))
    inner = np.where(left < 13, 1, np.where(right < 13, 2, (np.hypot(x, y) < 50) * (np.minimum(left, right) > 28) * 3))
    return (np.hypot(x, y) < 60) & (np.abs(z) < 30), tau, inner * (np.abs(z) < 26)
activity, tau, _ = body((14, 28, 28), 5)
save("activity.nii", activity, 5)
save("tau.nii", tau, 5)
activity, tau, regions = body((8, 14, 14), 10)
save("regions.nii", regions, 10)
save("truth.nii", np.where(activity, tau, 0), 10)
END
"$program" simulate "$scanner" activity.nii --counts 600000 --lifetime tau.nii,0.3 --random-triples 0.1 -o t.npy -q
common=(--events t.npy --scanner "$scanner" --grid 14,14,8 --voxel 10 --iterations 20 --intensity 0.3 --background=-19,-3)
"$program" lifetime barrel "${common[@]}" --regions regions.nii -o moment.nii -q
"$program" lifetime barrel "${common[@]}" --regions regions.nii --method emg --penalty quadratic:rel=0.2 -o emg.nii -q
/usr/bin/python3 - <<'END'
import json
import nibabel as nib
import numpy as np
def middle(name):
    v = nib.load(name).get_fdata()
    return np.nan_to_num(v[:, :, v.shape[2] // 2], nan=0, posinf=0).T
def save(name, *images):
    np.save(name, np.concatenate(images, axis=1)[None].astype("f4"))
save("lives.npy", *map(middle, ("truth.nii", "moment.nii", "emg.nii")))
save("errors.npy", *map(middle, ("moment_error.nii", "emg_error.nii")))
for name in ("moment", "emg"):
    for r in json.load(open(name + ".json"))["results"]["lifetime_regions"]:
        print("%-6s region %d: %.3f +- %.3f ns" % (name, r["label"], r["tau_ns"], r["error_ns"]))
END
"$program" view lives.npy --window 1.2,2.8 --zoom 16 --labels none --force --title 'lives, ns: truth, moment, emg' \
	-o "$source/docs/pictures/lifetime-lives.png" -q
"$program" view errors.npy --window 0,1 --zoom 16 --labels none --force --title 'errors, ns: moment, emg' \
	-o "$source/docs/pictures/lifetime-errors.png" -q
)

# Makes the pictures of docs/formats.md: what comes out where a file is all that `recon` is given, and a filter besides.
# Files are the samples of tests/data, or simulated here, of PETLINK by NumPy. Takes under two minutes on two cores.
formats() (
program=$(realpath "${1:-$source/build/isotome}")
data=$source/tests/data
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

isotome recon "$data/petsird/point-0.9.1.petsird" --filter gaussian:8 -o petsird.nii
draw petsird --at max --zoom 3
isotome recon "$data/interfile/cylinder.hs" -o interfile.nii
draw interfile --at max --zoom 3
isotome recon "$data/root/coinc-zlib.root" --filter gaussian:10 -o root.nii
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
)

# Makes the pictures of docs/list-mode.md from small runs of the program, and prints the figures that
# the page quotes. Takes a few minutes on two cores.
list_mode() (
program=$(realpath "${1:-$source/build/isotome}")
pictures=$source/docs/pictures
cd "$work"

isotome() { "$program" "$@" -q; }

cp "$source/examples/scanners/clinical-ring.yaml" scanner.yaml
grid=(--grid 79,62,49 --voxel 4)
counts=(--counts 3e6 --exact)
isotome phantom spheres -o truth.nii --mu mu.nii
isotome simulate scanner.yaml truth.nii --mu mu.nii "${counts[@]}" -o events.lmdT
isotome simulate scanner.yaml truth.nii --mu mu.nii "${counts[@]}" --randoms 0.4 \
	-o mixed.lmdT --delayed delayed.lmdT
isotome sens ray --scanner scanner.yaml "${grid[@]}" -o geometry.nii
isotome sens ray --scanner scanner.yaml --mu mu.nii "${grid[@]}" -o sens.nii
isotome sens ray --scanner scanner.yaml --mu mu.nii "${grid[@]}" --projector joseph \
	-o joseph-sens.nii

# picture NAME TITLE OPTIONS...: reconstructs, draws, and prints the figures
picture() {
	local name=$1 title=$2
	shift 2
	isotome recon ray "${grid[@]}" "$@" -o "$name.nii"
	draw "$name" "$title"
	figures "$name"
}

figures() {
	"$program" measure rmse "$1.nii" truth.nii --mask truth.nii --scale fit >rmse
	"$program" measure nema "$1.nii" --like-phantom spheres >nema
	awk -v name="$1" '
		$1 == "NRMSE" { error = 100 * $2 }
		$1 == "17" { sphere = $4 }
		$1 == "lung" { lung = $3 }
		END { printf "%-14s error %.0f %%, sphere %.0f %%, lung %.0f %%\n", name, error, sphere, lung }
	' rmse nema
}

draw() {
	isotome view "$1.nii" --at 0,0,0 --percent 0,99.9 --zoom 2 --title "$2" --labels none \
		-o "$1.png"
	cp "$1.png" "$pictures/list-mode-$1.png"
}

data=(--events events.lmdT --tof-fwhm-ps 0)
mixed=(--events mixed.lmdT --scanner scanner.yaml --tof-fwhm-ps 0 --sens sens.nii --mu mu.nii)
osem=(--method osem --subsets 8 --iterations 3)
smooth=("${osem[@]}" --filter gaussian:5)

draw truth 'the phantom'
picture baseline 'S = 1' "${data[@]}" "${smooth[@]}" --sens none
picture sensitivity 'S of the scanner' "${data[@]}" "${smooth[@]}" --sens geometry.nii
picture attenuation 'S with attenuation' "${data[@]}" "${smooth[@]}" --sens sens.nii
picture precorrected 'precorrected' "${data[@]}" "${smooth[@]}" --sens geometry.nii --mu mu.nii \
	--precorrected
picture tof 'TOF 390 ps' --events events.lmdT --tof-fwhm-ps 390 "${smooth[@]}" --sens sens.nii
picture randoms '40 % randoms, ignored' "${mixed[@]}" "${smooth[@]}" --iterations 8
picture modelled '40 % randoms, modelled' "${mixed[@]}" "${smooth[@]}" --iterations 8 \
	--delayed delayed.lmdT
grep sum_of_sensitivity_times_image modelled.json
picture mlem 'MLEM, 3 iterations' "${data[@]}" --iterations 3 --sens sens.nii
picture osem 'OSEM, 3 iterations of 8 subsets' "${data[@]}" "${osem[@]}" --sens sens.nii
picture joseph 'Joseph' "${data[@]}" "${osem[@]}" --sens joseph-sens.nii \
	--projector joseph
picture psf 'PSF 5 mm' "${data[@]}" "${osem[@]}" --sens sens.nii --psf 5
picture gaussian 'Gaussian 6 mm' "${data[@]}" "${osem[@]}" --sens sens.nii --filter gaussian:6
picture median 'median 3, every iteration' "${data[@]}" "${osem[@]}" --sens sens.nii \
	--filter median:3 --filter-every 1
du -bc "$pictures"/list-mode-*.png | tail -n 1
)

# Makes the pictures of docs/priors.md: a short scan of hot and cold spheres by OSEM, with and without a filter, with
# relative differences, and with Bowsher weights of a perfect anatomical image, at about equal noise; and prints the
# figures that the page quotes. A minute or two on two cores.
priors() (
program=$(realpath "${1:-$source/build/isotome}")
cd "$work"
mkdir -p "$source/docs/pictures/priors"
grid=(--grid '80,64,24' --voxel 4)
scanner=$source/examples/scanners/clinical-ring.yaml
"$program" phantom spheres "${grid[@]}" --mu mu.nii -o truth.nii -q
"$program" simulate "$scanner" truth.nii --mu mu.nii --counts 5e5 --randoms 0.3 --delayed late.lmdT --seed 3 -q -o e.lmdT
"$program" sens ray --scanner "$scanner" --mu mu.nii "${grid[@]}" -q -o sens.nii

recon() { # NAME ARGS...
	"$program" recon ray --events e.lmdT --delayed late.lmdT --scanner "$scanner" --mu mu.nii --sens sens.nii \
		"${grid[@]}" -q "${@:2}" -o "$1.nii"
}
svrg=(--method svrg --penalty rdp:rel=0.4)
recon osem --method osem --subsets 8 --iterations 5
recon filtered --method osem --subsets 8 --iterations 5 --filter gaussian:8
recon rdp "${svrg[@]}"
recon bowsher "${svrg[@]}" --bowsher truth.nii

# draw NAME TITLE TOP
draw() {
	"$program" view "$1.nii" --at 0,0,0 --zoom 3 --title="$2" --labels none --window "0,$3" -q -o "$1.png"
	cp "$1.png" "$source/docs/pictures/priors/$1.png"
}
draw truth 'the phantom' 4.4
for name in osem filtered rdp bowsher; do
	"$program" measure nema $name.nii --like-phantom spheres --json >$name.nema
	top=$(python3 -c "import json; print(4.4 * json.load(open('$name.nema'))['results']['spheres'][-1]['background'])")
	case $name in
	osem) draw osem 'OSEM' "$top" ;;
	filtered) draw filtered 'OSEM, gaussian:8' "$top" ;;
	rdp) draw rdp 'rdp:rel=0.4' "$top" ;;
	bowsher) draw bowsher 'rdp:rel=0.4, --bowsher' "$top" ;;
	esac
	echo "$name"
	"$program" measure nema $name.nii --like-phantom spheres
done
)

# Makes the pictures of docs/scatter.md from the images of `isotome reproduce nema`, and prints the figures that
# the page quotes. Without a folder of such a run, one of scale small is made, which takes minutes on two cores; so does
# the scan whose report is shown, which Chromium draws, where there is one.
scatter() (
program=$(realpath "${2:-$source/build/isotome}")
folder=${1:-$work/nema}
image=$(realpath -m "${3:-$work/image.nii}")
[ -e "$folder/results.json" ] || "$program" reproduce nema -q -o "$folder"

# Image value of the background, from which the colours follow.
unit=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["results"]["scan"]["background"])' \
	"$folder/results.json")

# draw FILE NAME TITLE BACKGROUND
draw() {
	"$program" view "$folder/$1" --at 0,0,0 --zoom 3 --title="$3" --labels none \
		--window "0,$(python3 -c "print(2.5 * $4)")" --force -q -o "$work/$2.png"
	cp "$work/$2.png" "$source/docs/pictures/scatter/$2.png"
}

draw truth.nii truth 'the phantom' 1
draw trues-tof.nii trues 'trues alone' "$unit"
draw none-tof.nii none 'no correction' "$unit"
draw estimated-tof.nii estimated '--scatter sss+mc' "$unit"
draw known-tof.nii known 'scatter known' "$unit"
python3 - "$folder/results.json" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))["results"]
print("scan", r["scan"])
for x in r["image_quality"]:
    print(f'{x["form"]:10} TOF {x["tof"]!s:5} lung {x["lung"]:6.2f} %  background {x["background"]:.4f}  contrast',
          *(f"{c:.1f}" for c in x["contrast"]))
for x in r["cylinder"]["rows"]:
    print(f'{x["form"]:10} cylinder', *(f"{a:.4f}" for a in x["annuli"]))
for name, told in (*r["scatter"].items(), ("cylinder", r["cylinder"]["scatter"])):
    print(f"{name:10} c", *(f'{x["c"]:.4f}' for x in told["rounds"]))
print("noise", r["noise"])
PY

# ---- the scatter of a report ----
ring=$source/examples/scanners/clinical-ring.yaml
if [ ! -e "$image" ]; then
	cd "$work"
	"$program" phantom spheres --grid 80,64,48 --voxel 4 -o x.nii --mu mu.nii -q
	"$program" simulate "$ring" x.nii --mu mu.nii --physics --counts 2e6 --randoms 0.2 --delayed d.lmdT -o e.lmdT -q
	"$program" recon ray --events e.lmdT --scanner "$ring" --mu mu.nii --delayed d.lmdT --scatter sss+mc \
		--grid 80,64,48 --voxel 4 --method osem --iterations 6 --subsets 10 -o image.nii -q
fi
if browser=$(command -v chromium || command -v chromium-browser); then
	"$program" report "$image" -o "$work/report.html"
	python3 - "$work/report.html" "$work/part.html" <<'PY'
import sys
page = open(sys.argv[1], encoding="utf-8").read()
begin = page.index("<section>\n<h2>Scatter")
end = page.index("</section>", begin)
head = page[:page.index("<body>")].replace("</style>", "body { padding-top: 0; } section { margin-top: 1rem; }</style>")
open(sys.argv[2], "w", encoding="utf-8").write(head + "<body><main>" + page[begin:end] + "</section></main></body></html>")
PY
	"$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,1620 \
		"--screenshot=$source/docs/pictures/scatter/report.png" "file://$work/part.html" 2>"$work/browser.log" >&2
fi
du -bc "$source"/docs/pictures/scatter/*.png | tail -n 1
)

# Makes the optoacoustic picture of README.md from a run of `isotome demo optoacoustic`, which is kept
# in FOLDER. Needs NumPy and nibabel. Takes about two minutes on two cores.
sound() (
program=$(realpath "${2:-$source/build/isotome}")
[ -e "$1/tv.nii" ] || "$program" demo optoacoustic -o "$1"
cd "$1"

# The greatest values along y of each image, as the slices across y of one array.
/usr/bin/python3 - <<'END'
import nibabel
import numpy as np
mips = [np.asarray(nibabel.load(f + ".nii").dataobj).T.max(axis=1)
        for f in ("truth", "fbp", "sph", "tv")]
np.save("side-by-side.npy", np.stack(mips, axis=1))
END
"$program" view side-by-side.npy --kind montage --axis y --columns 4 --window 0,1 --zoom 5 \
	--labels none --force -o "$source/docs/pictures/optoacoustic.png" \
	--title 'Truth, back-projection, least squares, total variation'
)

# Makes the pictures of barrels in docs/jpet.md. Takes about two minutes on two cores.
barrel() (
program=$(realpath "${1:-$source/build/isotome}")
scanner=$source/examples/scanners/jpet-modular.yaml
cd "$work"

"$program" info "$scanner" --plot "$source/docs/pictures/jpet-modular.png" --force
cat >spheres.yaml <<END
shapes:
  - {type: cylinder, radius_mm: 95, length_mm: 120, activity: 1}
  - {type: sphere, centre_mm: [57, 0, 0], radius_mm: 18, activity: 6}
  - {type: sphere, centre_mm: [28, 49, 0], radius_mm: 14, activity: 6}
  - {type: sphere, centre_mm: [-28, 49, 0], radius_mm: 11, activity: 6}
  - {type: sphere, centre_mm: [-57, 0, 0], radius_mm: 18, activity: 0}
  - {type: sphere, centre_mm: [-28, -49, 0], radius_mm: 14, activity: 0}
  - {type: sphere, centre_mm: [28, -49, 0], radius_mm: 8, activity: 6}
END
"$program" phantom spheres.yaml --grid 52,52,34 --voxel 4 -o phantom.nii -q
"$program" simulate "$scanner" phantom.nii --counts 150000 -o events.npy -q
"$program" recon barrel --scanner "$scanner" --events events.npy --grid 52,52,34 --voxel 4 --method osem --subsets 8 \
	--iterations 2 --filter gaussian:8 -o x.nii -q
/usr/bin/python3 - <<'END'
import nibabel as nib
import numpy as np
def middle(name):
    v = nib.load(name).get_fdata()
    return v[:, :, v.shape[2] // 2 - 3 : v.shape[2] // 2 + 3].mean(2).T
f, x = middle("phantom.nii"), middle("x.nii")
warm = np.abs(f - 1) < 0.1
np.save("pair.npy", np.concatenate([f, x / x[warm].mean()], axis=1)[None].astype("f4"))
END
"$program" view pair.npy --window 0,6 --zoom 5 --labels none --force --title 'phantom, image of 150 000 events' \
	-o "$source/docs/pictures/jpet-barrel.png" -q
)

# Makes the pictures of docs/jpet.md from small runs of the program, and prints the figures that the
# page quotes. Takes about a minute on two cores.
strip() (
program=$(realpath "${1:-$source/build/isotome}")
cd "$work"

isotome() { "$program" "$@" -q; }

cp "$source/examples/scanners/bialas2015.yaml" scanner.yaml
isotome phantom ellipses -o truth.nii
isotome simulate scanner.yaml ellipses --counts 1e6 -o events.f32

# picture NAME TITLE OPTIONS...: reconstructs, draws, and prints the error where the phantom is
picture() {
	local name=$1 title=$2
	shift 2
	isotome recon strip --scanner scanner.yaml --events events.f32 "$@" -o "$name.nii"
	draw "$name" "$title"
	"$program" measure rmse "$name.nii" truth.nii --mask truth.nii --scale fit |
		awk -v name="$name" '$1 == "NRMSE" { printf "%-8s error %.1f %%\n", name, 100 * $2 }'
}

draw() {
	isotome view "$1.nii" --zoom 4 --title "$2" --labels none --force -o "$1.png"
	cp "$1.png" "$source/docs/pictures/strip-$1.png"
}

draw truth 'the phantom'
picture direct 'direct' --method direct
picture eq7 'eq7, 10 iterations' --iterations 10
picture tan 'tan with the ends, 10 iterations' --kernel tan --edge --iterations 10
picture gauss 'gauss, 10 iterations' --kernel gauss --iterations 10
picture raw 'raw, 10 iterations' --form raw --iterations 10
picture eq3 'eq3, 10 iterations' --form eq3 --iterations 10
picture follow "followed, blocks of 100 000 events" --follow --idle-s 0.5 --kernel tan --edge
du -bc "$source"/docs/pictures/strip-*.png | tail -n 1
)

# Makes the pictures of docs/motion.md: a head in twelve poses, without and with their table, and lying still. Prints how
# far each image is from the phantom with the same filter. Takes four minutes on two cores.
motion() (
program=$(realpath "${1:-$source/build/isotome}")
scanner=$source/examples/scanners/clinical-ring.yaml
cd "$work"

isotome() { "$program" "$@" -q; }

PYTHONPATH=$source/tests/cmd /usr/bin/python3 - <<'END2'
import moving
import numpy as np

still, draw = moving.pose((0, 0, 0), (0, 0, 0)), np.random.default_rng(5)
moving.paint("x.nii", moving.head(), still, (96, 104, 96), 2.0)
moving.paint("mu.nii", moving.skull(), still, (96, 104, 96), 2.0)
with open("poses.csv", "w") as f:
    f.write("# rule: step\ntime_s," + ",".join(f"r{i}{j}" for i in range(3) for j in range(3)) + ",x_mm,y_mm,z_mm\n")
    for k in range(12):
        p = moving.pose(draw.uniform(-8, 8, 3), draw.uniform(-8, 8, 3)) if k else still
        f.write(",".join("%.17g" % v for v in (5 * k, *p[:, :3].ravel(), *p[:, 3])) + "\n")
END2

# scan NAME OPTIONS...; picture NAME SCAN TITLE OPTIONS...
scan() {
	isotome simulate "$scanner" x.nii --mu mu.nii --counts 1.2e6 --duration-s 60 --seed 3 "${@:2}" -o "$1.Cdh"
}
picture() {
	isotome recon ray --events "$2.Cdh" --scanner "$scanner" --mu mu.nii --grid 96,104,96 --voxel 2 --method osem \
		--subsets 12 --iterations 3 --filter gaussian:4 "${@:4}" -o "$1.nii"
	isotome view "$1.nii" --title "$3" --at 0,0,-5 --zoom 2 --labels none --force -o "$1.png"
	cp "$1.png" "$source/docs/pictures/motion-$1.png"
	"$program" measure rmse "$1.nii" truth.nii --scale fit |
		awk -v name="$1" '$1 == "NRMSE" { printf "%-8s error %.1f %%\n", name, 100 * $2 }'
}

isotome filter gaussian:4 x.nii -o truth.nii
scan moved --poses poses.csv
scan still
picture without moved 'moved, no table'
picture with moved 'moved, with its table of poses' --poses poses.csv --sens-error 0.016
picture still still 'lying still'
)

# Makes the pictures of docs/dual-head.md, "Heads that turn": four sources of 6 mm between two heads at one, two and six
# angles, from noiseless data. Takes some seconds.
turn() (
program=$(realpath "${1:-$source/build/isotome}")
cd "$work"

isotome() { "$program" "$@" -q; }

cat >heads.yaml <<END
kind: panels
crystals: [29, 4]
pitch_mm: [2.9, 2.9]
crystal_mm: [2.9, 2.9, 10]
gap_mm: 120
layers: 1
voxels_per_pitch: [1, 1]
planes: 29
plane_mm: 2.9
END
printf 'time_s,angle_deg\n0,0\n' >1.csv
printf '# rule: step\ntime_s,angle_deg\n0,0\n1,90\n' >2.csv
printf '# rule: step\ntime_s,angle_deg\n0,0\n1,30\n2,60\n3,90\n4,120\n5,150\n' >6.csv
isotome srm heads.yaml --analytic --share 1 -o m.srm
/usr/bin/python3 - <<'END'
import numpy as np
z, y, x = (2.9 * (np.indices((4, 29, 29))[a] - half) for a, half in enumerate((1.5, 14, 14)))
spot = lambda at: np.exp(-((x - at[0])**2 + (y - at[1])**2 + z**2) / 2 / (6 / 2.3548)**2)
np.save("x.npy", spot((0, 0)) + spot((18, 12)) + spot((-18, 12)) + spot((0, -20)))
END
for n in 1 2 6; do
	isotome project srm x.npy --srm m.srm --gantry $n.csv --duration-s $n -o y$n.npy
	isotome recon srm --srm m.srm --data y$n.npy --gantry $n.csv --duration-s $n --iterations 20 -o x$n.nii
	isotome view x$n.nii --kind montage --every 4 --labels none --zoom 10 --linear --force \
		-o "$source/docs/pictures/dual-head-turn-$n.png"
	rm "$source/docs/pictures/dual-head-turn-$n.png.json"
done
)

# Makes the picture of a body over five positions of a bed in docs/motion.md. Takes some minutes on two cores.
beds() (
program=$(realpath "${1:-$source/build/isotome}")
scanner=$source/examples/scanners/clinical-ring.yaml
cd "$work"

isotome() { "$program" "$@" -q; }

isotome phantom body --voxel 6 -o x.nii
{
	echo '# rule: step'
	echo time_s,z_mm
	for k in 0 1 2 3 4; do echo "$((60 * k)),$((180 * (k - 2)))"; done
} >bed.csv
isotome simulate "$scanner" x.nii --bed bed.csv --counts 4e6 --duration-s 300 --seed 3 -o body.Cdh
isotome recon ray --events body.Cdh --scanner "$scanner" --bed bed.csv --grid 70,45,158 --voxel 6 --method osem --subsets 12 \
	--iterations 2 --filter gaussian:8 -o beds.nii
isotome view beds.nii --title 'five positions of a bed' --at 20,10,0 --window 0,1.2e-3 --labels none --force -o beds.png
cp beds.png "$source/docs/pictures/motion-beds.png"
)

# Makes the pictures of docs/gates.md: a lesion of 16 mm above a diaphragm that goes up and down by 18 mm in six gates. Prints
# its contrast in each. Takes three minutes on two cores.
breath() (
program=$(realpath "${1:-$source/build/isotome}")
cd "$work"

isotome() { "$program" "$@" -q; }

cat >ring.yaml <<END
kind: cylinder
radius_mm: 250
rings: 24
ring_pitch_mm: 6
crystals_per_ring: 240
min_crystal_distance: 40
pair_weight: solid-angle
END
/usr/bin/python3 - <<'END'
import nibabel
import numpy as np

affine = np.diag([4., 4, 4, 1])
affine[:3, 3] = [-158, -110, -70]
x, y, z = np.meshgrid(*(affine[k, 3] + 4 * np.arange(n) for k, n in enumerate((80, 56, 36))), indexing="ij")
inside = lambda c, r: sum(((p - m) / s)**2 for p, m, s in zip((x, y, z), c, r)) < 1
body = (x / 150)**2 + (y / 100)**2 < 1
f = 1. * body
for side in -1, 1:
    f[((x - side * 70) / 58)**2 + (y / 78)**2 < 1] = .35              # lungs
f[inside((50, 0, -80), (95, 85, 75))] = 2.2                           # liver
f[inside((-25, 20, 10), (38, 34, 40)) & ~inside((-25, 20, 10), (26, 22, 28))] = 3   # wall of the heart
f[inside((78, 0, 18), (8, 8, 8))] = 8                                 # lesion
nibabel.save(nibabel.Nifti1Image(f.astype("f4"), affine), "f.nii")
fade = np.clip((90 - z) / 100, 0, 1) * np.clip((1.05 - np.hypot(x / 150, y / 100)) / .3, 0, 1)
rows, names = ["from_s,to_s,gate\n"], []
for g in range(6):    # tissue at x + d in the gate is at x in the image
    u = np.zeros(x.shape[::-1] + (3,), "f4")
    u[..., 2] = (-18 * g / 5 * fade).T
    np.save(f"u{g}.npy", u)
for t in range(0, 120, 4):
    rows += [f"{t + .6667 * g:.4f},{t + .6667 * (g + 1) - 1e-3:.4f},{g}\n" for g in range(6)]
open("gates.csv", "w").writelines(rows)
END
fields=(--gates gates.csv --fields none,u1.npy,u2.npy,u3.npy,u4.npy,u5.npy)
sim=(simulate ring.yaml f.nii --counts 3e6 --duration-s 120 --seed 3)
isotome "${sim[@]}" -o still.Cdh
isotome "${sim[@]}" "${fields[@]}" -o breath.Cdh
picture() { # NAME SCAN TITLE OPTIONS...
	isotome recon ray --events "$2.Cdh" --scanner ring.yaml --grid 80,56,36 --voxel 4 --method osem --subsets 6 --iterations 4 \
		--filter gaussian:6 "${@:4}" -o "$1.nii"
	/usr/bin/python3 - "$1" <<'END'
import sys
import nibabel
import numpy as np

image = nibabel.load(sys.argv[1] + ".nii")
v = np.asarray(image.dataobj)
v = v[..., 0] if v.ndim == 4 else v    # the first gate
nibabel.save(nibabel.Nifti1Image(v[8:72, :, 2:34] / v[20:60, 20:36, 6:30].mean(), image.affine), "cut.nii")
x, y, z = np.meshgrid(*(image.affine[k, 3] + 4 * np.arange(n) for k, n in enumerate(v.shape)), indexing="ij")
away = (x - 78)**2 + y**2 + (z - 18)**2
print("%-8s contrast of the lesion %.2f" % (sys.argv[1], v[away < 64].mean() / v[(away > 256) & (away < 500) & (z > 14)].mean() - 1))
END
	isotome view cut.nii --title "$3" --at 46,0,10 --window 0,5 --zoom 4 --labels none --force -o "$1.png"
	cp "$1.png" "$source/docs/pictures/gates/$1.png"
}
picture without breath 'breathing'
picture gated breath 'one gate of six' --gates gates.csv
picture with breath 'all gates, with their fields' "${fields[@]}"
picture still still 'breath held'
)

case ${1:-} in
	barrel | beds | breath | commission | formats | lifetime | list_mode | motion | priors | scatter | sound | strip | turn) "$@" ;;
	*) sed -n 's/^#   //p' "$0" >&2; exit 2 ;;
esac
