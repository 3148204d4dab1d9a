#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What is damaged, missing, absurd or full: one line on stderr, the documented exit code, and no
# file left behind.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

# refused CODE TEXT ARGS...: outputs go to the folder o, which stays empty.
refused() {
	local code=$1 text=$2 got=0
	shift 2
	timeout -k 5 20 "$ISOTOME" "$@" >out 2>err || got=$?
	[ "$got" = "$code" ] || fail "isotome $*: exit code $got, expected $code"
	[ "$(grep -vcE '  [0-9]+ %' err)" = 1 ] || fail "isotome $*: an error must be one line"
	grep -qF -e "$text" err || fail "isotome $*: stderr lacks '$text'"
	nothing_in o "isotome $*"
}

nothing_in() {
	[ -z "$(find "$1" -mindepth 1)" ] || fail "$2 left $(find "$1" -mindepth 1 | tr '\n' ' ')"
}

# patch FILE OFFSET BYTES NEW: a copy of FILE with BYTES (printf's escapes) from OFFSET on.
patch() {
	cp "$1" "$4"
	# shellcheck disable=SC2059
	printf "$3" | dd of="$4" bs=1 seek="$2" conv=notrunc status=none
}

# ---- sound files of every kind ----
mkdir o
small_ring >ring.yaml
grid=(--grid '8,8,6' --voxel '8,8,8')
run phantom cylinder "${grid[@]}" --centre 0,0,0 -o x.nii --mu mu.nii
run convert x.nii x.npy
run convert x.nii x.raw
run convert x.nii packed.nii.gz
run simulate ring.yaml x.nii --counts 500 --exact -o e.lmdT
run sens ray --scanner ring.yaml "${grid[@]}" -o sens.nii
run project ray x.nii --events e.lmdT -o y.npy
echo 'shapes: [{type: sphere, radius_mm: 10, activity: 1}]' >shapes.yaml
one='\x00\x00\x80\x3f'	# float32
nan='\x00\x00\xc0\x7f'
minus_one='\x00\x00\x80\xbf'
# shellcheck disable=SC2059
floats() { for ((i = 0; i < $2; i++)); do printf "$1"; done; }
describe_raw() { # NAME SHAPE
	echo "{\"version\": 1, \"data_file\": \"$1\", \"type\": \"float32\", \"shape\": $2}" >"$1.json"
}
floats "$one" 192 >eff.raw
describe_raw eff.raw '[192]'

scan=(ray --events e.lmdT "${grid[@]}")
recon=(recon "${scan[@]}" --scanner ring.yaml)
run "${recon[@]}" --mu mu.nii --norm eff.raw --additive y.npy \
	--start x.nii --iterations 1 -o recon.nii	# nothing wrong so far

# ---- inputs that are missing, folders, empty, cut short, pipes ----
# each NAME ARGS...: @ in the arguments stands for the bad version of the sound file NAME.
each() {
	local good=$1 suffix=${1#*.} size a args file
	size=$(stat -c %s "$good")
	shift
	rm -rf bad && mkdir bad
	mkdir "bad/folder.$suffix"
	touch "bad/empty.$suffix"
	mkfifo "bad/pipe.$suffix"
	head -c 20 "$good" >"bad/stub.$suffix"
	head -c $((size - 3)) "$good" >"bad/cut.$suffix"
	for file in ${KINDS:-missing folder empty pipe stub cut}; do
		args=()
		for a in "$@"; do
			args+=("${a/@/bad/$file.$suffix}")
		done
		refused 3 "bad/$file.$suffix" "${args[@]}"
	done
}
for file in x.nii packed.nii.gz x.npy; do
	each "$file" convert @ o/x.npy
	each "$file" project ray @ --events e.lmdT "${grid[@]}" -o o/y.npy
	each "$file" "${recon[@]}" --mu @ -o o/x.nii
	each "$file" recon "${scan[@]}" --sens @ -o o/x.nii
	each "$file" "${recon[@]}" --start @ -o o/x.nii
done
each x.nii simulate ring.yaml @ --counts 500 -o o/e.lmdT
each mu.nii simulate ring.yaml x.nii --mu @ --counts 500 -o o/e.lmdT
each mu.nii sens ray --scanner ring.yaml "${grid[@]}" --mu @ -o o/s.nii
each y.npy backproject ray @ --events e.lmdT "${grid[@]}" -o o/x.nii
each y.npy "${recon[@]}" --norm @ -o o/x.nii
each y.npy "${recon[@]}" --additive @ -o o/x.nii
each e.lmdT recon ray --events @ "${grid[@]}" --scanner ring.yaml -o o/x.nii
each e.lmdT project ray x.nii --events @ -o o/y.npy
each e.lmdT convert @ o/e.npy
each ring.yaml simulate @ x.nii --counts 500 -o o/e.lmdT
each ring.yaml sens ray --scanner @ "${grid[@]}" -o o/s.nii
each x.json phantom --like @ -o o/x.nii
each x.raw.json convert @ o/x.npy
KINDS='folder empty stub cut' each shapes.yaml phantom @ -o o/x.nii
refused 3 'nor a file' phantom bad/missing.yaml -o o/x.nii

# ---- headers that lie ----
# nifti TEXT OFFSET BYTES: x.nii with other bytes in its header
nifti() {
	patch x.nii "$2" "$3" header.nii
	refused 3 "$1" convert header.nii o/x.npy
	refused 3 "$1" simulate ring.yaml header.nii --counts 500 -o o/e.lmdT
}
most='\xff\x7f'	# 32767
nifti 'not a NIfTI file' 0 '\x5d'
nifti 'axes, must be 1 to 7' 40 '\x63'
nifti 'axis 1 has size 0' 42 '\x00\x00'
nifti 'axis 2 has size -1' 44 '\xff\xff'
nifti 'bytes expected' 42 "$most$most$most"
nifti '64 bits' 40 "\x04\x00$most$most$most$most"
nifti 'data type 32' 70 '\x20'
nifti 'bits a voxel' 72 '\x08'
nifti 'data at byte nan' 108 "$nan"
nifti 'data at byte -1' 108 "$minus_one"
nifti 'must be finite' 112 "$nan"
nifti 'unit of length' 123 '\x0d'
nifti 'not finite' 280 "$nan"
nifti 'voxel size 0' 280 '\x00\x00\x00\x00'
nifti 'oblique' 284 "$one"
patch x.nii 254 '\x00\x00' qform.nii
patch qform.nii 80 "$nan" header.nii
refused 3 'voxel size' convert header.nii o/x.npy
patch qform.nii 80 "$minus_one" header.nii
refused 3 'voxel size' convert header.nii o/x.npy
patch qform.nii 268 "$nan" header.nii
refused 3 'not finite' convert header.nii o/x.npy
patch packed.nii.gz 300 '\x00\xff\x00' torn.nii.gz
refused 3 'torn.nii.gz' convert torn.nii.gz o/x.npy
{ cat packed.nii.gz && printf 'more'; } >long.nii.gz
refused 3 'long.nii.gz' convert long.nii.gz o/x.npy
{ cat x.nii && printf 'more'; } >long.nii
refused 3 'bytes expected' convert long.nii o/x.npy

# npy TEXT SHAPE
npy() {
	local head
	head="{'descr': '<f4', 'fortran_order': False, 'shape': ($2), }"
	{
		printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$head"
		floats "$one" 4
	} >head.npy
	refused 3 "$1" convert head.npy o/x.nii
}
npy 'bytes expected' 5,
npy 'bytes expected' 1000000000000,
npy '64 bits' 4611686018427387904,4611686018427387904
npy 'head.npy' 99999999999999999999,
npy 'head.npy' -4,
npy 'empty' 0,4
npy 'head.npy' 4
npy 'head.npy' 1,1,1,1,1,1,1,1,4

# raw TEXT SHAPE
raw() {
	floats "$one" 4 >head.raw
	describe_raw head.raw "$2"
	refused 3 "$1" convert head.raw o/x.nii
}
raw 'bytes expected' '[5]'
raw 'bytes expected' '[1000000, 1000000]'
raw '64 bits' '[1000000000000, 1000000000000]'
raw 'shape' '[0, 4]'
raw 'shape' '[-4]'
raw 'shape' '[1e300]'
raw 'shape' '[]'
raw 'head.raw.json' '[4'
describe_raw head.raw '[4], "voxel_mm": [1, 1, 1]'
refused 3 'voxel_mm needs a shape' convert head.raw o/x.nii
describe_raw head.raw '[1, 1, 4], "voxel_mm": [1, 1, null]'
refused 3 'voxel_mm' convert head.raw o/x.nii
describe_raw head.raw '[4], "data_fil": 1'
refused 3 "did you mean 'data_file'?" convert head.raw o/x.nii
describe_raw head.raw '[4]'
mv head.raw.json elsewhere.json
refused 3 'head.raw.json' convert head.raw o/x.nii

# ---- values that are not allowed ----
patch x.npy 1000 "$nan" nan.npy
patch x.npy 1000 "$minus_one" negative.npy
patch y.npy 1000 "$nan" nan_y.npy
patch y.npy 1000 "$minus_one" negative_y.npy
patch x.nii 1000 "$nan" nan.nii
patch x.nii 1000 "$minus_one" negative.nii
for value in nan negative; do
	refused 3 "1 of 384 values" simulate ring.yaml $value.nii --counts 500 -o o/e.lmdT
	refused 3 "1 of 384 values" simulate ring.yaml x.nii --mu $value.npy --counts 500 -o o/e.lmdT
	refused 3 "1 of 384 values" sens ray --scanner ring.yaml "${grid[@]}" --mu $value.npy -o o/s.nii
	refused 3 "1 of 384 values" "${recon[@]}" --mu $value.nii -o o/x.nii
	refused 3 "1 of 384 values" recon "${scan[@]}" --sens $value.npy -o o/x.nii
	refused 3 "1 of 384 values" "${recon[@]}" --start $value.npy -o o/x.nii
	refused 3 "1 of 500 values" "${recon[@]}" --norm ${value}_y.npy -o o/x.nii
	refused 3 "1 of 500 values" "${recon[@]}" --additive ${value}_y.npy -o o/x.nii
done
refused 3 'nan at (iz, iy, ix)' project ray nan.nii --events e.lmdT -o o/y.npy
refused 3 'nan at element 218' backproject ray nan_y.npy --events e.lmdT "${grid[@]}" -o o/x.nii
for value in nan inf -1 1e999; do
	refused 2 '--additive' "${recon[@]}" "--additive=$value" -o o/x.nii
done
floats '\x00\x00\x00\x00' 384 >zero.raw
describe_raw zero.raw '[6, 8, 8], "voxel_mm": [8, 8, 8]'
refused 3 'no activity' simulate ring.yaml zero.raw --counts 500 -o o/e.lmdT

# ---- events ----
"$PYTHON" - <<'END'
import array
events = array.array("f", open("e.lmdT", "rb").read())
events.byteswap()
open("swapped.lmdT", "wb").write(events.tobytes())
END
head -c $((28 * 500)) /dev/zero >zero.lmdT
floats "$nan" 70 >nan.lmdT
head -c 10000 x.nii >image.lmdT
refused 3 'wrong byte order' recon ray --events swapped.lmdT "${grid[@]}" --sens none -o o/x.nii
refused 3 'wrong byte order' project ray x.nii --events swapped.lmdT -o o/y.npy
refused 3 'none of its 500 events is usable' project ray x.nii --events zero.lmdT -o o/y.npy
refused 3 'none of its 10 events is usable' project ray x.nii --events nan.lmdT -o o/y.npy
refused 3 'image.lmdT' project ray x.nii --events image.lmdT -o o/y.npy
refused 3 'events need an array' project ray x.nii --events y.npy -o o/y.npy

# ---- scanners ----
scanner() { # TEXT SED-SCRIPT
	sed "$2" ring.yaml >changed.yaml
	refused 3 "$1" sens ray --scanner changed.yaml "${grid[@]}" -o o/s.nii
	refused 3 "$1" simulate changed.yaml x.nii --counts 500 -o o/e.lmdT
}
scanner "did you mean 'radius_mm'?" 's/radius_mm/radius_m/'
scanner "did you mean 'cylinder'?" 's/cylinder/cilinder/'
scanner 'kind' '/kind/d'
scanner 'radius_mm' '/radius_mm/d'
scanner 'radius_mm' 's/64/-64/'
scanner 'radius_mm' 's/64/.nan/'
scanner 'radius_mm' 's/64/sixty-four/'
scanner 'rings' 's/rings: 6/rings: 0/'
scanner 'rings' 's/rings: 6/rings: 2.5/'
scanner 'crystals' 's/rings: 6/rings: 9000000/'
scanner 'min_crystal_distance is 17, must be at most 16' 's/distance: 5/distance: 17/'
scanner 'changed.yaml' 's/kind: /kind: [/'
scanner 'changed.yaml' '2s/^/\x00/'

# ---- sizes beyond reason: 10^12 voxels, and more than 64 bits ----
vast=(--grid '10000,10000,10000' --voxel 0.01)
refused 4 '10000 x 10000 x 10000' phantom spheres "${vast[@]}" -o o/x.nii
refused 4 'memory' sens ray --scanner ring.yaml "${vast[@]}" -o o/s.nii
refused 4 'memory' recon ray --events e.lmdT --scanner ring.yaml "${vast[@]}" -o o/x.nii
refused 4 'memory' recon ray --events e.lmdT --sens none "${vast[@]}" -o o/x.nii
refused 4 'memory' backproject ray y.npy --events e.lmdT "${vast[@]}" -o o/x.nii
refused 1 'its disk has' simulate ring.yaml x.nii --counts 1e12 -o o/e.lmdT
refused 2 '64-bit' phantom spheres --grid 1000000000,1000000000,1000000000 -o o/x.nii
refused 2 '64-bit' recon ray --events e.lmdT --scanner ring.yaml \
	--grid 1000000000,1000000000,1000000000 --voxel 1 -o o/x.nii
refused 4 'memory' "${recon[@]}" --memory-limit 0.00001 -o o/x.nii

# ---- things that do not fit each other ----
other=(--grid '8,8,5' --voxel '8,8,8')
run sens ray --scanner ring.yaml "${other[@]}" -o other.nii
run convert other.nii other.npy
refused 3 'expected 8 x 8 x 6 voxels' recon "${scan[@]}" --sens other.nii -o o/x.nii
refused 3 'expected 8 x 8 x 6 voxels' recon "${scan[@]}" --sens other.npy -o o/x.nii
refused 3 'expected 8 x 8 x 6 voxels' "${recon[@]}" --start other.nii -o o/x.nii
refused 3 'expected 8 x 8 x 6 voxels' "${recon[@]}" --mu other.npy -o o/x.nii
refused 3 'expected' recon "${scan[@]}" --centre 1,0,0 --sens sens.nii -o o/x.nii
refused 2 'not those of the image' project ray x.nii --events e.lmdT "${other[@]}" -o o/y.npy
refused 3 'no voxel size' simulate ring.yaml x.npy --counts 500 -o o/e.lmdT
refused 3 'image (nz, ny, nx)' recon "${scan[@]}" --sens eff.raw -o o/x.nii
refused 3 'one per crystal (192) or per event (500)' \
	"${recon[@]}" --norm x.npy -o o/x.nii
refused 3 'one per crystal (192)' sens ray --scanner ring.yaml "${grid[@]}" --norm y.npy -o o/s.nii
refused 3 'one per event (500)' "${recon[@]}" --additive x.npy -o o/x.nii
refused 3 'one per event (500)' backproject ray x.npy --events e.lmdT "${grid[@]}" -o o/x.nii
refused 2 '--subsets is 501' "${recon[@]}" --method osem --subsets 501 -o o/x.nii
refused 2 'mlem has one' "${recon[@]}" --subsets 2 -o o/x.nii
refused 2 '--scanner' sens ray "${grid[@]}" -o o/s.nii
refused 2 '--events' recon ray "${grid[@]}" --scanner ring.yaml -o o/x.nii
refused 2 '--precorrected needs --mu' "${recon[@]}" --precorrected -o o/x.nii
refused 2 '--additive' "${recon[@]}" --mu mu.nii --precorrected \
	--additive 1 -o o/x.nii
refused 3 'time differences are 0' "${recon[@]}" --tof-fwhm-ps 300 -o o/x.nii
refused 3 "record of 'isotome phantom', not of 'isotome recon'" recon --like x.json -o o/x.nii
refused 3 'not the record of a run' phantom --like eff.raw.json -o o/x.nii

# ---- outputs that can't be ----
refused 2 'are one file' phantom cylinder -o o/a.nii --mu ./o/a.nii
refused 2 'an axis of 40000' phantom cylinder --grid 40000,1,1 --voxel 1 -o o/x.nii
refused 2 'an axis of 40000' sens ray --scanner ring.yaml --grid 40000,1,1 --voxel 1 -o o/x.nii
refused 3 'sensitivity is 0 in every voxel' "${recon[@]}" --centre 9000,0,0 -o o/x.nii
for file in x.txt x 'x.nii.bz2' .. ; do
	refused 2 'suffix' phantom point -o "o/$file"
done
refused 2 'lmdT' simulate ring.yaml x.nii --counts 500 -o o/e.root
for file in o/no/x.nii x.nii/x.nii /proc/x.nii; do
	refused 1 "$file" phantom point -o "$file"
	refused 1 "$file" convert x.raw "$file"
	refused 1 "$file" sens ray --scanner ring.yaml "${grid[@]}" -o "$file"
	refused 1 "$file" "${recon[@]}" -o "$file"
	refused 1 "${file%.nii}" simulate ring.yaml x.nii --counts 500 -o "${file%nii}lmdT"
done
long=$(printf 'n%.0s' {1..248})	# the file fits into a folder, its checkpoint or record does not
refused 1 'too long' "${recon[@]}" -o "o/$long.nii"
refused 1 'too long' simulate ring.yaml x.nii --counts 500 -o "o/$long.lmdT"
mkdir folder.nii folder.lmdT taken.json
refused 2 'not a file' phantom point -o folder.nii --force
refused 2 'not a file' simulate ring.yaml x.nii --counts 500 -o folder.lmdT --force
refused 2 'not a file' phantom point -o taken.nii --force
[ ! -e taken.nii ] || fail "an image stands without its record"

# an existing file is kept, byte by byte
kept() { # FILE ARGS...
	local file=$1
	shift
	cp "$file" before
	refused 2 'exists' "$@" -o "$file"
	same before "$file"
}
kept x.nii phantom point
kept e.lmdT simulate ring.yaml x.nii --counts 500
kept sens.nii sens ray --scanner ring.yaml "${grid[@]}"
kept y.npy project ray x.nii --events e.lmdT
kept recon.nii "${recon[@]}"
cp x.nii o_it002.nii
refused 2 'o_it002.nii exists' "${recon[@]}" --iterations 3 --save-every 1 \
	-o o.nii
same x.nii o_it002.nii
[ -z "$(find . -name o.nii -o -name o_it001.nii)" ] || fail "a refused run wrote images"
refused 2 'exists' convert x.nii x.npy
refused 2 'are one file' convert x.npy x.npy

# an output that is an input is refused, also with --force
cp x.npy self.npy
refused 2 'are one file' convert self.npy self.npy --force
same x.npy self.npy
cp x.nii self.nii
refused 2 'are one file' "${recon[@]}" --start self.nii --iterations 1 -o self.nii --force
same x.nii self.nii

# ---- a device that is not there ----
if ! nvidia-smi >smi 2>&1; then
	for device in cuda cuda:0 cuda:7; do
		refused 5 'CUDA' phantom point --device $device -o o/x.nii
		refused 5 'CUDA' "${recon[@]}" --device $device -o o/x.nii
	done
fi
refused 2 "device 'gpu' is not one of" phantom point --device gpu -o o/x.nii

# ---- a full disk ----
# full FOLDER: every command that writes, into a folder that holds less than 64 kB
run phantom spheres --grid 64,64,16 --voxel 5 -o large.nii
run simulate ring.yaml x.nii --counts 20000 -o large.lmdT
head -c 262144 /dev/urandom >noise.raw	# so that gzip can't help
describe_raw noise.raw '[16, 64, 64], "voxel_mm": [5, 5, 5]'
full() {
	local folder=$1 file code
	shift
	while read -r file args; do
		code=0
		# shellcheck disable=SC2086
		"$ISOTOME" ${args/@/$folder\/$file} >out 2>err || code=$?
		[ "$code" = 1 ] || fail "isotome ${args/@/$folder/$file}, no room: exit code $code, expected 1"
		[ "$(grep -vcE '  [0-9]+ %' err)" = 1 ] || fail "isotome ${args/@/$folder/$file}: an error must be one line"
		nothing_in "$folder" "isotome ${args/@/$folder/$file}"
	done <<-END
		x.nii phantom spheres --grid 64,64,16 --voxel 5 -o @
		x.nii.gz convert noise.raw @
		x.npy convert large.nii @
		x.raw convert large.nii @
		e.lmdT simulate ring.yaml x.nii --counts 5000 -q -o @
		s.nii sens ray --scanner ring.yaml --grid 64,64,16 --voxel 2 -o @
		y.npy project ray x.nii --events large.lmdT -o @
		b.nii backproject ray y.npy --events e.lmdT --grid 64,64,16 --voxel 2 -o @
		r.nii recon ray --events e.lmdT --sens none --grid 64,64,16 --voxel 2 --iterations 1 -q -o @
		r.nii recon ray --events e.lmdT --sens none --grid 64,64,16 --voxel 2 --checkpoint-minutes 0 -qo @
	END
}
mkdir limited
(ulimit -f 60 && full limited) || exit 1
mkdir mounted
small_disk='mount -t tmpfs -o size=60k none mounted'
if unshare -rm sh -c "$small_disk" 2>err; then
	export -f full nothing_in fail
	export ISOTOME
	unshare -rm bash -euo pipefail -c "$small_disk && full mounted" || exit 1
else
	echo "no disk may be mounted here to fill it: $(cat err)"
fi
echo "all passed"
