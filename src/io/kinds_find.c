/* SPDX-License-Identifier: BSD-3-Clause */
/* Which row of the table of kinds a file is of, and what is said where it is of none. */
#include "kinds.h"
#include "file/in.h"
#include "file/suffix.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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
	for (const struct iso_kind *k = iso_kinds(); k->suffix; k++)
		if (iso_has_suffix(path, k->suffix)) return k;
	return NULL;
}

bool iso_kind_is(const char *path, enum iso_content content)
{
	const struct iso_kind *k = iso_kind_of(path);

	return k && k->content == content;
}

const struct iso_kind *iso_kind_as(const char *path, enum iso_content as)
{
	for (const struct iso_kind *k = iso_kinds(); k->suffix; k++)
		if (serves(k, as, false) && iso_has_suffix(path, k->suffix)) return k;
	return NULL;
}

const struct iso_event_format *iso_event_format_find(const char *path)
{
	const struct iso_kind *k = iso_kind_as(path, ISO_EVENTS_FILE);

	return k ? k->events : NULL;
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

/* The row of these first bytes that serves; as < 0: any, those that are not read, the last of them, before the others. */
static const struct iso_kind *by_content(const char *path, int as)
{
	uint8_t head[ISO_KIND_HEAD];
	struct stat info;
	int64_t n = read_head(head, path);

	const struct iso_kind *other = NULL;

	for (const struct iso_kind *k = iso_kinds(); k->suffix && n > 0 && as < 0; k++)
		if (k->content == ISO_OTHER_FILE && k->is && k->is(head, n)) other = k;
	if (other) return other;
	if (n == 0 && (as < 0 || as == ISO_ARRAY_FILE) && !iso_kind_of(path) && stat(path, &info) == 0 &&
	    S_ISDIR(info.st_mode))
		return iso_kind_of(".dcm"); /* a folder of no suffix is taken for a series of DICOM files */

	for (const struct iso_kind *k = iso_kinds(); k->suffix && n > 0; k++)
		if (k->is && (as < 0 || serves(k, (enum iso_content)as, false)) && k->is(head, n)) return k;
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

	if (k) return k;
	k = by_content(path, ISO_OTHER_FILE);
	return k ? NULL : iso_kind_as(path, as);
}

const char *iso_events_only_whole(const char *path)
{
	const struct iso_kind *k = iso_kind_to_read(path, ISO_EVENTS_FILE);

	return k && !k->events->open ? k->events->name : NULL;
}

const struct iso_kind *iso_kind_to_write(const char *path, enum iso_content as)
{
	for (const struct iso_kind *k = iso_kinds(); k->suffix; k++)
		if (serves(k, as, true) && iso_has_suffix(path, k->suffix)) return k;
	return NULL;
}

bool iso_kind_keeps_crystals(const char *path)
{
	const struct iso_kind *k = iso_kind_to_write(path, ISO_EVENTS_FILE);

	return k && k->events->keeps_crystals;
}

int iso_kind_partners(char first[PATH_MAX], char second[PATH_MAX], const char *path)
{
	const struct iso_kind *k = iso_kind_found(path);

	*first = *second = '\0';
	return k && k->partners ? k->partners(first, second, path) : ISO_OK;
}

int iso_kind_data(char data[PATH_MAX], const char *path)
{
	const struct iso_kind *k = iso_kind_found(path);
	char second[PATH_MAX];

	*data = '\0';
	return k && k->is_header ? k->partners(data, second, path) : ISO_OK;
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
	for (const struct iso_kind *k = iso_kinds(); k->suffix; k++) {
		const struct iso_event_format *f = k->events;

		if (!f) continue;
		if (f != last) add(list, ", ", f->name);
		add(list, " ", k->suffix);
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
	bool told = k && (k->content == ISO_OTHER_FILE || k->content == ISO_VOLUME_FILE ||
	                  (as == ISO_EVENTS_FILE && !k->events));
	int st = told ? iso_kind_no_data(code, path) : ISO_OK;

	if (st) return st;
	for (const struct iso_kind *row = iso_kinds(); row->suffix; row++)
		if (serves(row, as, to_write)) add(list, " ", row->suffix);
	return iso_fail(code, "%s: unknown suffix%s; one of %s", path, what[as], list);
}

int iso_kind_none(const char *path)
{
	char list[ISO_KIND_LIST] = "";
	const struct iso_kind *k = iso_kind_found(path);

	if (k && k->content == ISO_OTHER_FILE) return iso_kind_no_data(ISO_EINPUT, path);
	for (const struct iso_kind *row = iso_kinds(); row->suffix; row++)
		if (row->content != ISO_OTHER_FILE) add(list, " ", row->suffix);
	return iso_refuse(path, "unknown kind of file; known are %s", list);
}

/* The value behind `key :=` among the first bytes of a header; "": there is none. */
static void value_of(char *value, size_t size, const char *path, const char *key)
{
	uint8_t head[ISO_KIND_HEAD + 1];
	int64_t n = read_head(head, path), length = (int64_t)strlen(key);
	const char *text = (const char *)head;

	head[n] = '\0';
	*value = '\0';
	for (int64_t i = 0; i + length <= n && !*value; i++) {
		if (!iso_same_letters(text + i, key, (size_t)length)) continue;
		const char *p = text + i + length + strspn(text + i + length, " \t");

		if (p[0] != ':' || p[1] != '=') continue;
		p += 2 + strspn(p + 2, " \t");
		snprintf(value, size, "%.*s", (int)strcspn(p, " \t\r\n;"), p);
	}
}

int iso_kind_no_data(int code, const char *path)
{
	static const struct {
		const char *what, *next;
	} by_content[ISO_OTHER_FILE + 1] = {
		[ISO_ARRAY_FILE] = { "an image or an array, and no measured data",
		                     "command view shows it, 'mu' and 'start' take images, and command mu "
		                     "makes an attenuation map of a CT" },
		[ISO_VOLUME_FILE] = { "a DICOM file", "command mu makes an attenuation map of a CT series" },
		[ISO_RECORDING_FILE] = { "a recording of transducers",
		                         "the models of optoacoustics reconstruct it, and recon finds one "
		                         "where none is named" },
		[ISO_DESCRIPTION_FILE] = { "a description of a scanner or a phantom",
		                           "'scanner' takes that of a scanner, beside a file of events" },
		[ISO_JSON_FILE] = { "a description or a record of a run",
		                    "'scanner' takes a scanner, beside a file of events, and 'like' a "
		                    "record" },
		[ISO_SCANNER_FILE] = { "a scanner of CASToR", "'scanner' takes it, beside a file of events" },
		[ISO_POSES_FILE] = { "a table of poses over time",
		                     "'poses', 'bed' and 'gantry' take one, beside a file of events" },
		[ISO_CHECKPOINT_FILE] = { "a checkpoint", "the command that wrote it goes on with 'resume'" },
	};
	const struct iso_kind *k = iso_kind_found(path);
	const char *what = k && !k->what ? by_content[k->content].what : k ? k->what : NULL;
	const char *next = k && !k->next ? by_content[k->content].next : k ? k->next : NULL;
	char value[256] = "";

	struct stat info;

	if (!what) return ISO_OK;
	if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
		return iso_fail(code,
		                "%s: this is a folder; give a file of it, or a folder of a CT series in "
		                "DICOM to command mu",
		                path);
	if (k->key) value_of(value, sizeof value, path, k->key);
	return *value ? iso_fail(code, "%s: this is %s (%s %s); %s", path, what, k->key, value, next)
	              : iso_fail(code, "%s: this is %s; %s", path, what, next);
}
