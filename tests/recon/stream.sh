#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Events that stay on disk: the same bytes as from memory with every option, for every number of
# threads, size of blocks and memory limit, with a scratch file, after a kill, and in less memory
# than the file takes.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

solid_ring >ring.yaml
grid=(--grid '20,20,12' --voxel '10,10,6')
run phantom cylinder "${grid[@]}" -o truth.nii --mu mu.nii
N=$(size 60500 12100)
export N
run simulate ring.yaml truth.nii --mu mu.nii --counts "$N" --exact --randoms 0.3 \
	--delayed late.Cdh --singles singles.npy --duration-s 100 -o e.Cdh
run sens ray --scanner ring.yaml --mu mu.nii "${grid[@]}" -o sens.nii
"$PYTHON" - <<'END'
from os import environ
import numpy as np

n, r = int(environ["N"]), np.random.default_rng(1)
np.save("eff.npy", r.uniform(.5, 1.5, 12 * 144))
np.save("norm.npy", r.uniform(.5, 1.5, n))
np.save("add.npy", r.uniform(0, 1e-4, n).astype(">f4"))

# a file with its own factors and additive term, one with counts, one out of order
e = np.fromfile("e.Cdf", [("t", "<u4"), ("rest", "V12")])
ids = np.frombuffer(e["rest"].tobytes(), "<u4").reshape(n, 3)[:, 1:]


def write(name, mode, fields, *flags):
    v = np.zeros(n, [(key, "<f4" if key != "t" else "<u4") for key in fields] +
                 [("c1", "<u4"), ("c2", "<u4")])
    for key in fields:
        v[key] = fields[key]
    v["c1"], v["c2"] = ids.T
    v.tofile(name + ".Cdf")
    with open(name + ".Cdh", "w") as f:
        f.write(f"Data filename: {name}.Cdf\nNumber of events: {n}\nData mode: {mode}\n"
                "Data type: PET\nStart time (s): 0\nDuration (s): 100\nScanner name: ring\n")
        f.writelines(f"{flag} correction flag: 1\n" for flag in flags)


own = {"t": e["t"], "a": r.uniform(1, 4, n), "r": r.uniform(0, 1e-6, n), "n": r.uniform(.8, 1.2, n)}
write("factors", "list-mode", own, "Attenuation", "Random", "Normalization")
write("counts", "histogram", {"t": 0, "value": r.integers(0, 4, n)})
write("mixed", "list-mode", {"t": e["t"][::-1]})
END
args=(ray --scanner ring.yaml "${grid[@]}" --sens sens.nii --device cpu)
stream=(--stream --block "$(size 1000 200)")

# agree NAME ARGS...: an image from memory and a streamed one; both stay.
agree() {
	local name=$1
	shift
	run recon "${args[@]}" "$@" -o "$name.nii"
	! grep -q streaming err || fail "$name: events that fit were streamed"
	run recon "${args[@]}" "$@" "${stream[@]}" -o "$name.s.nii"
	err_has 'isotome recon: streaming'
	same "$name.nii" "$name.s.nii"
	check "$name" "$name" <<-'END'
		from checks import *
		require(image(f"{sys.argv[1]}.nii").max() > 0, "nothing is there")
		a, b = (record(f"{sys.argv[1]}{s}.json")["results"] for s in ("", ".s"))
		require("streamed" not in a and b["streamed"]["blocks"] > 9, f"{b.get('streamed')}")
		require(a["peak_host_bytes"] > 0 and b["peak_host_bytes"] > 0, "no peak")
		for a, b in zip(a.get("frames", [a]), b.get("frames", [b])):
		    require(a["events"] == b["events"], f"{a['events']} and {b['events']}")
		    require(a["loglik"] == b["loglik"], f"likelihood {a['loglik']} and {b['loglik']}")
	END
}
events=(--events e.Cdh --iterations 3)
agree mlem "${events[@]}"
for rule in interleaved blocks random; do
	agree $rule "${events[@]}" --method osem --subsets 3 --subset-rule $rule --additive 1e-5
done
agree tof "${events[@]}" --tof-fwhm-ps 0 --psf 8 --filter median:3
agree attenuation "${events[@]}" --mu mu.nii --additive add.npy
agree precorrected "${events[@]}" --mu mu.nii --precorrected
agree crystals "${events[@]}" --norm eff.npy --tof-fwhm-ps 0 --delayed late.Cdh
agree factor "${events[@]}" --norm norm.npy --tof-fwhm-ps 0 --singles singles.npy \
	--coincidence-ns 4 --accept randoms --method osem --subsets 4
agree own --events factors.Cdh --tof-fwhm-ps 0 --iterations 3
agree histogram --events counts.Cdh --tof-fwhm-ps 0 --iterations 3
agree window "${events[@]}" --from-s 20 --to-s 70 --norm norm.npy --additive add.npy
agree frames "${events[@]}" --frames 0,15.0002,15.0008,60 --isotope C-11 --delayed late.Cdh \
	--tof-fwhm-ps 0 --method osem --subsets 2

# ---- threads, blocks, limits: none of them shows ----
osem=("${args[@]}" --events counts.Cdh --mu mu.nii --precorrected --tof-fwhm-ps 0 \
	--method osem --subsets 3 --subset-rule random --iterations 2)
run recon "${osem[@]}" -o one.nii
for more in '--threads 1 --block 777' '--threads 2 --block 20001' '--threads 3 --stream' \
	'--stream --memory-limit 0.02' '--scratch . --block 999'; do
	# shellcheck disable=SC2086
	run recon "${osem[@]}" $more -o other.nii --force
	err_has 'streaming'
	same one.nii other.nii
done

# ---- bad events ----
"$PYTHON" - <<'END'
import numpy as np
e = np.fromfile("e.Cdf", [("t", "<u4"), ("dt", "<f4"), ("c", "<u4", 2)])
v = np.zeros((len(e), 7), "<f4")
r = np.random.default_rng(3)
a = r.uniform(0, 2 * np.pi, len(e))
v[:, 0], v[:, 1] = 120 * np.cos(a), 120 * np.sin(a)
v[:, 3:5] = -v[:, :2]
v[:, 2], v[:, 5] = r.uniform(-30, 30, (2, len(e)))
v[7::1000, 3:6] = v[7::1000, :3]
np.save("bad.npy", v)
END
agree bad --events bad.npy --iterations 2 --additive 0.01
err_has "bad.npy: $(((N - 8) / 1000 + 1)) of $N events are left out"

# ---- scratch ----
mkdir scratch
osem=("${args[@]}" --events e.Cdh --mu mu.nii --delayed late.Cdh --tof-fwhm-ps 0 --method osem \
	--subsets 3 --iterations 2 --block 1000)
for rule in interleaved blocks random; do
	run recon "${osem[@]}" --subset-rule $rule -o "$rule.0.nii"
	run recon "${osem[@]}" --subset-rule $rule --scratch scratch -o "$rule.1.nii"
	same "$rule.0.nii" "$rule.1.nii"
	[ -z "$(ls -A scratch)" ] || fail "the scratch file is left"
done
grep -q '"scratch": true' random.1.json || fail "the record does not tell of the scratch file"
expect 1 recon "${osem[@]}" --scratch nowhere -q -o x.nii
err_has "nowhere: can't make the scratch file: No such file"
(ulimit -f $((N / 300)) && expect 1 recon "${osem[@]}" --scratch scratch -q -o x.nii &&
	err_has 'scratch: no room for the scratch file') || exit 1
mkdir mounted
small_disk="mount -t tmpfs -o size=$((15 * N)) none mounted"
if unshare -rm sh -c "$small_disk" 2>err; then
	export -f expect fail err_has
	export ISOTOME
	unshare -rm bash -euo pipefail -c "$small_disk"' && expect 1 recon "$@" --scratch mounted \
		-q -o x.nii && err_has "mounted: no room for the scratch file"' bash "${osem[@]}" || exit 1
else
	echo "no disk may be mounted here to fill it: $(cat err)"
fi
[ ! -e x.nii ] || fail "a run that failed wrote its image"

# ---- kill and resume ----
osem+=(--iterations "$(size 12 60)")	# time enough for a kill
run recon "${osem[@]}" -o whole.nii
for more in '' '--scratch scratch'; do
	# shellcheck disable=SC2086
	"$ISOTOME" recon "${osem[@]}" $more --threads 1 --checkpoint-minutes 0 \
		-o part.nii >out 2>err &
	pid=$!
	while [ ! -e part.nii.ckpt ] && kill -0 $pid 2>/dev/null; do
		sleep 0.02
	done
	kill -s KILL $pid 2>/dev/null || fail "the run ended before it could be killed"
	wait $pid 2>/dev/null || true
	[ -z "$(ls -A scratch)" ] || fail "a killed run left its scratch file"
	# shellcheck disable=SC2086
	run recon "${osem[@]}" $more -o part.nii --resume --block 1777 --memory-limit 0.5 --threads 2
	same whole.nii part.nii
	grep -qE '"resumed_from_update": [1-9]' part.json || fail "the run began anew"
	rm -f part.nii part.json .part.nii.ckpt.*.tmp
done

# ---- blocks that the memory limit and the number of threads decide ----
run bench ray --case 128 --events "$(size 1000000 500000)" --write many.lmdT
auto=(ray --events many.lmdT --sens none --grid 64 --voxel 4 --device cpu --iterations 1)
run recon "${auto[@]}" -o memory.nii
! grep -q streaming err || fail "events that fit were streamed"
for threads in 1 2; do
	run recon "${auto[@]}" --memory-limit 0.03 --threads $threads -o limit_$threads.nii
	err_has 'streaming'
	same memory.nii limit_$threads.nii
done
check "other blocks" <<'END'
from checks import *
a, b, c = (record(f"{name}.json")["results"] for name in ("limit_1", "limit_2", "memory"))
require(a["streamed"]["blocks"] != b["streamed"]["blocks"], f"{a['streamed']} twice")
require(a["loglik"] == b["loglik"] == c["loglik"], "likelihoods differ")
END

# ---- less memory than the file takes ----
many=$(size 3000000 1000000)
run bench ray --case 128 --events "$many" --write large.lmdT
small=(ray --events large.lmdT --sens none --grid 32 --voxel 16 --tof-fwhm-ps 390 --device cpu
	--threads 2 --memory-limit "$(size 0.06 0.02)")
run recon "${small[@]}" --method osem --subsets 2 --iterations 1 -o small.nii
err_has "streaming $many events"
run recon "${small[@]}" --memory-limit 1 --method osem --subsets 2 --iterations 1 -o large.nii
most=60e6
! grep -q __asan_init "$ISOTOME" || most=inf	# the sanitizer holds memory of its own
check "little memory" $most "$many" <<'END'
from checks import *
r = record("small.json")["results"]
require(r["peak_host_bytes"] < float(sys.argv[1]), f"peak of {r['peak_host_bytes']} bytes")
require(r["streamed"]["kept"] < r["streamed"]["blocks"], f"{r['streamed']}")
r = record("large.json")["results"]
require("streamed" not in r and r["peak_host_bytes"] > 28 * int(sys.argv[2]), "what fits was streamed")
END
same small.nii large.nii
run recon "${small[@]}" --dry-run -o dry.nii
grep -qE '[0-9]+ of [0-9]+ blocks kept' out || fail "the plan does not say what is kept"
[ ! -e dry.nii ] || fail "--dry-run wrote its image"
expect 4 recon "${small[@]}" --grid 256 --voxel 4 -o x.nii
err_has 'needs'

# ---- a scratch file that nobody asked for ----
osem=("${small[@]}" --method osem --subsets 4 --iterations 2 --memory-limit "$(size 0.06 0.04)")
mkdir automatic
only_images() {
	[ -z "$(find automatic -type f ! -name 'memory.*' ! -name 'scratch.*')" ] || fail "$1"
}
run recon "${osem[@]}" --memory-limit 1 -o automatic/memory.nii
if [ "$(stat -f -c %T . /var/tmp | grep -cv tmpfs)" != 0 ]; then
	run recon "${osem[@]}" -o automatic/scratch.nii
	err_has "streaming $many events from a scratch file in "
	same automatic/memory.nii automatic/scratch.nii
	check "each byte once an iteration" "$many" <<-'END'
		from checks import *
		s = record("automatic/scratch.json")["results"]["streamed"]
		once, read = 28 * int(sys.argv[1]), s["scratch_bytes_read"]
		block = 28 * s["events_per_block"]
		require(s["scratch"] and s["kept"] < s["blocks"], f"{s}")
		require(2 * once - s["kept"] * block <= read <= 2 * once + 2 * block, f"{s}")
	END
	only_images "the scratch file is left"
	rm err # its lines are waited for, not those of the run before
	"$ISOTOME" recon "${osem[@]}" --iterations 500 -o automatic/stopped.nii >out 2>err &
	pid=$!
	while ! grep -qs streaming err && kill -0 $pid; do
		sleep 0.02
	done
	kill -s INT $pid
	wait $pid && fail "a run that was stopped ended well"
	rm -f automatic/stopped.nii.ckpt
	only_images "a run that was stopped left files"
else
	echo "all disks here are memory: no scratch file is made without being asked for"
fi
run recon "${osem[@]}" --scratch none -o automatic/none.nii
grep -q '"scratch": false' automatic/none.json || fail "a scratch file was made against the user's word"
err_has "each subset reads the whole file"
same automatic/memory.nii automatic/none.nii
(ulimit -f $((many / 1000)) && run recon "${osem[@]}" -o automatic/full.nii &&	# no disk has room
	err_has "each subset reads the whole file: --scratch avoids that") || exit 1
same automatic/memory.nii automatic/full.nii

# ---- the plan says which way, why, and how long ----
# way NAME OPTIONS...: the way that a dry run tells
way() {
	local name=$1
	shift
	run recon "${osem[@]}" "$@" --dry-run --json -o dry.nii
	cp out plan.json
	check "way $name" "$name" <<-'END'
		import json, sys
		*lines, way = json.load(open("plan.json"))
		assert way["way"] == sys.argv[1], way
		assert 0 < way["pass_s"] < 1e4 and "a pass takes about" in way["text"], way
		assert all("what" in line for line in lines), lines
	END
	run recon "${osem[@]}" "$@" --dry-run -o dry.nii
}
way memory --memory-limit 1
grep -q "$many events fit in host memory; a pass takes about" out || fail "no way: $(cat out)"
way file --scratch none
grep -qE "$many events do not fit: they need .* may be used; each of 4 subsets reads the whole file" out ||
	fail "no way: $(cat out)"
way scratch --scratch scratch
grep -q 'sorted once into a scratch file of .* in scratch; that takes about' out || fail "no way: $(cat out)"
[ -z "$(ls -A scratch)" ] || fail "a dry run left its scratch file"
way file --memory-limit 0.02
grep -q 'memory is too small to sort events into a scratch file' out || fail "no way: $(cat out)"
(ulimit -f $((many / 1000)) && way file &&
	grep -q 'no disk has room for a scratch file of .*: --scratch names a folder' out) || exit 1
way file --stream --scratch none --memory-limit 1
grep -q "$many events stay on disk, as was asked for" out || fail "no way: $(cat out)"

# with as much as a run that misses memory by little is told, it fits
for more in "--memory-limit $(size 0.23 0.08)" "--psf 30 --filter gaussian:20 --memory-limit $(size 0.23 0.08)" \
	"--method mlem --subsets 1 --memory-limit $(size 0.3 0.1)"; do
	# shellcheck disable=SC2086
	way scratch --scratch scratch $more
	expected=$(grep -oE -- '--memory-limit of [0-9.]+' out | grep -oE '[0-9.]+') || fail "no advice: $(cat out)"
	# shellcheck disable=SC2086
	way memory $more --memory-limit "$expected"
done

# ---- what can't be ----
expect 2 recon "${args[@]}" "${events[@]}" --block 0 -o x.nii
expect 3 recon "${args[@]}" --events mixed.Cdh --stream --to-s 50 -q -o x.nii
err_has 'mixed.Cdh: event 1 is earlier than the one before it'
echo >e.dat
expect 3 recon "${args[@]}" --events e.dat --stream -o x.nii
err_has "can't be read piece by piece; convert it first"
"$PYTHON" -c 'import numpy as np; v = np.load("norm.npy"); v[-10] = -1; np.save("norm.npy", v)'
expect 3 recon "${args[@]}" "${events[@]}" "${stream[@]}" --norm norm.npy -q -o x.nii
err_has 'factor of an event is'
"$PYTHON" -c 'import numpy as np; np.save("norm.npy", np.ones(77))'
expect 3 recon "${args[@]}" "${events[@]}" "${stream[@]}" --norm norm.npy -q -o x.nii
err_has "norm.npy: 77 values, expected one per crystal (1728) or per event ($N)"
echo "all passed"
