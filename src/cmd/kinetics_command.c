/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome kinetics: images of kinetic parameters from frames, the indirect way; and frames from coefficients. */
#include "cmd.h"

#include "core/size.h"
#include "isotome/kinetics.h"
#include "problem/kinetics/kinetics.h"
#include "text/number_list.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct opt_usage usage = {
	"kinetics",
	"Fit a kinetic model to the frames of a scan, voxel by voxel, with weights; or draw Logan's plot. "
	"recon "
	"--kinetics makes the same maps straight from the events, with less noise. Writes the coefficients, "
	"the "
	"maps "
	"(x_Ki.nii, x_V0.nii), the standard errors of the coefficients (x_se.nii) and the weighted squares "
	"that are "
	"left (x_s2.nii). With --evaluate, the other way: the frames of coefficients.",
	"  isotome kinetics frames.nii --model patlak --input blood.tsv --from-s 1200 -o ind.nii\n"
	"  isotome kinetics frames.nii --model logan --input frames.nii:aorta.nii --from-s 1800 -o vt.nii\n"
	"  isotome kinetics ind.nii --model patlak --input blood.tsv --evaluate 0:60:3600 -o fitted.nii\n",
};

static const char *const decays[] = { "corrected", "raw", NULL };

struct kinetics_work {
	struct cmd *c;
	const char *in, *out, *model, *weights, *mask, *isotope, *edges;
	struct kinetic_words words;
	double from_s;
	bool nonneg;
	/* made: */
	bool logan;
	struct iso_basis_spec spec;
	struct kinetic_frames frames;
	int first, n; /* the frames that are used: from `first` on */
	double half_life_s;
	iso_basis *basis;
	double *mean, *weight;
	struct iso_array theta, se, one;
};

/* ---- names ---- */

static int beside(char path[PATH_MAX], const char *out, const char *what)
{
	const char *slash = strrchr(out, '/'), *name = slash ? slash + 1 : out;
	const int stem = (int)(name - out + (long)strcspn(name, "."));
	int n = snprintf(path, PATH_MAX, "%.*s%s%s", stem, out, what, out + stem);

	return n < PATH_MAX ? ISO_OK : iso_fail(ISO_EARG, "%s: name too long", out);
}

static int check_beside(const struct kinetics_work *w, const char *what)
{
	char path[PATH_MAX];
	int st = beside(path, w->out, what);

	return st ? st : cmd_check_array(w->c, path);
}

/* Before the work. */
static int check_files(const struct kinetics_work *w)
{
	struct iso_basis_map m = { .size = sizeof m };
	char what[64];
	int st = check_beside(w, "_s2");

	if (!st) st = check_beside(w, "_se");
	for (int i = 0; i < iso_basis_maps(w->basis) && !st; i++) {
		if ((st = iso_basis_map(&m, w->basis, i))) return st;
		snprintf(what, sizeof what, "_%s", m.name);
		st = check_beside(w, what);
	}
	return st;
}

static int write_beside(struct kinetics_work *w, const char *what, const char *unit,
                        const struct iso_array *a)
{
	struct iso_array named = *a;
	char path[PATH_MAX];
	int st = beside(path, w->out, what);

	snprintf(named.unit, sizeof named.unit, "%s", unit);
	return st ? st : cmd_write(w->c, path, &named);
}

/* ---- what is read ---- */

static int take_decay(struct kinetics_work *w)
{
	struct kinetic_frames *f = &w->frames;
	const bool none = w->isotope && strcmp(w->isotope, "none") == 0;
	int st = w->isotope && !none ? iso_half_life(&w->half_life_s, w->isotope) : ISO_OK;

	if (st) return st;
	if (!w->isotope) w->half_life_s = f->half_life_s;
	if (w->isotope || f->half_life_s > 0) return ISO_OK;
	return iso_fail(ISO_EARG,
	                "%s: no record tells for which isotope its frames are corrected; give 'isotope' "
	                "(none: there is "
	                "no decay)",
	                w->in);
}

static int choose_frames(struct kinetics_work *w)
{
	const struct kinetic_frames *f = &w->frames;

	while (w->first < f->n && f->edge_s[w->first] < w->from_s) w->first++;
	w->n = f->n - w->first;
	if (w->n > 0) return ISO_OK;
	return iso_fail(ISO_EARG, "'from-s' is %g, but the last frame begins at %g s", w->from_s,
	                f->edge_s[f->n - 1]);
}

static int read_frames(struct kinetics_work *w)
{
	struct kinetic_frames *f = &w->frames;
	int st = kinetic_frames_read(f, &w->c->record, w->in, false);

	if (st || (st = record_input(&w->c->record, w->in)) || (st = take_decay(w)) ||
	    (st = choose_frames(w)))
		return st;
	const int64_t n = f->images.n / f->n;

	for (int m = 0; m < f->n && !f->density; m++)
		for (int64_t i = 0; i < n; i++)
			f->images.v[m * n + i] /= (iso_real)(f->edge_s[m + 1] - f->edge_s[m]);
	return iso_array_create(&w->one, 3, f->images.dim + 1);
}

static int make_basis(struct kinetics_work *w, const double *edge, int n)
{
	int st = kinetic_basis_make(&w->basis, &w->c->record, &w->words, &w->spec, w->half_life_s,
	                            w->edges ? INFINITY : edge[0]);

	if (st) return st;
	const int k = iso_basis_count(w->basis);
	const struct iso_bins bins = { sizeof bins, n, edge, NULL, w->half_life_s };

	w->mean = size_alloc((int64_t)k * n, sizeof *w->mean);
	w->weight = size_alloc(n, sizeof *w->weight);
	if (!w->mean || !w->weight) return iso_fail_memory("basis", (int64_t)(k + 1) * n * 8);
	return iso_basis_bins(w->mean, w->weight, w->basis, &bins);
}

/* ---- weights ---- */

static int read_weights(struct kinetics_work *w)
{
	iso_curve **column = NULL;
	const double *value;
	int n = 0, st = iso_curves_read(&column, &n, w->weights);

	if (!st && iso_curve_samples(column[0], NULL, &value) < w->frames.n)
		st = iso_fail(ISO_EINPUT, "%s: its first column has fewer numbers than there are frames, %d",
		              w->weights, w->frames.n);
	for (int m = 0; m < w->n && !st; m++) {
		int64_t samples = iso_curve_samples(column[0], NULL, NULL);

		w->weight[m] = value[samples - w->frames.n + w->first + m];
	}
	iso_curves_free(column, n);
	return st ? st : record_input(&w->c->record, w->weights);
}

/* Decay and duration over the mean of the frame: the inverse variance of counts. */
static int make_weights(struct kinetics_work *w)
{
	const int64_t n = w->one.n;
	struct iso_array mask = { 0 };
	int st = w->mask ? record_read(&w->c->record, &mask, w->mask, ISO_FINITE) : ISO_OK;

	if (!st && w->mask) st = record_input(&w->c->record, w->mask);
	if (!st && w->mask && mask.n != n)
		st = iso_fail(ISO_EINPUT, "%s: %" PRId64 " voxels, the frames have %" PRId64, w->mask, mask.n,
		              n);
	for (int m = 0; m < w->n && !st; m++) {
		const iso_real *y = w->frames.images.v + (w->first + m) * n;
		double sum = 0, voxels = 0;

		for (int64_t i = 0; i < n; i++) {
			if (mask.v ? !(mask.v[i] > 0) : y[i] == 0) continue;
			sum += y[i];
			voxels++;
		}
		if (!(sum > 0))
			st = iso_fail(ISO_EINPUT,
			              "%s: frame %d has no activity to weigh it by; 'weights' uniform does "
			              "without",
			              w->in, w->first + m + 1);
		else
			w->weight[m] *= voxels / sum;
	}
	iso_array_free(&mask);
	return st;
}

static int weigh(struct kinetics_work *w)
{
	if (!w->weights) return make_weights(w);
	if (strcmp(w->weights, "uniform") != 0) return read_weights(w);
	for (int m = 0; m < w->n; m++) w->weight[m] = 1;
	return ISO_OK;
}

/* ---- fits ---- */

static int make_series(struct iso_array *a, const struct kinetics_work *w, int64_t n)
{
	const int64_t *dim = w->frames.images.dim;
	int st = iso_array_create(a, 4, (const int64_t[]){ n, dim[1], dim[2], dim[3] });

	a->has_grid = w->frames.images.has_grid;
	a->grid = w->frames.images.grid;
	return st;
}

static int write_maps(struct kinetics_work *w)
{
	const int64_t n = w->one.n;
	struct iso_basis_map m = { .size = sizeof m };
	char what[64];
	int st = ISO_OK;

	for (int i = 0; i < iso_basis_maps(w->basis) && !st; i++) {
		if ((st = iso_basis_map(&m, w->basis, i))) return st;
		for (int64_t v = 0; v < n; v++) {
			double sum = m.add;

			for (int k = 0; k < iso_basis_count(w->basis); k++)
				sum += m.factor[k] * (double)w->theta.v[k * n + v];
			w->one.v[v] = (iso_real)sum;
		}
		snprintf(what, sizeof what, "_%s", m.name);
		st = write_beside(w, what, m.unit, &w->one);
	}
	return st;
}

static int fit(struct kinetics_work *w)
{
	const int64_t n = w->one.n;
	int st = make_basis(w, w->frames.edge_s + w->first, w->n);

	if (st || (st = check_files(w)) || (st = weigh(w))) return st;
	const int k = iso_basis_count(w->basis);
	const struct iso_frame_fit p = { .size = sizeof p,
		                         .frames = w->n,
		                         .coefficients = k,
		                         .mean = w->mean,
		                         .weight = w->weight,
		                         .nonneg = w->nonneg };

	if ((st = make_series(&w->theta, w, k)) || (st = make_series(&w->se, w, k))) return st;
	record_stage(&w->c->record, "fit");
	st = iso_frame_fit(w->theta.v, w->se.v, w->one.v, n, w->frames.images.v + w->first * n, &p);
	record_stage(&w->c->record, NULL);
	if (!st) st = record_result(&w->c->record, "weights", record_reals(w->n, w->weight));
	if (!st) st = write_beside(w, "_s2", "", &w->one);
	if (!st) st = write_beside(w, "_se", "", &w->se);
	if (!st) st = write_maps(w);
	return st ? st : cmd_write(w->c, w->out, &w->theta);
}

/* Logan's plot wants the input alone: the second basis curve of Patlak, by its samples. */
static int plot(struct kinetics_work *w)
{
	iso_curve *input = NULL;
	int64_t skipped = 0;
	int st = kinetic_curve_make(&input, &w->c->record, &w->words, w->half_life_s);
	const struct iso_logan p = { sizeof p, w->frames.n, w->first, w->frames.edge_s, input };
	struct iso_array intercept = { 0 };

	if (!st) st = iso_array_create(&intercept, 3, w->frames.images.dim + 1);
	intercept.has_grid = w->one.has_grid;
	intercept.grid = w->one.grid;
	if (!st) st = iso_logan_fit(w->one.v, intercept.v, &skipped, w->one.n, w->frames.images.v, &p);
	if (!st) st = record_result(&w->c->record, "voxels_left_out", json_integer(skipped));
	if (!st) st = write_beside(w, "_intercept", "s", &intercept);
	snprintf(w->one.unit, sizeof w->one.unit, "mL/mL");
	if (!st) st = cmd_write(w->c, w->out, &w->one);
	iso_array_free(&intercept);
	iso_curve_free(input);
	return st;
}

/* ---- frames of coefficients ---- */

static int tell_times(struct kinetics_work *w, const double *edge, int n)
{
	double *duration = size_alloc(n, sizeof *duration);

	if (!duration) return iso_fail_memory("frames", n * (int64_t)sizeof *duration);
	for (int m = 0; m < n; m++) duration[m] = edge[m + 1] - edge[m];
	int st = record_set(&w->c->record, "FrameTimesStart", record_reals(n, edge));

	if (!st) st = record_set(&w->c->record, "FrameDuration", record_reals(n, duration));
	free(duration);
	return st;
}

static int read_edges(double **edge, int *n, const char *text)
{
	int st = number_list_read(edge, n, 2, FRAMES_MOST + 1, text);
	bool rising = *n >= 2;

	for (int i = 1; i < *n; i++) rising = rising && (*edge)[i] > (*edge)[i - 1];
	if (st || rising) {
		--*n;
		return st;
	}
	return iso_fail(ISO_EARG, "'evaluate' is '%.200s', must be 2 or more rising times in s", text);
}

static int evaluate(struct kinetics_work *w)
{
	struct iso_array x = { 0 };
	double *edge = NULL;
	int n = 0, st = read_edges(&edge, &n, w->edges);

	if (!st) st = record_read(&w->c->record, &x, w->in, ISO_FINITE);
	if (!st) st = record_input(&w->c->record, w->in);
	if (!st && w->isotope && strcmp(w->isotope, "none") != 0)
		st = iso_half_life(&w->half_life_s, w->isotope);
	if (!st) st = make_basis(w, edge, n);
	const int k = iso_basis_count(w->basis);

	if (!st && (x.n_dim != 4 || x.dim[0] != k))
		st = iso_fail(ISO_EINPUT, "%s: expected %d images of coefficients", w->in, k);
	if (!st) {
		w->frames.images = x;
		x = (struct iso_array){ 0 };
		st = make_series(&w->theta, w, n);
	}
	const int64_t voxels = st ? 0 : w->frames.images.n / k;

	for (int64_t i = 0; i < voxels * n; i++) {
		double f = 0;

		for (int c = 0; c < k; c++)
			f += w->mean[c * n + i / voxels] *
			     (double)w->frames.images.v[c * voxels + i % voxels];
		w->theta.v[i] = (iso_real)f;
	}
	if (!st) st = tell_times(w, edge, n);
	if (!st) st = cmd_write(w->c, w->out, &w->theta);
	iso_array_free(&x);
	free(edge);
	return st;
}

/* ---- the command ---- */

static int run(struct kinetics_work *w)
{
	int st;

	record_stage(&w->c->record, "read");
	if (w->edges) return evaluate(w);
	if ((st = read_frames(w))) return st;
	w->one.has_grid = w->frames.images.has_grid;
	w->one.grid = w->frames.images.grid;
	return w->logan ? plot(w) : fit(w);
}

static int check(struct kinetics_work *w)
{
	int st;

	w->logan = strcmp(w->model, "logan") == 0;
	if (w->logan && (st = check_beside(w, "_intercept"))) return st;
	if ((st = iso_basis_parse(&w->spec, w->logan ? "patlak" : w->model)) ||
	    (st = kinetic_words_check(&w->words, &w->spec)))
		return st;
	if (w->logan && (w->edges || w->weights || w->nonneg))
		return iso_fail(ISO_EARG, "'%s' does not go with 'model' logan",
		                w->edges     ? "evaluate"
		                : w->weights ? "weights"
		                             : "nonneg");
	return cmd_check_array(w->c, w->out);
}

static void forget(struct kinetics_work *w)
{
	kinetic_frames_free(&w->frames);
	iso_basis_free(w->basis);
	iso_array_free(&w->theta);
	iso_array_free(&w->se);
	iso_array_free(&w->one);
	free(w->mean);
	free(w->weight);
}

int main_kinetics(int argc, char **argv)
{
	struct cmd c = { .cpu_only = true };
	struct kinetics_work w = { .c = &c, .model = "patlak", .spec = { .size = sizeof w.spec } };
	struct opt own[] = {
		CMD_ARGUMENT("frames", w.in, OPT_READS, "FRAMES",
		             "4-D image with a record that tells the times; with --evaluate: coefficients"),
		CMD_OUTPUT(w.out, "coefficients, or with --model logan VT (.nii, .nii.gz, .hv, .npy, .raw)"),
		{ 0, "model", .text = &w.model, .value = "MODEL",
		  .help = "patlak, logan, spectral:beta=FROM/TO/N[,blood][,zero], "
		          "srtm2:k2p=V,beta=FROM/TO/N, "
		          "bspline:T0/T1/..., basis" },
		{ 0, "input", .text = &w.words.input, .file = OPT_MAY_READ,
		  .value = "FILE[,FILE]|FRAMES:MASK",
		  .help = "curve of the blood or of a reference tissue, as in recon --kinetics" },
		{ 0, "input-zero-s", .real = &w.words.zero_s, .unit = "s", .value = "S", .min = -1e9,
		  .max = 1e9, .help = "time of the scan at which the curve has its time 0" },
		{ 0, "input-delay-s", .real = &w.words.delay_s, .unit = "s", .value = "S", .min = -1e6,
		  .max = 1e6, .help = "the curve comes so much later in the tissue than in the samples" },
		{ 0, "input-decay", .text = &w.words.decay, .words = decays, .value = "WORD",
		  .absent = "corrected",
		  .help = "whether the samples are corrected for decay to their own time 0" },
		{ 0, "input-unit", .text = &w.words.unit, .value = "UNIT",
		  .absent = "from the .json beside it",
		  .help = "unit of the samples: Bq/mL, kBq/mL, MBq/mL, nCi/mL, uCi/mL" },
		{ 0, "plasma-ratio", .real = &w.words.plasma_ratio, .value = "F", .min = 1e-6, .max = 1e6,
		  .absent = "1 for FRAMES:MASK",
		  .help = "plasma over whole blood, if the input is whole blood alone" },
		{ 0, "unitless", .flag = &w.words.unitless, .help = "take the samples as they stand" },
		{ 0, "basis", .text = &w.words.basis, .file = OPT_READS, .value = "FILE",
		  .help = "curves of the model basis: a table with the column time and one for each curve" },
		{ 0, "from-s", .real = &w.from_s, .unit = "s", .value = "S", .min = 0, .max = 1e9,
		  .help = "use the frames that begin at this time or later" },
		{ 0, "isotope", .text = &w.isotope, .value = "NAME|none",
		  .absent = "that of the frames' record",
		  .help = "isotope for whose decay the frames are corrected to the start of the scan" },
		{ 0, "weights", .text = &w.weights, .file = OPT_MAY_READ, .value = "uniform|FILE",
		  .absent = "decay and duration over the mean of the frame",
		  .help = "weights of the frames: all alike, or the first column beside time of a table" },
		{ 0, "mask", .text = &w.mask, .file = OPT_READS, .value = "FILE",
		  .absent = "voxels that are not 0",
		  .help = "a frame's mean is taken over the voxels of this image above 0, for its weight" },
		{ 0, "nonneg", .flag = &w.nonneg,
		  .help = "coefficients are not negative, as in recon; at most 8 of them" },
		{ 0, "evaluate", .text = &w.edges, .value = "T0,T1,...",
		  .help = "write the frames that coefficients make between these edges" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st && !(st = check(&w)) && !(st = cmd_begin(&c))) st = run(&w);
	forget(&w);
	return cmd_end(&c, st);
}
