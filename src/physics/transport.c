/* SPDX-License-Identifier: BSD-3-Clause */
/* Setting up the photon transport between two panels: sizes, tables, options; and its plainest use,
   counting the coincidences of a point source. */
#include "transport.h"
#include "base/constants.h"
#include "core/comm.h"
#include "core/progress.h"

#define MOST_GAUSS 5.8 /* transport_gauss never gives more */

/* ---- tables ---- */

/* Klein-Nishina: d sigma / d cos ~ e^2 (e + 1/e - sin^2), e = E'/E = 1/(1 + a (1 - cos)), a = E / 511 keV. */
static double klein_nishina(double a, double c)
{
	double e = 1 / (1 + a * (1 - c));

	return e * e * (e + 1 / e - (1 - c * c));
}

/* The distribution function from cos = -1 up, by Simpson's rule on N cells, inverted along straight lines. */
static void compton_row(float *row, double a)
{
	enum { N = 4096 };
	double up[N + 1] = { 0 }, h = 2. / N;
	int k = 0;

	for (int i = 0; i < N; i++) {
		double c = -1 + h * i;

		up[i + 1] = up[i] + klein_nishina(a, c) + 4 * klein_nishina(a, c + .5 * h) +
		            klein_nishina(a, c + h);
	}
	for (int j = 0; j < TRANSPORT_SHARES; j++) {
		double want = up[N] * j / TRANSPORT_SHARES;

		while (up[k + 1] <= want) k++;
		row[j] = (float)(-1 + h * (k + (want - up[k]) / (up[k + 1] - up[k])));
	}
	row[TRANSPORT_SHARES] = 1;
}

void iso_compton_rows(float rows[TRANSPORT_ENERGIES + 1][TRANSPORT_SHARES + 1])
{
	for (int i = 0; i <= TRANSPORT_ENERGIES; i++) compton_row(rows[i], 8 * i / 510.99895);
}

/* ---- sizes and options ---- */

/* Share C and rates k1, k2 (1/mm) of the range in water projected on an axis, Levin and Hoffman
   1999. They give none for Ga-68: it has the curve of O-15, stretched as the mean ranges are, 3.5
   to 3.0 mm (Conti and Eriksson 2016, EJNMMI Physics 3:8, table 1); curves of one isotope are
   those of another so stretched to 5 % (Cal-Gonzalez et al. 2013). */
static const struct {
	const char *name;
	double share, rate[2];
} ranges[] = {
	{ "F-18", .516, { 37.9, 3.1 } },
	{ "C-11", .488, { 23.8, 1.8 } },
	{ "O-15", .379, { 18.1, .9 } },
	{ "Ga-68", .379, { 18.1 * 3. / 3.5, .9 * 3. / 3.5 } },
};

/* The mixture's weights are the areas C/k1 and (1-C)/k2. */
static int set_range(struct transport *t, const char *isotope)
{
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		double a = ranges[i].share / ranges[i].rate[0];
		double b = (1 - ranges[i].share) / ranges[i].rate[1];

		if (strcmp(isotope, ranges[i].name) != 0) continue;
		t->range_share = (float)(a / (a + b));
		t->range_rate[0] = (float)ranges[i].rate[0];
		t->range_rate[1] = (float)ranges[i].rate[1];
		return ISO_OK;
	}
	return iso_fail(ISO_EARG, "transport: positron range of '%s', known are F-18, C-11, O-15, Ga-68",
	                isotope);
}

/* Cells along an axis: one for each crystal, or larger heads about the same centre. */
static int cells(const struct iso_panels *p, const struct iso_transport_options *o, int axis)
{
	return o->extended[axis] > 0 ? o->extended[axis] : p->crystals[axis];
}

static int check(const struct iso_panels *p, const struct iso_transport_options *o)
{
	bool blocks = p->readout == ISO_READ_BLOCK;

	for (int a = 0; a < 2; a++) {
		if (p->crystals[a] < 1 || cells(p, o, a) < p->crystals[a] || cells(p, o, a) > TRANSPORT_AXIS)
			return iso_fail(ISO_EARG,
			                "transport: %d crystals along %c extended to %d, must be at most %d",
			                p->crystals[a], "xz"[a], cells(p, o, a), TRANSPORT_AXIS);
		if (!(p->crystal[a] > 0) || !(p->pitch[a] >= p->crystal[a]))
			return iso_fail(ISO_EARG, "transport: crystals of %g mm at a pitch of %g mm",
			                p->crystal[a], p->pitch[a]);
		if (blocks && cells(p, o, a) > p->crystals[a])
			return iso_fail(ISO_EARG,
			                "transport: heads with readout by blocks can't be extended");
	}
	if (!(p->crystal[2] > 0) || !(p->gap > 0) || p->layers < 1 || p->layers > TRANSPORT_LAYERS)
		return iso_fail(ISO_EARG,
		                "transport: %d layers (of at most %d), %g mm deep at a gap of %g mm",
		                p->layers, TRANSPORT_LAYERS, p->crystal[2], p->gap);
	if (blocks && p->block < 1)
		return iso_fail(ISO_EARG, "transport: readout by blocks of %d crystals, must be at least 1",
		                p->block);
	if (!(p->resolution >= 0) || !(p->resolution < 2) || !(p->window[0] >= 0) ||
	    !(p->window[1] > p->window[0]))
		return iso_fail(ISO_EARG, "transport: energy resolution %g, window %g to %g keV",
		                p->resolution, p->window[0], p->window[1]);
	return ISO_OK;
}

int iso_transport_make(struct transport *t, struct transport_table *table, const struct iso_panels *p,
                       const struct iso_transport_options *o)
{
	static const struct iso_transport_options usual;
	int st;

	if (!o) o = &usual;
	if ((st = check(p, o))) return st;
	float blur = (float)(p->resolution / ISO_FWHM_PER_SIGMA * sqrt(511));
	double g = MOST_GAUSS * (double)blur, root = .5 * (sqrt(g * g + 4 * p->window[0]) - g);
	struct transport made = {
		.table = table,
		.seed = o->seed,
		.depth = (float)p->crystal[2],
		.gap = (float)p->gap,
		.layers = p->layers,
		.layers_per_mm = (float)(p->layers / p->crystal[2]),
		.block = p->readout == ISO_READ_BLOCK ? p->block : 0,
		.readout = p->readout,
		.last = o->no_rayleigh ? 1 : 2,
		.blur = blur,
		.window = { (float)p->window[0], (float)p->window[1] },
		.least = fmaxf(1e-3f, (float)(root * root * (1 - 1e-5))),
		.reentry = !o->no_reentry,
		.centroid = o->centroid,
		.first_layer = o->first_layer,
		.angle = o->acollinearity ? (float)(.5 * M_PI / 180 / ISO_FWHM_PER_SIGMA) : 0,
	};

	for (int a = 0; a < 2; a++) {
		made.cells[a] = cells(p, o, a);
		made.first[a] = -((made.cells[a] - p->crystals[a]) / 2);
		made.per_mm[a] = (float)(1 / p->pitch[a]);
		made.offset[a] = (float)(.5 * p->crystals[a] - made.first[a]);
		made.fill[a] = (float)(.5 * p->crystal[a] / p->pitch[a]);
		made.gaps |= p->pitch[a] > p->crystal[a] * (1 + 1e-6);
	}
	if ((o->positron && (st = set_range(&made, o->positron))) ||
	    (st = iso_material_make(&table->material, p->formula, p->density)))
		return st;
	iso_compton_rows(table->compton);
	material_mu(made.mu, &table->material, 511);
	*t = made;
	return ISO_OK;
}

int iso_transport_move(struct transport *device, struct iso_room *room, const struct transport *t)
{
	*device = *t;
	if (iso_ctx_is_cuda(room->ctx)) ISO_UPLOAD(room, device->table, t->table, 1);
	return room->status;
}

/* ---- a point source ---- */

/* Decays between two looks at the cancel flag, of each thread and on CUDA, and of one thread's turn. */
enum { PIECE = 1 << 17, CUDA_PIECE = 1 << 28, TURN = 4096 };

/* One piece, on CUDA iso_transport_count_cuda; count is added to. */
static int count_piece(int64_t *count, iso_ctx *ctx, const struct transport_source *s, int64_t first,
                       int64_t n)
{
#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads)
	for (int64_t turn = 0; turn < n; turn += TURN) {
		int64_t part[TRANSPORT_READINGS] = { 0 }, end = n - turn < TURN ? n : turn + TURN;
		struct transport_track k[2];
		struct transport_hit hit[2];

		for (int64_t i = first + turn; i < first + end; i++) {
			if (!transport_tracks(k, s->reading, s->point, s->stream, (uint64_t)i)) continue;
			for (int r = 0; r < s->readings; r++)
				part[r] += transport_combine(hit, s->reading + r, k, k + 1, 0, s->stream,
				                             (uint64_t)i);
		}
		for (int r = 0; r < s->readings; r++)
#pragma omp atomic
			count[r] += part[r];
	}
	return ISO_OK;
}

/* Photons are traced once, as the first reading says, with the least `least` of all. Each rank has its share of the
   decays. */
int iso_transport_count(int64_t *count, iso_ctx *ctx, const struct transport_source *s, int64_t first,
                        int64_t n)
{
	struct transport shared[TRANSPORT_READINGS], moved;
	struct transport_source here = {
		shared, s->readings, { s->point[0], s->point[1], s->point[2] }, s->stream
	};
	struct iso_room room = { .ctx = ctx, .what = "transport" };
	int64_t piece = iso_ctx_is_cuda(ctx) ? CUDA_PIECE : (int64_t)PIECE * ctx->threads;
	struct iso_rows mine = iso_share(ctx, n);
	void *cuda = NULL;
	int st = ISO_OK;

	if (s->readings < 1 || s->readings > TRANSPORT_READINGS)
		return iso_fail(ISO_EARG, "transport: %d readings, must be 1 to %d", s->readings,
		                TRANSPORT_READINGS);
	if (iso_ctx_is_cuda(ctx) && (st = iso_cuda_symbol(&cuda, "iso_transport_count_cuda"))) return st;
	if ((st = iso_transport_move(&moved, &room, s->reading))) return iso_comm_agree(ctx, st);
	for (int r = 0; r < s->readings; r++) {
		shared[r] = s->reading[r];
		shared[r].table = moved.table;
		shared[0].least = fminf(shared[0].least, shared[r].least);
		count[r] = 0;
	}
	struct iso_clock clock = iso_clock_start_of(ctx, "decays", "decays", 0, mine.n);

	for (int64_t i = 0; i < mine.n && !st; i += piece) {
		int64_t m = mine.n - i < piece ? mine.n - i : piece;

		st = (cuda ? (__typeof__(&count_piece))cuda : count_piece)(count, ctx, &here,
		                                                           first + mine.first + i, m);
		if (!st && !(st = iso_ctx_poll(ctx))) iso_clock_step(&clock, i + m, NULL);
	}
	iso_room_free(&room);
	return iso_comm_sum(ctx, st, count, s->readings);
}
