#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reports: pages are whole, well-formed and closed to the outside, whatever the files hold.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

# page FILE TEXT...: well-formed HTML that loads nothing, and holds the texts
page() {
	"$PYTHON" - "$@" <<'END' || fail "$1 is not as it should be"
import base64
import hashlib
import sys
from html.parser import HTMLParser

VOID = {"meta", "img", "path", "circle", "input"}
DATA = {"application/json", "application/octet-stream"}

class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text, self.script, self.hidden = [], [], "", None, ""

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        assert tag not in ("link", "iframe", "object", "a", "form"), tag
        if tag == "script":
            assert attrs["type"] in DATA | {"module"} and "src" not in attrs, attrs
            self.script = attrs["type"]
        assert not any(name.startswith("on") for name in attrs), attrs
        assert "href" not in attrs
        if tag == "img":
            assert attrs["src"].startswith("data:image/png;base64,"), attrs["src"][:50]
            assert attrs["alt"], "a picture without alt"
        if tag == "svg":
            assert attrs["aria-label"] and attrs["role"] == "img"
        if tag == "html":
            assert attrs["lang"] == "en"
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open and self.open.pop() == tag, f"</{tag}> in {self.open}"

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            if self.script == "module":
                assert not self.hidden, "two scripts"
                self.hidden = data
            else:
                assert "<" not in data, "data that could end its element"
        elif self.open[-1:] != ["style"]:
            self.text += data

name, *texts = sys.argv[1:]
raw = open(name, encoding="utf-8").read()
p = Page()
p.feed(raw)
p.close()
assert not p.open, p.open
assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'" in raw
policy = raw.split('content="')[1].split('"')[0]
if p.hidden:
    digest = base64.b64encode(hashlib.sha256(p.hidden.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy, "the script is not the policy's"
else:
    assert "script-src" not in policy
assert policy.count("script-src") == bool(p.hidden)
assert p.seen.count("h1") == 1 and p.seen.count("img") >= 2
for text in texts:
    assert text in p.text, f"no '{text}'"
END
}

solid_ring >ring.yaml
echo 'shapes: [{type: cylinder, radius_mm: 40, length_mm: 48, activity: 1, mu_per_mm: 0.0096}]' \
	>water.yaml
grid=(--grid 16,14,8 --voxel 8,8,6)
run phantom water.yaml "${grid[@]}" -o truth.nii
run simulate ring.yaml truth.nii --counts 20000 -o events.lmdT
run recon ray --events events.lmdT --scanner ring.yaml "${grid[@]}" --method osem --subsets 4 \
	--iterations 3 -o image.nii
run filter gaussian:8 image.nii -o smooth.nii

# ---- one image, several, the truth; the filtered image knows its reconstruction ----
run report image.nii -o one.html
page one.html osem '3 iterations' '145' 'isotome simulate ring.yaml' 'Log-likelihood' reconstruct
run report smooth.nii image.nii --truth truth.nii --title 'A & <B>' -o two.html \
	--profile-from -60,0,0 --profile-to 60,0,0
page two.html 'A & <B>' 'NRMSE against the truth' 'Difference from the truth' \
	'isotome filter gaussian:8 image.nii' 'isotome recon ray' 'From (−60, 0, 0) to (60, 0, 0) mm'
[ "$(grep -o 'isotome</span> <span>simulate' two.html | wc -l)" = 1 ] ||
	fail "a step that two images share must come once"
run report image.nii --viewer off -o still.html
page still.html osem 'runs no script.'
if grep -q '<script' still.html; then fail "--viewer off leaves a script"; fi
run report image.nii --overlay truth.nii -o over.html
page over.html 'no script but its own viewer'
grep -q '"role": "overlay"' over.html || fail "no overlay in the page"
run report image.nii --truth truth.nii --json -o json.html
check "--json lacks the error" <<'END'
import json
r = json.load(open("out"))
assert 0 < r["results"]["nrmse"][0] < 2 and len(r["inputs"]) == 2
END
(cd / && "$ISOTOME" report "$work/smooth.nii" -o "$work/far.html") || fail "report from elsewhere"
page far.html 'isotome simulate ring.yaml'

# ---- scatter: what recon tells is on the page ----
run phantom water.yaml "${grid[@]}" -o again.nii --mu mu.nii
run simulate ring.yaml truth.nii --mu mu.nii --physics --energy-window 400,650 --energy-resolution 0.12 --counts 20000 \
	--randoms 0.2 --delayed late.lmdT -o scattered.lmdT
run recon ray --events scattered.lmdT --scanner ring.yaml --mu mu.nii "${grid[@]}" --delayed late.lmdT --coincidence-ns 5 \
	--scatter sss --scatter-rounds 2 --energy-window 400,650 --energy-resolution 0.12 --iterations 2 -o scattered.nii
run report scattered.nii -o scattered.html
page scattered.html Scatter Profiles 'Trues, scatter and randoms' Sinograms 'Not explained' Rounds 'Can it be right?'
for part in Prompts Trues Scatter Randoms 'Prompts less the parts'; do
	grep -q "alt='$part' src='data:image/png;base64,iVBOR" scattered.html || fail "no sinogram of $part"
done

# ---- spheres: what measure nema says, found by the records or where a description has them ----
run phantom spheres --grid 70,60,12 --voxel 5,5,5 -o spheres.nii
run filter gaussian:8 spheres.nii -o blurred.nii
run measure nema blurred.nii --like-phantom spheres --json
cp out measured.json
run report blurred.nii --json -o blurred.html
page blurred.html 'Contrast recovery' 'Lung residual'
check "the spheres of a report" <<'END'
import json, re
r = json.load(open("out"))["results"]["nema"][0]
m = json.load(open("measured.json"))["results"]
assert r["contrast_percent"] == [s["contrast_percent"] for s in m["spheres"]] and len(m["spheres"]) == 6
assert r["variability_percent"] == [s["variability_percent"] for s in m["spheres"]]
assert r["lung_residual_percent"] == m["lung_residual_percent"]
rows = re.findall(r"<th scope='row'>(\d+) mm</th><td>4</td><td>([\d.]+) %</td><td>([\d.]+) %</td>", open("blurred.html").read())
assert rows == [(f"{s['diameter_mm']:g}", f"{s['contrast_percent']:.1f}", f"{s['variability_percent']:.1f}") for s in m["spheres"]]
END
cat >two.yaml <<'END'
spheres:
  - {centre_mm: [57.2, 0, 0], diameter_mm: 10, ratio: 4}
  - {centre_mm: [28.6, -49.537, 0], diameter_mm: 37, ratio: 4}
background: [{centre_mm: [106, 36]}, {centre_mm: [-58, 74]}]
slices_mm: [0, 10]
END
run report blurred.nii --spheres two.yaml --json -o two_spheres.html
check "two spheres" <<'END'
import json
r = json.load(open("out"))
assert len(r["results"]["nema"][0]["contrast_percent"]) == 2 and r["results"]["nema"][0]["lung_residual_percent"] is None
assert r["inputs"][-1]["name"] == "two.yaml"
END
expect 3 report image.nii --spheres two.yaml -o new.html
err_has 'image.nii: nema: the disc of radius'

# ---- arrays without a grid or a record; damaged and hostile records ----
run convert image.nii plain.npy
rm plain.npy.json
run report plain.npy -o plain.html
page plain.html plain.npy
printf '{"verb": "recon", "warn' >plain.npy.json
run report plain.npy -o damaged.html
page damaged.html 'nothing of it is shown'
check "can't write the record" <<'END'
import json
evil = "<script>alert(1)</script>'\"\x00-->".replace("\x00", "\x01")
json.dump({"verb": evil, "command": evil * 100, "warnings": [evil], "device": evil, "Units": evil,
           "parameters": {evil: evil, "a": {evil: [evil]}}, "times_s": {evil: 1.5},
           "inputs": [{"name": evil, "bytes": 5, "xxh64": evil}], "ReconMethodName": evil,
           "results": {"loglik": [-1.0 / (1 + i) for i in range(50000)]}},
          open("plain.npy.json", "w"))
END
run report plain.npy -o hostile.html --title "<script>'\"--></title>"
page hostile.html "<script>alert(1)</script>'\""
[ "$(wc -c <hostile.html)" -lt 200000 ] || fail "a long record makes a long page"

# ---- refusals ----
expect 2 report image.nii -o one.html
err_has 'one.html exists; --force replaces it'
expect 0 report image.nii -o one.html --force
expect 2 report image.nii -o one.txt
err_has 'a page is written as .html'
expect 2 report image.nii -o new.html --overlay truth.nii --viewer off
err_has '--overlay is for the viewer'
expect 3 report image.nii -o new.html --overlay missing.nii
expect 2 report image.nii -o new.html --profile-from 1,2,3
err_has 'go together'
expect 3 report image.nii -o new.html --profile-from 0,0,0 --profile-to 0,0,500
expect 3 report missing.nii -o new.html
expect 3 report image.nii events.lmdT -o new.html
expect 3 report image.nii --truth ring.yaml -o new.html
expect 2 report image.nii image.nii image.nii image.nii image.nii image.nii image.nii -o new.html
expect 1 report image.nii -o nowhere/new.html
expect 2 report -o new.html
[ ! -e new.html ] || fail "a refused report was written"
echo "all passed"
