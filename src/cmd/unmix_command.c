/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome unmix: images of several wavelengths to maps of what absorbs. */
#include "cmd.h"

#include "core/size.h"
#include "file/suffix.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { WAVELENGTHS = 256, MAPS = ISO_CHROMOPHORES + 4 };
#define LARGE_CONDITION 1e3

struct settings {
	const char *in, *out, *wavelengths, *chromophores, *weights, *fluence, *mask;
	double floor, fill;
	bool nonneg, absorption;
};

/* What is read, and the maps that are made. */
struct work {
	struct settings s;
	struct cmd c;
	struct iso_array images, mask, fluence;
	int wavelengths;
	double nm[WAVELENGTHS], weight[WAVELENGTHS], light[WAVELENGTHS];
	struct iso_chromophores of;
	int64_t frames, voxels;
	int maps;
	struct map {
		char name[32];
		const char *unit;
		char path[PATH_MAX];
		struct iso_array a;
	} map[MAPS];
	iso_real *concentration; /* of a frame, all chromophores */
};

static const struct opt_usage usage = {
	"unmix",
	"Find how much there is of what absorbs light, voxel by voxel, from optoacoustic images of several "
	"wavelengths: haemoglobin with and without oxygen, water, lipid, melanin, or what a table says. "
	"Writes an image of each, and where HbO2 and Hb are among them their sum (thb), the oxygen "
	"saturation HbO2/(HbO2 + Hb) (so2) with its standard error (so2_sd), and what the fit leaves "
	"(residual). x.nii becomes x_HbO2.nii, x_so2.nii and so on; an output .npy holds all maps, (frames, "
	"maps, nz, ny, nx). A voxel without a value is NaN.",
	"  isotome unmix all.nii -o mouse.nii\n"
	"  isotome unmix all.npy --wavelengths 700,730,760,800,850 --chromophores HbO2,Hb,water --nonneg \\\n"
	"      -o mouse.nii\n"
	"  isotome unmix all.nii --chromophores HbO2,Hb,icg.csv --weights 1,1,2,2,1 -o mouse.nii\n",
};

/* ---- wavelengths ---- */

static int wavelengths_of_words(struct work *w)
{
	w->wavelengths = iso_numbers(w->nm, WAVELENGTHS, w->s.wavelengths);
	return w->wavelengths > 0
	               ? ISO_OK
	               : iso_fail(ISO_EARG, "--wavelengths is '%.60s', expected numbers in nm with commas",
	                          w->s.wavelengths);
}

/* Of frames worked on as they came: one list for all. */
static int wavelengths_of_stream(struct work *w, const json_t *results)
{
	const json_t *list = json_object_get(json_object_get(results, "follow"), "wavelengths_nm");

	for (size_t i = 0; i < json_array_size(list) && i < WAVELENGTHS; i++)
		w->nm[w->wavelengths++] = json_number_value(json_array_get(list, i));
	return w->wavelengths;
}

static double nm_of(const json_t *images, int64_t k)
{
	return json_number_value(json_object_get(json_array_get(images, (size_t)k), "nm"));
}

/* Each image has its own; they come in the same turn in every frame. */
static int wavelengths_of_images(struct work *w, const json_t *results)
{
	const json_t *images = json_object_get(results, "images");
	const int64_t n = (int64_t)json_array_size(images);
	const json_t *first = json_object_get(json_array_get(images, 0), "frame");

	for (int64_t k = 0; k < n && k < WAVELENGTHS; k++) {
		const json_t *o = json_array_get(images, (size_t)k);

		if (!json_equal(json_object_get(o, "frame"), first) || !(nm_of(images, k) > 0)) break;
		w->nm[w->wavelengths++] = nm_of(images, k);
	}
	for (int64_t k = 0; k < n && w->wavelengths > 0; k++)
		if (nm_of(images, k) != w->nm[k % w->wavelengths]) w->wavelengths = 0;
	return w->wavelengths;
}

static int find_wavelengths(struct work *w)
{
	json_t *record = NULL;
	int st;

	if (w->s.wavelengths) return wavelengths_of_words(w);
	if ((st = record_sidecar(&record, w->s.in))) return st;
	const json_t *results = json_object_get(record, "results");
	const bool found = wavelengths_of_images(w, results) || wavelengths_of_stream(w, results);

	json_decref(record);
	if (found) return ISO_OK;
	if (!iso_variable(w->s.in) && access(w->s.in, F_OK) != 0)
		return iso_refuse(w->s.in, "%s", strerror(errno));
	return iso_fail(ISO_EARG,
	                "%s: no record beside it tells the wavelengths; --wavelengths does, such as "
	                "--wavelengths 700,760,850",
	                w->s.in);
}

/* ---- numbers for each wavelength ---- */

/* Numbers with commas, or a file of them; false in *list where the file is larger. */
static int read_list(bool *list, struct iso_array *a, double *v, struct work *w, const char *what,
                     const char *text)
{
	const int n = iso_numbers(v, WAVELENGTHS, text);
	int st;

	*list = true;
	if (n == w->wavelengths) return ISO_OK;
	if (n > 0)
		return iso_fail(ISO_EARG, "--%s has %d numbers, there are %d wavelengths", what, n,
		                w->wavelengths);
	if ((st = record_input(&w->c.record, text)) || (st = record_read(&w->c.record, a, text, ISO_FINITE)))
		return st;
	*list = a->n == w->wavelengths;
	for (int i = 0; i < w->wavelengths && *list && a->v; i++) v[i] = (double)a->v[i];
	return ISO_OK;
}

static int read_weights(struct work *w)
{
	struct iso_array a = { 0 };
	bool list;
	int st = w->s.weights ? read_list(&list, &a, w->weight, w, "weights", w->s.weights) : ISO_OK;

	if (!st && w->s.weights && !list)
		st = iso_fail(ISO_EINPUT, "%s: holds %" PRId64 " numbers, there are %d wavelengths",
		              w->s.weights, a.n, w->wavelengths);
	iso_array_free(&a);
	return st;
}

/* A number a wavelength, or a map of the images' shape. */
static int read_fluence(struct work *w)
{
	bool list = true;
	int st = w->s.fluence ? read_list(&list, &w->fluence, w->light, w, "fluence", w->s.fluence) : ISO_OK;

	if (!st && !list && w->fluence.n != w->images.n)
		st = iso_fail(ISO_EINPUT,
		              "%s: holds %" PRId64
		              " numbers; expected one a wavelength (%d), or one a voxel of "
		              "each image (%" PRId64 ")",
		              w->s.fluence, w->fluence.n, w->wavelengths, w->images.n);
	if (list) iso_array_free(&w->fluence);
	return st;
}

/* ---- what is read ---- */

static int check_images(struct work *w)
{
	const struct iso_array *x = &w->images;

	if (x->n_dim != 4)
		return iso_fail(ISO_EINPUT,
		                "%s: %d axes; images of several wavelengths have 4 (images, nz, ny, nx)",
		                w->s.in, x->n_dim);
	if (x->dim[0] % w->wavelengths != 0)
		return iso_fail(ISO_EINPUT,
		                "%s: %" PRId64 " images are no whole number of turns of %d wavelengths",
		                w->s.in, x->dim[0], w->wavelengths);
	w->frames = x->dim[0] / w->wavelengths;
	w->voxels = x->dim[1] * x->dim[2] * x->dim[3];
	return ISO_OK;
}

static int read_mask(struct work *w)
{
	int st;

	if (!w->s.mask) return ISO_OK;
	if ((st = record_input(&w->c.record, w->s.mask)) ||
	    (st = record_read(&w->c.record, &w->mask, w->s.mask, ISO_FINITE)))
		return st;
	return w->mask.n == w->voxels
	               ? ISO_OK
	               : iso_fail(ISO_EINPUT, "%s: holds %" PRId64 " voxels, an image %" PRId64, w->s.mask,
	                          w->mask.n, w->voxels);
}

static int read_all(struct work *w)
{
	int st;

	record_stage(&w->c.record, "read");
	if ((st = record_input(&w->c.record, w->s.in)) ||
	    (st = record_read(&w->c.record, &w->images, w->s.in, ISO_FINITE)) || (st = check_images(w)) ||
	    (st = read_weights(w)) || (st = read_fluence(w)) || (st = read_mask(w)))
		return st;
	return ISO_OK;
}

/* ---- maps ---- */

static bool whole(const struct work *w)
{
	return iso_has_suffix(w->s.out, ".npy");
}

static bool blood(const struct work *w)
{
	return w->of.oxygenated >= 0 && w->of.deoxygenated >= 0;
}

/* x.nii.gz -> x_NAME.nii.gz */
static int map_path(struct map *m, const char *out)
{
	const char *base = iso_base_name(out), *dot = strrchr(base, '.');

	if (dot && iso_has_suffix(out, ".gz"))
		while (dot > base && *--dot != '.') {
		}
	const int stem = (int)((dot ? dot : base + strlen(base)) - out);
	const int n = iso_snprintf(m->path, sizeof m->path, "%.*s_%s%s", stem, out, m->name, out + stem);

	return n < (int)sizeof m->path ? ISO_OK : iso_fail(ISO_EARG, "%.200s: the path is too long", out);
}

static int add_map(struct work *w, const char *name, const char *unit)
{
	struct map *m = &w->map[w->maps++];
	int st = ISO_OK;

	iso_snprintf(m->name, sizeof m->name, "%s", name);
	m->unit = unit;
	if (whole(w)) return ISO_OK;
	if ((st = map_path(m, w->s.out)) || (st = cmd_add_output(&w->c, m->path, m->name))) return st;
	return cmd_check_array(&w->c, m->path);
}

/* HbO2 and Hb are mM where images are absorption; of tables nobody knows. */
static const char *unit_of(const struct work *w, int j)
{
	return w->s.absorption && (j == w->of.oxygenated || j == w->of.deoxygenated) ? "mM" : "";
}

static int name_maps(struct work *w)
{
	int st = ISO_OK;

	for (int j = 0; j < w->of.n && !st; j++) st = add_map(w, w->of.name[j], unit_of(w, j));
	if (!st && blood(w)) st = add_map(w, "so2", "1");
	if (!st && blood(w)) st = add_map(w, "so2_sd", "1");
	if (!st && blood(w)) st = add_map(w, "thb", unit_of(w, w->of.oxygenated));
	return st ? st : add_map(w, "residual", "");
}

static int plan(struct work *w)
{
	struct iso_plan p = cmd_plan_begin(&w->c);

	iso_plan_add(&p, "maps", w->frames * w->voxels, w->maps * (int64_t)sizeof(iso_real), false);
	iso_plan_add(&p, "concentrations of a frame", w->voxels, w->of.n * (int64_t)sizeof(iso_real), false);
	return cmd_plan(&w->c, &p);
}

static int make_maps(struct work *w)
{
	const int64_t *d = w->images.dim;
	int st = ISO_OK;

	if (!(w->concentration = size_alloc(w->of.n * w->voxels, sizeof *w->concentration)))
		return iso_fail_memory("unmix", w->of.n * w->voxels * (int64_t)sizeof *w->concentration);
	for (int k = 0; k < w->maps && !st; k++) {
		struct iso_array *a = &w->map[k].a;

		st = iso_array_create(a, w->frames > 1 ? 4 : 3,
		                      w->frames > 1 ? (const int64_t[]){ w->frames, d[1], d[2], d[3] }
		                                    : d + 1);
		a->has_grid = w->images.has_grid;
		a->grid = w->images.grid;
		iso_snprintf(a->unit, sizeof a->unit, "%s", w->map[k].unit);
	}
	return st;
}

static iso_real *map_of(struct work *w, const char *name, int64_t frame)
{
	for (int k = 0; k < w->maps; k++)
		if (strcmp(w->map[k].name, name) == 0) return w->map[k].a.v + frame * w->voxels;
	return NULL;
}

static int unmix_frame(struct work *w, struct iso_unmixed *sum, int64_t frame)
{
	const int64_t first = frame * w->wavelengths * w->voxels;
	const struct iso_unmix p = { .size = sizeof p,
		                     .of = &w->of,
		                     .weight = w->s.weights ? w->weight : NULL,
		                     .nonneg = w->s.nonneg,
		                     .floor = w->s.floor,
		                     .fluence = w->s.fluence && !w->fluence.v ? w->light : NULL,
		                     .fluence_map = w->fluence.v ? w->fluence.v + first : NULL,
		                     .mask = w->mask.v };
	struct iso_unmixed to = { .size = sizeof to,
		                  .concentration = w->concentration,
		                  .so2 = map_of(w, "so2", frame),
		                  .so2_sd = map_of(w, "so2_sd", frame),
		                  .thb = map_of(w, "thb", frame),
		                  .residual = map_of(w, "residual", frame) };
	const int st = iso_unmix_images(&to, w->c.ctx, &p, w->voxels, w->images.v + first);

	for (int j = 0; j < w->of.n && !st; j++)
		memcpy(w->map[j].a.v + frame * w->voxels, w->concentration + j * w->voxels,
		       (size_t)w->voxels * sizeof *w->concentration);
	sum->dark += to.dark;
	sum->pale += to.pale;
	return st;
}

/* Another value in the place of none. */
static void fill(struct work *w)
{
	for (int k = 0; k < w->maps && cmd_given(&w->c, "fill"); k++)
		for (int64_t i = 0; i < w->map[k].a.n; i++)
			if (isnan((double)w->map[k].a.v[i])) w->map[k].a.v[i] = (iso_real)w->s.fill;
}

/* ---- telling ---- */

static json_t *names_json(const struct work *w)
{
	json_t *list = json_array();

	for (int k = 0; k < w->maps; k++) json_array_append_new(list, json_string(w->map[k].name));
	return list;
}

static int tell(struct work *w, const struct iso_unmixed *sum)
{
	struct record *r = &w->c.record;

	if (w->of.condition > LARGE_CONDITION)
		record_warn(r,
		            "the condition of the spectra at these wavelengths is %.3g: small errors of the "
		            "images become large errors of the maps",
		            w->of.condition);
	if (w->of.n == w->wavelengths)
		record_warn(
			r,
			"as many chromophores as wavelengths: what the fit leaves tells no error, and so2_sd "
			"is NaN");
	if (sum->dark > 0)
		record_warn(r, "%s: no light in %" PRId64 " voxels; their maps are NaN", w->s.fluence,
		            sum->dark);
	return record_result(r, "unmix",
	                     record_pack("{s:o, s:o, s:f, s:I, s:I, s:s}", "wavelengths_nm",
	                                 record_reals(w->wavelengths, w->nm), "maps", names_json(w),
	                                 "condition", w->of.condition, "voxels_without_light",
	                                 (json_int_t)sum->dark, "voxels_with_too_little_blood",
	                                 (json_int_t)sum->pale, "scale",
	                                 w->s.absorption ? "absorption: HbO2 and Hb in mM" : "relative"));
}

/* ---- writing ---- */

static int write_whole(struct work *w)
{
	const int64_t *d = w->images.dim;
	struct iso_array a = { 0 };
	int st = iso_array_create(&a, 5, (const int64_t[]){ w->frames, w->maps, d[1], d[2], d[3] });

	for (int64_t f = 0; f < w->frames && !st; f++)
		for (int k = 0; k < w->maps; k++)
			memcpy(a.v + (f * w->maps + k) * w->voxels, w->map[k].a.v + f * w->voxels,
			       (size_t)w->voxels * sizeof *a.v);
	if (!st) st = cmd_write(&w->c, w->s.out, &a);
	iso_array_free(&a);
	return st;
}

static int write_maps(struct work *w)
{
	int st = whole(w) ? write_whole(w) : ISO_OK;

	for (int k = 0; k < w->maps && !whole(w) && !st; k++)
		st = cmd_write(&w->c, w->map[k].path, &w->map[k].a);
	return st;
}

static int run(struct work *w)
{
	struct iso_unmixed sum = { 0 };
	int st;

	if ((st = read_all(w)) || (st = plan(w))) return st;
	record_stage(&w->c.record, "unmix");
	st = make_maps(w);
	for (int64_t f = 0; f < w->frames && !st; f++) st = unmix_frame(w, &sum, f);
	if (st || (st = tell(w, &sum))) return st;
	fill(w);
	record_stage(&w->c.record, NULL);
	return write_maps(w);
}

/* The names of the maps are those of the chromophores: they are known before anything large is read. */
static int begin(struct work *w)
{
	int st;

	if ((st = find_wavelengths(w))) return st;
	w->of.size = sizeof w->of;
	if ((st = iso_chromophores_create(&w->of, w->s.chromophores, w->wavelengths, w->nm)) ||
	    (whole(w) && (st = cmd_check_array(&w->c, w->s.out))) || (st = name_maps(w)))
		return st;
	return cmd_begin(&w->c);
}

static void free_work(struct work *w)
{
	for (int k = 0; k < w->maps; k++) iso_array_free(&w->map[k].a);
	iso_array_free(&w->images);
	iso_array_free(&w->mask);
	iso_array_free(&w->fluence);
	iso_chromophores_free(&w->of);
	free(w->concentration);
}

int main_unmix(int argc, char **argv)
{
	struct work w = { .s = { .chromophores = "HbO2,Hb", .floor = .05 }, .c = { .cpu_only = true } };
	struct settings *s = &w.s;
	struct opt own[] = {
		CMD_ARGUMENT(
			"images", s->in, OPT_READS, "IMAGES",
			"images of several wavelengths in turn (images, nz, ny, nx), as recon writes them "
			"with --wavelength all"),
		CMD_OUTPUT(
			s->out,
			"maps, each in a file of its name (.nii, .nii.gz, .hv, .raw), or all in one (.npy)"),
		{ 0, "wavelengths", .text = &s->wavelengths, .value = "NM,...",
		  .absent = "what the record of IMAGES says",
		  .help = "wavelengths in nm, in the order of the images" },
		{ 0, "chromophores", .text = &s->chromophores, .value = "NAME,...",
		  .help = "what absorbs: HbO2, Hb, water, lipid, melanin, or tables FILE.csv with the "
		          "columns "
		          "nm,NAME,... in units of your own" },
		{ 0, "nonneg", .flag = &s->nonneg, .help = "no concentration is below 0" },
		{ 0, "weights", .text = &s->weights, .file = OPT_MAY_READ, .value = "W,...|FILE",
		  .absent = "1", .help = "how much each wavelength counts: 1/variance of its images" },
		{ 0, "fluence", .text = &s->fluence, .file = OPT_MAY_READ, .value = "F,...|FILE",
		  .absent = "1",
		  .help = "light of each wavelength, or of each voxel of the images: images are divided by "
		          "it" },
		{ 0, "mask", .text = &s->mask, .file = OPT_READS, .value = "FILE",
		  .help = "voxels where this image is 0 are left out" },
		{ 0, "floor", .real = &s->floor, .value = "F", .min = 0, .max = 1,
		  .help = "no saturation where HbO2 + Hb is below this share of its 99.9 % quantile" },
		{ 0, "fill", .real = &s->fill, .value = "V", .min = -1e30, .max = 1e30, .absent = "NaN",
		  .help = "value of voxels that have none" },
		{ 0, "absorption", .flag = &s->absorption,
		  .help = "the images are absorption in 1/mm: HbO2 and Hb come in mM. Else all but ratios is "
		          "relative" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&w.c, CMD_COMPUTES | CMD_WRITES), { 0 } };
	int st = cmd_parse(&w.c, &usage, sets, argc, argv);

	if (!st && !(st = begin(&w))) st = run(&w);
	st = cmd_end(&w.c, st);
	free_work(&w);
	return st;
}
