#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Live pages: what they show is the run's, what they ask for is done, and no bit of the image changes.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python
export PYTHONPATH=$SOURCE/tests/live:$PYTHONPATH ISOTOME

# ---- what is no port, and a build without the server ----
small_ring >ring.yaml
run phantom spheres --grid 20,20,12 --voxel 5 -o truth.nii
run simulate ring.yaml truth.nii --counts 20000 --seed 1 -o e.lmdT
ray=(ray --events e.lmdT --scanner ring.yaml --grid 20,20,12 --voxel 5)
for port in 70000 0.5 5x; do
	expect 2 recon "${ray[@]}" --live $port -o x.npy
	err_has '--live is'
	err_has '--live-share'
done
expect 2 recon "${ray[@]}" --live-bind 127.0.0.1 -o x.npy
err_has '--live-bind goes with --live'
if ! grep -q libmicrohttpd <<<"$("$ISOTOME" --built-with)"; then
	expect 5 recon "${ray[@]}" --live -o x.npy
	err_has 'libmicrohttpd'
	skip "this build has no libmicrohttpd"
fi
expect 2 recon "${ray[@]}" --live --live-bind nowhere -o x.npy
err_has 'no numeric address'
check "a port in use" <<'END'
import os, socket, subprocess
s = socket.create_server(("127.0.0.1", 0))
words = "recon ray --events e.lmdT --scanner ring.yaml --grid 20,20,12 --voxel 5 -o x.npy --live".split()
p = subprocess.run([os.environ["ISOTOME"], *words, str(s.getsockname()[1])], capture_output=True, text=True)
assert p.returncode == 1 and "can't listen on 127.0.0.1" in p.stderr, p
assert not os.path.exists("x.npy")
END

# ---- every method: the same bits, with a page that is open ----
cat >sphere.yaml <<'END'
kind: transducers
sphere: {radius_mm: 20, rings: 4, views: 6, polar_deg: [30, 150]}
speed_mm_per_us: 1.5
sampling_mhz: 10
samples: 250
END
cat >ball.yaml <<'END'
smooth_fwhm_mm: 0.8
shapes:
  - {type: sphere, centre_mm: [2, -1, 0], radius_mm: 1.5, activity: 1}
END
run simulate sphere.yaml ball.yaml -o traces.npy
check methods "$(size 8 4)" <<'END'
import os, subprocess, sys
from client import *

program, n = os.environ["ISOTOME"], sys.argv[1]
ray = "ray --events e.lmdT --scanner ring.yaml --grid 20,20,12 --voxel 5".split()
sound = "--data traces.npy --scanner sphere.yaml --grid 8 --voxel 1".split()
methods = [
    [*ray, "--method", "mlem"],
    [*ray, "--method", "osem", "--subsets", "4", "--filter", "gaussian:8"],
    [*ray, "--method", "svrg", "--penalty", "rdp:rel=0.2", "--subsets", "4", "--tolerance", "0"],
    [*ray, "--method", "spdhg", "--penalty", "tv:0.01", "--subsets", "4", "--tolerance", "0"],
    [*ray, "--method", "kem", "--kernel", "truth.nii,k=8"],
    ["svoxel", *sound, "--method", "cg", "--fmax-mhz", "1"],
    ["sradon", *sound, "--penalty", "tv:1e-3", "--nonneg"],
]
for k, words in enumerate(methods):
    plain, page = f"plain{k}.npy", f"page{k}.npy"
    words = [*words, "--iterations", n]
    subprocess.run([program, "recon", *words, "-q", "-o", plain], check=True)
    r, last, im = watched(lambda: Run(program, *words, "--force", "-o", page))
    require(open(plain, "rb").read() == open(page, "rb").read(), f"{words}: other bits with a live page")
    require(page in last["outcome"], f"{words}: the end was not told: {last}")
    require(im["high"] > 0 and last["iterations"]["total"] and last["objective"]["value"], f"{words}: {last}")
    text = open(page + ".json").read()
    require(r.token not in text and f":{r.port}" not in text, "the address is in the record")
END
# the record of a run with a page repeats without one; and one of 0.1, that had --live for the live share
run recon --like page0.npy.json -o again.npy
same again.npy plain0.npy
run recon "${ray[@]}" --iterations 2 --live-share 0.5 -o half.npy
sed 's/"live-share"/"live"/' half.npy.json >old.json
run recon --like old.json -o old.npy
same old.npy half.npy

# ---- the page of a run: headers, figures, point, save, stop ----
check "the page of a run" <<'END'
import os
from client import *

ray = "ray --events e.lmdT --scanner ring.yaml --grid 20,20,12 --voxel 5 --iterations 100000".split()
r = Run(os.environ["ISOTOME"], *ray, "-o", "long.npy")
status, head, body = r.ask("")
require(status == 200 and b"live.js" in body, "the page")
for name in ("live.js", "live.css", "colours"):
    require(r.ask(name)[0] == 200, name)
csp = head["Content-Security-Policy"]
require("default-src 'none'" in csp and "unsafe" not in csp, csp)
require(head["Cache-Control"] == "no-store" and head["X-Content-Type-Options"] == "nosniff", head)
require(head["Referrer-Policy"] == "no-referrer" and "Server" not in head, head)

s = r.until(lambda s: s["image"] > 0 and s["iterations"]["rows_a_second"])
require(s["iterations"]["rows"] == "events" and s["stage"]["left_s"] > 0, s)
require(s["objective"]["figure"] == "log-likelihood", s)
values = s["objective"]["value"]
require(all(b >= a for a, b in zip(values, values[1:])), "the likelihood falls")
require(r.ask("point?x=4&y=5&z=6", "POST")[0] == 204, "a point")
before = r.state()["image"]
r.until(lambda s: s["at_point"] and s["image"] > before + 1)
im = image(r.ask("image")[2])
require(im["at"] == (4, 5, 6) and im["size"] == (20, 20, 12) and len(im["planes"]) == 3, im["at"])
require([p["cross"] for p in im["planes"]] == [(4, 5), (4, 6), (5, 6)], "cross")
require(im["low"] < im["last"] <= im["high"], "the last colour")
require(im["place"] == (-27.5, -22.5, 2.5) and im["planes"][0]["mm"] == (5, 5), im["place"])
for bad in ("point?x=1", "point?x=a&y=1&z=1"):
    require(r.ask(bad, "POST")[0] == 400, bad)
require(r.ask(f"image?after={2 ** 60}")[0] == 204, "no later image")

require(not os.path.exists("long.npy.ckpt"), "a checkpoint that nobody asked for")
require(r.ask("save", "POST")[0] == 204, "save")
r.until(lambda s: s["save"]["count"] == 1)
require(os.path.exists("long.npy.ckpt"), "no checkpoint")
for name, method in (("stop", "GET"), ("save", "GET"), ("state", "POST"), ("", "DELETE")):
    require(r.ask(name, method)[0] == 405, f"{method} {name}")
require(r.process.poll() is None, "the run has ended")
require(r.ask("stop", "POST")[0] == 204, "stop")
require(r.wait() == 143 and "resume continues from long.npy.ckpt" in r.lines[-1], r.lines)
require(not os.path.exists("long.npy"), "an image of a run that was stopped")
END
expect 143 recon "${ray[@]}" --iterations 100000 --resume --stop-after 0.001 -o long.npy
err_has 'of 100000'

# ---- the last image on the page is the image ----
check "the last image" <<'END'
import os
import numpy as np
from client import *

words = "ray --events e.lmdT --scanner ring.yaml --grid 20,20,12 --voxel 5 --iterations 20 --force -o last.npy".split()
_, _, im = watched(lambda: Run(os.environ["ISOTOME"], *words))
x = np.load("last.npy")
i, j, k = im["at"]
planes = {2: x[k], 1: x[:, j], 0: x[:, :, i]}
require(x[k, j, i] == np.float32(im["value"]), "the value")
for p in im["planes"]:
    shown = np.array(p["v"]).reshape(p["n"][::-1])
    require(abs(shown - planes[p["axis"]]).max() <= im["high"] / 65534, "a plane")
END

# ---- following a scan: the same bits; save, stop ----
check following "$SOURCE" "$(size 60000 20000)" <<'END'
import os, subprocess, sys
from client import *

program, source, n = os.environ["ISOTOME"], sys.argv[1], int(sys.argv[2])
words = ["strip", "--follow", "--events", "-", "--block", "5000", "--every-s", "1000", "--scanner",
         source + "/examples/scanners/bialas2015.yaml"]
events = open(os.environ["TEST_DATA"] + "/jpet/events.f32", "rb").read()[:12 * n]
half = len(events) // 2


def begin(out):
    r = Run(program, *words, "-o", out, stdin=subprocess.PIPE)
    r.process.stdin.buffer.write(events[:half])
    r.process.stdin.buffer.flush()
    r.until(lambda s: s["iterations"]["updates"] == n // 2 // 5000 and s["image"] > 0)
    return r


subprocess.run([program, "recon", *words, "-q", "-o", "plain.npy"], input=events, check=True)
r = begin("followed.npy")
im = image(r.ask("image")[2])
require(len(im["planes"]) == 1 and im["high"] > 0, "the image of strips")
require(r.ask("save", "POST")[0] == 204, "save")
r.until(lambda s: s["save"]["count"] == 1)
require(os.path.exists("followed.npy") and os.path.exists("followed.png"), "not saved")
r.process.stdin.buffer.write(events[half:])
r.process.stdin.close()
require(r.wait() == 0, r.lines)
require(open("plain.npy", "rb").read() == open("followed.npy", "rb").read(), "other bits with a live page")

r = begin("stopped.npy")  # what came is in the image
require(r.ask("stop", "POST")[0] == 204, "stop")
require(r.wait() == 143 and "the image is in stopped.npy" in r.lines[-1], r.lines)
subprocess.run([program, "recon", *words, "-q", "-o", "part.npy"], input=events[:half], check=True)
require(open("part.npy", "rb").read() == open("stopped.npy", "rb").read(), "other events in the image")
END
