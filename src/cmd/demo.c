/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome demo: a complete run from a phantom to a report, by the commands a user would type. */
#include "cmd.h"

#include "file/out.h"
#include "io/format.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define COUNTS 5e6
#define MOST_WORDS 40
#define LINE 92            /* columns of a printed command */
#define FEW 1e6            /* events */
#define PAIRS 1.2e8        /* of crystals, in the scanner */
#define PAIRS_PER_EVENT 4. /* noise of the sensitivity stays well below that of the events */

static const char ring_text[] =
#include "embedded/clinical-ring.yaml.h"
	;
static const char strips_text[] =
#include "embedded/bialas2015.yaml.h"
	;
static const char sound_text[] =
#include "embedded/optoacoustic-small.yaml.h"
	;
static const char spheres_text[] =
#include "embedded/smooth-spheres.yaml.h"
	;

/* Noise of two methods at one contrast, as shares. */
struct equal {
	bool known;
	double contrast, noise[2];
};

struct demo_settings {
	const struct demo *demo;
	const char *name, *folder;
	double counts;
	struct equal equal; /* once the images are there */
};

static const char *const names[] = { "ring", "strip", "optoacoustic", NULL }; /* as demos */

static const struct opt_usage usage = {
	"demo",
	"Run a small complete example. 'ring': a clinical PET ring scans hot spheres in a body; two images "
	"follow, without and with time of flight, and a report. 'strip': two J-PET strips see ellipses; the "
	"images are direct and by MLEM. 'optoacoustic': 384 transducers hear spheres; the images are by "
	"filtered back-projection, least squares and total variation. Isotome prints the commands as they "
	"run, and puts every file in one folder.",
	"  isotome demo -o demo\n"
	"  isotome demo -o demo --dry-run\n"
	"  isotome demo ring --counts 2e7 -o demo --force\n"
	"  isotome demo strip -o strips\n"
	"  isotome demo optoacoustic -o sound\n",
};

/* ---- the commands ---- */

/* All take --force; the second flag: the options of computing; the third: --device as well. */
static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	bool computes, on_device;
} verbs[] = {
	{ "phantom", main_phantom, true, false }, { "simulate", main_simulate, true, false },
	{ "sens", main_sens, true, true },        { "recon", main_recon, true, true },
	{ "filter", main_filter, true, true },    { "report", main_report, false, false },
};

#define N_COUNTS "{counts}" /* replaced by the number */
#define N_TITLE "{title}"   /* by what the demo found, or by its title where nothing is found yet */

/* A line as it could be typed, but for the word isotome; the last has none. */
struct step {
	const char *what; /* comes of it; NULL: belongs to the step before */
	const char *line;
};

#define GRID " --grid 79,62,49 --voxel 4"
#define RECON                                                                                    \
	"recon ray --events events.lmdT --scanner scanner.yaml --mu mu.nii --sens sens.nii" GRID \
	" --method osem --subsets 4 --iterations 3 --save-every 1"

static const struct step ring_steps[] = {
	{ "The phantom, and how it attenuates.", "phantom spheres -o truth.nii --mu mu.nii" },
	{ "A scan of it.",
	  "simulate scanner.yaml truth.nii --mu mu.nii --counts " N_COUNTS " -o events.lmdT" },
	{ "How well the scanner sees each voxel.",
	  "sens ray --scanner scanner.yaml --mu mu.nii" GRID " -o sens.nii" },
	{ "The image without time of flight, and smoothed.",
	  RECON " --tof-fwhm-ps 0 -o osem-without-tof.nii" },
	{ NULL, "filter gaussian:6 osem-without-tof.nii -o without-tof.nii" },
	{ "The same with the scanner's time of flight.", RECON " -o osem-with-tof.nii" },
	{ NULL, "filter gaussian:6 osem-with-tof.nii -o with-tof.nii" },
	{ "Both beside the truth, on one page.",
	  "report without-tof.nii with-tof.nii --truth truth.nii --title '" N_TITLE "' -o report.html" },
	{ 0 },
};

#define STRIP "recon strip --scanner scanner.yaml --events events.f32"

static const struct step strip_steps[] = {
	{ "The phantom.", "phantom ellipses -o truth.nii" },
	{ "A scan of it.", "simulate scanner.yaml ellipses --counts " N_COUNTS " -o events.f32" },
	{ "Each event where it most likely came from.", STRIP " --method direct -o direct.nii" },
	{ "Maximum likelihood, 10 iterations.", STRIP " --kernel tan --iterations 10 -o mlem.nii" },
	{ "Both beside the truth, on one page.",
	  "report direct.nii mlem.nii --truth truth.nii --title 'Ellipses between two strips, directly and "
	  "by MLEM' -o report.html" },
	{ 0 },
};

#define CUBES " --grid 49,49,103 --voxel 0.6"
#define HEARD " --data traces.npy --scanner scanner.yaml" CUBES
#define SVOXEL "recon svoxel" HEARD " --fmax-mhz 0.9"

static const struct step sound_steps[] = {
	{ "The phantom.", "phantom phantom.yaml" CUBES " --centre 0,0,0 -o truth.nii" },
	{ "What the transducers hear of it: closed forms, and noise.",
	  "simulate scanner.yaml phantom.yaml --noise 0.02 -o traces.npy" },
	{ "Filtered back-projection.", "recon ubp" HEARD " -o fbp.nii" },
	{ "Least squares by integrals over spheres, in time.",
	  "recon sradon" HEARD " --iterations 10 -o int.nii" },
	{ "Least squares by spherical voxels, with spectra.", SVOXEL " --iterations 10 -o sph.nii" },
	{ "The same with total variation, and no voxel below 0.",
	  SVOXEL " --iterations 20 --nonneg --penalty tv:1000 -o tv.nii" },
	{ "All beside the truth, on one page.", "report fbp.nii int.nii sph.nii tv.nii --truth truth.nii "
	                                        "--title 'Spheres heard by 384 transducers' -o report.html" },
	{ 0 },
};

/* ---- what they need ---- */

/* The reconstruction takes most. */
static void plan_ring(struct iso_plan *p, iso_ctx *ctx, int64_t events)
{
	const struct iso_ray ray = { sizeof ray, .grid = { { 79, 62, 49 }, { 4, 4, 4 }, { 0 } }, .n_sub = 4,
		                     .tof_fwhm_ps = 390, .tof_truncate = 3 };
	int64_t voxels = iso_grid_voxels(&ray.grid);

	iso_plan_add(p, "images", voxels, 4 * sizeof(iso_real), false);
	iso_plan_add(p, "events and factors", events, sizeof(struct iso_event) + 3 * sizeof(iso_real), false);
	iso_ray_plan(p, ctx, &ray, events);
	iso_em_plan(p, ctx, voxels, events, 1, 3);
}

static void plan_strip(struct iso_plan *p, iso_ctx *ctx, int64_t events)
{
	const struct iso_strip strip = { sizeof strip, .strips = { 130, 300, 10, 40, 0, 0 },
		                         .ny = 65,     .nz = 75,
		                         .pixel = 4,   .kernel = ISO_STRIP_TAN,
		                         .n_sub = 1 };
	int64_t pixels = strip.ny * strip.nz;

	iso_plan_add(p, "images", pixels, 4 * sizeof(iso_real), false);
	iso_plan_add(p, "events", events, sizeof(struct iso_strip_event), false);
	iso_strip_plan(p, ctx, &strip, events);
	iso_em_plan(p, ctx, pixels, events, 1, 0);
}

static void plan_sound(struct iso_plan *p, iso_ctx *ctx, int64_t events)
{
	const int64_t voxels = 49 * 49 * 103, data = 384 * 256;

	(void)events;
	iso_plan_add(p, "images", voxels, 5 * sizeof(iso_real), false);
	iso_plan_add(p, "traces", data, 2 * sizeof(iso_real), false);
	iso_cg_plan(p, ctx, voxels, data, false);
}

/* ---- the demos ---- */

struct demo {
	const char *scanner, *scanner_file; /* its text, and where else that is */
	const char *phantom, *phantom_file; /* the same; NULL: built in */
	const struct step *steps;
	double counts; /* 0: there are none, and no events */
	const char *events;
	int64_t event_bytes;
	/* the images compared with the truth, the second the better one: file, key, words */
	const char *image[2], *key[2], *words[2];
	enum iso_scale scale; /* of that comparison: FIT where the phantom has a scale of its own */
	void (*plan)(struct iso_plan *p, iso_ctx *ctx, int64_t events);
	const char *title; /* of the report, where it is said here */
	const char *curve
		[2]; /* images, without and with, whose iterations trace contrast and noise; NULL: none */
};

static const struct demo demos[] = {
	{ ring_text, "examples/scanners/clinical-ring.yaml", .steps = ring_steps, .counts = COUNTS,
	  .events = "events.lmdT", .event_bytes = 7 * sizeof(float),
	  .image = { "without-tof.nii", "with-tof.nii" }, .key = { "nrmse_without_tof", "nrmse_with_tof" },
	  .words = { "without", "with time of flight" }, .scale = ISO_SCALE_FIT, .plan = plan_ring,
	  .title = "Hot spheres, without and with time of flight",
	  .curve = { "osem-without-tof", "osem-with-tof" } },
	{ strips_text, "examples/scanners/bialas2015.yaml", .steps = strip_steps, .counts = 1e6,
	  .events = "events.f32", .event_bytes = sizeof(struct iso_strip_event),
	  .image = { "direct.nii", "mlem.nii" }, .key = { "nrmse_direct", "nrmse_mlem" },
	  .words = { "directly", "by MLEM" }, .scale = ISO_SCALE_FIT, .plan = plan_strip },
	{ sound_text, "examples/scanners/optoacoustic-small.yaml", spheres_text,
	  "examples/phantoms/smooth-spheres.yaml", .steps = sound_steps, .image = { "fbp.nii", "tv.nii" },
	  .key = { "nrmse_fbp", "nrmse_tv" }, .words = { "by back-projection", "with total variation" },
	  .scale = ISO_SCALE_NONE, .plan = plan_sound },
};

/* One command as main would get it. */
struct line {
	const struct verb *verb;
	int argc;
	char *argv[MOST_WORDS + 1];
	char text[512]; /* its words, of which */
	size_t used;    /* bytes are taken */
	char counts[32], title[160];
};

static void add(struct line *l, const char *word)
{
	assert(l->argc < MOST_WORDS);
	l->argv[l->argc++] = (char *)word; /* commands move the words, and write into none */
	l->argv[l->argc] = NULL;
}

/* Words are parted by spaces; one in quotes has spaces of its own. */
ISO_PRINTF(2, 3) static void add_words(struct line *l, const char *fmt, ...)
{
	char *at = l->text + l->used;
	va_list ap;

	va_start(ap, fmt);
	l->used += (size_t)iso_vsnprintf(at, sizeof l->text - l->used, fmt, ap) + 1;
	va_end(ap);
	assert(l->used <= sizeof l->text);
	while (*at) {
		char *word = at, *end = *at == '\'' ? strchr(++word, '\'') : at + strcspn(at, " ");

		at = end + (*end != '\0');
		*end = '\0';
		at += strspn(at, " ");
		add(l, strcmp(word, N_COUNTS) == 0  ? l->counts
		       : strcmp(word, N_TITLE) == 0 ? l->title
		                                    : word);
	}
}

static const char *lowers(const struct equal *e)
{
	return e->noise[1] < e->noise[0] ? "lowers" : "raises";
}

/* For few events, few crystal pairs are enough. */
static void make_line(struct line *l, const struct step *s, const struct cmd *c,
                      const struct demo_settings *set)
{
	const struct equal *e = &set->equal;
	const double counts = set->counts;

	*l = (struct line){ .verb = verbs };
	snprintf(l->counts, sizeof l->counts, "%.15g", counts);
	if (e->known)
		snprintf(l->title, sizeof l->title,
		         "Hot spheres: time of flight %s the noise from %.0f %% to %.0f %% at equal contrast",
		         lowers(e), 100 * e->noise[0], 100 * e->noise[1]);
	else if (set->demo->title)
		snprintf(l->title, sizeof l->title, "%s", set->demo->title);
	add_words(l, "%s", s->line);
	while (strcmp(l->verb->name, l->argv[0]) != 0) l->verb++;
	if (l->verb->run == main_sens && counts < FEW)
		add_words(l, "--sens-share %.2g", PAIRS_PER_EVENT * counts / PAIRS);
	if (l->verb->on_device && strcmp(c->device, "auto") != 0) {
		add(l, "--device");
		add(l, c->device);
	}
	if (l->verb->computes) {
		if (c->threads) add_words(l, "--threads %d", (int)c->threads);
		if (c->memory_gb > 0) add_words(l, "--memory-limit %.15g", c->memory_gb);
		if (c->verbose) add(l, "--verbose");
		if (c->quiet) add(l, "--quiet");
	}
	if (c->force) add(l, "--force");
}

/* ---- printing them ---- */

/* A folder may have any name. */
static void print_quoted(FILE *f, const char *text)
{
	fputc('\'', f);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", f);
		else if ((unsigned char)*text < ' ' || *text == 127)
			fprintf(f, "'$'\\%03o''", (unsigned char)*text);
		else
			fputc(*text, f);
	}
	fputc('\'', f);
}

static void print_step(FILE *f, const struct step *s, const struct line *l)
{
	int column;

	if (s->what) fprintf(f, "\n# %s\n", s->what);
	column = fprintf(f, "isotome");
	for (int i = 0; i < l->argc; i++) {
		const char *word = l->argv[i], *next = l->argv[i + 1];
		int value = word[0] == '-' && next && next[0] != '-' ? (int)strlen(next) + 3 : 0;

		if (column + (int)strlen(word) + value + 3 > LINE && i > 0 && l->argv[i][0] == '-')
			column = fprintf(f, " \\\n   ") - 3;
		column += fprintf(f, strchr(word, ' ') ? " '%s'" : " %s", word);
	}
	fputc('\n', f);
	fflush(f);
}

static void print_folder(FILE *f, const struct demo *d, const char *folder)
{
	fprintf(f, "cd ");
	print_quoted(f, folder);
	fprintf(f, "\n# scanner.yaml, made by the demo, is %s.\n", d->scanner_file);
	if (d->phantom) fprintf(f, "# phantom.yaml is %s.\n", d->phantom_file);
}

/* The command that prints the error of an image, as the demo does at its end. */
static void print_measure(const struct demo *d, const char *image)
{
	printf("isotome measure rmse %s truth.nii%s", image, d->scale == ISO_SCALE_FIT ? " --scale fit" : "");
}

static void print_all(const struct cmd *c, const struct demo_settings *s)
{
	struct line l;

	print_folder(stdout, s->demo, s->folder);
	for (const struct step *step = s->demo->steps; step->line; step++) {
		make_line(&l, step, c, s);
		print_step(stdout, step, &l);
	}
	printf("\n# How far they are from the truth.\n");
	for (int i = 0; i < 2; i++) {
		print_measure(s->demo, s->demo->image[i]);
		putchar('\n');
	}
	putchar('\n');
}

/* ---- before the work ---- */

static int check_output(const struct cmd *c, const char *path)
{
	if (iso_has_suffix(path, ".html")) return iso_target_check(path, c->force);
	return iso_has_suffix(path, ".f32") ? iso_strip_events_write_check(path, c->force)
	                                    : cmd_check_output(c, path);
}

static int check_outputs(const struct cmd *c, const struct demo_settings *s)
{
	int st = s->demo->phantom ? iso_target_check("phantom.yaml", c->force) : ISO_OK;
	struct line l;

	for (const struct step *step = s->demo->steps; step->line && !st; step++) {
		make_line(&l, step, c, s);
		for (int i = 0; i + 1 < l.argc && !st; i++)
			if (strcmp(l.argv[i], "-o") == 0 ||
			    (l.verb->run == main_phantom && strcmp(l.argv[i], "--mu") == 0))
				st = check_output(c, l.argv[i + 1]);
	}
	return st ? st : iso_target_check("scanner.yaml", c->force);
}

/* ---- noise at equal contrast ---- */

#define HOT 3.9   /* truth inside the spheres, whose activity is 4 */
#define EVEN 1e-3 /* of the background, 1, in voxels that no surface crosses */
#define ROUNDS 3  /* iterations, as in RECON */

struct point {
	double contrast, noise;
};

/* Contrast of the hot spheres, 1 being the truth's, and noise: the standard deviation of the background over its mean. */
static struct point judge(const struct iso_array *x, const struct iso_array *truth)
{
	double n = 0, sum = 0, squares = 0, n_hot = 0, hot = 0, true_hot = 0;

	for (int64_t i = 0; i < x->n; i++) {
		double v = (double)x->v[i], t = (double)truth->v[i];

		if (t > HOT) {
			n_hot++;
			hot += v;
			true_hot += t;
		} else if (fabs(t - 1) < EVEN) {
			n++;
			sum += v;
			squares += v * v;
		}
	}
	double mean = sum / n;

	return (struct point){ (hot / n_hot / mean - 1) / (true_hot / n_hot - 1),
		               sqrt(fmax(0, squares / n - mean * mean)) / mean };
}

/* Points of iterations 0, 1, ...: the even image at the start has neither contrast nor noise. */
static int trace(struct point p[ROUNDS + 1], const char *name, const struct iso_array *truth)
{
	struct iso_array x = { 0 };
	char path[64];
	int st = ISO_OK;

	p[0] = (struct point){ 0, 0 };
	for (int k = 1; k <= ROUNDS && !st; k++) {
		snprintf(path, sizeof path, k < ROUNDS ? "%s_it%03d.nii" : "%s.nii", name, k);
		if (!(st = iso_read_image(&x, path, ISO_FINITE, &truth->grid))) p[k] = judge(&x, truth);
		iso_array_free(&x);
	}
	return st;
}

/* Noise where the straight lines between points first reach a contrast. */
static double noise_at(const struct point *p, double contrast)
{
	int k = 1;

	while (k < ROUNDS && p[k].contrast < contrast) k++;
	double share = (contrast - p[k - 1].contrast) / (p[k].contrast - p[k - 1].contrast);

	return p[k - 1].noise + share * (p[k].noise - p[k - 1].noise);
}

/* At the lower of the two contrasts that the last iterations reach; not known where few events show no contrast. */
static int compare(struct equal *e, const struct demo *d)
{
	struct point p[2][ROUNDS + 1];
	struct iso_array truth = { 0 };
	int st = iso_read(&truth, "truth.nii", ISO_FINITE);

	for (int m = 0; m < 2 && !st; m++) st = trace(p[m], d->curve[m], &truth);
	iso_array_free(&truth);
	if (st) return st;
	e->contrast = fmin(p[0][ROUNDS].contrast, p[1][ROUNDS].contrast);
	for (int m = 0; m < 2; m++) e->noise[m] = noise_at(p[m], e->contrast);
	e->known = e->contrast > 0 && isfinite(e->noise[0]) && isfinite(e->noise[1]);
	return ISO_OK;
}

/* ---- the work, and what came of it ---- */

/* The record of a command tells the most memory that the process had: its own, not that of the
   commands before it. What can't be forgotten (proc(5), clear_refs) is told too high. */
static void forget_peak_memory(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "w");

	if (f) {
		fputs("5", f);
		fclose(f);
	}
}

static int run_steps(struct cmd *c, struct demo_settings *s)
{
	struct line l;
	int st = iso_out_text("scanner.yaml", s->demo->scanner);

	if (!st && s->demo->phantom) st = iso_out_text("phantom.yaml", s->demo->phantom);
	for (const struct step *step = s->demo->steps; step->line && !st; step++) {
		if (strstr(step->line, N_TITLE) && (st = compare(&s->equal, s->demo))) break;
		make_line(&l, step, c, s);
		if (!c->quiet) print_step(stderr, step, &l);
		forget_peak_memory();
		st = l.verb->run(l.argc, l.argv);
		if (!st && cmd_signal()) st = iso_fail(ISO_ECANCEL, "interrupted");
	}
	return st;
}

static int measure(double *nrmse, const struct demo *d, const char *path)
{
	struct iso_array x = { 0 }, truth = { 0 };
	struct iso_rmse error = { .size = sizeof error };
	int st = iso_read(&truth, "truth.nii", ISO_FINITE);

	if (!st && !(st = iso_read_image(&x, path, ISO_FINITE, &truth.grid)) &&
	    !(st = iso_measure_rmse(&error, x.n, x.v, truth.v, NULL, d->scale)))
		*nrmse = error.nrmse;
	iso_array_free(&x);
	iso_array_free(&truth);
	return st;
}

static int record_equal(struct record *r, const struct equal *e)
{
	int st = record_result(r, "contrast", record_real(e->contrast));

	if (!st) st = record_result(r, "noise_without_tof", record_real(e->noise[0]));
	return st ? st : record_result(r, "noise_with_tof", record_real(e->noise[1]));
}

static void print_equal(const struct equal *e)
{
	printf("At equal contrast (%.0f %% of the truth's), time of flight %s the noise from %.0f %% to %.0f "
	       "%%.\n",
	       100 * e->contrast, lowers(e), 100 * e->noise[0], 100 * e->noise[1]);
}

/* On a terminal, what to type next. */
static void print_open(const struct cmd *c, const char *folder)
{
	if (!c->term.is_tty || c->quiet) return;
	printf("open    xdg-open ");
	print_quoted(stdout, folder);
	puts("/report.html");
}

static int tell_results(struct cmd *c, const struct demo_settings *s, double seconds, const double nrmse[2])
{
	const struct demo *d = s->demo;
	struct stat events = { 0 };
	int64_t n = d->events && stat(d->events, &events) == 0 ? events.st_size / d->event_bytes : 0;
	struct record *r = &c->record;
	int st;

	if ((st = record_result(r, "time_s", record_real(round(10 * seconds) / 10))) ||
	    (d->events && (st = record_result(r, "events", json_integer(n)))) ||
	    (st = record_result(r, d->key[0], record_real(nrmse[0]))) ||
	    (st = record_result(r, d->key[1], record_real(nrmse[1]))) ||
	    (s->equal.known && (st = record_equal(r, &s->equal))) || c->json)
		return st;
	if (s->equal.known) print_equal(&s->equal);
	printf("image   ");
	term_put(stdout, s->folder);
	printf("/%s\nreport  ", d->image[1]);
	term_put(stdout, s->folder);
	puts("/report.html");
	printf("time    %.0f s\n", seconds);
	if (d->events) printf("events  %" PRId64 "\n", n);
	printf("error   %.1f %% %s, %.1f %% %s (NRMSE of ", 100 * nrmse[1], d->words[1], 100 * nrmse[0],
	       d->words[0]);
	print_measure(d, d->image[1]);
	puts(")");
	print_open(c, s->folder);
	return ISO_OK;
}

static int run(struct cmd *c, struct demo_settings *s)
{
	double began_s = iso_now_s(), nrmse[2];
	struct iso_plan plan = { 0 };
	int st;

	if ((st = cmd_enter_folder(s->folder, !c->dry_run)) || (st = check_outputs(c, s)) ||
	    (st = cmd_begin(c)))
		return st;
	if (c->dry_run && !c->json) print_all(c, s);
	s->demo->plan(&plan, c->ctx, (int64_t)s->counts);
	if ((st = cmd_plan(c, &plan))) return st;
	if (!c->quiet) print_folder(stderr, s->demo, s->folder);
	if ((st = run_steps(c, s)) || (st = measure(&nrmse[0], s->demo, s->demo->image[0])) ||
	    (st = measure(&nrmse[1], s->demo, s->demo->image[1])))
		return st;
	return tell_results(c, s, iso_now_s() - began_s, nrmse);
}

int main_demo(int argc, char **argv)
{
	struct demo_settings s = { .demo = demos, .name = "ring" };
	struct cmd c = { 0 };
	struct opt own[] = {
		{ 0, "name", .text = &s.name, .words = names, .value = "NAME", .positional = true,
		  .help = "ring: list-mode PET on a clinical ring; strip: two-strip J-PET; optoacoustic: "
		          "transducers on a sphere" },
		{ 'o', "output", .text = &s.folder, .file = OPT_PLACE, .value = "FOLDER", .required = true,
		  .help = "folder for all files; made if it does not exist" },
		{ 0, "counts", .real = &s.counts, .value = "N", .min = 1000, .max = 1e9,
		  .absent = "5e6; 1e6 for strip", .help = "number of events of the scan" },
		{ 0, "force", .flag = &c.force, .transient = true,
		  .help = "replace the files of an earlier run" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], s.name) == 0) s.demo = &demos[i];
	if (!st && s.counts > 0 && s.demo->counts == 0)
		st = iso_fail(ISO_EARG, "demo %s: --counts is for ring and strip", s.name);
	if (s.counts == 0) s.counts = s.demo->counts;
	if (!st) st = run(&c, &s);
	return cmd_end(&c, st);
}
