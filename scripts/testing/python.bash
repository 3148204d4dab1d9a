# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by test.sh and test-more.sh: stages of the Python package. Wheel and install share one build,
# build-wheel/cmake; few files depend on the options that the wheel leaves out (HDF5, MPI). Each stage has a
# virtual environment of its own, outside the tree; PYTHON is its interpreter (default: /usr/bin/python3).
python_work=${python_work:-$(mktemp -d)}

# Unless in full, the library is in it once, for this processor: what goes into a package shows as well, and its tests take
# no longer
python_build=()
[ "${ISO_TEST_FULL:-0}" = 1 ] || python_build=(--config-settings=cmake.define.ISO_LEVELS=OFF
	--config-settings=cmake.define.ISO_NATIVE=ON)

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
	bash scripts/wheel.sh build-wheel/dist "${python_build[@]}"
}

# it works by itself: package, program, and a test of every model
python_wheel_tests() {
	fresh wheel
	pip_in wheel install "$PWD"/build-wheel/dist/isotome-*.whl pytest
	in_fresh wheel isotome --built-with | tee -a /dev/stderr | grep -v HDF5 | grep -q 'for '
	in_fresh wheel pytest -q -p no:cacheprovider "$PWD/python/tests/test_problem.py"
}

# what some of the tests need. PyTorch where PyPI has one without CUDA's libraries, some gigabytes
python_modules() {
	echo pytest-xdist scipy mypy nbclient ipykernel nibabel tqdm
	[ "$(uname -m)" != aarch64 ] || echo torch==2.8.0
	! command -v mpirun >/dev/null || echo mpi4py
}

# python_tree NAME ARGUMENT...: pytest over the package as it lies in the tree and the library of the folder build
python_tree() {
	(cd "$python_work" && ISOTOME_LIBRARY="$OLDPWD/build" PYTHONPATH="$OLDPWD/python" "$1/bin/python" -m pytest -q \
		-n "$(nproc)" -p no:cacheprovider "${@:2}")
}

# all tests of the package; unless in full, less those that test-more.sh runs
python_here() {
	local name ignored=()

	fresh here
	# shellcheck disable=SC2046
	pip_in here install numpy pytest $(python_modules)
	for name in $not_functional_python; do
		[ "${full:-0}" = 1 ] || ignored+=("--ignore=$PWD/python/tests/$name.py")
	done
	python_tree here "${ignored[@]}" "$PWD/python/tests"
}

# the others, in the environment that python_install made
python_documents() {
	local name files=()

	for name in $not_functional_python; do files+=("$PWD/python/tests/$name.py"); done
	[ "${full:-0}" = 1 ] || python_tree install "${files[@]}"
}

# pip install ., with what this machine has; and that what it installs works without the tree
python_install() {
	fresh install
	rm -f build-wheel/cmake/.skbuild-info.json # as in wheel.sh
	# shellcheck disable=SC2046
	pip_in install install "${PWD}[test]" $(python_modules) --config-settings=build-dir="$PWD/build-wheel/cmake" \
		"${python_build[@]}"
	local of=("$PWD"/python/tests/test_{abi,run,wheel}.py)
	[ "${full:-0}" != 1 ] || of+=("$PWD/python/tests/test_problem.py") # which python_wheel_tests runs
	in_fresh install pytest -q -n "$(nproc)" -p no:cacheprovider "${of[@]}"
}

# what other frameworks need, with their versions of pyproject.toml; and CIL, which conda has, in the Python that CIL_PYTHON
# names. Some gigabytes: in full alone
python_frameworks() {
	local tests=$PWD/python/tests

	fresh frameworks
	pip_in frameworks install numpy pytest pytest-xdist nbclient ipykernel torch==2.8.0 deepinv==0.5.0
	python_tree frameworks -rs "$tests"/test_{torch,deepinv}.py # what is skipped, and why
	python_tree frameworks "$tests/test_examples.py" -k "unrolled or plug_and_play or learned"
	if [ -n "${CIL_PYTHON:-}" ]; then
		ISOTOME_LIBRARY=$PWD/build PYTHONPATH=$PWD/python "$CIL_PYTHON" -m pytest -q -p no:cacheprovider \
			"$tests"/test_{cil,petric}.py
	else
		echo "CIL_PYTHON names no Python with CIL: its algorithms did not run on isotome.cil" >&2
	fi
}

# python_sanitized FOLDER RUNTIME...: the tests of that build with these libraries loaded first: the sanitizer's, and
# that of C++, which PyTorch brings too late. What has no C of its own, runs the program, which clang links with a
# runtime of its own, ends the interpreter amid a parallel loop, where clang's OpenMP aborts, or watches memory, which the
# sanitizer keeps for a while, is left out; so is,
# unless in full, what takes long
python_sanitized() {
	local left_out="test_cuda test_docs test_examples test_extensions test_memory test_ranks test_run test_types test_wheel" name ignored=()

	[ "${full:-0}" = 1 ] || left_out="$left_out test_algorithms test_ct test_image test_interfile test_measure test_phantom test_picture test_scipy test_torch test_units"
	for name in $left_out; do
		ignored+=("--ignore=$PWD/python/tests/$name.py")
	done
	(cd "$python_work" && LD_PRELOAD="${*:2}" ASAN_OPTIONS=detect_leaks=0 OMP_NUM_THREADS=1 ISOTOME_LIBRARY="$OLDPWD/$1" \
		PYTHONPATH="$OLDPWD/python" "$python_work/install/bin/python" -m pytest -q -n "$(nproc)" -p no:faulthandler \
		-p no:cacheprovider -k "not of_the_program and not interpreter_ends" "${ignored[@]}" "$OLDPWD/python/tests")
}
