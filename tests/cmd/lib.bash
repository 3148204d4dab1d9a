# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the command tests share: a folder to work in, runs of the program, checks in Python.
set -euo pipefail

: "${ISOTOME:?path of the program}" "${SOURCE:?folder of the source}"
ISOTOME=$(realpath "$ISOTOME")
SOURCE=$(realpath "$SOURCE")
export TEST_DATA=${TEST_DATA:-$(dirname "$ISOTOME")/tests/data} # tests/data, its archives unpacked
PYTHON=${PYTHON:-/usr/bin/python3}
export PYTHONPATH=$SOURCE/tests/cmd PYTHONDONTWRITEBYTECODE=1
export ISOTOME_CACHE=none # no test depends on what an earlier run kept
work=$(mktemp -d)
trap '[ "$BASHPID" != "$$" ] || rm -rf "$work"' EXIT # not by a child that a signal ends before it is the program
cd "$work"

# size FULL QUICK: of what a test works on. ISO_TEST_QUICK=1 is set under the sanitizers, which look
# at the code, not at the numbers; every test runs in full in the release build.
size() {
	if [ "${ISO_TEST_QUICK:-0}" = 1 ]; then echo "$2"; else echo "$1"; fi
}

fail() {
	echo "FAILED: $*" >&2
	[ ! -s err ] || sed 's/^/  stderr: /' err >&2
	exit 1
}

# skip WHY: ends the test, which then counts as skipped; with ISO_TEST_STRICT=1 as failed.
skip() {
	[ "${ISO_TEST_STRICT:-0}" != 1 ] || fail "ISO_TEST_STRICT=1, and this test would be skipped: $*"
	echo "skipped: $*"
	exit 77
}

need_python() {
	"$PYTHON" -c 'from importlib.util import find_spec as there; there("numpy").name + there("nibabel").name' 2>err || skip "$PYTHON can't import numpy and nibabel"
}

# The program and $PYTHON both read HDF5; leaves what `info` says of a small IPASC file in out.
need_hdf5() {
	need_python
	"$PYTHON" -c 'import h5py' 2>err || skip "$PYTHON can't import h5py"
	"$ISOTOME" info "$TEST_DATA/oat/ipasc/tiny_ipasc.hdf5" >out 2>err && return
	grep -q 'this build has no HDF5' err || fail "info of an IPASC file"
	skip "this build has no HDF5"
}

# expect CODE ARGS...: runs the program, keeps out and err, and checks the exit code; a failure is
# told in one line, the only one but for the progress of what went before.
expect() {
	local want=$1 got=0
	shift
	"$ISOTOME" "$@" >out 2>err || got=$?
	[ "$got" = "$want" ] || fail "isotome $*: exit code $got, expected $want"
	case $want in
	0 | 129 | 130 | 143) ;;
	*) [ "$(grep -vcE '  [0-9]+ %' err)" = 1 ] || fail "isotome $*: an error must be one line" ;;
	esac
}

run() { expect 0 "$@"; }

out_has() { grep -qF -e "$1" out || fail "stdout lacks '$1'"; }
err_has() { grep -qF -e "$1" err || fail "stderr lacks '$1'"; }

same() { cmp "$1" "$2" || fail "$1 and $2 differ"; }

# check NAME ARGS... <<END: a Python script that fails by leaving with a text.
check() {
	local name=$1
	shift
	"$PYTHON" - "$@" || fail "$name"
}

# The ring of the reference vectors: 192 crystals, 13248 pairs.
small_ring() {
	cat <<-END
		kind: cylinder
		radius_mm: 64
		rings: 6
		ring_pitch_mm: 9
		crystals_per_ring: 32
		min_crystal_distance: 5
		max_ring_difference: 6
	END
}

# A ring with faces and times, to simulate with: isotropic decays reach pairs by solid angle.
solid_ring() { # RINGS, 12 if not said, over 72 mm
	cat <<-END
		kind: cylinder
		radius_mm: 120
		rings: ${1:-12}
		ring_pitch_mm: $((72 / ${1:-12}))
		crystals_per_ring: 144
		min_crystal_distance: 36
		pair_weight: solid-angle
		tof: {fwhm_ps: 300}
	END
}

# within MB CODE ARGS...: expect CODE ARGS..., and that the program and its children never held more
# than MB million bytes of memory. Sanitizers keep books of their own, so that memory is not looked
# at under them.
within() {
	local most=$1 want=$2 got
	shift 2
	"$PYTHON" "$SOURCE/tests/robust/peak.py" "$ISOTOME" "$@" >out 2>err || true
	got=$(tail -n 1 out)
	sed -i '$d' out
	[ "${got% *}" = "$want" ] || fail "isotome $*: exit code ${got% *}, expected $want"
	[ "$want" = 0 ] || [ "$(grep -vcE '  [0-9]+ %' err)" = 1 ] || fail "isotome $*: an error must be one line"
	[ "${ISO_TEST_QUICK:-0}" = 1 ] || [ "${got#* }" -le "$((most * 1000000))" ] ||
		fail "isotome $*: took ${got#* } bytes, expected at most $most million"
}

need_ranks() {
	command -v mpirun >/dev/null || skip "no mpirun here"
	[ -e "$(dirname "$ISOTOME")/libisotome_mpi.so" ] || skip "this build has no libisotome_mpi.so"
}

# by_ranks ARGS...: mpirun without words of its own, as root too, on however few cores
by_ranks() { mpirun -q --allow-run-as-root --oversubscribe --bind-to none "$@"; }

# expect_ranks N CODE ARGS...: as expect, by N processes
expect_ranks() {
	local n=$1 want=$2 got=0
	shift 2
	by_ranks -n "$n" "$ISOTOME" "$@" >out 2>err || got=$?
	[ "$got" = "$want" ] || fail "$n ranks of isotome $*: exit code $got, expected $want"
	case $want in
	0 | 129 | 130 | 143) ;;
	*) [ "$(grep -vcE '  [0-9]+ %' err)" = 1 ] || fail "$n ranks of isotome $*: an error must be one line" ;;
	esac
}
