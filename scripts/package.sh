#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the Debian packages that are given away, for any machine of this kind with this release of Debian or Ubuntu.
#
#     scripts/package.sh [--cuda] [-o FOLDER]
#
# FOLDER (default: dist) gets libisotome0.2, libisotome-dev, isotome, isotome-bench and isotome-mpi, with --cuda also isotome-cuda, which
# wants nvcc (CUDAARCHS names its devices). Compiled for any processor of the kind; on x86-64 the library is there once
# more for newer ones, and the loader takes the best. The build stays in build-package; ISOTOME_CMAKE holds further arguments for cmake.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.bash
out=dist cuda=OFF
while [ $# -gt 0 ]; do
	case $1 in
	--cuda) cuda=ON ;;
	-o) out=${2:?-o needs a folder}; shift ;;
	*) echo "package.sh: '$1': the options are --cuda and -o FOLDER" >&2; exit 2 ;;
	esac
	shift
done
# shellcheck disable=SC2086
install_packages $build_packages $package_packages
devices=-UCMAKE_CUDA_ARCHITECTURES # a build that was there before may have had others
[ -z "${CUDAARCHS:-}" ] || devices=-DCMAKE_CUDA_ARCHITECTURES=$CUDAARCHS

# shellcheck disable=SC2086
cmake -S . -B build-package -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_SKIP_INSTALL_RPATH=ON \
	-DISO_NATIVE=OFF -DISO_LEVELS=ON -DISO_REQUIRE_ALL=ON -DISO_CUDA=$cuda -DISO_CUDA_LINES=OFF -DISO_TESTS=OFF -DISO_BENCH=ON \
	"$devices" ${ISOTOME_CMAKE:-} >build-package.log ||
	{ cat build-package.log; exit 1; }
[ $cuda = OFF ] || grep -q '^CMAKE_CUDA_COMPILER:' build-package/CMakeCache.txt || { echo "--cuda: no nvcc found" >&2; exit 1; }
cmake --build build-package -j "$(nproc)" >build-package.log 2>&1 || { cat build-package.log; exit 1; }
rm -f build-package.log build-package/*.deb
(umask 022 && cd build-package && cpack -G DEB >cpack.log 2>&1 && ! grep -i 'warning' cpack.log) || { cat build-package/cpack.log; exit 1; }
mkdir -p "$out"
cp build-package/*.deb "$out"
for file in build-package/*.deb; do
	echo "$out/${file##*/}: $(($(stat -c %s "$file") / 1024)) KiB, $(dpkg-deb -f "$file" Installed-Size) KiB installed, needs" \
		"$(dpkg-deb -f "$file" Depends)"
done
