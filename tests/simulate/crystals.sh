#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Simulations down to the crystals: a beam, a point, scans of a ring and of strips, materials, truth, refusals.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

ring=$SOURCE/examples/scanners/crystal-ring.yaml
strips=$SOURCE/examples/scanners/strip-layers.yaml

run simulate "$ring" --crystals --beam 0,0 --pairs 5e4 --json
check "a beam on one module of blocks" <<'END'
from checks import *
got = record("out")
near("interact", got["interact"]["share"], .79933, 5 * got["interact"]["error"])
END
run simulate "$ring" --crystals --point 0,0,0 --pairs 1e5 --json
check "sensitivity at the centre" <<'END'
from checks import *
got = record("out")
for name, want in (("met", .23207), ("interacted", .17919), ("coincidences", .088934)):
    near(name, got[name]["share"], want, 5 * got[name]["error"])
END
run simulate "$SOURCE/examples/scanners/meng2019.yaml" --crystals --point 0,0,0 --pairs 2e4
out_has "coincidences"

# events, their truth and their crystals; a bar of bone in water by labels
"$PYTHON" -c 'import numpy as np, nibabel
x = np.zeros((20, 20, 10), np.float32); x[8:12, 8:12, 3:7] = 1
l = np.zeros((20, 20, 10), np.float32); l[4:16, 4:16, :] = 1; l[9:11, 9:11, :] = 3
for name, v in (("x.nii", x), ("l.nii", l)):
    nibabel.save(nibabel.Nifti1Image(v, np.array([[10, 0, 0, -95], [0, 10, 0, -95], [0, 0, 10, -45], [0, 0, 0, 1]])), name)'
cat >tissue.yaml <<'END'
- {label: 1, name: water, formula: H2O, density: 1}
- label: 3
  name: bone
  mass: {H: 0.034, C: 0.155, N: 0.042, O: 0.435, P: 0.103, Ca: 0.225, Na: 0.006}
  density: 1.85
END
run simulate "$ring" x.nii --materials l.nii,tissue.yaml --crystals --decays 6e4 -o e.npy --truth t.npy
run simulate "$ring" x.nii --materials l.nii,tissue.yaml --crystals --decays 6e4 -o f.npy --truth u.npy --pairs-only --threads 1
cmp -s e.npy f.npy || fail "--pairs-only has other events"
cmp -s t.npy u.npy || fail "--pairs-only has another truth"
check "truth of events" <<'END'
from checks import *
import numpy as np
t, e = np.load("t.npy"), np.load("e.npy")
r = record("e.npy.json")["results"]
require(len(t) == len(e) == r["pairs"]["coincidences"], "a row of truth for each event")
require((t["kind"] == 1).sum() == r["pairs"]["scattered_in_object"] > 50, "scattered ones")
require(((t["object_compton"] > 0) == (t["kind"] == 1)).all(), "kinds are by Compton scatter")
require(r["fates"]["in_object"] > 0 and (np.abs(t["emission"]) <= 41).all(), "where decays are")
require((t["energy1"] >= 435).all() and (t["energy2"] < 650).all(), "the window")
require((np.diff(t["decay1"].astype(int)) > 0).all(), "in the order of decays")
END
run simulate "$ring" x.nii --crystals --counts 100 --exact -o g.Cdh
run info g.Cdh
out_has "events            100"
run simulate "$strips" x.nii --crystals --counts 30 --exact -o z.npy
check "places along strips" <<'END'
from checks import *
import numpy as np
e = np.load("z.npy")
require(len(e) == 30 and len(np.unique(e[:, 2])) == 30, "measured places")
END

expect 2 simulate "$ring" x.nii --crystals --randoms 0.1 -o no.npy
err_has "--randoms does not go with --crystals"
expect 2 simulate "$ring" x.nii --pairs-only -o no.npy
expect 3 simulate "$SOURCE/examples/scanners/clinical-ring.yaml" x.nii --crystals -o no.npy
err_has "has no 'detector'"
printf -- '- {label: 1, formula: H2O, density: 1}\n' >few.yaml
expect 3 simulate "$ring" x.nii --materials l.nii,few.yaml --crystals -o no.npy
err_has "label 3"
printf -- '- {label: 1, formula: H2O, density: 1}\n- {label: 1, density: 0}\n' >twice.yaml
expect 3 simulate "$ring" x.nii --materials l.nii,twice.yaml --crystals -o no.npy
err_has "twice.yaml:2: label 1 comes a second time"
"$PYTHON" -c 'import numpy as np, nibabel
nibabel.save(nibabel.Nifti1Image(np.full((90, 90, 1), .0096, np.float32), np.array([[10, 0, 0, -445], [0, 10, 0, -445], [0, 0, 10, 0], [0, 0, 0, 1]])), "wide.nii")'
expect 3 simulate "$ring" x.nii --mu wide.nii --crystals -o no.npy
err_has "reaches into module"
