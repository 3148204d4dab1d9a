/* SPDX-License-Identifier: BSD-3-Clause */
/* The one table of kinds: a new format is a row here, and a file that defines what it points to. */
#include "kinds.h"
#include "ecat.h"
#include "file/suffix.h"
#include "motion/poses.h"
#include "scanner/scanner.h"
#include "text/json_file.h"
#include "volume.h"
#include "text/interfile.h"

extern const struct iso_format iso_mat_format, iso_npy_format, iso_nii_format, iso_nii_gz_format,
	iso_raw_format, iso_raw_json_format, iso_interfile_hv_format, iso_interfile_h33_format,
	iso_ecat_format, iso_dicom_format;
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
	{ ".mat", .content = ISO_ARRAY_FILE, .array = &iso_mat_format },
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
	{ ".csv", .content = ISO_POSES_FILE, .is = iso_poses_begins },
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
	{ 0 },
};

const struct iso_kind *iso_kinds(void)
{
	return kinds;
}
