#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Interrupted runs continue to the same image, and the number of threads does not matter.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

solid_ring "$(size 12 6)" >ring.yaml
run phantom cylinder --grid 20,20,12 --voxel 10,10,6 -o truth.nii
counts=$(size 60000 15000)
run simulate ring.yaml truth.nii --counts "$counts" --seed 5 -o e.lmdT

# ---- the number of threads ----
args=(ray --events e.lmdT --scanner ring.yaml --grid '24,24,12' --voxel '8,8,6' --device cpu)
osem=(--method osem --subsets 4 --iterations 2 --additive 0.001)
for threads in 1 2 7; do
	run simulate ring.yaml truth.nii --counts "$counts" --seed 5 --threads "$threads" \
		-o "e_$threads.lmdT"
	same e.lmdT "e_$threads.lmdT"
	run recon "${args[@]}" "${osem[@]}" --threads "$threads" -o "osem_$threads.npy"
	same osem_1.npy "osem_$threads.npy"
	run recon "${args[@]}" --iterations 2 --tof-fwhm-ps 0 --threads "$threads" \
		-o "mlem_$threads.npy"
	same mlem_1.npy "mlem_$threads.npy"
done
run simulate ring.yaml truth.nii --counts "$counts" --seed 6 -o other.lmdT
! cmp -s e.lmdT other.lmdT || fail "another seed gave the same events"

# ---- interruptions ----
# One thread, so that there is time to interrupt on a fast machine too.
run sens ray --scanner ring.yaml --grid 24,24,12 --voxel 8,8,6 -o sens.npy
args+=(--sens sens.npy --method osem --subsets 6 --iterations 20 --threads 1)
run recon "${args[@]}" -o whole.nii

# interrupt SIGNAL CODE ARGS...: sends the signal once there is a checkpoint.
interrupt() {
	local signal=$1 want=$2 got=0 pid
	shift 2
	"$ISOTOME" recon "$@" >out 2>err &
	pid=$!
	while [ ! -e part.nii.ckpt ] && kill -0 $pid 2>/dev/null; do
		sleep 0.02
	done
	kill -s "$signal" $pid 2>/dev/null || fail "the run ended before SIG$signal could be sent"
	wait $pid 2>/dev/null || got=$?
	[ "$got" = "$want" ] || fail "exit code $got after SIG$signal, expected $want"
	[ ! -e part.nii ] || fail "an interrupted run wrote its image"
	[ -s part.nii.ckpt ] || fail "SIG$signal left no checkpoint"
	[ "$signal" = KILL ] || ! ls .isotome*.lock >ls 2>&1 || fail "SIG$signal left a lock: $(cat ls)"
}

# The part ends as the whole did, from where it was, and leaves no checkpoint.
finish() {
	run recon "${args[@]}" -o part.nii --resume
	same whole.nii part.nii
	grep -qE '"resumed_from_update": [1-9]' part.json || fail "the run began anew"
	cmp <(loglik whole.json) <(loglik part.json) || fail "the likelihoods differ"
	[ ! -e part.nii.ckpt ] || fail "a finished run left its checkpoint"
	rm part.nii part.json
}
loglik() { sed -n '/"loglik"/,/]/p' "$1"; }

interrupt KILL 137 "${args[@]}" -o part.nii --checkpoint-minutes 0
finish
rm -f .isotome-*.tmp	# what SIGKILL may leave where files without a name are not to be had
for signal in INT:130 TERM:143 HUP:129; do
	interrupt "${signal%:*}" "${signal#*:}" "${args[@]}" -o part.nii --checkpoint-minutes 0
	grep -q 'updates; resume continues from part.nii.ckpt' err || fail "it does not say how to go on"
	cp part.nii.ckpt kept
	finish
done
# a terminal that is lost may be told twice; nohup has it ignored
"$ISOTOME" recon "${args[@]}" --iterations 1000 -o part.nii --checkpoint-minutes 0 >out 2>err &
pid=$!
while [ ! -e part.nii.ckpt ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -s HUP $pid
kill -s HUP $pid 2>/dev/null || true
got=0
wait $pid 2>/dev/null || got=$?
[ "$got" = 129 ] || fail "exit code $got after two SIGHUP, expected 129"
rm part.nii.ckpt
nohup "$ISOTOME" recon "${args[@]}" -o part.nii --checkpoint-minutes 0 >out 2>err &
pid=$!
while [ ! -e part.nii.ckpt ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -s HUP $pid || fail "the run ended before SIGHUP could be sent"
wait $pid || fail "SIGHUP ended a run under nohup"
same whole.nii part.nii
rm part.nii part.json
# twice, and with another number of threads
expect 143 recon "${args[@]}" -o part.nii --stop-after 0.0001
cp part.nii.ckpt first
expect 143 recon "${args[@]}" -o part.nii --stop-after 0.0001 --resume --threads 2
! cmp -s first part.nii.ckpt || fail "the second part got nowhere"
finish
[ -z "$(find . -name '*.tmp')" ] || fail "temporary files are left"

# ---- checkpoints that must not be continued ----
refuse() { # CODE TEXT ARGS...
	local code=$1 text=$2
	shift 2
	expect "$code" recon "$@" -o part.nii
	err_has "$text"
	[ ! -e part.nii ] || fail "a refused run wrote its image"
	same "$checkpoint" part.nii.ckpt
}
checkpoint=kept
cp kept part.nii.ckpt
refuse 2 'part.nii.ckpt exists: --resume continues it, --force starts again' "${args[@]}"
refuse 3 'checkpoint of other inputs or options' "${args[@]}" --resume --subsets 5
refuse 3 'checkpoint of other inputs or options' "${args[@]}" --resume --iterations 19
refuse 3 'checkpoint of other inputs or options' "${args[@]}" --resume --tof-fwhm-ps 250
refuse 3 'checkpoint of other inputs or options' "${args[@]}" --resume --additive 0.001
refuse 3 'checkpoint of other inputs or options' "${args[@]}" --resume --events other.lmdT
mv e.lmdT aside
cp other.lmdT e.lmdT	# the same name with other contents
refuse 3 'checkpoint of other inputs or options' "${args[@]}" --resume
mv aside e.lmdT

checkpoint=damaged
damage() { # TEXT: part.nii.ckpt is as `damaged` says
	cp damaged part.nii.ckpt
	refuse 3 "$1" "${args[@]}" --resume
}
size=$(stat -c %s kept)
head -c 0 kept >damaged
damage 'part.nii.ckpt'
head -c 10 kept >damaged
damage 'ends within a checkpoint'
head -c $((size - 1)) kept >damaged
damage 'bytes, must be'
{ cat kept && echo; } >damaged
damage 'bytes, must be'
{ head -c $((size / 2)) kept && printf '\xa5\x5a' && tail -c +$((size / 2 + 3)) kept; } >damaged
damage 'damaged'
{ printf 'X' && tail -c +2 kept; } >damaged
damage 'not a checkpoint'

# and the sound one still can; --force begins anew
cp kept part.nii.ckpt
finish
cp kept part.nii.ckpt
cp e.lmdT moved.lmdT	# an input counts by its contents, not by its name
run recon "${args[@]}" --events moved.lmdT -o part.nii --resume --force
same whole.nii part.nii
cp damaged part.nii.ckpt
run recon "${args[@]}" -o part.nii --force
same whole.nii part.nii
[ ! -e part.nii.ckpt ] || fail "a run begun anew left the old checkpoint"
rm part.nii part.json
run recon "${args[@]}" -o part.nii --resume
err_has 'there is no part.nii.ckpt: beginning at the start'
same whole.nii part.nii

# ---- a run that is complete, of which a checkpoint is left: as SIGKILL behind the commit of the image leaves it ----
mkdir before
cp part.nii part.json before
complete() { # ARGS...: says so, changes nothing, cleans up
	cp kept part.nii.ckpt
	run recon "${args[@]}" -o part.nii --resume "$@"
	err_has 'part.nii is complete: nothing is left to do'
	[ ! -e part.nii.ckpt ] || fail "the checkpoint of a complete run stays"
	same before/part.nii part.nii
	same before/part.json part.json
}
complete
complete --threads 2
complete --events moved.lmdT
complete --checkpoint-minutes 3 --json
check "the record of a complete run" <<'END'
import json
if json.load(open("out"))["results"] != json.load(open("part.json"))["results"]:
    raise SystemExit("--json tells of another run")
END
touch .isotome.lock .isotome-commit.tmp	# of a commit that was killed
complete
[ ! -e .isotome.lock ] && [ ! -e .isotome-commit.tmp ] || fail "what a killed commit left stays"

not_of_this_run() { # TEXT ARGS...: the image and the checkpoint stay as they are
	local text=$1
	shift
	cp kept part.nii.ckpt
	cp part.nii was.nii
	expect 2 recon "${args[@]}" -o part.nii --resume "$@"
	err_has "$text"
	same kept part.nii.ckpt
	same was.nii part.nii
}
not_of_this_run "part.nii exists, and is not of this run: its run had another --iterations; --force" --iterations 21
not_of_this_run "its run had another --save-every" --save-every 5
not_of_this_run "its run had another --events" --events other.lmdT
mv e.lmdT aside
cp other.lmdT e.lmdT
not_of_this_run "its run read another e.lmdT"
mv aside e.lmdT
cp sens.npy aside
printf '\0\0\0\0' | dd of=sens.npy bs=4 seek=4000 conv=notrunc 2>dd
not_of_this_run "its run read another sens.npy"
mv aside sens.npy
cp truth.nii part.nii	# another image beside the record
not_of_this_run "its values are not the values of its record"
head -c 1000 before/part.nii >part.nii
not_of_this_run "its values are not the values of its record"
cp before/part.nii .
rm part.json
expect 2 recon "${args[@]}" -o part.nii --resume
err_has 'part.nii exists; --force replaces it'
cp before/part.json .

# its checkpoint may be somebody else's work
rm -f part.nii.ckpt
got=0
"$ISOTOME" recon "${args[@]}" --iterations 1000 -o part.nii --force --stop-after 0.002 >out 2>err || got=$?
[ "$got" = 143 ] && [ -s part.nii.ckpt ] || fail "no checkpoint of another run"
cp part.nii.ckpt another
same before/part.nii part.nii
expect 2 recon "${args[@]}" -o part.nii --resume
err_has 'part.nii is complete, but part.nii.ckpt is of another run'
same another part.nii.ckpt
echo "all passed"
