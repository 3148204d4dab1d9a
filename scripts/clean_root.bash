# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by the scripts that try packages and containers: a clean Debian or Ubuntu of this machine's release, in a
# folder. Wants root.

# make_root FOLDER [COPY]: by debootstrap, from the mirror that apt of this machine is set to; or as a copy of a root that
# was made before
make_root() {
	local release mirror

	[ "$(id -u)" = 0 ] || { echo "a clean root can only be made as root" >&2; return 1; }
	if [ -n "${2:-}" ]; then
		cp -a "$2/." "$1"
	else
		install_packages debootstrap
		release=$(. /etc/os-release && echo "$VERSION_CODENAME")
		# shellcheck disable=SC2016
		mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -1)
		debootstrap --variant=minbase "$release" "$1" "${mirror:?apt names no mirror}" >"$1.log" || { tail "$1.log"; return 1; }
		rm -f "$1.log"
	fi
	cp -L /etc/resolv.conf "$1/etc/resolv.conf"
	echo 'Dpkg::Use-Pty "0";' >"$1/etc/apt/apt.conf.d/90pty" # no /dev/pts there
	apt-config dump | grep -i '::proxy ' >"$1/etc/apt/apt.conf.d/90proxy" || true
}

# inside ROOT COMMAND...: there, with nothing of this machine's environment
inside() {
	local root=$1
	shift
	# shellcheck disable=SC2016
	unshare --mount --pid --fork bash -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" \
		/usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive "$@"
}

# install_inside ROOT NAME...: packages, of the mirror or of files
install_inside() {
	inside "$1" apt-get install -y -qq --no-install-recommends "${@:2}" >"$1.log" 2>&1 || { tail -20 "$1.log"; return 1; }
	rm -f "$1.log"
}
