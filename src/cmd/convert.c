/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome convert: arrays, images and events from one format to another, by suffix. */
#include "cmd.h"
#include "problem/inputs.h"

#include "isotome/norm.h"

#include "core/size.h"
#include "io/kinds.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCK = 1 << 18 }; /* events in memory at a time */

#define MOVED_MM 1e-3 /* ends nearer than this to their crystal are its place, but for rounding */

struct convert_settings {
	const char *from, *to, *scanner, *norm;
	double voxel[3], centre[3], start_s, duration_s;
	struct iso_dicom dicom;
	bool scanner_differs, of_delayeds;
	const char *part_text;
	int64_t seed;
	struct iso_part part; /* parts 0 and share 0: the whole list */
	struct iso_events_options read;
	struct iso_strip_options strips;
};

static const struct opt_usage usage = {
	"convert",
	"Write a file in another format. The suffixes say which. Arrays and images: .npy, .nii, .nii.gz, "
	".raw (described by FILE.raw.json). ECAT 7 (.v) and DICOM are only read. If TO ends with a slash, it "
	"is a folder and gets the image as a PET series in DICOM, one file a slice. Events: .lmdT, CASToR "
	"(.Cdh with .Cdf; written with the scanner as .hscan and .lut), GATE text (.dat, .txt; only read), "
	"and .npy with rows (n,7) of x1 y1 z1 x2 y2 z2 in mm and t1 - t2 in ps, (n,6) without times, (n,3) "
	"or (n,2) of crystal numbers. Strip events: .f32 (float32 triples), .txt and .npy (n,3). Traces: "
	"iThera MSOT (.msot with .bin; only read), IPASC (.hdf5, .h5), and arrays (transducers, samples) or "
	"(frames, wavelengths, transducers, samples). Poses: Isotome's .csv, YRT-PET's motion file (written "
	"as .yrt.csv), "
	".npy (n,8). A norm (.norm.json) becomes a normalisation file of CASToR (.Cdh with .Cdf). To write "
	"IPASC from an array, give --scanner; zeros "
	"fill the time between the pulse and the first sample. Traces become an array of four axes.",
	"  isotome convert image.nii image.npy\n"
	"  isotome convert image.npy image.nii.gz --voxel 2,2,4\n"
	"  isotome convert image.nii scan/ --patient-name 'Doe^Jane' --patient-id 17\n"
	"  isotome convert scan/ image.nii.gz\n"
	"  isotome convert scan.lmdT scan.Cdh --scanner scanner.yaml --duration-s 600\n"
	"  isotome convert scan.Cdh tenth.Cdh --share 0.1\n"
	"  isotome convert scan.Cdh fold2.Cdh --part 2/5 --seed 7\n"
	"  isotome convert gateCoincidences.dat scan.lmdT --trues-only\n"
	"  isotome convert Scan_9.msot scan.hdf5\n"
	"  isotome convert traces.npy traces.hdf5 --scanner array.yaml\n"
	"  isotome convert lor_motion.csv poses.csv\n"
	"  isotome convert ring.norm.json norm.Cdh --scanner ring.yaml\n"
	"  isotome convert strips.txt strips.f32 --event-unit-mm 10 --dl-is-time\n",
};

/* A grid from the options, where given, over that of the file. */
static int place(struct iso_array *a, const struct cmd *c, const struct convert_settings *s)
{
	bool voxel = cmd_given(c, "voxel"), centre = cmd_given(c, "centre");

	if (!voxel && !centre) return ISO_OK;
	if (a->n_dim != 3)
		return iso_fail(ISO_EARG, "%s has %d dimensions; --voxel and --centre place an image of 3",
		                s->from, a->n_dim);
	if (!voxel && !a->has_grid)
		return iso_fail(ISO_EARG, "%s has no voxel size; --centre needs --voxel", s->from);
	for (int i = 0; i < 3; i++) {
		a->grid.n[i] = a->dim[2 - i];
		if (voxel) a->grid.voxel[i] = s->voxel[i];
		if (centre || !a->has_grid) a->grid.centre[i] = s->centre[i];
	}
	a->has_grid = true;
	return iso_grid_check(&a->grid);
}

/* What a viewer would take for another quantity. */
static void tell_unit(struct cmd *c, const struct convert_settings *s, const struct iso_array *a)
{
	if (strcmp(a->unit, "Bq/mL") == 0 || strcmp(a->unit, "g/mL") == 0) return;
	record_warn(&c->record, "%s is in %s, not in Bq/mL. The DICOM series says Units CNTS.", s->from,
	            a->unit[0] ? a->unit : "no known unit");
}

static int write_dicom(struct cmd *c, struct convert_settings *s, const struct iso_array *a)
{
	int st;

	tell_unit(c, s, a);
	s->dicom.size = sizeof s->dicom;
	s->dicom.image = s->from;
	s->dicom.force = c->force;
	if (a->unit[0] && (st = record_set(&c->record, "Units", record_string(a->unit)))) return st;
	return (st = cmd_text(c)) ? st : iso_dicom_write(s->to, a, &s->dicom, c->text);
}

static int convert_array(struct cmd *c, struct convert_settings *s)
{
	struct iso_array a = { 0 };
	int st;

	enum iso_values takes = iso_names_folder(s->to) ? ISO_FINITE : ISO_ANY; /* DICOM has integers */

	if ((st = record_read(&c->record, &a, s->from, takes)) || (st = place(&a, c, s))) goto done;
	if (!a.has_grid && (iso_has_suffix(s->to, ".nii") || iso_has_suffix(s->to, ".nii.gz")))
		record_warn(&c->record, "%s has no voxel size; %s says 1 mm (--voxel sets it)", s->from,
		            s->to);
	st = iso_names_folder(s->to) ? write_dicom(c, s, &a) : cmd_write(c, s->to, &a);
done:
	iso_array_free(&a);
	return st;
}

/* ---- a part of a list ---- */

static bool thins(const struct convert_settings *s)
{
	return s->part.share > 0 || s->part.parts > 0;
}

/* --part k/K */
static int parse_part(struct convert_settings *s, const struct cmd *c)
{
	char rest;

	if (cmd_given(c, "share") && s->part_text)
		return iso_fail(ISO_EARG, "--share and --part: give one of them");
	if (!s->part_text && !cmd_given(c, "share") && (s->of_delayeds || cmd_given(c, "seed")))
		return iso_fail(ISO_EARG, "--seed and --of-delayeds need --share or --part");
	if (s->part_text && (sscanf(s->part_text, "%d/%d%c", &s->part.part, &s->part.parts, &rest) != 2 ||
	                     s->part.parts < 1 || s->part.part < 1 || s->part.part > s->part.parts))
		return iso_fail(ISO_EARG, "--part is '%s', must be K/N with K from 1 to N, such as 2/5",
		                s->part_text);
	s->part.size = sizeof s->part;
	s->part.seed = (uint64_t)s->seed;
	s->part.list = s->of_delayeds ? ISO_DRAW_DELAYED : ISO_DRAW_EVENTS;
	return ISO_OK;
}

/* dst[i] = v[i] of those that are kept, in place. */
static void keep_items(void *v, size_t size, const unsigned char *kept, int64_t n)
{
	int64_t to = 0;

	for (int64_t i = 0; v && i < n; i++)
		if (kept[i]) memmove((char *)v + (size_t)to++ * size, (char *)v + (size_t)i * size, size);
}

/* The events of a block that are in the part; the first has this number in the file. */
static int keep_part(struct iso_events *e, int64_t first, const struct iso_part *p)
{
	uint64_t *number = size_alloc(e->n + 1, sizeof *number);
	unsigned char *kept = size_alloc(e->n + 1, 1);
	int64_t n = 0, bad = 0;
	int st = number && kept ? ISO_OK : iso_fail_memory("part of a list", 9 * e->n);

	for (int64_t i = 0; i < e->n && !st; i++) number[i] = (uint64_t)(first + i);
	if (!st && !(st = iso_part_events(kept, e->n, number, p))) {
		keep_items(e->v, sizeof *e->v, kept, e->n);
		keep_items(e->time_ms, sizeof *e->time_ms, kept, e->n);
		keep_items(e->mult, sizeof *e->mult, kept, e->n);
		keep_items(e->add, sizeof *e->add, kept, e->n);
		keep_items(e->crystal, 2 * sizeof *e->crystal, kept, e->n);
		keep_items(e->fwhm_ps, sizeof *e->fwhm_ps, kept, e->n);
		for (int64_t i = 0; i < e->n; i++) n += kept[i];
		for (int64_t i = 0; i < n; i++) bad += iso_event_bad(e->v + i);
		e->n = n;
		e->n_bad = bad;
	}
	free(number);
	free(kept);
	return st;
}

/* Into the record, where `recon` finds it: parts of parts multiply. */
static int tell_part(struct cmd *c, const struct convert_settings *s, int64_t n)
{
	const struct iso_part *p = &s->part;
	json_t *root = NULL;
	int st = record_sidecar(&root, s->from);
	double before = record_part_share(root), own = p->share > 0 ? p->share : 1. / p->parts;

	json_decref(root);
	if (st) return st;
	return record_result(&c->record, "part",
	                     record_pack("{s:f, s:i, s:i, s:I, s:b, s:I}", "share",
	                                 own * (before > 0 ? before : 1), "part", p->part, "parts", p->parts,
	                                 "seed", (json_int_t)p->seed, "of_delayeds", s->of_delayeds,
	                                 "events_before", (json_int_t)n));
}

/* ---- events ---- */

/* What the target has no place for. */
static void warn_lost(struct cmd *c, const struct convert_settings *s, const struct iso_events *e)
{
	char lost[128] = "";

	if (iso_kind_keeps_crystals(s->to)) return;
	if (e->time_ms) strcat(lost, ", time stamps");
	if (e->mult) strcat(lost, ", attenuation and normalisation");
	if (e->add) strcat(lost, ", scatter and randoms");
	if (e->crystal) strcat(lost, ", crystal numbers");
	if (e->fwhm_ps) strcat(lost, ", TOF resolutions of single events");
	if (e->tof_fwhm_ps > 0) strcat(lost, ", the TOF resolution");
	if (lost[0]) record_warn(&c->record, "%s: %s has no place for its %s", s->from, s->to, lost + 2);
}

struct copy {
	iso_event_writer *w;
	iso_event_file *f; /* that is read; NULL: a text, read whole */
	const iso_scanner
		*scanner; /* of what is written: that of the options, or the file's own; NULL: none */
	iso_norm *norm;   /* NULL: none */
	int64_t n, n_bad;
	double moved; /* the farthest that an end was from its crystal */
};

/* What the options say of the scan, in place of what the file says of it. */
static void set_times(struct cmd *c, const struct convert_settings *s, struct iso_events *e)
{
	if (cmd_given(c, "duration-s")) {
		input_overridden(&c->record, s->from, "duration-s", s->duration_s, e->duration_s, "s");
		e->duration_s = s->duration_s;
	}
	if (cmd_given(c, "start-s")) {
		input_overridden(&c->record, s->from, "start-s", s->start_s, e->start_s, "s");
		e->start_s = s->start_s;
	}
}

static int append(struct copy *k, const struct convert_settings *s, struct iso_events *e, int64_t first)
{
	double moved;
	int st = thins(s) ? keep_part(e, first, &s->part) : ISO_OK;

	if (st || e->n == 0) return st;
	k->n += e->n;
	k->n_bad += e->n_bad;
	if (!iso_kind_keeps_crystals(s->to) || e->crystal) return iso_event_writer_append(k->w, e);
	st = iso_events_crystals(e, &moved, k->scanner);
	if (!st) st = iso_event_writer_append(k->w, e);
	free(e->crystal);
	e->crystal = NULL;
	k->moved = fmax(k->moved, moved);
	return st;
}

/* A text is read whole, records a block at a time. */
static int copy_events(struct copy *k, struct cmd *c, const struct convert_settings *s)
{
	struct iso_events e = { 0 };
	const struct iso_pair_factors factors = iso_norm_factors(k->norm);
	int st = iso_events_only_whole(s->from) ? iso_events_read(&e, s->from, &s->read)
	                                        : iso_event_file_open(&k->f, s->from, &s->read);
	iso_event_file *f = k->f;
	int64_t n = f ? iso_event_file_info(f)->n : e.n, block = f && n > BLOCK ? BLOCK : n;

	if (!st && f && s->scanner)
		st = input_scanner(&c->record, f, s->from, s->read.scanner, s->scanner, s->scanner_differs);
	if (st || (f && (st = iso_event_file_block(&e, f, block)))) goto done;
	set_times(c, s, &e);
	k->scanner = s->read.scanner || !f ? s->read.scanner : iso_event_file_scanner(f);
	if (thins(s) && e.count) {
		st = iso_fail(ISO_EINPUT, "%s: a histogram, with counts; --share and --part are for lists",
		              s->from);
		goto done;
	}
	if ((st = iso_event_writer_open(&k->w, s->to, k->scanner, n)) ||
	    (k->norm && (st = iso_event_writer_factors(k->w, &factors))))
		goto done;
	for (int64_t i = 0; i < n; i += block)
		if ((f && (st = iso_event_file_read(&e, f, i, n - i < block ? n - i : block))) ||
		    (st = append(k, s, &e, i)))
			goto done;
	if (thins(s) && (st = tell_part(c, s, n))) goto done;
	if (k->n == 0) {
		st = iso_fail(ISO_EINPUT, "%s: none of its %" PRId64 " events is in the part", s->from, n);
		goto done;
	}
	e.n = k->n;
	e.n_bad = k->n_bad;
	events_warn(&c->record, s->from, &e);
	warn_lost(c, s, &e);
	cmd_tell_duration(c, s->to, e.duration_s);
	if (!k->norm) cmd_tell_weight(c, s->to, k->scanner);
done:
	iso_events_free(&e);
	return st;
}

static int close_copy(struct copy *k, struct cmd *c, const struct convert_settings *s)
{
	if (k->n_bad == k->n)
		return iso_fail(ISO_EINPUT, "%s: none of its %" PRId64 " events is usable", s->from, k->n);
	if (k->moved > MOVED_MM)
		record_warn(&c->record, "%s: ends of events move to the crystals of %s, by up to %.3g mm",
		            s->to, iso_scanner_name(k->scanner), k->moved);
	return cmd_close_events(c, &k->w);
}

static int convert_events(struct cmd *c, struct convert_settings *s)
{
	iso_scanner *scanner = NULL;
	struct copy k = { 0 };
	iso_ctx *cores = NULL; /* that read */
	int st = s->norm && !s->scanner
	                 ? iso_fail(ISO_EARG, "--norm needs --scanner, whose crystals it is of")
	                 : iso_ctx_create(&cores, "cpu", 0);

	if (!st && s->scanner) st = cmd_scanner(c, &scanner, s->scanner);
	s->read.scanner = scanner;
	s->read.ctx = cores;
	if (!st && s->norm && !(st = iso_norm_read(&k.norm, s->norm, scanner)))
		st = record_input(&c->record, s->norm);
	if (!st) iso_ctx_set_progress(cores, term_progress, &c->term);
	if (!st && !(st = copy_events(&k, c, s))) st = close_copy(&k, c, s);
	iso_event_writer_free(k.w);
	iso_event_file_close(k.f);
	iso_norm_free(k.norm);
	iso_scanner_free(scanner);
	iso_ctx_free(cores);
	return st;
}

/* ---- what is converted ---- */

enum what { ARRAYS, EVENTS, STRIPS, TRACES, POSES, NORM };

/* A table of poses; an array that becomes a table can only be one. If FROM is not there, the reader of tables says so. */
static bool is_poses(const struct convert_settings *s)
{
	bool table = iso_has_suffix(s->to, ".csv");

	if (table && access(s->from, F_OK) != 0) return true;
	const struct iso_kind *k = iso_kind_found(s->from);

	return k && (k->content == ISO_POSES_FILE || (table && iso_has_suffix(s->from, ".npy")));
}

static int convert_poses(struct cmd *c, const struct convert_settings *s)
{
	const struct iso_poses_options how = { .size = sizeof how, .kind = ISO_POSES_ANY };
	bool step, yrt = iso_has_suffix(s->to, ".yrt.csv"), npy = iso_has_suffix(s->to, ".npy");
	iso_poses *p = NULL;
	int st = iso_poses_read(&p, s->from, &how);

	if (st) return st;
	step = iso_poses_rule(p) == ISO_POSE_STEP;
	if (*iso_poses_note(p)) record_warn(&c->record, "%s: %s", s->from, iso_poses_note(p));
	if (npy && step) record_warn(&c->record, "%s: %s has no place for its rule, step", s->from, s->to);
	if (yrt && !step && iso_poses_rows(p) > 1)
		record_warn(&c->record, "%s: its rule is linear, and YRT-PET holds each row until the next",
		            s->from);
	if (!(st = cmd_text(c))) st = iso_poses_write_with(s->to, p, c->force, c->text);
	iso_poses_free(p);
	return st;
}

#define LARGE 1000000000. /* bytes */

static int convert_norm(struct cmd *c, const struct convert_settings *s)
{
	iso_scanner *scanner = NULL;
	iso_norm *norm = NULL;
	int st = s->scanner ? cmd_scanner(c, &scanner, s->scanner)
	                    : iso_fail(ISO_EARG, "%s: needs --scanner, whose pairs the file lists", s->to);

	if (!st) st = iso_norm_read(&norm, s->from, scanner);
	if (!st && 12 * (double)iso_scanner_pairs(scanner) > LARGE)
		record_warn(&c->record, "%s: %.3g GB, 12 bytes for each pair of crystals", s->to,
		            12e-9 * (double)iso_scanner_pairs(scanner));
	if (!st) st = iso_norm_write_castor(s->to, norm, scanner, c->force);
	iso_norm_free(norm);
	iso_scanner_free(scanner);
	return st;
}

static enum what what_of(const struct convert_settings *s)
{
	if (iso_norm_is(s->from)) return NORM;
	if (iso_is_recording(s->from) || iso_is_recording(s->to)) return TRACES;
	if (is_poses(s)) return POSES;
	if (iso_kind_is(s->from, ISO_STRIPS_FILE) || iso_kind_is(s->to, ISO_STRIPS_FILE)) return STRIPS;
	return cmd_is_events(s->from) || cmd_is_events(s->to) ? EVENTS : ARRAYS;
}

static int convert(struct cmd *c, struct convert_settings *s, enum what what)
{
	if (what == POSES) return convert_poses(c, s);
	if (what == NORM) return convert_norm(c, s);
	if (what == TRACES) return convert_sound(c, s->from, s->to, s->scanner);
	if (what == STRIPS) return strip_convert(&c->record, s->from, s->to, &s->strips);
	return what == EVENTS ? convert_events(c, s) : convert_array(c, s);
}

#define OF(what) (1u << (what))
#define OF_STRIPS "--event-unit-mm and --dl-is-time are for strip events: one of the two files is then .f32"
#define OF_IMAGES                                                                                       \
	"--voxel, --centre, --patient-name, --patient-id and --series-description are for images, not " \
	"events"
#define OF_EVENTS                                                                                       \
	"--scanner, --scanner-differs, --norm, --duration-s, --start-s, --gate-mask, --trues-only and " \
	"--swap-dt "                                                                                    \
	"are for events, not "                                                                          \
	"arrays"

#define OF_PARTS "--share, --part, --seed and --of-delayeds are for events, not arrays"

/* Options that only some take, and what is told to arrays and events, which may be either. */
static const struct {
	const char *option;
	unsigned what;
	const char *words;
} takes[] = {
	{ "event-unit-mm", OF(STRIPS), OF_STRIPS },
	{ "dl-is-time", OF(STRIPS), OF_STRIPS },
	{ "voxel", OF(ARRAYS), OF_IMAGES },
	{ "centre", OF(ARRAYS), OF_IMAGES },
	{ "patient-name", OF(ARRAYS), OF_IMAGES },
	{ "patient-id", OF(ARRAYS), OF_IMAGES },
	{ "series-description", OF(ARRAYS), OF_IMAGES },
	{ "scanner", OF(EVENTS) | OF(TRACES) | OF(NORM), OF_EVENTS },
	{ "duration-s", OF(EVENTS), OF_EVENTS },
	{ "start-s", OF(EVENTS), OF_EVENTS },
	{ "scanner-differs", OF(EVENTS), OF_EVENTS },
	{ "norm", OF(EVENTS), OF_EVENTS },
	{ "gate-mask", OF(EVENTS), OF_EVENTS },
	{ "trues-only", OF(EVENTS), OF_EVENTS },
	{ "swap-dt", OF(EVENTS), OF_EVENTS },
	{ "share", OF(EVENTS), OF_PARTS },
	{ "part", OF(EVENTS), OF_PARTS },
	{ "seed", OF(EVENTS), OF_PARTS },
	{ "of-delayeds", OF(EVENTS), OF_PARTS },
};

static int check_options(const struct cmd *c, enum what what)
{
	for (size_t i = 0; i < sizeof takes / sizeof *takes; i++) {
		const struct opt *o = opt_find(c->sets, takes[i].option);

		if (takes[i].what & OF(what) || !o->given || (o->flag && !*o->flag)) continue;
		if (what == STRIPS || what == TRACES || what == POSES || what == NORM)
			return iso_fail(ISO_EARG, "--%s is not for %s", o->name,
			                what == STRIPS   ? "strip events"
			                : what == TRACES ? "traces"
			                : what == NORM   ? "a norm"
			                                 : "poses");
		return iso_fail(ISO_EARG, "%s", takes[i].words);
	}
	return ISO_OK;
}

/* A series of DICOM files is a folder; its options are for that alone. */
static int check_dicom(const struct cmd *c, const struct convert_settings *s, enum what what)
{
	static const char *const options[] = { "patient-name", "patient-id", "series-description", NULL };
	const char *given = cmd_given_of(c, options);

	if (iso_names_folder(s->to)) {
		if (what != ARRAYS)
			return iso_fail(ISO_EARG,
			                "%s is a folder; only an image can be written there, as DICOM",
			                s->to);
		return cmd_check(c, s->to, iso_dicom_write_check);
	}
	if (iso_has_suffix(s->to, ".dcm"))
		return iso_fail(ISO_EARG,
		                "%s: a PET series has a file for each slice. Name a folder, with a slash at "
		                "its end: %s/",
		                s->to, s->to);
	if (given && what == ARRAYS)
		return iso_fail(ISO_EARG, "--%s is for DICOM: TO is then a folder, with a slash at its end",
		                given);
	return ISO_OK;
}

static int check_output(const struct cmd *c, const struct convert_settings *s, enum what what)
{
	int st = check_dicom(c, s, what);

	if (st || iso_names_folder(s->to)) return st;
	if (what == POSES) return cmd_check(c, s->to, iso_poses_write_check);
	if (what == NORM && !iso_has_suffix(s->to, ".Cdh"))
		return iso_fail(ISO_EARG, "%s: a norm is written as .Cdh, a normalisation file of CASToR",
		                s->to);
	if (what != STRIPS && cmd_is_events(s->from) && !cmd_is_events(s->to) &&
	    !iso_has_suffix(s->to, ".npy"))
		return iso_fail(ISO_EARG, "%s: events are written as .lmdT, .Cdh, .petsird or .npy", s->to);
	if (what == EVENTS && !iso_kind_keeps_crystals(s->to) &&
	    (cmd_given(c, "duration-s") || cmd_given(c, "start-s")))
		return iso_fail(
			ISO_EARG,
			"%s has no place for --duration-s and --start-s; a CASToR .Cdh and a .petsird have",
			s->to);
	return iso_is_recording(s->to) ? cmd_check(c, s->to, iso_recording_write_check)
	       : what == STRIPS        ? cmd_check(c, s->to, iso_strip_events_write_check)
	                               : cmd_check_output(c, s->to);
}

int main_convert(int argc, char **argv)
{
	struct convert_settings s = { .seed = 1, .read.size = sizeof s.read, .strips.size = sizeof s.strips };
	struct opt own[] = {
		CMD_ARGUMENT("from", s.from, OPT_MAY_READ, "FROM", "file to read"),
		CMD_ARGUMENT("to", s.to, OPT_WRITES, "TO", "file to write, or a folder (scan/) for DICOM"),
		{ 0, "voxel", .real = s.voxel, .count = 3, .spread = true, .value = "DX,DY,DZ", .min = 1e-6,
		  .max = 1e6, .absent = "the file's own", .help = "size of a voxel, mm" },
		{ 0, "centre", .real = s.centre, .count = 3, .value = "X,Y,Z",
		  .absent = "the file's own, or 0,0,0", .help = "centre of the image, mm" },
		{ 0, "patient-name", .text = &s.dicom.patient_name, .value = "NAME", .absent = "Anonymous^",
		  .help = "DICOM: name of the patient, as Family^Given" },
		{ 0, "patient-id", .text = &s.dicom.patient_id, .value = "TEXT", .absent = "0",
		  .help = "DICOM: identifier of the patient" },
		{ 0, "series-description", .text = &s.dicom.description, .value = "TEXT",
		  .absent = "the method of the record, or Isotome",
		  .help = "DICOM: what a viewer shows in its list of series" },
		{ 0, "scanner", .text = &s.scanner, .file = OPT_MAY_READ, .value = "FILE",
		  .help = "where the crystals are, for events of crystal numbers: a description (YAML or "
		          "JSON) or a CASToR .hscan or .geom. For an array of traces, where the transducers "
		          "are: " TRANSDUCERS_FILES },
		{ 0, "scanner-differs", .flag = &s.scanner_differs,
		  .help = "use --scanner although FROM brings another one" },
		{ 0, "norm", .text = &s.norm, .file = OPT_READS, .value = "FILE",
		  .help = "PETSIRD: efficiencies and factors of pairs for the header, from isotome norm "
		          "(.norm.json)" },
		{ 0, "duration-s", .real = &s.duration_s, .value = "S", .min = 1e-6, .max = 1e9,
		  .absent = "what FROM says; 0, which means not known, if FROM does not say",
		  .help = "CASToR .Cdh and PETSIRD: how long the scan took" },
		{ 0, "start-s", .real = &s.start_s, .value = "S", .min = -1e9, .max = 1e9,
		  .absent = "what FROM says, or 0", .help = "CASToR .Cdh and PETSIRD: when the scan began" },
		{ 0, "share", .real = &s.part.share, .value = "P", .min = 1e-9, .max = 1, .absent = "all",
		  .help = "events: keep each with probability P. The file is a scan of P times the time: the "
		          "same events for any run, and those of a smaller P are among them" },
		{ 0, "part", .text = &s.part_text, .value = "K/N",
		  .help = "events: keep part K of N, whose events no other part has" },
		{ 0, "seed", .integer = &s.seed, .value = "N", .min = 0, .max = 9e15,
		  .help = "seed of --share and --part" },
		{ 0, "of-delayeds", .flag = &s.of_delayeds,
		  .help = "the list has delayed coincidences, which are drawn by themselves" },
		EVENTS_OPTS(s.read),
		STRIP_EVENTS_OPTS(s.strips),
		{ 0 },
	};
	struct cmd c = { 0 };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_WRITES), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);
	enum what what = st ? ARRAYS : what_of(&s);

	if (!st && !(st = parse_part(&s, &c)) && !(st = check_output(&c, &s, what)) &&
	    !(st = record_input(&c.record, s.from)) && !(st = check_options(&c, what)))
		st = convert(&c, &s, what);
	return cmd_end(&c, st);
}
