/* SPDX-License-Identifier: BSD-3-Clause */
/* Transducers, grid and traces from the command line. */
#include "sound.h"

#include "base/number.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

struct sound sound;

/* ---- transducers ---- */

/* A file of traces that holds its transducers: those of --scanner, where given, hold. */
static int load_recording(struct cmd *c)
{
	int st;

	if ((st = iso_recording_open(&sound.traces, sound.data)) ||
	    (st = record_input(&c->record, sound.data)))
		return st;
	if (sound.array.t && (st = iso_recording_fit(sound.traces, sound.array.t))) return st;
	transducers_warn(c, sound.traces);
	return ISO_OK;
}

static int load_files(struct cmd *c)
{
	int st = sound.scanner ? transducers_load(&sound.array, c, sound.scanner) : ISO_OK;

	if (!st && sound.data && iso_is_recording(sound.data)) return load_recording(c);
	return st || sound.scanner ? st
	                           : iso_fail(ISO_EARG, "--scanner is missing: the place of the "
	                                                "transducers");
}

/* The file that says where the transducers are. */
static const char *scanner_name(void)
{
	return sound.scanner ? sound.scanner : sound.data;
}

/* What --scanner says goes before what the data say, and --speed or --speeds before both. */
static int load_scanner(struct cmd *c)
{
	int st = load_files(c);

	if (st) return st;
	sound.own = sound.array.t ? *sound.array.t : iso_recording_info(sound.traces)->t;
	if (!(sound.own.speed > 0) && sound.traces)
		sound.own.speed = iso_recording_info(sound.traces)->t.speed;
	if (sound.speed > 0 || sound.speeds.n > 0)
		sound.own.speed = sound.speed > 0 ? sound.speed : sound.speeds.low;
	if (!(sound.own.speed > 0))
		return iso_fail(ISO_EARG, "--speed is missing: %s does not say a speed of sound above 0",
		                scanner_name());
	sound.t = &sound.own;
	return ISO_OK;
}

/* ---- grid ---- */

/* Of the file that says where the transducers are; NULL: none. */
static const double *field_of_view(void)
{
	iso_recording *from = sound.scanner ? sound.array.r : sound.traces;

	return from && iso_recording_info(from)->has_field ? iso_recording_info(from)->field : NULL;
}

static bool is_thin(const double *field, int axis)
{
	return field && field[2 * axis] == field[2 * axis + 1];
}

/* One number is that of the plane's voxels along either side, where all transducers lie in a
   plane or the field of view is one. The record is told, or --like would ask for more planes. */
static int flatten_size(struct cmd *c, const struct opt_set *sets, const double *seen)
{
	for (int a = 0; a < 3; a++)
		if (is_thin(seen, a) || is_thin(field_of_view(), a)) sound.size[a] = 1;
	return record_set(&c->record, "parameters", opt_to_json(sets));
}

/* A plane that is not placed is that of the transducers. */
static void place_grid(const struct opt_set *sets, const double *seen)
{
	bool placed = opt_find(sets, "centre")->given;
	bool whole = opt_find(sets, "grid")->given && opt_find(sets, "voxel")->given;

	for (int a = 0; a < 3; a++) {
		if (placed || whole) sound.grid.centre[a] = sound.centre[a];
		if (!placed && sound.grid.n[a] == 1 && is_thin(seen, a)) sound.grid.centre[a] = seen[2 * a];
	}
}

static int complete_grid(struct cmd *c, const struct opt_set *sets)
{
	const struct opt *grid = opt_find(sets, "grid");
	bool size = grid->given, voxel = opt_find(sets, "voxel")->given;
	double seen[6];
	int st = ISO_OK;

	iso_transducers_field(seen, sound.t);
	if (grid->lone && (st = flatten_size(c, sets, seen))) return st;
	for (int a = 0; a < 3; a++) {
		sound.grid.n[a] = size ? sound.size[a] : 0;
		sound.grid.voxel[a] = voxel ? sound.voxel[0] : 0;
	}
	if (!size || !voxel) st = iso_transducers_grid(&sound.grid, sound.t, field_of_view());
	place_grid(sets, seen);
	return st ? st : iso_grid_check(&sound.grid);
}

static int load_grid(struct cmd *c, const struct opt_set *sets, const struct iso_grid *image)
{
	int st;

	if (image && !opt_find(sets, "grid")->given && !opt_find(sets, "voxel")->given &&
	    !opt_find(sets, "centre")->given) {
		sound.grid = *image;
		return ISO_OK;
	}
	if ((st = complete_grid(c, sets))) return st;
	if (image && !iso_grid_same(&sound.grid, image))
		return iso_fail(ISO_EARG, "--grid, --voxel, --centre are not those of the image; leave them "
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
	return iso_fail(ISO_EARG, "--%s is '%s', must be all or a number from 1 to %" PRId64 "%s", option,
	                text, n, nm ? ", or its nm" : "");
}

int64_t sound_images(void)
{
	return sound.wavelengths.n * sound.frames.n;
}

static int choose_parts(struct cmd *c)
{
	const struct iso_recording_info *i;
	int st;

	if (!sound.traces)
		return !sound.wavelength && !sound.frame
		               ? ISO_OK
		               : iso_fail(ISO_EARG,
		                          "--wavelength and --frame are for traces, which may be of "
		                          "several, not for spectra");
	i = iso_recording_info(sound.traces);
	if ((st = choose(&sound.wavelengths, "wavelength", sound.wavelength, i->wavelengths,
	                 i->wavelength_nm)) ||
	    (st = choose(&sound.frames, "frame", sound.frame, i->frames, NULL)))
		return st;
	if (sound.speeds.n > 0 && sound_images() > 1)
		return iso_fail(ISO_EARG, "--speeds is for one image: choose a --wavelength and a --frame");
	if ((!sound.wavelength && i->wavelengths > 1) || (!sound.frame && i->frames > 1))
		record_warn(&c->record,
		            "%s holds %" PRId64 " wavelengths and %" PRId64 " frames; where none "
		            "is chosen the first is taken (--wavelength N|all, --frame N|all)",
		            sound.data, i->wavelengths, i->frames);
	return ISO_OK;
}

/* The image of such traces is 0 as well. */
static void warn_of_silence(struct cmd *c)
{
	if (!sound.y.v) return;
	for (int64_t i = 0; i < sound.y.n; i++)
		if (sound.y.v[i] != 0) return;
	record_warn(&c->record, "%s: all values of the traces are 0", sound.data);
}

int sound_image(struct cmd *c, int64_t k)
{
	int st =
		iso_recording_read(sound.y.v, sound.traces, sound.wavelengths.first + k % sound.wavelengths.n,
	                           sound.frames.first + k / sound.wavelengths.n);

	if (!st) warn_of_silence(c);
	return st;
}

json_t *sound_image_json(int64_t k)
{
	int64_t w = sound.wavelengths.first + k % sound.wavelengths.n;
	int64_t f = sound.frames.first + k / sound.wavelengths.n;
	const double *nm = sound.traces ? iso_recording_info(sound.traces)->wavelength_nm : NULL;

	return sound.traces ? json_pack("{s:I, s:I, s:o}", "wavelength", (json_int_t)(w + 1), "frame",
	                                (json_int_t)(f + 1), "nm", nm ? record_real(nm[w]) : json_null())
	                    : NULL;
}

/* Traces; an array of three axes, which may be spectra, is left to a model that takes them. */
static int load_array(struct cmd *c)
{
	struct iso_array *y = &sound.several;
	enum iso_values pairs = sound.takes_spectra ? ISO_PAIRS : 0;
	int st;

	if ((st = cmd_read(c, y, sound.data, ISO_FINITE | pairs)) ||
	    (st = record_input(&c->record, sound.data)))
		return st;
	if (sound.takes_spectra && y->n_dim == 3) {
		sound.y = *y;
		*y = (struct iso_array){ 0 };
		warn_of_silence(c);
		return ISO_OK;
	}
	if (y->pairs)
		return iso_fail(ISO_EINPUT,
		                "%s: complex numbers of %d axes, spectra are (transducers, lines)",
		                sound.data, y->n_dim - 1);
	return transducers_traces(&sound.traces, c, sound.t, y, sound.data);
}

/* The traces of a file are there twice while they are read. */
static int load_image(struct cmd *c)
{
	int64_t bytes = sound_rows() * (int64_t)sizeof(iso_real) * (sound.several.n > 0 ? 1 : 2);
	int st;

	if (c->dry_run) return ISO_OK;
	if ((st = iso_memory_check(c->ctx, sound.data, bytes)) ||
	    (st = iso_array_create(&sound.y, 2, (const int64_t[]){ sound.t->n, sound.t->samples })))
		return st;
	return sound_image(c, 0);
}

double sound_speed(int i)
{
	const struct sound_speeds *s = &sound.speeds;

	return s->n < 2 ? sound.own.speed : s->low + i * (s->high - s->low) / (s->n - 1);
}

/* A record that ends too early is heard in part: the image fades where it was not. Of several speeds
   all must be heard, before the first image is made; the worst is told. */
static int check_hearing(struct cmd *c)
{
	struct iso_transducers t = *sound.t;
	struct iso_hearing h, worst = { .covered = 1 };
	double at = 0;
	int i = 0;

	do {
		t.speed = sound_speed(i);
		if (iso_transducers_hear(&h, &t, &sound.grid))
			return iso_fail(ISO_EINPUT, "%s: at %g mm/us: %s", scanner_name(), t.speed,
			                iso_message());
		if (h.covered < worst.covered) {
			worst = h;
			at = t.speed;
		}
	} while (++i < sound.speeds.n);
	if (worst.covered < 1)
		record_warn(&c->record,
		            "at %g mm/us sound of the image arrives from %.4g to %.4g us after the laser "
		            "pulse; the record holds %.3g %% of that",
		            at, worst.nearest, worst.farthest, 100 * worst.covered);
	return ISO_OK;
}

/* An array is read last: it tells its parts only then, and is not read in vain. */
int sound_load(struct cmd *c, const struct opt_set *sets, int need, const struct iso_grid *image)
{
	bool array;
	int st;

	if (need & MODEL_NEEDS_COUNTS && !sound.data)
		return iso_fail(ISO_EARG, "--data is missing: the traces");
	sound.wavelengths = sound.frames = (struct sound_part){ 0, 1 };
	if ((st = load_scanner(c))) return st;
	if ((st = load_grid(c, sets, image))) return st;
	array = need & MODEL_NEEDS_COUNTS && !sound.traces;
	if (!array && (st = choose_parts(c))) return st;
	if ((st = check_hearing(c))) return st;
	if (array && ((st = load_array(c)) || (st = choose_parts(c)))) return st;
	return need & MODEL_NEEDS_COUNTS && sound.traces ? load_image(c) : ISO_OK;
}

void sound_unload(struct opt *opts)
{
	iso_array_free(&sound.y);
	iso_array_free(&sound.several);
	transducers_free(&sound.array);
	iso_recording_free(sound.traces);
	sound = (struct sound){ 0 };
	for (struct opt *o = opts; o->name; o++) o->given = o->lone = false;
}

struct iso_grid sound_grid(void)
{
	return sound.grid;
}

const char *sound_unit(void)
{
	return "absorbed energy";
}

int64_t sound_rows(void)
{
	return sound.t->n * sound.t->samples;
}

int sound_shape(int64_t dim[8])
{
	dim[0] = sound.t->n;
	dim[1] = sound.t->samples;
	return 2;
}

int sound_select(struct cmd *c, const struct model_frame *f)
{
	(void)c;
	return f->all ? ISO_OK
	              : iso_fail(ISO_EARG, "traces have no times of a scan: --frames, --from-s and "
	                                   "--to-s do not go with them; --frame does");
}

int sound_weights(const double **w, int64_t *n)
{
	double sum = 0;

	for (int64_t q = 0; sound.t->area && q < sound.t->n; q++) sum += sound.t->area[q];
	if (!(sum > 0))
		return iso_fail(ISO_EINPUT, "--weigh area: %s %s", scanner_name(),
		                sound.t->area ? "says 0 for the areas of all transducers"
		                              : "does not say the areas of the transducers");
	*w = sound.t->area;
	*n = sound.t->n;
	return ISO_OK;
}

int sound_sens(struct iso_array *s, struct cmd *c)
{
	(void)s;
	(void)c;
	return iso_fail(ISO_EARG, "an optoacoustic model has no sensitivity image");
}
