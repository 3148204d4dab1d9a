# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by test.sh: stages of the Python package. All of them share one build, build-wheel/cmake; of the options
# that the wheel leaves out (FFTW, HDF5, MPI) few files depend. Each has a virtual environment of its own, outside
# the tree, with NumPy and pytest alone; PYTHON is its interpreter (default: /usr/bin/python3).
python_work=${python_work:-$(mktemp -d)}

# fresh NAME: a virtual environment
fresh() {
	rm -rf "${python_work:?}/$1"
	"${PYTHON:-/usr/bin/python3}" -m venv "$python_work/$1"
}

# in_fresh NAME COMMAND...: of that environment, from a folder where no package lies
in_fresh() {
	local bin=$python_work/$1/bin
	shift
	(cd "$python_work" && env -u PYTHONPATH -u ISOTOME_LIBRARY "$bin/$1" "${@:2}")
}

pip_in() {
	in_fresh "$1" pip "$2" -q --disable-pip-version-check "${@:3}"
}

# the wheel that is given away, with nothing under the GPL
python_wheel() {
	rm -rf build-wheel/dist
	bash scripts/wheel.sh build-wheel/dist
}

# it works by itself: package, program, and a test of every model
python_wheel_tests() {
	fresh wheel
	pip_in wheel install "$PWD"/build-wheel/dist/isotome-*.whl pytest
	in_fresh wheel isotome --built-with | tee /dev/stderr | grep -q '^own Fourier transforms'
	in_fresh wheel pytest -q -p no:cacheprovider "$PWD/python/tests/test_problem.py"
}

# pip install ., with what this machine has
python_install() {
	fresh install
	rm -f build-wheel/cmake/.skbuild-info.json # as in wheel.sh
	pip_in install install "${PWD}[test]" --config-settings=build-dir="$PWD/build-wheel/cmake"
}

python_tests() {
	in_fresh install pytest -q -p no:cacheprovider "$PWD/python/tests"
}
