#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The library as others use it: installed, moved, found by CMake and by pkg-config, and the programs of
# examples/c built on it. Runs in the folder of the build.
build=$PWD
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

cmake --install "$build" --prefix "$work/first" >out 2>err || fail "cmake --install"
DESTDIR=$work/root cmake --install "$build" --prefix /opt/isotome >out 2>err || fail "cmake --install with DESTDIR"
diff -rq "$work/first" "$work/root/opt/isotome" >out 2>&1 || fail "DESTDIR makes a difference: $(cat out)"
rm -rf "$work/root"
mv "$work/first" "$work/moved"
prefix=$work/moved
grep -rIlF -e "$build" -e "$SOURCE" -e "$work/first" "$prefix" >out && fail "folders of the build in: $(cat out)"
"$prefix/bin/isotome" --version >out 2>err || fail "the program does not find its library"
version=$(sed 's/isotome //' out)
grep -qx "version: $version" "$SOURCE/CITATION.cff" || fail "CITATION.cff has another version than $version"
"$prefix/bin/isotome" bench --help >out 2>err || fail "the program does not find isotome-bench"
for file in bin/isotome bin/isotome-bench include/isotome.h share/man/man1/isotome.1 share/man/man1/isotome-recon-strip.1 \
	share/bash-completion/completions/isotome share/zsh/site-functions/_isotome \
	share/fish/vendor_completions.d/isotome.fish share/isotome/examples/c/osem.c; do
	[ -s "$prefix/$file" ] || fail "not installed: $file"
done
examples=$prefix/share/isotome/examples

# ---- CMake ----
configure() { # FOLDER ARGUMENT...
	cmake -S "$examples/c" -B "$@" -DCMAKE_PREFIX_PATH="$prefix" >out 2>err
}
configure cmake || fail "find_package(Isotome)"
cmake --build cmake >out 2>err || fail "examples/c by CMake"
find "$prefix" -name IsotomeConfigVersion.cmake >where
for asked in "${version%.*}:TRUE" "${version%%.*}.99:FALSE" 99:FALSE; do
	echo "set(PACKAGE_FIND_VERSION ${asked%:*}) # as find_package does
		string(REPLACE . \";\" parts ${asked%:*}.0)
		list(GET parts 0 PACKAGE_FIND_VERSION_MAJOR)
		list(GET parts 1 PACKAGE_FIND_VERSION_MINOR)
		include($(cat where))
		file(WRITE said \"\${PACKAGE_VERSION_COMPATIBLE}\")" >asks.cmake
	cmake -P asks.cmake >out 2>err || fail "IsotomeConfigVersion.cmake"
	[ "$(cat said)" = "${asked#*:}" ] ||
		fail "find_package(Isotome ${asked%:*}) of $version is answered by '$(cat said)'"
done

# ---- pkg-config ----
pc=$(dirname "$(find "$prefix" -name isotome.pc)")
[ "$(PKG_CONFIG_PATH=$pc pkg-config --modversion isotome)" = "$version" ] || fail "version of isotome.pc"
mkdir pkgconfig
PKG_CONFIG_PATH=$pc make -s -C "$examples/c" OUT="$work/pkgconfig" >out 2>err || fail "examples/c by pkg-config"

# ---- they run, and agree ----
ring=$examples/scanners/small-animal.yaml
for way in cmake pkgconfig; do
	"$way/osem" "$ring" $way-truth.nii $way-image.nii >out 2>err || fail "osem"
	out_has '24 updates'
	"$way/project" $way-image.nii "$ring" $way-sums.npy >out 2>err || fail "project"
	out_has 'line integrals'
done
for file in truth.nii image.nii sums.npy; do
	same "cmake-$file" "pkgconfig-$file"
done
cmake/project missing.nii "$ring" x.npy >out 2>err && fail "project reads what is not there"
err_has 'project: missing.nii: '
export ISOTOME=$prefix/bin/isotome
run measure rmse cmake-image.nii cmake-truth.nii --mask cmake-truth.nii --scale fit --below 0.6
run info cmake-sums.npy
out_has '20000'

# ---- the problem layer: the bytes of the command's image, and its record ----
run phantom cylinder --grid 32 --voxel 2 -o phantom.nii --mu mu.nii
run simulate "$ring" cmake-truth.nii --counts 60000 --randoms .2 --delayed d.Cdh --duration-s 10 --isotope F-18 \
	-o scan.Cdh
cmake/list_mode scan.Cdh "$ring" mu.nii d.Cdh problem.nii >out 2>err || fail "list_mode: $(cat err)"
run recon ray --events scan.Cdh --scanner "$ring" --mu mu.nii --delayed d.Cdh --frames 0,5,10 --isotope F-18 \
	--psf 3 --grid 32 --voxel 2 --method osem --subsets 4 --iterations 2 --sens-share 2e-3 --device cpu -o command.nii
same problem.nii command.nii
for key in model mu frames psf; do grep -q "\"$key\":" problem.json || fail "the record lacks $key"; done
echo "all passed"
