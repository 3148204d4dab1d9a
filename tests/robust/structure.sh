#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# scripts/structure.py finds each kind of fault in a small tree, and none in the source.
. "$SOURCE/tests/cmd/lib.bash"

# file PATH LINE...: a file of the small tree
file() {
	mkdir -p "tree/$(dirname "$1")"
	printf '%s\n' "${@:2}" >"tree/$1"
}

clean_tree() {
	rm -rf tree
	file include/isotome.h ''
	file src/core/status.h '#include "isotome.h"'
	file src/core/fft/fft.h '#include "core/status.h"'
	file src/model/ray/ray.h '#include "core/fft/fft.h"' '#include <stdio.h>'
	file src/model/ray/ray.c '#include "ray.h"'
	file src/algo/em.c '#include "core/status.h"'
	file src/cmd/recon.h '#include "model/ray/ray.h"'
	file papers/study.c '	#  include "cmd/recon.h"'
	file bench/rate.c '#include "cmd/recon.h"'
}

# found TEXT [CHECKS]: the only finding, and it holds the text
found() {
	local code=0

	"$PYTHON" "$SOURCE/scripts/structure.py" --root tree --checks "${2:-all}" >out || code=$?
	[ "$code" = 1 ] || fail "exit code $code with: $1"
	out_has "$1"
	[ "$(wc -l <out)" = 1 ] || fail "more than one finding: $(cat out)"
	clean_tree
}

clean_tree
"$PYTHON" "$SOURCE/scripts/structure.py" --root tree --checks all >out || fail "a clean tree: $(cat out)"

file src/core/status.h '#include "core/fft/fft.h"'
found 'files: circle src/core/fft/fft.h -> src/core/status.h -> src/core/fft/fft.h' files
file src/core/status.c '#include "core/fft/fft.h"'
found 'folders: circle src/core -> src/core/fft -> src/core (src/core/status.c includes src/core/fft/fft.h;'
file src/core/list.c '#include "model/ray/ray.h"'
found 'layers: circle src/core -> src/model -> src/core' layers
file papers/study.h
file bench/rate.c '#include "papers/study.h"'
file papers/study.c '#include "../bench/rate.h"'
file bench/rate.h
found 'folders: circle bench -> papers -> bench' folders
file src/algo/em.c '#include "model/ray/ray.h"'
found 'order: src/algo/em.c includes src/model/ray/ray.h'
file src/algo/em.h
file src/model/ray/ray.c '#include "algo/em.h"'
found 'order: src/model/ray/ray.c includes src/algo/em.h'
file src/report/page.c '#include "cmd/recon.h"'
found 'order: src/report/page.c includes src/cmd/recon.h'
for i in $(seq 40); do file "tests/io/test_$i.c"; done
"$PYTHON" "$SOURCE/scripts/structure.py" --root tree --checks flat >out || fail "40 files: $(cat out)"
file tests/io/test_41.c
found 'flat: tests/io has 41 files'
file bench/ray.h
found 'names: one name twice: bench/ray.h, src/model/ray/ray.h'
mkdir -p tree/src/cmd
seq 9000 >tree/src/cmd/long.c
found 'lines: src/cmd: 9001, must be below 9000'
seq 70000 >tree/bench/long.c
found 'lines: src, papers, bench: 7'
"$PYTHON" "$SOURCE/scripts/structure.py" --checks nothing >out 2>&1 && fail "an unknown check passed"

"$PYTHON" "$SOURCE/scripts/structure.py" || fail "the source itself: see above"
