#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Debian packages of scripts/package.sh in a clean root, and uses them as anybody would: `isotome demo`, a C
# program found by pkg-config, and away with them. Where isotome-cuda is among them, also that: without a GPU it says so,
# and the CPU takes its place.
#
#     scripts/package_test.sh [-r ROOT] [FOLDER]
#
# FOLDER (default: dist) has the packages. ROOT: a root that debootstrap made before, of which a copy is taken; else one
# is made, of this machine's release and mirror. Wants root; a minute, and what the mirror takes.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.bash
. scripts/clean_root.bash
made=""
[ "${1:-}" != -r ] || { made=${2:?-r needs a root}; shift 2; }
from=${1:-dist}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

fail() {
	echo "package_test.sh: $*" >&2
	exit 1
}

# one NAME: the file of a package
one() {
	local files=("$from/$1"_*.deb)

	[ ${#files[@]} = 1 ] && [ -e "${files[0]}" ] || fail "$from has not one package $1"
	echo "${files[0]}"
}

library=$(basename "$from"/libisotome[0-9]*.deb)
library=${library%%_*}
version=$(dpkg-deb -f "$(one isotome)" Version)
make_root "$root" "$made"
mkdir "$root/debs"
for name in "$library" libisotome-dev isotome; do
	cp "$(one "$name")" "$root/debs/$name.deb"
done

echo "== program"
inside "$root" apt-get update -qq
install_inside "$root" "/debs/$library.deb" /debs/isotome.deb
inside "$root" dpkg-query -W -f '${Package} ${Version} ${Installed-Size} KiB\n' "$library" isotome
[ "$(inside "$root" isotome --version)" = "isotome $version" ] || fail "another version than $version"
inside "$root" isotome --built-with
inside "$root" isotome demo -o /demo -q >/dev/null || fail "isotome demo"
[ -s "$root/demo/report.html" ] || fail "isotome demo made no report"
echo "demo: $(du -sh "$root/demo" | cut -f 1), report $(stat -c %s "$root/demo/report.html") bytes"

# recon DEVICE: in one iteration, what it said in the file said
recon() {
	inside "$root" isotome recon /demo/events.lmdT --scanner /demo/scanner.yaml --iterations 1 --device "$1" -q --force \
		-o /device.nii >"$root/said" 2>&1
}

# no_cuda WHY: --device cuda ends in one line that has WHY, and exit code 5; --device auto takes the CPU
no_cuda() {
	local status=0

	recon cuda || status=$?
	cat "$root/said"
	[ $status = 5 ] || fail "--device cuda without a GPU: exit code $status"
	[ "$(wc -l <"$root/said")" = 1 ] && grep -q "^isotome recon: CUDA: .*$1" "$root/said" || fail "--device cuda: not a line with $1"
	recon auto || { cat "$root/said"; fail "--device auto without a GPU"; }
	grep -q '"device": "cpu (' "$root/device.json" || fail "--device auto: not on the CPU"
}

if [ -e "$(echo "$from"/isotome-cuda_*.deb)" ]; then
	echo "== CUDA"
	cp "$(one isotome-cuda)" "$root/debs/isotome-cuda.deb"
	install_inside "$root" /debs/isotome-cuda.deb
	no_cuda 'lib[a-z]*\.so\.[0-9]*: cannot open' # NVIDIA's libraries are not there
	mkdir "$root/nvidia"
	echo /nvidia >"$root/etc/ld.so.conf.d/nvidia.conf"
	missing=""
	for name in $(objdump -p "$root"/usr/lib/*/libisotome_cuda.so | grep -oE 'libcu[a-z]+\.so\.[0-9]+'); do
		path=$(ldconfig -p | sed -n "s|.*\s$name .*=> ||p" | head -1)
		if [ -n "$path" ]; then cp "$path" "$root/nvidia"; else missing="$missing $name"; fi
	done
	inside "$root" ldconfig
	if [ -z "$missing" ]; then no_cuda "NVIDIA's driver is not installed"; else echo "with NVIDIA's libraries: not tried, no$missing here"; fi
fi

echo "== development"
install_inside "$root" /debs/libisotome-dev.deb gcc libc6-dev pkg-config
cat >"$root/version.c" <<-'END'
	#include <isotome.h>
	#include <stdio.h>

	int main(void)
	{
		iso_ctx *ctx = NULL;

		if (iso_ctx_create(&ctx, "cpu", 1)) return 1;
		printf("%s on %s\n", iso_version(), iso_ctx_device(ctx));
		iso_ctx_free(ctx);
		return 0;
	}
END
inside "$root" sh -c 'gcc -Wall -Werror version.c $(pkg-config --cflags --libs isotome) -o version' || fail "a C program by pkg-config"
[ "$(inside "$root" ./version)" = "$version on cpu" ] || fail "the C program says something else"

echo "== away"
inside "$root" apt-get purge -y -qq isotome libisotome-dev "$library" >"$root/log" 2>&1 || { cat "$root/log"; fail "purge"; }
left=$(find "$root/usr" "$root/etc" "$root/var/lib/dpkg/info" -name '*isotome*')
[ -z "$left" ] || fail "left behind: $left"
echo "all passed"
