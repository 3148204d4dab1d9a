#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# scripts/structure.py finds each kind of fault in a small tree, and none in the source and its objects.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

# file PATH LINE...: a file of the small tree
file() {
	mkdir -p "tree/$(dirname "$1")"
	printf '%s\n' "${@:2}" >"tree/$1"
}

# object SOURCE: compiled, as a build folder of CMake has it
object() {
	mkdir -p "tree/build/CMakeFiles/all.dir/$(dirname "$1")"
	"${CC:-cc}" -c -o "tree/build/CMakeFiles/all.dir/$1.o" "tree/$1"
}

clean_tree() {
	rm -rf tree
	file include/isotome.h ''
	file src/core/status.h '#include "isotome.h"'
	file src/core/fft/fft.h '#include "core/status.h"'
	file src/model/ray/ray.h '#include "core/fft/fft.h"' '#include <stdio.h>'
	file src/model/ray/ray.c '#include "ray.h"'
	file src/model/strip/strip.h ''
	file src/file/hdf5/h5.h '#include <hdf5.h>'
	file src/io/hdf5/ipasc.c '#include "file/hdf5/h5.h"'
	file src/algo/em.c '#include "core/status.h"'
	file src/cmd/recon.h '#include "model/ray/ray.h"'
	file papers/study.c '	#  include "cmd/recon.h"'
	file bench/rate.c '#include "cmd/recon.h"'
	file python/isotome/__init__.py 'from .image import Image' '_LATER = {"write": "files"}'
	file python/isotome/image.py 'import importlib'
	file python/isotome/files.py 'from .image import Image'
}

# structure ARGUMENT...: of the small tree
structure() {
	"$PYTHON" "$SOURCE/scripts/structure.py" --root tree "$@" >out
}

# found TEXT [ARGUMENT...]: the only finding, and it holds the text
found() {
	local code=0

	structure "${@:2}" || code=$?
	[ "$code" = 1 ] || fail "exit code $code with: $1"
	out_has "$1"
	[ "$(wc -l <out)" = 1 ] || fail "more than one finding: $(cat out)"
	clean_tree
}

clean_tree
structure --checks all || fail "a clean tree: $(cat out)"

# circles
file src/core/status.h '#include "core/fft/fft.h"'
found 'files: circle src/core/fft/fft.h -> src/core/status.h -> src/core/fft/fft.h' --checks files
file src/core/status.c '#include "core/fft/fft.h"'
found 'folders: circle src/core -> src/core/fft -> src/core (src/core/status.c includes src/core/fft/fft.h;'
file papers/study.h
file bench/rate.c '#include "papers/study.h"'
file papers/study.c '#include "../bench/rate.h"'
file bench/rate.h
found 'folders: circle bench -> papers -> bench' --checks folders

# the order of folders, by includes
file src/io/events.h
file src/physics/randoms.c '#include "io/events.h"'
found 'order: src/physics/randoms.c includes src/io/events.h: src/io stands after src/physics in the order'
file src/report/page.c '#include "cmd/recon.h"'
found 'order: src/report/page.c includes src/cmd/recon.h: src/cmd stands after src/report in the order'
file bench/rate.h
file src/cmd/main.c '#include "../../bench/rate.h"'
found 'order: src/cmd/main.c includes bench/rate.h: bench stands after src/cmd in the order' --checks order
file src/attic/old.c '#include "core/status.h"'
found 'order: src/attic/old.c includes src/core/status.h: src/attic is not in the order'
file src/algo/em.c '#include "model/ray/ray.h"'
found 'order: src/algo/em.c includes src/model/ray/ray.h: src/algo and src/model know nothing of each other'
file src/algo/em.h
file src/model/ray/ray.c '#include "algo/em.h"'
found 'order: src/model/ray/ray.c includes src/algo/em.h: src/model and src/algo know nothing of each other'

# by symbols, where no include tells
file src/io/events.c 'int iso_event_bad(void) { return 0; }'
file src/scanner/around.c 'int iso_event_bad(void);' 'int around(void) { return iso_event_bad(); }'
object src/io/events.c
object src/scanner/around.c
structure || fail "found without the build folder: $(cat out)"
found 'symbols: src/scanner/around.c uses iso_event_bad of src/io/events.c: src/io stands after src/scanner in the order' \
	--build tree/build
file src/core/gone.c 'int around(void);' 'int gone(void) { return around(); }'
file src/scanner/around.c 'int around(void) { return 0; }'
object src/core/gone.c
object src/scanner/around.c
rm tree/src/core/gone.c # an object of a file that was moved away since
structure --build tree/build || fail "an object without its source: $(cat out)"
clean_tree
file src/cmd/main.c 'void command(void);' 'int main(void) { command(); return 0; }'
file src/cmd/commands.c 'void command(void) { }'
file bench/program.c 'void command(void) { }' # of another program
object src/cmd/main.c
object src/cmd/commands.c
object bench/program.c
structure --build tree/build || fail "two programs: $(cat out)"
clean_tree
mkdir tree/build
found 'symbols: no objects in tree/build' --build tree/build

# folders beside each other, and those of optional libraries
file src/model/strip/strip.c '#include "model/ray/ray.h"'
found 'apart: src/model/strip/strip.c includes src/model/ray/ray.h: the folders of src/model know nothing of each other'
file src/problem/ray/model_ray.h
file src/problem/check/check.c '#include "problem/ray/model_ray.h"'
structure || fail "problem/check may look at the models: $(cat out)"
clean_tree
file src/live/live.c '#include <microhttpd.h>'
found 'optional: src/live/live.c includes microhttpd.h: only folders named microhttpd may'
file src/scatter/table.c '#include "file/hdf5/h5.h"'
found 'optional: src/scatter/table.c includes src/file/hdf5/h5.h: only folders named hdf5 may'

# the page of the layers
file docs/architecture.md '# A' '' '## Layers' '' '    src/core/  status' '    src/base/  numbers' '' '## More'
found 'docs: docs/architecture.md lists the layers as src/core, src/base; the order is src/base, src/core,' --checks docs

# page LINE...: a page that draws the small tree, and the line
page() {
	file docs/architecture.md '# A' '' '    src/core/  status' '    src/core/fft/  transforms' '    src/model/  models' \
		'    src/model/ray/  lines' '    src/model/strip/  strips' '    src/file/  files' '    src/file/hdf5/  HDF5' \
		'    src/io/  formats' '    src/io/hdf5/  IPASC' '    src/algo/  EM' '    src/cmd/  commands' "$@"
}
page '' 'The matrix is `model/ray/ray.h`, a model `X.c`.'
structure --checks drawn || fail "a page that is right: $(cat out)"
page ''
file src/core/op/op.c
found 'drawn: docs/architecture.md does not draw src/core/op' --checks drawn
page '    src/attic/  old things'
found 'drawn: docs/architecture.md draws src/attic, which does not exist' --checks drawn
page '' 'See `strip/ray.h`.'
found 'drawn: docs/architecture.md names strip/ray.h, which does not exist' --checks drawn
page '' 'See `iso_gone_create`.'
found 'drawn: docs/architecture.md names iso_gone_create, which no code has' --checks drawn

# Python, also where an import hides in a function or from the interpreter
file python/isotome/image.py 'from .files import write'
found 'python: circle files -> image -> files (files.py:1; image.py:1)'
file python/isotome/image.py 'def save(self):' '    from . import files'
found 'python: circle files -> image -> files (files.py:1; image.py:2)'
file python/isotome/image.py 'from typing import TYPE_CHECKING' 'if TYPE_CHECKING:' '    import isotome.files'
found 'python: circle files -> image -> files (files.py:1; image.py:3)'

# sizes and names
for i in $(seq 40); do file "tests/io/test_$i.c"; done
structure --checks flat || fail "40 files: $(cat out)"
file tests/io/test_41.c
found 'flat: tests/io has 41 files'
file bench/ray.h
found 'names: one name twice: bench/ray.h, src/model/ray/ray.h'
seq 200000 >tree/src/model/long.c
found 'lines: src has 200' --checks all
"$PYTHON" "$SOURCE/scripts/structure.py" --checks nothing >out 2>&1 && fail "an unknown check passed"

"$PYTHON" "$SOURCE/scripts/structure.py" --build "$(dirname "$ISOTOME")" || fail "the source itself: see above"
