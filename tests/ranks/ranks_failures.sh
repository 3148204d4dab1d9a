#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One of several processes fails, or gets a signal: all end, with one line and one exit code, and no file is left
# but a checkpoint.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_ranks

cat >heads.yaml <<END
kind: panels
crystals: [4, 6]
pitch_mm: [2.0, 2.0]
crystal_mm: [1.8, 1.8, 6]
gap_mm: 10
layers: 1
voxels_per_pitch: [2, 2]
planes: 3
plane_mm: 2
END
printf 'shapes:\n  - {type: sphere, centre_mm: [0, 0, 0], radius_mm: 2, activity: 1}\n' >ball.yaml
run srm heads.yaml --analytic -o m.srm
run simulate heads.yaml ball.yaml --physics --counts 2000 -o lors.npy
cp lors.npy nan.npy
printf '\000\000\300\177' | dd of=nan.npy bs=1 seek=140 conv=notrunc status=none
head -c 300 m.srm >short.srm
rm -f out err
files=$(ls)

# ---- at the start: all ranks, or one of three ----
long="--iterations 200000"

# one_fails CODE WORDS OPTIONS...: rank 1 of 3 has these options, the others the right ones; the line has WORDS
one_fails() {
	local want=$1 words=$2 got=0
	shift 2
	# shellcheck disable=SC2086
	timeout 60 mpirun -q --allow-run-as-root --oversubscribe --bind-to none \
		-n 1 "$ISOTOME" recon srm --srm m.srm --data lors.npy $long -o x.nii : \
		-n 1 "$ISOTOME" recon srm --srm m.srm --data lors.npy $long -o x.nii "$@" : \
		-n 1 "$ISOTOME" recon srm --srm m.srm --data lors.npy $long -o x.nii >out 2>err || got=$?
	[ $got = "$want" ] || fail "rank 1 with $*: exit code $got, expected $want"
	err_has "$words"
	[ "$(grep -vcE '  [0-9]+ %' err)" = 1 ] || fail "rank 1 with $*: an error must be one line"
	rm out err
	[ "$(ls)" = "$files" ] || fail "rank 1 with $*: left behind: $(ls)"
}
one_fails 2 "unknown option '--itreations'" --itreations 3
one_fails 2 "must be" --iterations 0
one_fails 3 "none.npy: No such file" --data none.npy
one_fails 3 "nan.npy" --data nan.npy
one_fails 3 "short.srm" --srm short.srm
one_fails 4 "of host memory" --memory-limit 0.00001

all_fail() { # CODE WORDS ARGUMENTS...
	local want=$1 words=$2
	shift 2
	expect_ranks 3 "$want" "$@"
	err_has "$words"
	rm out err
	[ "$(ls)" = "$files" ] || fail "$*: left behind: $(ls)"
}
all_fail 2 "unknown command 'rocon'" rocon
all_fail 2 "'srn' is not a model" recon srn
all_fail 2 "must be" recon srm --srm m.srm --data lors.npy --iterations 0 -o x.nii
all_fail 3 "none.srm: No such file" recon srm --srm none.srm --data lors.npy -o x.nii
all_fail 4 "of host memory" recon srm --srm m.srm --data lors.npy --memory-limit 0.00001 -o x.nii
all_fail 2 "m.srm exists" srm heads.yaml --analytic -o m.srm
all_fail 1 "no/x.nii" recon srm --srm m.srm --data lors.npy -o no/x.nii

# ---- a build or a machine without MPI: never so many runs side by side ----
mkdir alone
cp "$ISOTOME" "$(dirname "$ISOTOME")"/libisotome.so* alone/
code=0
by_ranks -n 3 alone/isotome recon srm --srm m.srm --data lors.npy -o x.nii >out 2>err || code=$?
[ $code = 5 ] || fail "without libisotome_mpi.so: exit code $code, expected 5"
[ "$(wc -l <err)" = 1 ] || fail "without libisotome_mpi.so: an error must be one line, not $(cat err)"
err_has 'libisotome_mpi.so'
alone/isotome recon srm --srm m.srm --data lors.npy -o x.nii -q || fail "one process needs no libisotome_mpi.so"
rm -r alone x.nii x.json

# ---- signals to one of three ----
signal() { # NAME RANK CODE
	local code=0

	rm -f pid
	by_ranks -n 3 bash -c "if [ \$OMPI_COMM_WORLD_RANK = $2 ]; then echo \$\$ >pid; fi; exec \"\$@\"" - \
		"$ISOTOME" recon srm --srm m.srm --data lors.npy --iterations 1000000 -o y.nii >out 2>err &
	for _ in $(seq 600); do
		if [ -s pid ] && grep -q ' 0 %' err; then break; fi
		sleep .05
	done
	sleep .1
	kill -"$1" "$(cat pid)"
	wait $! || code=$?
	[ $code = "$3" ] || fail "SIG$1 to rank $2: exit code $code, expected $3"
	err_has 'resume continues from y.nii.ckpt'
	[ "$(grep -c 'isotome recon' err)" = 1 ] || fail "SIG$1 to rank $2: must be one line"
	[ -e y.nii.ckpt ] && [ ! -e y.nii ] || fail "SIG$1 to rank $2: files $(ls)"
	rm y.nii.ckpt
}
signal TERM 0 143
signal INT 2 130
