/* SPDX-License-Identifier: BSD-3-Clause */
/* The one table of kinds: a new format is a row here, and a file that defines what it points to. */
#include "kinds.h"
#include "ecat.h"
#include "file/in.h"
#include "file/suffix.h"
#include "scanner/scanner.h"
#include "text/json_file.h"
#include "volume.h"
#include "text/interfile.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct iso_format iso_npy_format, iso_nii_format, iso_nii_gz_format, iso_raw_format,
	iso_raw_json_format, iso_interfile_hv_format, iso_interfile_h33_format, iso_ecat_format,
	iso_dicom_format;
extern const struct iso_event_format iso_lmdt_format, iso_castor_format, iso_npy_events_format,
	iso_gate_format, iso_interfile_format, iso_petsird_format, iso_root_format, iso_table_format,
	iso_csv_format;
extern const struct iso_recording_format iso_ipasc_format, iso_msot_format;

bool iso_is_root(const uint8_t *head, int64_t n), iso_is_table(const uint8_t *head, int64_t n);

/* ---- files that are not read: the last rows of the table ---- */

static bool has(const uint8_t *head, int64_t n, const char *word)
{
	int64_t length = (int64_t)strlen(word);

	for (int64_t i = 0; i + length <= n; i++)
		if (iso_same_letters((const char *)head + i, word, (size_t)length)) return true;
	return false;
}

static bool is_spect(const uint8_t *head, int64_t n)
{
	return has(head, n < 64 ? n : 64, "!INTERFILE") && has(head, n, "SPECT STUDY") &&
	       !has(head, n, "reconstructed");
}

static bool is_siemens_sinogram(const uint8_t *head, int64_t n)
{
	return has(head, n < 64 ? n : 64, "!INTERFILE") && has(head, n, "sinogram subheader");
}

static bool is_siemens_norm(const uint8_t *head, int64_t n)
{
	return has(head, n < 64 ? n : 64, "!INTERFILE") && has(head, n, "PET normalization");
}

static bool is_hroot(const uint8_t *head, int64_t n)
{
	return has(head, n, "ROOT header") && has(head, n, "name of data file");
}

/* ---- files that belong together ---- */

static int of_petlink(char first[PATH_MAX], char second[PATH_MAX], const char *path)
{
	(void)second;
	return iso_petlink_partner(first, path);
}

static int of_hscan(char first[PATH_MAX], char second[PATH_MAX], const char *path)
{
	(void)second;
	return iso_hscan_partner(first, PATH_MAX, path);
}

static int of_msot(char first[PATH_MAX], char second[PATH_MAX], const char *path)
{
	(void)second;
	return iso_suffix_partner(first, PATH_MAX, path, ".bin");
}

static int of_raw(char first[PATH_MAX], char second[PATH_MAX], const char *path)
{
	(void)second;
	snprintf(first, PATH_MAX, "%s.json", path);
	return ISO_OK;
}

/* The data file that a description names; what is no description, or no JSON, names none. */
static int of_json(char first[PATH_MAX], char second[PATH_MAX], const char *path)
{
	const char *name, *slash = strrchr(path, '/');
	json_t *root = NULL, *array;
	int st = iso_json_read(&root, path);

	(void)second;
	array = json_object_get(root, "array");
	name = json_string_value(json_object_get(array ? array : root, "data_file"));
	if (name) snprintf(first, PATH_MAX, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name);
	json_decref(root);
	return st == ISO_ENOMEM ? st : ISO_OK;
}

static const struct iso_kind kinds[] = {
	{ ".lmdT", .content = ISO_EVENTS_FILE, .events = &iso_lmdt_format },
	{ ".Cdh", .content = ISO_EVENTS_FILE, .events = &iso_castor_format, .partners = iso_castor_files,
	  .is_header = true },
	{ ".l.hdr", .content = ISO_EVENTS_FILE, .events = &iso_petlink_format, .is = iso_petlink_header,
	  .partners = of_petlink, .is_header = true },
	{ ".l", .content = ISO_EVENTS_FILE, .events = &iso_petlink_format, .partners = of_petlink },
	{ ".petsird", .content = ISO_EVENTS_FILE, .events = &iso_petsird_format, .is = iso_is_petsird },
	{ ".npy", .content = ISO_ARRAY_FILE, .array = &iso_npy_format, .events = &iso_npy_events_format,
	  .strips = ISO_STRIP_NPY },
	{ ".dcm", .content = ISO_VOLUME_FILE, .array = &iso_dicom_format, .is = iso_dicom_begins },
	{ ".nii", .content = ISO_ARRAY_FILE, .array = &iso_nii_format },
	{ ".nii.gz", .content = ISO_ARRAY_FILE, .array = &iso_nii_gz_format },
	{ ".raw", .content = ISO_ARRAY_FILE, .array = &iso_raw_format, .strips = ISO_STRIP_FLOATS,
	  .partners = of_raw },
	{ ".raw.json", .content = ISO_ARRAY_FILE, .partners = of_json,
	  .is_header = true }, /* read by the next row; it may be a record as well */
	{ ".json", .content = ISO_JSON_FILE, .array = &iso_raw_json_format, .partners = of_json,
	  .is_header = true },
	{ ".f32", .content = ISO_STRIPS_FILE, .strips = ISO_STRIP_FLOATS },
	{ ".dat", .content = ISO_EVENTS_FILE, .events = &iso_gate_format },
	{ ".txt", .content = ISO_EVENTS_FILE, .events = &iso_gate_format, .strips = ISO_STRIP_TEXT },
	{ ".csv", .content = ISO_EVENTS_FILE, .events = &iso_csv_format },
	{ ".hs", .content = ISO_EVENTS_FILE, .events = &iso_interfile_format, .is = iso_interfile_is_lines,
	  .partners = iso_interfile_partner, .is_header = true },
	{ ".hv", .content = ISO_ARRAY_FILE, .array = &iso_interfile_hv_format, .is = iso_interfile_is_image,
	  .partners = iso_interfile_partner, .is_header = true },
	{ ".h33", .content = ISO_ARRAY_FILE, .array = &iso_interfile_h33_format,
	  .partners = iso_interfile_partner, .is_header = true },
	{ ".v", .content = ISO_ARRAY_FILE, .array = &iso_ecat_format, .is = iso_ecat_begins },
	{ ".root", .content = ISO_EVENTS_FILE, .events = &iso_root_format, .is = iso_is_root },
	{ ".hdf5", .content = ISO_RECORDING_FILE, .recording = &iso_ipasc_format },
	{ ".h5", .content = ISO_RECORDING_FILE, .recording = &iso_ipasc_format },
	{ ".hdf5", .content = ISO_EVENTS_FILE, .events = &iso_table_format, .is = iso_is_table },
	{ ".msot", .content = ISO_RECORDING_FILE, .recording = &iso_msot_format, .partners = of_msot,
	  .is_header = true },
	{ ".srm", .content = ISO_MATRIX_FILE },
	{ ".yaml", .content = ISO_DESCRIPTION_FILE },
	{ ".yml", .content = ISO_DESCRIPTION_FILE },
	{ ".hscan", .content = ISO_SCANNER_FILE, .partners = of_hscan },
	{ ".ghscan", .content = ISO_SCANNER_FILE, .partners = of_hscan },
	{ ".geom", .content = ISO_SCANNER_FILE },
	{ ".ckpt", .content = ISO_CHECKPOINT_FILE },
	{ ".hs", .content = ISO_OTHER_FILE, .is = is_spect, .what = "a scan of SPECT",
	  .next = "Isotome reconstructs PET and optoacoustics; STIR and CASToR reconstruct SPECT" },
	{ ".s.hdr", .content = ISO_OTHER_FILE, .is = is_siemens_sinogram,
	  .what = "a sinogram in Siemens' own format", .key = "compression",
	  .next = "give the list mode of the scan (.l.hdr), or a .hs that STIR's "
	          "convertSiemensInterfileToSTIR.sh makes of the uncompressed sinogram" },
	{ ".n.hdr", .content = ISO_OTHER_FILE, .is = is_siemens_norm,
	  .what = "a normalisation in Siemens' own format",
	  .next = "'norm' takes projection data (.hs), which STIR makes of it" },
	{ ".hroot", .content = ISO_OTHER_FILE, .is = is_hroot,
	  .what = "a header of STIR for a ROOT file of GATE", .key = "name of data file",
	  .next = "give that ROOT file instead" },
	{ ".s", .content = ISO_OTHER_FILE, .what = "a file of numbers without its header",
	  .next = "give the header beside it (.hs)" },
	{ ".i33", .content = ISO_OTHER_FILE, .what = "a file of numbers without its header",
	  .next = "give the header beside it (.h33)" },
	{ ".Cdf", .content = ISO_OTHER_FILE, .what = "a file of CASToR records without its header",
	  .next = "give the header beside it (.Cdh)" },
	{ ".lut", .content = ISO_OTHER_FILE, .what = "a table of CASToR's crystals without its header",
	  .next = "give the header beside it (.hscan)" },
	{ ".glut", .content = ISO_OTHER_FILE, .what = "a table of CASToR's crystals without its header",
	  .next = "give the header beside it (.ghscan)" },
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

/* The row of these first bytes that serves; as < 0: any, those at the end of the table, which are not read, first. */
static const struct iso_kind *by_content(const char *path, int as)
{
	uint8_t head[ISO_KIND_HEAD];
	struct stat info;
	int64_t n = read_head(head, path);

	for (int i = N_KINDS - 1; i >= 0 && n > 0 && as < 0 && kinds[i].content == ISO_OTHER_FILE; i--)
		if (kinds[i].is && kinds[i].is(head, n)) return &kinds[i];
	if (n == 0 && (as < 0 || as == ISO_ARRAY_FILE) && !iso_kind_of(path) && stat(path, &info) == 0 &&
	    S_ISDIR(info.st_mode))
		return iso_kind_of(".dcm"); /* a folder of no suffix is taken for a series of DICOM files */

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

	if (k) return k;
	k = by_content(path, ISO_OTHER_FILE);
	return k ? NULL : iso_kind_as(path, as);
}

const struct iso_kind *iso_kind_to_write(const char *path, enum iso_content as)
{
	for (int i = 0; i < N_KINDS; i++)
		if (serves(&kinds[i], as, true) && iso_has_suffix(path, kinds[i].suffix)) return &kinds[i];
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
	bool told = k && (k->content == ISO_OTHER_FILE || k->content == ISO_VOLUME_FILE ||
	                  (as == ISO_EVENTS_FILE && !k->events));
	int st = told ? iso_kind_no_data(code, path) : ISO_OK;

	if (st) return st;
	for (int i = 0; i < N_KINDS; i++)
		if (serves(&kinds[i], as, to_write)) add(list, " ", kinds[i].suffix);
	return iso_fail(code, "%s: unknown suffix%s; one of %s", path, what[as], list);
}

int iso_kind_none(const char *path)
{
	char list[ISO_KIND_LIST] = "";
	const struct iso_kind *k = iso_kind_found(path);

	if (k && k->content == ISO_OTHER_FILE) return iso_kind_no_data(ISO_EINPUT, path);
	for (int i = 0; i < N_KINDS; i++)
		if (kinds[i].content != ISO_OTHER_FILE) add(list, " ", kinds[i].suffix);
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
