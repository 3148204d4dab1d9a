#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks of events of two strips: hits on the strips, and differences of the two ways.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
# shellcheck source=tests/problem/checks.bash
. "$SOURCE/tests/problem/checks.bash"
need_python

strips=$SOURCE/examples/scanners/bialas2015.yaml
run simulate "$strips" ellipses --counts 5000 --seed 3 --device cpu -o e.f32
check "events in other units, and on other strips" <<'END'
import numpy as np
e = np.fromfile("e.f32", "<f4").reshape(-1, 3)
save = lambda name, v: v.astype("<f4").tofile(name + ".f32")
save("cm", e / 10)
save("tenths", e * 10)
save("dl_cm", e * [1, 1, .1])
save("dl_m", e * [1, 1, .001])
save("dl_um", e * [1, 1, 1000])
save("far", e * np.where(np.arange(len(e)) % 8, 1, 2)[:, None])
save("ways", e * [[1, 1, 1 if i % 8 else 30] for i in range(len(e))])
save("few", e[:10] * [1, 1, 0])
save("time", e / [1, 1, .299792458])
END
strip() { # FILE [ARGS...]: the arguments of a run
	echo "strip --scanner $strips --events $1.f32 --iterations 1 --device cpu ${*:2}"
}

# ---- what fits ----
# shellcheck disable=SC2046
{
	fits hits,path-differences $(strip e)
	fits hits,path-differences $(strip e --method direct --pixel 8 | sed 's/--iterations 1//')
	fits hits,path-differences $(strip cm --event-unit-mm 10)
	fits hits,path-differences $(strip time --dl-is-time)
	run recon $(strip few) --force -o x.nii	# ten events tell nothing
	! grep -q '"checks": *{[^}]*hits' x.json || fail "ten events were judged"
	run recon strip --scanner "$strips" --events cm.f32 --follow --idle-s .1 --force -o x.nii
	err_has 'in another unit? --event-unit-mm is 10 for cm'	# known when the events have come
	! grep -q '"hits"' x.json || fail "events were judged before they came"

	# ---- hits ----
	also=path-differences refused hits 'cm.f32: all hits lie within' $(strip cm)
	also=path-differences refused hits 'of 500 events looked at have a hit off the strips, which end 150 mm from the middle' $(strip tenths)
	doubted hits 'of 500 events looked at have a hit more than 4 sigma_z beyond the ends of the strips' $(strip far)

	# ---- differences of the ways ----
	refused path-differences 'which a resolution of 40 mm (sigma_dl) alone makes larger: is dl in cm (mm are expected)' $(strip dl_cm)
	refused path-differences 'is dl in m, or its time in ns (mm are expected)' $(strip dl_m)
	refused path-differences 'are longer than the line from strip to strip: is dl in micrometres, or a time' $(strip dl_um)
	doubted path-differences 'of 500 values of dl looked at are longer than the line from strip to strip' $(strip ways)
}

# ---- several processes look at the same events ----
[ "${ISO_TEST_QUICK:-0}" = 0 ] || exit 0
need_ranks
# shellcheck disable=SC2046
for ranks in 1 2 3; do
	got=0
	by_ranks -n $ranks "$ISOTOME" recon $(strip dl_cm) -o no.nii >out 2>err || got=$?
	[ "$got" = 3 ] || fail "$ranks ranks: exit code $got, expected 3"
	grep -F 'half of the |dl| are below' err >said.$ranks || fail "$ranks ranks do not refuse"
done
same said.1 said.2
same said.1 said.3
