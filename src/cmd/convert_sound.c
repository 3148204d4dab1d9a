/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome convert for traces: recordings to IPASC and to arrays, arrays with a scanner to IPASC. */
#include "cmd.h"
#include "file/suffix.h"
#include "problem/inputs.h"

/* All of a recording: (frames, wavelengths, transducers, samples). */
static int to_array(struct cmd *c, const char *to, const iso_recording *r)
{
	const struct iso_recording_info *i = iso_recording_info(r);
	struct iso_array a = { 0 };
	int st =
		iso_array_create(&a, 4, (const int64_t[]){ i->frames, i->wavelengths, i->t.n, i->t.samples });

	for (int64_t k = 0; k < i->frames * i->wavelengths && !st; k++)
		st = iso_recording_read(a.v + k * i->t.n * i->t.samples, r, k % i->wavelengths,
		                        k / i->wavelengths);
	if (!st) st = cmd_write(c, to, &a);
	iso_array_free(&a);
	return st;
}

static int from_recording(struct cmd *c, const char *from, const char *to)
{
	iso_recording *r = NULL;
	int st;

	if (iso_has_suffix(to, ".nii") || iso_has_suffix(to, ".nii.gz") || iso_has_suffix(to, ".hv"))
		return iso_fail(ISO_EARG,
		                "%s holds traces of transducers, which are no image: command recon makes "
		                "one, and a name such as x.npy takes the traces",
		                from);
	if (!(st = iso_recording_open(&r, from))) {
		transducers_warn(&c->record, r);
		st = iso_is_recording(to) ? cmd_write_recording(c, to, r) : to_array(c, to, r);
	}
	iso_recording_free(r);
	return st;
}

void convert_sound_warn(struct cmd *c, const char *to, const char *scanner, const struct transducers *array)
{
	const struct iso_transducers *t = array->t;
	char lost[96] = "";

	if (t->area) strcat(lost, ", areas");
	if (t->eir) strcat(lost, ", impulse response");
	if (t->gamma != 1) strcat(lost, ", Grueneisen parameter");
	if (array->faces) strcat(lost, ", curved faces");
	if (lost[0]) record_warn(&c->record, "%s has no place for what %s says: %s", to, scanner, lost + 2);
}

static int from_array(struct cmd *c, const char *from, const char *to, const char *scanner)
{
	struct transducers array = { 0 };
	struct iso_array y = { 0 };
	iso_recording *r = NULL;
	int st = transducers_load(&array, &c->record, scanner);

	if (!st && !(st = iso_read(&y, from, ISO_FINITE)) &&
	    !(st = transducers_traces(&r, &c->record, array.t, &y, from))) {
		convert_sound_warn(c, to, scanner, &array);
		st = cmd_write_recording(c, to, r);
	}
	iso_recording_free(r);
	transducers_free(&array);
	iso_array_free(&y);
	return st;
}

int convert_sound(struct cmd *c, const char *from, const char *to, const char *scanner)
{
	if (iso_is_recording(from) && scanner)
		return iso_fail(ISO_EARG, "--scanner is for arrays; %s says where its transducers are", from);
	if (!iso_is_recording(from) && !scanner)
		return iso_fail(ISO_EARG, "--scanner is missing: the place of the transducers");
	return scanner ? from_array(c, from, to, scanner) : from_recording(c, from, to);
}
