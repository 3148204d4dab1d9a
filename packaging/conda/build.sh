#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Run by rattler-build in the source: lays the library, the program and the Python package into the environment. No
# CUDA, no MPI.
set -euo pipefail

# shellcheck disable=SC2086
cmake -S . -B build-conda -G Ninja ${CMAKE_ARGS:-} -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" \
	-DCMAKE_INSTALL_LIBDIR=lib -DISO_NATIVE=OFF -DISO_LEVELS=ON -DISO_CUDA=OFF -DISO_MPI=OFF -DISO_XRAYLIB=OFF \
	-DISO_TESTS=OFF -DISO_BENCH=ON
cmake --build build-conda -j "${CPU_COUNT:-2}"
cmake --install build-conda
cp -r python/isotome "$SP_DIR/isotome"
