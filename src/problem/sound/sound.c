/* SPDX-License-Identifier: BSD-3-Clause */
/* Transducers, grid and traces from the command line. */
#include "sound.h"

#include "base/number.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

int sound_params(struct opt *table, struct sound *sound)
{
	const struct opt own[SOUND_PARAMS] = {

		{ 0, "scanner", .text = &sound->scanner, .file = OPT_READS, .value = "FILE",
		  .absent = "what the data say", .help = "the transducers: " TRANSDUCERS_FILES },
		{ 0, "speed", .real = &sound->speed, .value = "C", .min = .01, .max = 100,
		  .absent = "the scanner's, or the data's",
		  .help = "speed of sound, mm/us; goes before what any file says" },
		{ 0, "wavelength", .text = &sound->wavelength, .value = "N|all", .absent = "the first",
		  .help = "of a file with several: by number, by its nm, or all: one image for each" },
		{ 0, "frame", .text = &sound->frame, .value = "N|all", .absent = "the first",
		  .help = "of a file with several: by number, or all: one image for each" },
		{ 0, "grid", .integer = sound->size, .count = 3, .spread = true, .value = "NX,NY,NZ",
		  .min = 1, .max = 1e15, .absent = SOUND_GRID,
		  .help = "number of voxels; alone, it settles their size in the field of view; one "
		          "number: "
		          "along every axis, but one plane where all transducers lie in a plane" },
		{ 0, "voxel", .real = sound->voxel, .count = 1, .value = "MM", .min = 1e-6, .max = 1e6,
		  .absent = SOUND_GRID,
		  .help = "edge of a voxel: they are cubes; alone, it settles their number" },
		{ 0, "centre", .real = sound->centre, .count = 3, .value = "X,Y,Z",
		  .absent = SOUND_GRID ", or 0,0,0", .help = "centre of the image, mm" }
	};

	memcpy(table, own, sizeof own);
	return SOUND_PARAMS;
}

/* ---- transducers ---- */

/* A file of traces that holds its transducers: those of 'scanner', where given, hold. */
static int load_recording(iso_problem *problem)
{
	struct sound *sound = problem->self;
	int st;

	if ((st = iso_recording_open(&sound->traces, sound->data)) ||
	    (st = record_input(problem->record, sound->data)))
		return st;
	if (sound->array.t && (st = iso_recording_fit(sound->traces, sound->array.t))) return st;
	transducers_warn(problem->record, sound->traces);
	return ISO_OK;
}

static int load_files(iso_problem *problem)
{
	struct sound *sound = problem->self;
	int st = sound->scanner ? transducers_load(&sound->array, problem->record, sound->scanner) : ISO_OK;

	if (!st && sound->data && iso_is_recording(sound->data)) return load_recording(problem);
	return st || sound->scanner ? st
	                            : iso_fail(ISO_EARG, "'scanner' is missing: the place of the "
	                                                 "transducers");
}

/* The file that says where the transducers are. */
static const char *scanner_name(struct sound *sound)
{
	return sound->scanner ? sound->scanner : sound->data;
}

/* What 'scanner' says goes before what the data say, and 'speed' or 'speeds' before both. */
static int load_scanner(iso_problem *problem)
{
	struct sound *sound = problem->self;
	int st = load_files(problem);

	if (st) return st;
	sound->own = sound->array.t ? *sound->array.t : iso_recording_info(sound->traces)->t;
	if (!(sound->own.speed > 0) && sound->traces)
		sound->own.speed = iso_recording_info(sound->traces)->t.speed;
	if (sound->speed > 0 || sound->speeds.n > 0)
		sound->own.speed = sound->speed > 0 ? sound->speed : sound->speeds.low;
	if (!(sound->own.speed > 0))
		return iso_fail(ISO_EARG, "'speed' is missing: %s does not say a speed of sound above 0",
		                scanner_name(sound));
	sound->t = &sound->own;
	return ISO_OK;
}

/* ---- grid ---- */

/* Of the file that says where the transducers are; NULL: none. */
static const double *field_of_view(struct sound *sound)
{
	iso_recording *from = sound->scanner ? sound->array.r : sound->traces;

	return from && iso_recording_info(from)->has_field ? iso_recording_info(from)->field : NULL;
}

static bool is_thin(const double *field, int axis)
{
	return field && field[2 * axis] == field[2 * axis + 1];
}

/* One number is that of the plane's voxels along either side, where all transducers lie in a
   plane or the field of view is one. The record is told, or 'like' would ask for more planes. */
static int flatten_size(iso_problem *problem, const double *seen)
{
	struct sound *sound = problem->self;

	for (int a = 0; a < 3; a++)
		if (is_thin(seen, a) || is_thin(field_of_view(sound), a)) sound->size[a] = 1;
	return problem_record_parameters(problem);
}

/* A plane that is not placed is that of the transducers. */
static void place_grid(iso_problem *problem, const double *seen)
{
	struct sound *sound = problem->self;
	bool placed = problem_given(problem, "centre");
	bool whole = problem_given(problem, "grid") && problem_given(problem, "voxel");

	for (int a = 0; a < 3; a++) {
		if (placed || whole) sound->grid.centre[a] = sound->centre[a];
		if (!placed && sound->grid.n[a] == 1 && is_thin(seen, a)) sound->grid.centre[a] = seen[2 * a];
	}
}

static int complete_grid(iso_problem *problem)
{
	struct sound *sound = problem->self;
	const struct opt *grid = opt_find(problem->sets, "grid");
	bool size = grid->given, voxel = problem_given(problem, "voxel");
	double seen[6];
	int st = ISO_OK;

	iso_transducers_field(seen, sound->t);
	if (grid->lone && (st = flatten_size(problem, seen))) return st;
	for (int a = 0; a < 3; a++) {
		sound->grid.n[a] = size ? sound->size[a] : 0;
		sound->grid.voxel[a] = voxel ? sound->voxel[0] : 0;
	}
	if (!size || !voxel) st = iso_transducers_grid(&sound->grid, sound->t, field_of_view(sound));
	place_grid(problem, seen);
	return st ? st : iso_grid_check(&sound->grid);
}

static int load_grid(iso_problem *problem, const struct iso_grid *image)
{
	struct sound *sound = problem->self;
	int st;

	if (image && !problem_given(problem, "grid") && !problem_given(problem, "voxel") &&
	    !problem_given(problem, "centre")) {
		sound->grid = *image;
		return ISO_OK;
	}
	if ((st = complete_grid(problem))) return st;
	if (image && !iso_grid_same(&sound->grid, image))
		return iso_fail(ISO_EARG, "'grid', 'voxel', 'centre' are not those of the image; leave them "
		                          "out to take the image's");
	return ISO_OK;
}

/* ---- which traces ---- */

/* N, from 1; of wavelengths also their nm, which are more than there are wavelengths. */
static bool find_part(struct sound_part *p, const char *text, int64_t n, const double *nm)
{
	double v;

	if (!iso_number(&v, text, strlen(text))) return false;
	for (int64_t i = 0; i < n; i++)
		if (v == (double)(i + 1) || (nm && fabs(v - nm[i]) < .5)) {
			*p = (struct sound_part){ i, 1 };
			return true;
		}
	return false;
}

static int choose(struct sound_part *p, const char *option, const char *text, int64_t n, const double *nm)
{
	*p = (struct sound_part){ 0, text && strcmp(text, "all") == 0 ? n : 1 };
	if (!text || strcmp(text, "all") == 0 || find_part(p, text, n, nm)) return ISO_OK;
	return iso_fail(ISO_EARG, "'%s' is '%s', must be all or a number from 1 to %" PRId64 "%s", option,
	                text, n, nm ? ", or its nm" : "");
}

int64_t sound_images(iso_problem *problem)
{
	struct sound *sound = problem->self;

	return sound->wavelengths.n * sound->frames.n;
}

static int choose_parts(iso_problem *problem)
{
	struct sound *sound = problem->self;
	const struct iso_recording_info *i;
	int st;

	if (!sound->traces)
		return !sound->wavelength && !sound->frame
		               ? ISO_OK
		               : iso_fail(ISO_EARG,
		                          "'wavelength' and 'frame' are for traces, which may be of "
		                          "several, not for spectra");
	i = iso_recording_info(sound->traces);
	if ((st = choose(&sound->wavelengths, "wavelength", sound->wavelength, i->wavelengths,
	                 i->wavelength_nm)) ||
	    (st = choose(&sound->frames, "frame", sound->frame, i->frames, NULL)))
		return st;
	if (sound->speeds.n > 0 && sound_images(problem) > 1)
		return iso_fail(ISO_EARG, "'speeds' is for one image: choose a 'wavelength' and a 'frame'");
	if ((!sound->wavelength && i->wavelengths > 1) || (!sound->frame && i->frames > 1))
		record_warn(problem->record,
		            "%s holds %" PRId64 " wavelengths and %" PRId64 " frames; where none "
		            "is chosen the first is taken ('wavelength' N|all, 'frame' N|all)",
		            sound->data, i->wavelengths, i->frames);
	return ISO_OK;
}

/* The image of such traces is 0 as well. */
static void warn_of_silence(iso_problem *problem)
{
	struct sound *sound = problem->self;

	if (!sound->y.v) return;
	for (int64_t i = 0; i < sound->y.n; i++)
		if (sound->y.v[i] != 0) return;
	record_warn(problem->record, "%s: all values of the traces are 0", sound->data);
}

int sound_image(iso_problem *problem, int64_t k)
{
	struct sound *sound = problem->self;
	int st = iso_recording_read(sound->y.v, sound->traces,
	                            sound->wavelengths.first + k % sound->wavelengths.n,
	                            sound->frames.first + k / sound->wavelengths.n);

	if (!st) warn_of_silence(problem);
	return st;
}

json_t *sound_image_json(iso_problem *problem, int64_t k)
{
	struct sound *sound = problem->self;
	int64_t w = sound->wavelengths.first + k % sound->wavelengths.n;
	int64_t f = sound->frames.first + k / sound->wavelengths.n;
	const double *nm = sound->traces ? iso_recording_info(sound->traces)->wavelength_nm : NULL;

	return sound->traces ? json_pack("{s:I, s:I, s:o}", "wavelength", (json_int_t)(w + 1), "frame",
	                                 (json_int_t)(f + 1), "nm", nm ? record_real(nm[w]) : json_null())
	                     : NULL;
}

/* Traces; an array of three axes, which may be spectra, is left to a model that takes them. */
static int load_array(iso_problem *problem)
{
	struct sound *sound = problem->self;
	struct iso_array *y = &sound->several;
	enum iso_values pairs = sound->takes_spectra ? ISO_PAIRS : 0;
	int st;

	if ((st = record_read(problem->record, y, sound->data, ISO_FINITE | pairs)) ||
	    (st = record_input(problem->record, sound->data)))
		return st;
	if (sound->takes_spectra && y->n_dim == 3) {
		sound->y = *y;
		*y = (struct iso_array){ 0 };
		warn_of_silence(problem);
		return ISO_OK;
	}
	if (y->pairs)
		return iso_fail(ISO_EINPUT,
		                "%s: complex numbers of %d axes, spectra are (transducers, lines)",
		                sound->data, y->n_dim - 1);
	return transducers_traces(&sound->traces, problem->record, sound->t, y, sound->data);
}

/* The traces of a file are there twice while they are read. */
static int load_image(iso_problem *problem)
{
	struct sound *sound = problem->self;
	int64_t bytes = sound_rows(problem) * (int64_t)sizeof(iso_real) * (sound->several.n > 0 ? 1 : 2);
	int st;

	if (problem->record->dry_run) return ISO_OK;
	if ((st = iso_memory_check(problem->ctx, sound->data, bytes)) ||
	    (st = iso_array_create(&sound->y, 2, (const int64_t[]){ sound->t->n, sound->t->samples })))
		return st;
	return sound_image(problem, 0);
}

double sound_speed(struct sound *sound, int i)
{
	const struct sound_speeds *s = &sound->speeds;

	return s->n < 2 ? sound->own.speed : s->low + i * (s->high - s->low) / (s->n - 1);
}

/* A record that ends too early is heard in part: the image fades where it was not. Of several speeds
   all must be heard, before the first image is made; the worst is told. */
static int check_hearing(iso_problem *problem)
{
	struct sound *sound = problem->self;
	struct iso_transducers t = *sound->t;
	struct iso_hearing h, worst = { .covered = 1 };
	double at = 0;
	int i = 0;

	do {
		t.speed = sound_speed(sound, i);
		if (iso_transducers_hear(&h, &t, &sound->grid))
			return iso_fail(ISO_EINPUT, "%s: at %g mm/us: %s", scanner_name(sound), t.speed,
			                iso_message());
		if (h.covered < worst.covered) {
			worst = h;
			at = t.speed;
		}
	} while (++i < sound->speeds.n);
	if (worst.covered < 1)
		record_warn(problem->record,
		            "at %g mm/us sound of the image arrives from %.4g to %.4g us after the laser "
		            "pulse; the record holds %.3g %% of that",
		            at, worst.nearest, worst.farthest, 100 * worst.covered);
	return ISO_OK;
}

/* An array is read last: it tells its parts only then, and is not read in vain. */
int sound_load(iso_problem *problem, int need, const struct iso_grid *image)
{
	struct sound *sound = problem->self;
	bool array;
	int st;

	if (need & MODEL_NEEDS_COUNTS && !sound->data)
		return iso_fail(ISO_EARG, "'data' is missing: the traces");
	sound->wavelengths = sound->frames = (struct sound_part){ 0, 1 };
	if ((st = load_scanner(problem))) return st;
	if ((st = load_grid(problem, image))) return st;
	array = need & MODEL_NEEDS_COUNTS && !sound->traces;
	if (!array && (st = choose_parts(problem))) return st;
	if ((st = check_hearing(problem))) return st;
	if (array && ((st = load_array(problem)) || (st = choose_parts(problem)))) return st;
	return need & MODEL_NEEDS_COUNTS && sound->traces ? load_image(problem) : ISO_OK;
}

void sound_unload(iso_problem *problem)
{
	struct sound *sound = problem->self;

	iso_array_free(&sound->y);
	iso_array_free(&sound->several);
	transducers_free(&sound->array);
	iso_recording_free(sound->traces);
}

struct iso_grid sound_grid(iso_problem *problem)
{
	struct sound *sound = problem->self;

	return sound->grid;
}

const char *sound_unit(iso_problem *problem)
{
	(void)problem;
	return "absorbed energy";
}

int64_t sound_rows(iso_problem *problem)
{
	const struct sound *sound = problem->self;

	return sound->t->n * sound->t->samples;
}

int sound_shape(iso_problem *problem, int64_t dim[8])
{
	const struct sound *sound = problem->self;

	dim[0] = sound->t->n;
	dim[1] = sound->t->samples;
	return 2;
}

int sound_select(iso_problem *problem, const struct model_frame *f)
{
	(void)problem;
	return f->all ? ISO_OK
	              : iso_fail(ISO_EARG, "traces have no times of a scan: 'frames', 'from-s' and "
	                                   "'to-s' do not go with them; 'frame' does");
}

int sound_weights(iso_problem *problem, const double **w, int64_t *n)
{
	struct sound *sound = problem->self;
	double sum = 0;

	for (int64_t q = 0; sound->t->area && q < sound->t->n; q++) sum += sound->t->area[q];
	if (!(sum > 0))
		return iso_fail(ISO_EINPUT, "'weigh' area: %s %s", scanner_name(sound),
		                sound->t->area ? "says 0 for the areas of all transducers"
		                               : "does not say the areas of the transducers");
	*w = sound->t->area;
	*n = sound->t->n;
	return ISO_OK;
}

int sound_sens(iso_problem *problem, struct iso_array *s)
{
	(void)problem;
	(void)s;
	return iso_fail(ISO_EARG, "an optoacoustic model has no sensitivity image");
}
