/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome unmix: images of several wavelengths to maps of what absorbs. */
#include "cmd.h"

#include "core/size.h"
#include "file/suffix.h"
#include "io/format.h"
#include "report/page.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { WAVELENGTHS = 256, MAPS = ISO_CHROMOPHORES + 4 };
#define LARGE_CONDITION 1e3

struct settings {
	const char *in, *out, *wavelengths, *chromophores, *weights, *fluence, *mask, *regions, *page;
	double floor, fill;
	bool nonneg, absorption;
};

/* What is read, and the maps that are made. */
struct work {
	struct settings s;
	struct cmd c;
	struct iso_array images, mask, fluence, labels;
	json_t *tissue; /* what the model of fluence found; NULL: there is none */
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
	char beside[PATH_MAX];   /* where maps go if nobody says */
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
	"  isotome unmix all.nii --chromophores HbO2,Hb,icg.csv --weights 1,1,2,2,1 -o mouse.nii\n"
	"  isotome unmix all.nii --mask tissue.nii --fluence depth:0.1,0.7,0.7 --weights energy \\\n"
	"      --regions organs.nii --page mouse.html -o mouse.nii\n",
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

/* Squares of the energies of the laser's pulses, over their mean: images that were divided by the energy have noise that
   falls with it. */
static int weigh_by_energy(struct work *w)
{
	json_t *record = NULL;
	int st = record_sidecar(&record, w->s.in);
	const json_t *images = json_object_get(json_object_get(record, "results"), "images");
	const int64_t n = (int64_t)json_array_size(images);
	double mean = 0;
	bool all = n > 0;

	for (int i = 0; i < w->wavelengths; i++) w->weight[i] = 0;
	for (int64_t k = 0; k < n; k++) {
		const json_t *o = json_array_get(images, (size_t)k);
		const double mj = json_number_value(json_object_get(o, "energy_mj"));

		w->weight[k % w->wavelengths] += mj;
		mean += mj / (double)w->wavelengths;
		all = all && mj > 0;
	}
	json_decref(record);
	if (st) return st;
	if (!all)
		return iso_fail(
			ISO_EINPUT,
			"%s: no record beside it tells the energy of the laser's pulses (energy_mj), which "
			"--weights energy needs",
			w->s.in);
	for (int i = 0; i < w->wavelengths; i++) w->weight[i] *= w->weight[i] / (mean * mean);
	return ISO_OK;
}

static int read_weights(struct work *w)
{
	struct iso_array a = { 0 };
	bool list;

	if (w->s.weights && strcmp(w->s.weights, "energy") == 0) return weigh_by_energy(w);
	int st = w->s.weights ? read_list(&list, &a, w->weight, w, "weights", w->s.weights) : ISO_OK;

	if (!st && w->s.weights && !list)
		st = iso_fail(ISO_EINPUT, "%s: holds %" PRId64 " numbers, there are %d wavelengths",
		              w->s.weights, a.n, w->wavelengths);
	iso_array_free(&a);
	return st;
}

static bool is_model(const char *fluence)
{
	return fluence && strncmp(fluence, "depth", 5) == 0 && (!fluence[5] || fluence[5] == ':');
}

/* Numbers behind depth: where they are given. */
static int model_numbers(struct iso_fluence *p, const char *fluence)
{
	double v[3];

	if (!fluence[5]) return ISO_OK;
	if (iso_numbers(v, 3, fluence + 6) != 3)
		return iso_fail(ISO_EARG, "--fluence is '%.60s', expected depth or depth:BLOOD,SO2,WATER",
		                fluence);
	p->blood = v[0];
	p->so2 = v[1];
	p->water = v[2];
	return ISO_OK;
}

/* Light by the depth in the mask, the same in every frame. */
static int make_fluence(struct work *w)
{
	double m[WAVELENGTHS];
	struct iso_fluence p = { .size = sizeof p, .blood = .1, .so2 = .7, .water = .7, .result = m };
	const int64_t *d = w->images.dim;
	int st = model_numbers(&p, w->s.fluence);

	if (st) return st;
	if (!w->s.mask) return iso_fail(ISO_EARG, "--fluence depth needs --mask: where the tissue is");
	if (!w->images.has_grid && !w->mask.has_grid)
		return iso_fail(ISO_EINPUT,
		                "--fluence depth: neither %s nor %s holds a voxel size, as .nii does",
		                w->s.in, w->s.mask);
	struct iso_grid g = w->images.has_grid ? w->images.grid : w->mask.grid;

	for (int a = 0; a < 3; a++) g.n[a] = d[3 - a];
	if ((st = iso_array_create(&w->fluence, 4, d)) ||
	    (st = iso_fluence_depth(w->fluence.v, &p, &g, w->mask.v, w->wavelengths, w->nm)))
		return st;
	for (int64_t f = 1; f < w->frames; f++)
		memcpy(w->fluence.v + f * w->wavelengths * w->voxels, w->fluence.v,
		       (size_t)(w->wavelengths * w->voxels) * sizeof *w->fluence.v);
	w->tissue =
		record_pack("{s:s, s:f, s:f, s:f, s:o}", "model", "depth", "blood_mm", p.blood, "so2", p.so2,
	                    "water", p.water, "attenuation_per_mm", record_reals(w->wavelengths, m));
	return w->tissue ? ISO_OK : iso_fail_memory("record", 1);
}

/* A number a wavelength, a map of the images' shape, or a model. */
static int read_fluence(struct work *w)
{
	bool list = true;

	if (is_model(w->s.fluence)) return w->c.record.read.dry_run ? ISO_OK : make_fluence(w);
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

static int read_voxels(struct work *w, struct iso_array *a, const char *path)
{
	int st;

	if (!path) return ISO_OK;
	if ((st = record_input(&w->c.record, path)) || (st = record_read(&w->c.record, a, path, ISO_FINITE)))
		return st;
	return a->n == w->voxels ? ISO_OK
	                         : iso_fail(ISO_EINPUT, "%s: holds %" PRId64 " voxels, an image %" PRId64,
	                                    path, a->n, w->voxels);
}

static int read_all(struct work *w)
{
	int st;

	record_stage(&w->c.record, "read");
	if ((st = record_input(&w->c.record, w->s.in)) ||
	    (st = record_read(&w->c.record, &w->images, w->s.in, ISO_FINITE)) || (st = check_images(w)) ||
	    (st = read_weights(w)) || (st = read_voxels(w, &w->mask, w->s.mask)) ||
	    (st = read_voxels(w, &w->labels, w->s.regions)) || (st = read_fluence(w)))
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

int unmix_map_path(char path[PATH_MAX], const char *out, const char *name)
{
	const char *base = iso_base_name(out), *dot = strrchr(base, '.');

	if (dot && iso_has_suffix(out, ".gz"))
		while (dot > base && *--dot != '.') {
		}
	const int stem = (int)((dot ? dot : base + strlen(base)) - out);
	const int n = iso_snprintf(path, PATH_MAX, "%.*s_%s%s", stem, out, name, out + stem);

	return n < PATH_MAX ? ISO_OK : iso_fail(ISO_EARG, "%.200s: the path is too long", out);
}

static int add_map(struct work *w, const char *name, const char *unit)
{
	struct map *m = &w->map[w->maps++];
	int st = ISO_OK;

	iso_snprintf(m->name, sizeof m->name, "%s", name);
	m->unit = unit;
	if (whole(w)) return ISO_OK;
	if ((st = unmix_map_path(m->path, w->s.out, m->name)) ||
	    (st = cmd_add_output(&w->c, m->path, m->name)))
		return st;
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

/* ---- regions ---- */

static int add_regions(json_t *list, const struct work *w, int map, int64_t frame)
{
	struct iso_region found[ISO_REGIONS];
	int n, st = iso_regions(found, &n, w->voxels, w->map[map].a.v + frame * w->voxels, w->labels.v);

	for (int k = 0; k < n && !st; k++) {
		const struct iso_region *r = found + k;

		json_array_append_new(list, record_pack("{s:s, s:i, s:I, s:I, s:I, s:f, s:f, s:f}", "map",
		                                        w->map[map].name, "label", r->label, "frame",
		                                        (json_int_t)(frame + 1), "voxels", (json_int_t)r->n,
		                                        "without_value", (json_int_t)r->without, "mean",
		                                        r->mean, "sd", r->sd, "median", r->median));
	}
	return st;
}

/* What each map is in each region, into the record. */
static int tell_regions(struct work *w)
{
	json_t *list = json_array();
	int st = ISO_OK;

	if (!w->s.regions) {
		json_decref(list);
		return ISO_OK;
	}
	for (int k = 0; k < w->maps && !st; k++)
		for (int64_t f = 0; f < w->frames && !st; f++) st = add_regions(list, w, k, f);
	if (!st) return record_result(&w->c.record, "regions", list);
	json_decref(list);
	return st;
}

/* The page shows saturation, its error, blood, the chromophores, what is left: up to ISO_SVG_COLOURS maps. */
static int write_page(struct work *w)
{
	static const char *const first[] = { "so2", "so2_sd", "thb", "residual" };
	const struct iso_report_options o = { .size = sizeof o, .title = "Unmixing" };
	const char *path[6];
	int n = 0;

	if (!w->s.page) return ISO_OK;
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < w->maps; k++)
			if (strcmp(w->map[k].name, first[i]) == 0) path[n++] = w->map[k].path;
	for (int j = 0; j < w->of.n && n < 6; j++) path[n++] = w->map[j].path;
	return iso_report_write(w->s.page, n, path, &o);
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
	if (w->tissue && record_result(r, "fluence", json_incref(w->tissue)))
		return iso_fail_memory("record", 1);
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
	if (st || (st = tell(w, &sum)) || (st = tell_regions(w))) return st;
	fill(w);
	record_stage(&w->c.record, NULL);
	return (st = write_maps(w)) ? st : write_page(w);
}

/* Without an output the maps get the name of the images. */
static int settle_output(struct work *w)
{
	int st;

	if (w->s.out) return ISO_OK;
	if (iso_variable(w->s.in))
		return iso_fail(ISO_EARG, "--output is missing: where the maps of %s go", w->s.in);
	w->s.out = w->s.in;
	if (!whole(w)) return ISO_OK;
	if ((st = unmix_map_path(w->beside, w->s.in, "unmix"))) return st;
	w->s.out = w->beside;
	return cmd_add_output(&w->c, w->beside, "maps");
}

/* The names of the maps are those of the chromophores: they are known before anything large is read. */
static int begin(struct work *w)
{
	int st = settle_output(w);

	if (st) return st;
	if (w->s.page && whole(w))
		return iso_fail(
			ISO_EARG,
			"--page shows images: the output must be of files such as .nii, not one .npy");
	if (w->s.page && ((st = iso_page_check(w->s.page)) || (st = iso_target_check(w->s.page, w->c.force))))
		return st;
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
	iso_array_free(&w->labels);
	json_decref(w->tissue);
	iso_chromophores_free(&w->of);
	free(w->concentration);
}

int main_unmix(int argc, char **argv)
{
	struct work w = { .s = { .chromophores = "HbO2,Hb", .floor = .05 },
		          .c = { .cpu_only = true, .writes = true } };
	struct settings *s = &w.s;
	struct opt own[] = {
		CMD_ARGUMENT(
			"images", s->in, OPT_READS, "IMAGES",
			"images of several wavelengths in turn (images, nz, ny, nx), as recon writes them "
			"with --wavelength all"),
		{ .letter = 'o',
		  .name = "output",
		  .text = &s->out,
		  .file = OPT_WRITES,
		  .value = "FILE",
		  .absent = "beside IMAGES: x_HbO2.nii and so on, x_unmix.npy",
		  .help = "maps, each in a file of its name (.nii, .nii.gz, .hv, .raw), or all in one "
		          "(.npy)" },
		{ 0, "wavelengths", .text = &s->wavelengths, .value = "NM,...",
		  .absent = "what the record of IMAGES says",
		  .help = "wavelengths in nm, in the order of the images" },
		{ 0, "chromophores", .text = &s->chromophores, .value = "NAME,...",
		  .help = "what absorbs: HbO2, Hb, water, lipid, melanin, or tables FILE.csv with the "
		          "columns "
		          "nm,NAME,... in units of your own" },
		{ 0, "nonneg", .flag = &s->nonneg, .help = "no concentration is below 0" },
		{ 0, "weights", .text = &s->weights, .file = OPT_MAY_READ, .value = "W,...|FILE|energy",
		  .absent = "1",
		  .help = "how much each wavelength counts: 1/variance of its images; or energy: the squares "
		          "of the "
		          "energies of the laser's pulses, which the record of IMAGES tells" },
		{ 0, "fluence", .text = &s->fluence, .file = OPT_MAY_READ, .value = "F,...|FILE|depth",
		  .absent = "1",
		  .help = "light of each wavelength, or of each voxel of the images: images are divided by "
		          "it. Or a model: depth:BLOOD,SO2,WATER is exp(-m d), d the depth in 'mask', m from "
		          "haemoglobin (mM, 0.1), its saturation (0.7) and the share of water (0.7)" },
		{ 0, "mask", .text = &s->mask, .file = OPT_READS, .value = "FILE",
		  .help = "voxels where this image is 0 are left out" },
		{ 0, "regions", .text = &s->regions, .file = OPT_READS, .value = "FILE",
		  .help = "image of whole numbers, 0 for none: the record gets mean, standard deviation and "
		          "median "
		          "of every map in each region" },
		{ 0, "page", .text = &s->page, .file = OPT_WRITES, .value = "FILE.html",
		  .help = "report with pictures of the maps, and the regions" },
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
