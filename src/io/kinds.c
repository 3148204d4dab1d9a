/* SPDX-License-Identifier: BSD-3-Clause */
/* The one table of kinds: a new format is a row here, and a file that defines what it points to. */
#include "kinds.h"
#include "core/status.h"
#include "file/in.h"
#include "volume.h"
#include "text/interfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern const struct iso_format iso_npy_format, iso_nii_format, iso_nii_gz_format, iso_raw_format,
	iso_raw_json_format, iso_interfile_hv_format, iso_interfile_h33_format;
extern const struct iso_event_format iso_lmdt_format, iso_castor_format, iso_npy_events_format,
	iso_gate_format, iso_interfile_format, iso_petsird_format, iso_root_format, iso_table_format;
extern const struct iso_recording_format iso_ipasc_format, iso_msot_format;

bool iso_is_root(const uint8_t *head, int64_t n), iso_is_table(const uint8_t *head, int64_t n);

static const struct iso_kind kinds[] = {
	{ ".lmdT", .content = ISO_EVENTS_FILE, .events = &iso_lmdt_format },
	{ ".Cdh", .content = ISO_EVENTS_FILE, .events = &iso_castor_format },
	{ ".l.hdr", .content = ISO_EVENTS_FILE, .events = &iso_petlink_format, .is = iso_petlink_header },
	{ ".l", .content = ISO_EVENTS_FILE, .events = &iso_petlink_format },
	{ ".petsird", .content = ISO_EVENTS_FILE, .events = &iso_petsird_format, .is = iso_is_petsird },
	{ ".npy", .content = ISO_ARRAY_FILE, .array = &iso_npy_format, .events = &iso_npy_events_format,
	  .strips = ISO_STRIP_NPY },
	{ ".dcm", .content = ISO_VOLUME_FILE, .is = iso_dicom_begins },
	{ ".nii", .content = ISO_ARRAY_FILE, .array = &iso_nii_format },
	{ ".nii.gz", .content = ISO_ARRAY_FILE, .array = &iso_nii_gz_format },
	{ ".raw", .content = ISO_ARRAY_FILE, .array = &iso_raw_format, .strips = ISO_STRIP_FLOATS },
	{ ".raw.json", .content = ISO_ARRAY_FILE }, /* read by the next row; it may be a record as well */
	{ ".json", .content = ISO_JSON_FILE, .array = &iso_raw_json_format },
	{ ".f32", .content = ISO_STRIPS_FILE, .strips = ISO_STRIP_FLOATS },
	{ ".dat", .content = ISO_EVENTS_FILE, .events = &iso_gate_format },
	{ ".txt", .content = ISO_EVENTS_FILE, .events = &iso_gate_format, .strips = ISO_STRIP_TEXT },
	{ ".hs", .content = ISO_EVENTS_FILE, .events = &iso_interfile_format, .is = iso_interfile_is_lines },
	{ ".hv", .content = ISO_ARRAY_FILE, .array = &iso_interfile_hv_format, .is = iso_interfile_is_image },
	{ ".h33", .content = ISO_ARRAY_FILE, .array = &iso_interfile_h33_format },
	{ ".root", .content = ISO_EVENTS_FILE, .events = &iso_root_format, .is = iso_is_root },
	{ ".hdf5", .content = ISO_RECORDING_FILE, .recording = &iso_ipasc_format },
	{ ".h5", .content = ISO_RECORDING_FILE, .recording = &iso_ipasc_format },
	{ ".hdf5", .content = ISO_EVENTS_FILE, .events = &iso_table_format, .is = iso_is_table },
	{ ".msot", .content = ISO_RECORDING_FILE, .recording = &iso_msot_format },
	{ ".srm", .content = ISO_MATRIX_FILE },
	{ ".yaml", .content = ISO_DESCRIPTION_FILE },
	{ ".yml", .content = ISO_DESCRIPTION_FILE },
	{ ".hscan", .content = ISO_SCANNER_FILE },
	{ ".geom", .content = ISO_SCANNER_FILE },
	{ ".ckpt", .content = ISO_CHECKPOINT_FILE },
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

/* Whether files of a row can be read as that; to_write: be written too. */
static bool serves(const struct iso_kind *k, enum iso_content as, bool to_write)
{
	switch (as) {
	case ISO_ARRAY_FILE:
		return k->array && (!to_write || k->array->lead);
	case ISO_EVENTS_FILE:
		return k->events && (!to_write || k->events->encode || k->events->append);
	case ISO_STRIPS_FILE:
		return k->strips != ISO_STRIP_UNKNOWN;
	case ISO_RECORDING_FILE:
		return k->recording && (!to_write || k->recording->writable);
	default:
		return k->content == as;
	}
}

const struct iso_kind *iso_kind_of(const char *path)
{
	for (int i = 0; i < N_KINDS; i++)
		if (iso_has_suffix(path, kinds[i].suffix)) return &kinds[i];
	return NULL;
}

bool iso_kind_is(const char *path, enum iso_content content)
{
	const struct iso_kind *k = iso_kind_of(path);

	return k && k->content == content;
}

const struct iso_kind *iso_kind_as(const char *path, enum iso_content as)
{
	for (int i = 0; i < N_KINDS; i++)
		if (serves(&kinds[i], as, false) && iso_has_suffix(path, kinds[i].suffix)) return &kinds[i];
	return NULL;
}

/* ---- by content ---- */

/* Bytes at the start of a regular file; 0: there is none. Pipes are left whole. */
static int64_t read_head(uint8_t head[ISO_KIND_HEAD], const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int64_t n = fd < 0 ? 0 : iso_read_at(fd, head, ISO_KIND_HEAD, 0);

	if (fd >= 0) close(fd);
	return n > 0 ? n : 0;
}

/* The row of these first bytes that serves; as < 0: any. */
static const struct iso_kind *by_content(const char *path, int as)
{
	uint8_t head[ISO_KIND_HEAD];
	int64_t n = read_head(head, path);

	for (int i = 0; i < N_KINDS && n > 0; i++)
		if (kinds[i].is && (as < 0 || serves(&kinds[i], (enum iso_content)as, false)) &&
		    kinds[i].is(head, n))
			return &kinds[i];
	return NULL;
}

const struct iso_kind *iso_kind_found(const char *path)
{
	const struct iso_kind *k = by_content(path, -1);

	return k ? k : iso_kind_of(path);
}

const struct iso_kind *iso_kind_to_read(const char *path, enum iso_content as)
{
	const struct iso_kind *k = by_content(path, as);

	return k ? k : iso_kind_as(path, as);
}

/* Whether a text stands in a list as one of its words. */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += n)
		if ((at == list || at[-1] == ' ') && (at[n] == '\0' || at[n] == ' ' || at[n] == ','))
			return true;
	return false;
}

/* Two rows may have one suffix, as .hdf5 of GATE and of IPASC: it stands once. */
static void add(char list[ISO_KIND_LIST], const char *between, const char *text)
{
	size_t n = strlen(list);

	if (has_word(list, text)) return;
	snprintf(list + n, ISO_KIND_LIST - n, "%s%s", n ? between : "", text);
}

void iso_kind_events(char list[ISO_KIND_LIST])
{
	const struct iso_event_format *last = NULL;

	list[0] = '\0';
	for (int i = 0; i < N_KINDS; i++) {
		const struct iso_event_format *f = kinds[i].events;

		if (!f) continue;
		if (f != last) add(list, ", ", f->name);
		add(list, " ", kinds[i].suffix);
		last = f;
	}
}

int iso_kind_unknown(int code, const char *path, enum iso_content as, bool to_write)
{
	static const char *const what[] = {
		[ISO_ARRAY_FILE] = "",
		[ISO_EVENTS_FILE] = " for events",
		[ISO_STRIPS_FILE] = " for strip events",
		[ISO_RECORDING_FILE] = " for a recording",
	};
	char list[ISO_KIND_LIST] = "";
	const struct iso_kind *k = to_write ? NULL : iso_kind_found(path);

	if (k && k->content == ISO_VOLUME_FILE)
		return iso_fail(code, "%s: a DICOM file; command mu makes attenuation of a CT series", path);
	for (int i = 0; i < N_KINDS; i++)
		if (serves(&kinds[i], as, to_write)) add(list, " ", kinds[i].suffix);
	return iso_fail(code, "%s: unknown suffix%s; one of %s", path, what[as], list);
}

int iso_kind_none(const char *path)
{
	char list[ISO_KIND_LIST] = "";

	for (int i = 0; i < N_KINDS; i++) add(list, " ", kinds[i].suffix);
	return iso_refuse(path, "unknown kind of file; known are %s", list);
}
