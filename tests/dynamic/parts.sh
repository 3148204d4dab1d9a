#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# convert --share and --part: parts of a list that are disjoint, complete, nested, and give an image of the whole activity.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

solid_ring 6 >ring.yaml
run phantom cylinder --grid '12,12,6' --voxel '10,10,10' -o object.nii
run simulate ring.yaml object.nii --counts 40000 --duration-s 60 --delayed d.Cdh --randoms 0.3 -o e.Cdh
run convert e.Cdh tenth.Cdh --share 0.1
run convert e.Cdh fifth.Cdh --share 0.2
for k in 1 2 3; do run convert e.Cdh "fold$k.Cdh" --part "$k/3" --seed 7; done
run convert tenth.Cdh half.Cdh --share 0.5 --seed 2
run convert d.Cdh delayed.Cdh --share 0.1 --of-delayeds
run convert d.Cdh other.Cdh --share 0.1
cmp -s delayed.Cdf other.Cdf && fail "delayeds have draws of their own"
run convert e.Cdh lines.lmdT --share 0.1

recon=(recon ray --coincidence-ns 5 --grid '12,12,6' --voxel 10 --method mlem --iterations 5)
run "${recon[@]}" --events e.Cdh --delayed d.Cdh -o x.nii
run convert d.Cdh d5.Cdh --share 0.2 --of-delayeds
run "${recon[@]}" --events fifth.Cdh --delayed d5.Cdh -o x5.nii
err_has 'has 0.2 of the events of its scan'

check "parts" <<'END'
from checks import *
import nibabel as nib
def events(path):
    head = dict(line.split(": ", 1) for line in open(path + ".Cdh").read().splitlines() if ": " in line)
    n, raw = int(head["Number of events"]), open(path + ".Cdf", "rb").read()
    k = len(raw) // n
    return [raw[i * k:(i + 1) * k] for i in range(n)]
whole, folds = events("e"), [events(f"fold{k}") for k in (1, 2, 3)]
require(sorted(whole) == sorted(sum(folds, [])), "parts are disjoint and complete")
require(not set(events("tenth")) - set(events("fifth")), "a tenth lies in a fifth")
require(abs(len(events("tenth")) - .1 * len(whole)) < 4 * (.09 * len(whole)) ** .5, "a tenth")
near("shares of shares", record("half.Cdh.json")["results"]["part"]["share"], .05, 1e-12)
a, b = (nib.load(p).get_fdata()[3:9, 3:9].mean() for p in ("x.nii", "x5.nii"))
near("activity of a fifth", b / a, 1, .03)
END

expect 2 convert e.Cdh n.Cdh --share 0.1 --part 1/2
expect 2 convert e.Cdh n.Cdh --part 3/2
err_has 'must be K/N'
expect 2 convert e.Cdh n.Cdh --share 0
expect 2 convert e.Cdh n.Cdh --seed 3
expect 2 convert object.nii n.npy --share 0.5
[ ! -e n.Cdh ] || fail "a refusal leaves a file"
