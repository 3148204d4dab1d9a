#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Debian packages of this build: what is in which, what they need, and that they unpack to a program that runs. Also the
# notes of a release. scripts/package_test.sh installs packages in a clean root. Runs in the folder of the build.
build=$PWD
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
for tool in cpack dpkg-deb dpkg-shlibdeps; do
	command -v $tool >/dev/null || skip "no $tool here"
done
[ -d "$build/man" ] || skip "this build has no man pages"

# Ninja: with Makefiles cpack builds everything once more
(umask 022 && cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/debs" -D CPACK_CMAKE_GENERATOR=Ninja \
	-D CPACK_DEBIAN_COMPRESSION_TYPE=gzip) >out 2>err || fail "cpack: $(cat out)"
version=$("$ISOTOME" --version | sed 's/isotome //')
library=libisotome${version%.*}
arch=$(dpkg --print-architecture)
for name in "$library" libisotome-dev isotome isotome-bench; do
	[ -s "debs/${name}_${version}_$arch.deb" ] || fail "no package $name: $(ls debs)"
	mkdir -p "root/$name"
	dpkg-deb -x "debs/${name}_${version}_$arch.deb" "root/$name"
	for file in copyright changelog.gz; do
		[ -s "root/$name/usr/share/doc/$name/$file" ] || fail "$name has no $file"
	done
done

# has PACKAGE PATTERN...: a file of each pattern; has_not: none
has() {
	local name=$1 pattern
	shift
	for pattern in "$@"; do
		[ -n "$(find "root/$name" -path "*$pattern")" ] || fail "$name lacks $pattern"
	done
}
has_not() {
	local name=$1 pattern
	shift
	for pattern in "$@"; do
		[ -z "$(find "root/$name" -path "*$pattern")" ] || fail "$name has $pattern"
	done
}
has "$library" "/usr/lib*/libisotome.so.$version" "/usr/lib*/libisotome.so.${version%.*}"
has_not "$library" /libisotome.so /bin/isotome '*.h' '*_cuda.so' '*_mpi.so'
has libisotome-dev /usr/include/isotome.h /libisotome.so /pkgconfig/isotome.pc /IsotomeConfig.cmake
has_not libisotome-dev "/libisotome.so.$version" /bin/isotome
has isotome /usr/bin/isotome /man1/isotome.1.gz /man1/isotome-recon.1.gz /completions/isotome /examples/c/osem.c
has_not isotome '*.h' '/libisotome*' '*.1' '/isotome-bench*' '/isotome-reproduce*'
has isotome-bench /usr/bin/isotome-bench /man1/isotome-bench.1.gz /man1/isotome-bench-strip.1.gz /man1/isotome-reproduce.1.gz
has_not isotome-bench /isotome /isotome.1.gz

needs() { dpkg-deb -f "debs/$1_${version}_$arch.deb" Depends | grep -q -F "$2" || fail "$1 does not need $2"; }
needs "$library" libjansson4
needs isotome "$library (= $version)"
needs isotome-bench "isotome (= $version)"
needs libisotome-dev "$library (= $version)"
! dpkg-deb -f "debs/$library"_*.deb Depends | grep -qE 'cuda|openmpi' || fail "the library needs CUDA or MPI"
# not | grep -q: it leaves at its first line, and tar, still writing, would fail the pipe
grep -qE '/(triggers|postinst)$' <<<"$(dpkg-deb --ctrl-tarfile "debs/$library"_*.deb | tar -tf -)" || fail "nobody tells the loader"
! dpkg-deb -c "debs/isotome_${version}_$arch.deb" | grep -v ' root/root ' || fail "a file is not root's"

if [ -e "debs/isotome-cuda_${version}_$arch.deb" ]; then # NVIDIA's libraries are no must: its installer may have brought them
	mkdir root/isotome-cuda
	dpkg-deb -x "debs/isotome-cuda_${version}_$arch.deb" root/isotome-cuda
	has isotome-cuda /libisotome_cuda.so /libisotome_bench_cuda.so
	has_not isotome-cuda '/libisotome.so*' '/libcu*'
	needs isotome-cuda "$library (= $version)"
	needs isotome-cuda 'libstdc++6 (>='
	! dpkg-deb -f "debs/isotome-cuda_${version}_$arch.deb" Depends | grep -qE 'cuda-|cufft|nccl' || fail "isotome-cuda insists on NVIDIA's packages"
	dpkg-deb -f "debs/isotome-cuda_${version}_$arch.deb" Recommends | grep -q 'cuda-cudart-.*libcufft-' || fail "isotome-cuda does not recommend them"
fi

merged=$work/merged
mkdir "$merged"
cp -a root/*/. "$merged"
folder=$(dirname "$(find "$merged" -name "libisotome.so.$version" | head -1)")
[ "$(LD_LIBRARY_PATH=$folder "$merged/usr/bin/isotome" --version)" = "isotome $version" ] || fail "the packed program does not run"
LD_LIBRARY_PATH=$folder "$merged/usr/bin/isotome" reproduce --help >out 2>err || fail "the packed isotome-bench does not run"

bash "$SOURCE/scripts/release_notes.sh" >out 2>err || fail "release notes"
out_has "# Isotome $version"
! grep -q '^## ' out || fail "release notes of more than one version"
! bash "$SOURCE/scripts/release_notes.sh" 99.0 >out 2>err || fail "notes of a version that is none"
err_has 'nothing about version 99.0'
echo "all passed"
