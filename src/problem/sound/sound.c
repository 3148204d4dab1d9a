/* SPDX-License-Identifier: BSD-3-Clause */
/* Transducers, grid and traces of the optoacoustic models. */
#include "sound.h"

#include "io/recording.h"

#include <math.h>

int sound_params(struct opt *table, struct sound *sound)
{
	const struct opt own[SOUND_PARAMS - TISSUE_PARAMS] = {
		{ 0, "scanner", .text = &sound->scanner, .file = OPT_READS, .value = "FILE",
		  .absent = "that of the data",
		  .help = "description of the transducers: " TRANSDUCERS_FILES },
		{ 0, "speed", .real = &sound->speed, .unit = "mm/us", .value = "C", .min = .01, .max = 100,
		  .absent = "the scanner's, or the data's",
		  .help = "speed of sound, mm/us; wins over the value of any file" },
		{ 0, "wavelength", .text = &sound->wavelength, .value = "N|all", .absent = "the first",
		  .help = "wavelength of a file with several: its number, its nm, or all, which makes one "
		          "image for each" },
		{ 0, "frame", .text = &sound->frame, .value = "N|all", .absent = "the first",
		  .help = "frame of a file with several: its number, or all, which makes one image for "
		          "each" },
		{ 0, "grid", .integer = sound->size, .count = 3, .spread = true, .value = "NX,NY,NZ",
		  .min = 1, .max = 1e15, .absent = SOUND_GRID,
		  .help = "number of voxels. Without 'voxel' it sets their size in the field of view. One "
		          "number counts along every axis, but the image has one plane if all transducers "
		          "lie in a plane" },
		{ 0, "voxel", .real = sound->voxel, .unit = "mm", .count = 1, .value = "MM", .min = 1e-6,
		  .max = 1e6, .absent = SOUND_GRID,
		  .help = "edge of a voxel, which is a cube. Without 'grid' it sets the number of voxels" },
		{ 0, "centre", .real = sound->centre, .unit = "mm", .count = 3, .value = "X,Y,Z",
		  .absent = SOUND_GRID ", or 0,0,0", .help = "centre of the image, mm" }
	};

	memcpy(table, own, sizeof own);
	tissue_params(table + sizeof own / sizeof *own, &sound->tissue);
	return SOUND_PARAMS;
}

const char *sound_scanner(struct sound *sound)
{
	return sound->scanner ? sound->scanner : sound->data;
}

/* What 'scanner' says goes before what a file of traces says of its transducers, and 'speed' or 'speeds'
   before both. */
static int load_scanner(struct sound *sound)
{
	bool recording = sound->data && !sound->p->s.follow.on && iso_is_recording(sound->data);
	int st = sound->scanner ? transducers_load(&sound->array, sound->p->record, sound->scanner) : ISO_OK;

	if (!st && !sound->scanner && !recording)
		return iso_fail(ISO_EARG, "'scanner' is missing: the place of the transducers");
	if (!st && recording && !(st = iso_recording_open(&sound->traces, sound->data)) &&
	    !(st = record_input(sound->p->record, sound->data)) && sound->array.t)
		st = iso_recording_fit(sound->traces, sound->array.t);
	if (st) return st;
	if (recording) transducers_warn(sound->p->record, sound->traces);
	sound->own = sound->array.t ? *sound->array.t : iso_recording_info(sound->traces)->t;
	sound->faces = sound->array.t ? sound->array.faces : iso_recording_info(sound->traces)->faces;
	if (!(sound->own.speed > 0) && recording)
		sound->own.speed = iso_recording_info(sound->traces)->t.speed;
	if (sound->speed > 0 || sound->speeds.n > 0)
		sound->own.speed = sound->speed > 0 ? sound->speed : sound->speeds.low;
	if (!(sound->own.speed > 0))
		return iso_fail(ISO_EARG, "'speed' is missing: %s does not say a speed of sound above 0",
		                sound_scanner(sound));
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

/* One number is that of the plane's voxels along either side, where all transducers lie in a plane or the
   field of view is one: the record is told, or 'like' would ask for more planes. A plane that is not
   placed is that of the transducers. */
static int complete_grid(struct sound *sound)
{
	const struct opt *grid = opt_find(sound->p->sets, "grid");
	bool size = grid->given, voxel = problem_given(sound->p, "voxel");
	bool placed = problem_given(sound->p, "centre");
	struct iso_grid *g = &sound->grid;
	double seen[6];
	int st = ISO_OK;

	iso_transducers_field(seen, sound->t);
	for (int a = 0; a < 3; a++) {
		if (grid->lone && (is_thin(seen, a) || is_thin(field_of_view(sound), a))) sound->size[a] = 1;
		g->n[a] = size ? sound->size[a] : 0;
		g->voxel[a] = voxel ? sound->voxel[0] : 0;
	}
	if (grid->lone && (st = problem_record_parameters(sound->p))) return st;
	if (!size || !voxel) st = iso_transducers_grid(g, sound->t, field_of_view(sound));
	for (int a = 0; a < 3; a++) {
		if (placed || (size && voxel)) g->centre[a] = sound->centre[a];
		if (!placed && g->n[a] == 1 && is_thin(seen, a)) g->centre[a] = seen[2 * a];
	}
	return st;
}

static int load_grid(struct sound *sound, const struct iso_grid *image)
{
	int st;

	if (problem_takes_grid(sound->p, image)) {
		sound->grid = *image;
		return ISO_OK;
	}
	return (st = complete_grid(sound)) ? st : problem_check_grid(&sound->grid, image);
}

/* ---- which traces ---- */

/* "all", or N from 1; of wavelengths also their nm, which are more than there are wavelengths. */
static int choose(struct sound_part *p, const char *option, const char *text, int64_t n, const double *nm)
{
	bool all = text && strcmp(text, "all") == 0;
	double v;

	*p = (struct sound_part){ 0, all ? n : 1 };
	if (!text || all) return ISO_OK;
	for (int64_t i = 0; iso_number(&v, text, strlen(text)) && i < n; i++)
		if (v == (double)(i + 1) || (nm && fabs(v - nm[i]) < .5)) {
			p->first = i;
			return ISO_OK;
		}
	return iso_fail(ISO_EARG, "'%s' is '%s', must be all or a number from 1 to %" PRId64 "%s", option,
	                text, n, nm ? ", or its nm" : "");
}

static int choose_parts(struct sound *sound)
{
	const struct iso_recording_info *i;
	int st;

	if (!sound->traces && !sound->wavelength && !sound->frame) return ISO_OK;
	if (sound->p->s.follow.on)
		return iso_fail(ISO_EARG, "'wavelength' and 'frame' do not go with 'follow'");
	if (!sound->traces)
		return iso_fail(
			ISO_EARG,
			"'wavelength' and 'frame' are for traces, which may be of several, not for spectra");
	i = iso_recording_info(sound->traces);
	if ((st = choose(&sound->wavelengths, "wavelength", sound->wavelength, i->wavelengths,
	                 i->wavelength_nm)) ||
	    (st = choose(&sound->frames, "frame", sound->frame, i->frames, NULL)))
		return st;
	sound->p->found.images = sound->wavelengths.n * sound->frames.n;
	if (sound->speeds.n > 0 && sound->p->found.images > 1)
		return iso_fail(ISO_EARG, "'speeds' is for one image: choose a 'wavelength' and a 'frame'");
	if ((!sound->wavelength && i->wavelengths > 1) || (!sound->frame && i->frames > 1))
		record_warn(sound->p->record,
		            "%s holds %" PRId64 " wavelengths and %" PRId64
		            " frames; where none is chosen the first is taken ('wavelength' N|all, 'frame' "
		            "N|all)",
		            sound->data, i->wavelengths, i->frames);
	return ISO_OK;
}

/* The image of such traces is 0 as well. */
static void warn_of_silence(struct sound *sound)
{
	if (!sound->y.v) return;
	for (int64_t i = 0; i < sound->y.n; i++)
		if (sound->y.v[i] != 0) return;
	record_warn(sound->p->record, "%s: all values of the traces are 0", sound->data);
}

/* Of image k: its wavelength and its frame, from 0. */
static void place(const struct sound *sound, int64_t k, int64_t at[2])
{
	at[0] = sound->wavelengths.first + k % sound->wavelengths.n;
	at[1] = sound->frames.first + k / sound->wavelengths.n;
}

/* Each rank reads the traces of its share of the transducers; those of an array are there already. */
static int read_traces(struct sound *sound, const int64_t at[2])
{
	iso_ctx *ctx = sound->p->ctx;
	int64_t samples = sound->t->samples, n = sound->t->n;
	iso_real *y = sound->y.v;
	const struct iso_rows own = iso_share(ctx, n);
	int st = ISO_OK;

	if (sound->several.n > 0) return iso_recording_read(y, sound->traces, at[0], at[1]);
	if (own.n > 0)
		st = iso_recording_read_some(y + own.first * samples, sound->traces, at[0], at[1], own.first,
		                             own.n);
	return iso_comm_gather_shares(ctx, st, y, n, samples * (int64_t)sizeof *y);
}

int sound_image(iso_problem *problem, int64_t k)
{
	struct sound *sound = problem->self;
	int64_t at[2];
	int st;

	place(sound, k, at);
	sound->traces->ctx = problem->ctx;
	if (!(st = read_traces(sound, at))) warn_of_silence(sound);
	return st;
}

json_t *sound_image_json(iso_problem *problem, int64_t k)
{
	struct sound *sound = problem->self;
	int64_t at[2];

	if (!sound->traces) return NULL;
	const struct iso_recording_info *i = iso_recording_info(sound->traces);

	place(sound, k, at);
	json_t *o = json_pack("{s:I, s:I, s:o}", "wavelength", (json_int_t)(at[0] + 1), "frame",
	                      (json_int_t)(at[1] + 1), "nm",
	                      i->wavelength_nm ? record_real(i->wavelength_nm[at[0]]) : json_null());

	if (i->energy_mj)
		json_object_set_new(o, "energy_mj",
		                    record_real(i->energy_mj[at[1] * i->wavelengths + at[0]]));
	return o;
}

/* Traces; an array of three axes, which may be spectra, is left to a model that takes them. */
static int load_array(struct sound *sound)
{
	struct iso_array *y = &sound->several;
	enum iso_values pairs = sound->takes_spectra ? ISO_PAIRS : 0;
	int st;

	if ((st = record_read_shared(sound->p->record, y, sound->data, ISO_FINITE | pairs)) ||
	    (st = record_input(sound->p->record, sound->data)))
		return st;
	if (sound->takes_spectra && y->n_dim == 3) {
		sound->y = *y;
		*y = (struct iso_array){ 0 };
		warn_of_silence(sound);
		return ISO_OK;
	}
	if (y->pairs)
		return iso_fail(ISO_EINPUT,
		                "%s: complex numbers of %d axes, spectra are (transducers, lines)",
		                sound->data, y->n_dim - 1);
	return transducers_traces(&sound->traces, sound->p->record, sound->t, y, sound->data);
}

/* The traces of a file are there twice while they are read. */
static int load_image(struct sound *sound)
{
	int64_t bytes = sound->p->found.rows * (int64_t)sizeof(iso_real) * (sound->several.n > 0 ? 1 : 2);
	int st;

	if (sound->p->record->read.dry_run) return ISO_OK;
	if ((st = iso_memory_check(sound->p->ctx, sound->data, bytes)) ||
	    (st = iso_array_create(&sound->y, 2, (const int64_t[]){ sound->t->n, sound->t->samples })))
		return st;
	return sound_image(sound->p, 0);
}

double sound_speed(struct sound *sound, int i)
{
	const struct sound_speeds *s = &sound->speeds;

	return s->n < 2 ? sound->own.speed : s->low + i * (s->high - s->low) / (s->n - 1);
}

/* ---- tissue ---- */

int sound_delays(const iso_delays **d, iso_problem *problem)
{
	struct sound *sound = problem->self;
	bool tables = sound->tissue.is.image_grid.n[0] > 0 || sound->tissue.is.path == ISO_SOUND_EIKONAL;
	int st = ISO_OK;

	if (!sound->delays && !(tables && problem->record->read.dry_run)) {
		record_stage(problem->record, "delays");
		st = tissue_delays(&sound->delays, &sound->tissue, problem->record, problem->ctx, sound->t,
		                   &sound->grid);
		record_stage(problem->record, NULL);
	}
	*d = sound->delays;
	return st;
}

void sound_plan_delays(iso_problem *problem, struct iso_plan *plan)
{
	struct sound *sound = problem->self;

	if (sound->tissue.on) iso_delays_plan(plan, problem->ctx, sound->t, &sound->tissue.is, &sound->grid);
}

/* ---- what the record holds of the image ---- */

#define FACTOR 30. /* a unit error is 1000, and a record up to so many times as long as it need be */

const char *sound_wrong_unit(struct sound *sound, const struct iso_hearing *h)
{
	const struct iso_transducers *t = sound->t;
	double last = t->first_us + (double)(t->samples - 1) * t->dt_us;
	double times = sound_speed(sound, 0) / iso_water_speed(25);

	if (times > 1000 / 3.) return ": is the speed in m/s (mm/us are expected)";
	if (times < 3. / 1000) return ": is the speed in m/us (mm/us are expected)";
	if (!h) return "";
	if (h->farthest > 1000 / FACTOR * last) return ": is the sampling rate in kHz (MHz are expected)";
	if (t->first_us >= h->farthest) return ": is the time of the first sample in us";
	if (last > FACTOR * h->farthest)
		return ": is the sampling rate in GHz, or the interval of samples (MHz are expected)";
	return "";
}

/* Of several speeds the worst. */
int sound_hearing(struct sound *sound, struct iso_hearing *worst, double *at)
{
	struct iso_transducers t = *sound->t;
	struct iso_hearing h = { .size = sizeof h };
	int i = 0;

	worst->covered = INFINITY;
	do {
		t.speed = sound_speed(sound, i);
		if (iso_transducers_hear(&h, &t, &sound->grid)) {
			char away[64] = "";

			if (h.farthest > 0)
				iso_snprintf(away, sizeof away, ", %.4g to %.4g mm away", t.speed * h.nearest,
				             t.speed * h.farthest);
			return iso_fail(ISO_EINPUT, "%s: at %g mm/us: %s%s%s", sound_scanner(sound), t.speed,
			                iso_message(), away, away[0] ? sound_wrong_unit(sound, &h) : "");
		}
		if (h.covered < worst->covered) {
			*worst = h;
			*at = t.speed;
		}
	} while (++i < sound->speeds.n);
	return ISO_OK;
}

/* A record that ends too early is heard in part: the image fades where it was not. Of several speeds all must be heard,
   before the first image is made; the worst is told, here or by a check (check/check_sound.c). */
static int check_hearing(struct sound *sound)
{
	struct iso_hearing h = { .size = sizeof h };
	double at;
	int st = sound_hearing(sound, &h, &at);

	if (!st && h.covered < 1 && h.covered >= .5)
		record_warn(sound->p->record, SOUND_HELD, at, h.nearest, h.farthest, 100 * h.covered);
	return st;
}

/* An array is read last: it tells its parts only then, and is not read in vain. */
int sound_load(iso_problem *problem, int need, const struct iso_grid *image)
{
	struct sound *sound = problem->self;
	bool array;
	int st;

	sound->p = problem;
	if (need & MODEL_NEEDS_COUNTS && !sound->data)
		return iso_fail(ISO_EARG, "'data' is missing: the traces");
	sound->wavelengths = sound->frames = (struct sound_part){ 0, 1 };
	if ((st = load_scanner(sound))) return st;
	if ((st = load_grid(sound, image))) return st;
	if ((st = tissue_load(&sound->tissue, problem->record, sound->array.s, sound->t,
	                      !sound->finds_tissue)))
		return st;
	problem->found.grid = sound->grid;
	problem->found.unit = "absorbed energy";
	problem->found.rows = sound->t->n * sound->t->samples;
	problem->found.n_dim = 2;
	problem->found.dim[0] = sound->t->n;
	problem->found.dim[1] = sound->t->samples;
	array = need & MODEL_NEEDS_COUNTS && !sound->traces;
	if (!array && (st = choose_parts(sound))) return st;
	if ((st = check_hearing(sound))) return st;
	if (array && ((st = load_array(sound)) || (st = choose_parts(sound)))) return st;
	return need & MODEL_NEEDS_COUNTS && sound->traces ? load_image(sound) : ISO_OK;
}

void sound_unload(iso_problem *problem)
{
	struct sound *sound = problem->self;

	iso_delays_free(sound->delays);
	tissue_unload(&sound->tissue);
	iso_array_free(&sound->y);
	iso_array_free(&sound->several);
	transducers_free(&sound->array);
	iso_recording_free(sound->traces);
}

int sound_data(iso_problem *problem, struct model_data *d)
{
	const struct iso_array *y = &((struct sound *)problem->self)->y;
	int st;

	if (!y->v) return ISO_OK;
	if ((st = model_vector(&d->y, y->n, "data"))) return st;
	memcpy(d->y, y->v, (size_t)y->n * sizeof *d->y);
	return ISO_OK;
}

int sound_weights(iso_problem *problem, const double **w, int64_t *n)
{
	struct sound *sound = problem->self;
	double sum = 0;

	for (int64_t q = 0; sound->t->area && q < sound->t->n; q++) sum += sound->t->area[q];
	if (!(sum > 0))
		return iso_fail(ISO_EINPUT, "'weigh' area: %s %s", sound_scanner(sound),
		                sound->t->area ? "says 0 for the areas of all transducers"
		                               : "does not say the areas of the transducers");
	*w = sound->t->area;
	*n = sound->t->n;
	return ISO_OK;
}

/* ---- time ---- */

enum { SAMPLE_CPU = 16, SAMPLE_CUDA = 512 }; /* transducers */

struct iso_transducers sound_sample(const struct iso_transducers *t, const iso_ctx *alone, double *times)
{
	struct iso_transducers some = *t;
	int64_t most = iso_ctx_is_cuda(alone) ? SAMPLE_CUDA : SAMPLE_CPU;

	some.n = t->n < most ? t->n : most;
	*times = (double)t->n / (double)some.n;
	return some;
}
