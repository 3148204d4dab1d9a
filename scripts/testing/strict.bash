# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by the scripts that run tests: what may be left out, and how many tests of the CUDA half were.

# strict_or_not [--strict]: 1 where nothing but a GPU may be missing: if asked for, or, unless
# ISO_TEST_STRICT says otherwise, where scripts/packages.bash can install what is missing
strict_or_not() {
	case ${1:-} in
		--strict) echo 1 ;;
		'') if [ -n "${ISO_TEST_STRICT:-}" ]; then
			echo "$ISO_TEST_STRICT"
		elif [ "${ISOTOME_NO_INSTALL:-}" != 1 ] && command -v apt-get >/dev/null; then
			echo 1
		else
			echo 0
		fi ;;
		*) echo "$1: the only option is --strict" >&2; return 2 ;;
	esac
}

# missing WHAT: says that it is left out, which fails under ISO_TEST_STRICT=1
missing() {
	echo "== $* left out"
	[ "${ISO_TEST_STRICT:-0}" != 1 ]
}

# cuda_tests_of STATES LOG: how many tests named cuda_... the log of ctest has in these states. cmocka
# names some twice, and other lines of the test may stand before; each counts once a program.
cuda_tests_of() {
	awk -v line="\\\\[ +($1) +\\\\] cuda_[A-Za-z0-9_]+" '
		/^[0-9]+\/[0-9]+ Testing: / { program = $3 }
		match($0, line) { name = substr($0, RSTART, RLENGTH); sub(/.* /, "", name); seen[program " " name] }
		END { for (i in seen) n++; print n + 0 }' "$2"
}

cuda_run() { cuda_tests_of 'OK|FAILED' "$1"; }
cuda_skipped() { cuda_tests_of SKIPPED "$1"; }
