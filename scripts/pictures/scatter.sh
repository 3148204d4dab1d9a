#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the pictures of docs/scatter.md from the images of `isotome reproduce nema`, and prints the figures that
# the page quotes. Without a folder of such a run, one of scale small is made, which takes minutes on two cores; so does
# the scan whose report is shown, which Chromium draws, where there is one.
#
#   scripts/pictures/scatter.sh [FOLDER [PROGRAM [IMAGE]]]      default: new runs, build/isotome
set -euo pipefail
source=$(realpath "$(dirname "$0")/../..")
program=$(realpath "${2:-$source/build/isotome}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
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
