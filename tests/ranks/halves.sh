#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# libisotome_mpi.so where the loader finds it: taken if it is of the library's own version, else refused. And in a
# process that has loaded an MPI of another kind, whose version is longer than ours may be.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_ranks
[ -x "$(command -v cc)" ] || skip "no cc here"

printf 'shapes:\n  - {type: sphere, centre_mm: [0, 0, 0], radius_mm: 20, activity: 1}\n' >ball.yaml
run phantom ball.yaml --grid 8 --voxel 4 -o ball.nii
run simulate "$SOURCE/examples/scanners/small-animal.yaml" ball.nii --counts 2000 -o e.lmdT
recon="recon ray --events e.lmdT --grid 8 --voxel 4 --sens none --iterations 1 --force -q -o x.nii"

# ---- another kind ----
cat >other.c <<'END'
#include <string.h>

int MPI_Get_library_version(char *text, int *n)
{
	memset(text, 'x', 8000);
	memcpy(text, "MPICH Version: 4\n", 17);
	text[*n = 8000] = '\0';
	return 0;
}
END
cc -shared -fPIC other.c -o other.so 2>err || fail "other.c"
got=0
# shellcheck disable=SC2086
by_ranks -n 2 env LD_PRELOAD="$PWD/other.so" "$ISOTOME" $recon >out 2>err || got=$?
[ $got = 5 ] || fail "an MPI of another kind: exit code $got"
err_has 'MPI: this process has loaded MPICH Version: 4; libisotome_mpi.so was built for Open MPI'

# ---- not beside the library ----
mkdir program elsewhere
cp -L "$ISOTOME" "$(dirname "$ISOTOME")"/libisotome.so* program
cp -L "$(dirname "$ISOTOME")/libisotome_mpi.so" elsewhere
version=$("$ISOTOME" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -1)
export LD_LIBRARY_PATH=$PWD/elsewhere${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ISOTOME=$PWD/program/isotome
# shellcheck disable=SC2086
expect_ranks 2 0 $recon

# refused DECLARATION WORDS: a half with this in it
refused() {
	echo "$1" | cc -shared -fPIC -x c - -o elsewhere/libisotome_mpi.so 2>err || fail "$1"
	# shellcheck disable=SC2086
	expect_ranks 2 5 $recon
	err_has "libisotome_mpi.so is of $2, libisotome.so of version $version"
}
refused 'const char iso_half_version[] = "0.0.1";' 'version 0.0.1'
refused 'int nothing;' 'no version'
