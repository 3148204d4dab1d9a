# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the other scripts: install_packages NAME... installs the Debian packages that are not
# there yet, as root or with sudo, and says which. ISOTOME_NO_INSTALL=1 leaves the machine alone.

build_packages="build-essential cmake pkg-config zlib1g-dev libpng-dev libjansson-dev libyaml-dev libxxhash-dev libxrl-dev libhdf5-dev libmatio-dev libexpat1-dev liblz4-dev libzstd-dev liblzma-dev libmicrohttpd-dev"
test_packages="clang lld clang-format libclang-rt-dev libomp-dev libcmocka-dev python3 python3-numpy python3-nibabel python3-h5py python3-pydicom dicom3tools locales libopenmpi-dev openmpi-bin"
browser_packages="chromium"
wheel_packages="python3-venv ninja-build"
package_packages="dpkg-dev file libopenmpi-dev"
site_packages="mkdocs"

install_packages() {
	local name missing="" as_root=""

	[ "${ISOTOME_NO_INSTALL:-}" = 1 ] && return 0
	if ! command -v apt-get >/dev/null; then
		echo "no apt-get here: taking the installed libraries as they are" >&2
		return 0
	fi
	for name in "$@"; do
		dpkg-query -W -f '${db:Status-Abbrev}' "$name" 2>/dev/null | grep -q '^ii' || missing="$missing $name"
	done
	[ -z "$missing" ] && return 0
	if [ "$(id -u)" != 0 ]; then
		command -v sudo >/dev/null || { echo "to install$missing: run as root or install sudo" >&2; return 1; }
		as_root="sudo"
	fi
	echo "installing:$missing"
	$as_root apt-get update -qq
	# shellcheck disable=SC2086
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}
