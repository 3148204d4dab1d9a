/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of model ray that stay on disk: whether they must, which of them a frame has, and how a
   block of them gets its factors. */
#include "model_ray.h"

#include "core/op.h"
#include "core/size.h"
#include "isotome/timing.h"
#include "model/ray/ray_moved_stream.h"
#include "model/ray/ray_scratch.h"
#include "problem/inputs.h"
#include "io/events.h"
#include "file/npy.h"

/* Events that are read, and whose factors are made, at a time: many keep all threads busy. */
enum { SMALL_PIECE = 1 << 16, LARGE_PIECE = 1 << 21 };
#define ROOM_FOR_LARGE 4e9 /* bytes of the host */

struct ray_disk {
	const iso_event_file *file; /* the problem's */
	int64_t first;              /* event of the frame in force, which has found.rows of them */
	bool ordered;               /* the whole file was seen to be in the order of time */
	struct ray_problem *ray;    /* for whom blocks are read */

	int64_t most; /* events of a piece */
	/* of the thread that reads */
	struct iso_events piece;
	iso_real *norm, *add; /* of 'norm', 'additive': one value an event; or NULL */
	int64_t seen, bad;    /* events read for the first time, and those to leave out */

	/* of the frame's operator */
	int64_t block, kept, held; /* blocks that the device keeps, and that the host holds for it: planned */
	char place[PATH_MAX];      /* folder of the scratch file; "": none */
	enum ray_without without;
	iso_ray_scratch *scratch;
	iso_op *op; /* a handle of it */
};

/* ---- whether to stream ---- */

/* Bytes of an array that a later step will read; what can't be read is told then. */
static int64_t array_bytes(const char *path)
{
	struct iso_array head;

	return path && iso_peek(&head, path) == ISO_OK ? head.n * (int64_t)sizeof(iso_real) : 0;
}

static int64_t delayed_bytes(struct ray_problem *ray, const struct iso_events_info *i)
{
	struct iso_events_options o = ray->read;
	iso_event_file *f = NULL;
	int64_t n = ray->delayed ? 0 : i->delayeds;

	o.delayeds = true;
	if (ray->delayed && iso_event_file_open(&f, ray->delayed, &o) == ISO_OK)
		n = iso_event_file_info(f)->n;
	iso_event_file_close(f);
	return n * (int64_t)sizeof(struct iso_event);
}

static bool ray_moves(const struct ray_problem *ray)
{
	return ray->motion.poses || ray->motion.bed || ray->motion.gantry;
}

/* Of an event on a device, about, and of a device that is still being opened, at least. */
#define EVENT_BYTES 100
#define DEVICE_BYTES 5e9

/* With the subsets of the run: sums along rays are those of one. Other commands than recon have none. */
static void plan_operator(struct ray_problem *ray, struct iso_plan *plan, int64_t n)
{
	int n_sub = ray->p->s.by.n > 1 ? ray->p->s.by.n : 1;
	struct iso_ray p = ray_parameters(ray, &(struct model_subsets){ .n = n_sub });

	(ray_moves(ray) ? iso_ray_moved_plan : iso_ray_plan)(plan, ray->p->ctx, &p, n);
	iso_em_plan(plan, ray->p->ctx, iso_grid_voxels(&ray->grid), n, 1, 3);
}

/* What recon plans besides, from the settings: PSF, filter, the floor of the sensitivity, penalties; and a little for
   what does not grow. What fits here must fit there: then it is too late to stream. */
static void plan_images(struct ray_problem *ray, struct iso_plan *plan)
{
	enum { OF_PENALTIES = 12, LITTLE = 1 << 20 };
	const struct settings *s = &ray->p->s;
	int64_t voxels = iso_grid_voxels(&ray->grid), subsets = s->subsets > 1 ? s->subsets : 1;
	bool cuda = iso_ctx_is_cuda(ray->p->ctx), em = s->how && s->how->takes & TAKES_FILTER_EVERY;

	iso_plan_add(plan, "image, start and sensitivity", voxels, 5 * sizeof(iso_real), false);
	iso_plan_add(plan, "voxels that hardly any line crosses", voxels, sizeof(iso_real), false);
	if (problem_has_psf(ray->p)) {
		iso_psf_plan(plan, ray->p->ctx, &ray->grid);
		iso_plan_add(plan, "field of view", voxels, sizeof(iso_real), false);
	}
	if (s->filter_text) {
		iso_plan_add(plan, "voxels that are seen", voxels, sizeof(iso_real), cuda);
		iso_filter_plan(plan, ray->p->ctx, &s->filter, &ray->grid);
	}
	if (s->how && !em)
		iso_plan_add(plan, "penalties", voxels, OF_PENALTIES * (int64_t)sizeof(iso_real), cuda);
	iso_plan_add(plan, "results", LITTLE + 136 * s->iterations * subsets, 1, false);
}

/* Whether events, factors and operator fit memory with the images: what recon will plan. The device may still be
   opened while events are read: then not too many are taken to fit it, until ray_disk_turn looks. */
static int fits(bool *yes, struct ray_problem *ray, const struct iso_events_info *i)
{
	int64_t n = ray_events_here(ray, i->n);
	struct iso_plan plan = { 0 };

	ray->guessed =
		iso_ctx_is_opening(ray->p->ctx) && (double)(n * ray->lines) < DEVICE_BYTES / EVENT_BYTES;
	plan_images(ray, &plan);
	iso_plan_add(&plan, "events", n, iso_event_bytes(i), false);
	iso_plan_add(&plan, "factors", n, 3 * sizeof(iso_real), false);
	if (i->has_fwhm || iso_times_sigma(ray->offsets))
		iso_plan_add(&plan, "resolutions of events", n, sizeof(struct iso_event) + sizeof(iso_real),
		             false);
	iso_plan_add(&plan, "inputs",
	             2 * array_bytes(ray->mu) + array_bytes(ray->norm) + array_bytes(ray->additive) +
	                     delayed_bytes(ray, i),
	             1, false);
	if (ray->guessed)
		iso_plan_add(&plan, "events, ordered", n, 2 * sizeof(struct iso_event), false);
	else
		plan_operator(ray, &plan, n);
	int64_t host, device;
	int st = iso_plan_check(ray->p->ctx, &plan);

	iso_plan_voxels(&plan, iso_grid_voxels(&ray->grid));
	ray->lack = iso_plan_lack(ray->p->ctx, &plan);
	iso_plan_total(&host, &device, &plan);
	iso_plan_free(&plan);
	*yes = st != ISO_ENOMEM;
	return st == ISO_ENOMEM && host == 0 && device == 0
	               ? st
	               : ISO_OK; /* there was no memory for the plan itself */
}

/* ---- a sample, for checks that look at events ---- */

struct iso_events ray_from_place(const struct iso_events *e, int64_t at)
{
	struct iso_events r = *e;

	r.v += at;
	r.time_ms = e->time_ms ? e->time_ms + at : NULL;
	r.count = e->count ? e->count + at : NULL;
	r.mult = e->mult ? e->mult + at : NULL;
	r.add = e->add ? e->add + at : NULL;
	r.crystal = e->crystal ? e->crystal + 2 * at : NULL;
	r.fwhm_ps = e->fwhm_ps ? e->fwhm_ps + at : NULL;
	return r;
}

static int read_sample(struct ray_problem *ray, const iso_event_file *f)
{
	ray->n = iso_event_file_info(f)->n;
	return iso_event_file_sample(&ray->e, f);
}

static int open_disk(struct ray_problem *ray, const iso_event_file *f)
{
	if (!(ray->disk = size_alloc(1, sizeof *ray->disk)))
		return iso_fail_memory("events", sizeof *ray->disk);
	*ray->disk = (struct ray_disk){ .file = f, .most = SMALL_PIECE };
	if ((double)iso_ctx_host_left(ray->p->ctx) > ROOM_FOR_LARGE) ray->disk->most = LARGE_PIECE;
	return read_sample(ray, f);
}

/* Events that go straight from their file to the device are there sooner than by way of the host's memory, and leave that
   free. Few are there at once either way; and whoever picks events by time, or looks at them more than once, wants them
   in memory. */
#define FEW_BYTES 1.1e9 /* as record_input leaves the hash of all bytes out */

static bool goes_straight(const struct ray_problem *ray, const struct iso_events_info *i)
{
	const struct settings *s = &ray->p->s;

	if (!s->how) return false; /* a command that reconstructs nothing */
	bool picks = !s->frames.all || s->frames.series || ray->gates.file || ray_moves(ray);
	bool looks = ray_scatter_on(ray) || ray_wants_memory(s) || ray->delayed || i->delayeds ||
	             i->has_fwhm || iso_times_sigma(ray->offsets);

	return iso_ctx_is_cuda(ray->p->ctx) && iso_ranks(ray->p->ctx) == 1 && !picks && !looks &&
	       (double)i->n * sizeof(struct iso_event) > FEW_BYTES;
}

int ray_disk_open(struct ray_problem *ray)
{
	bool asked = ray->stream.on || ray->stream.block > 0 || ray_scratch_asked(ray);
	iso_event_file *f;
	bool memory = true;
	int st = ray_file(ray, &f, asked);

	if (f) st = fits(&memory, ray, iso_event_file_info(f));
	ray->straight = f && !asked && memory && goes_straight(ray, iso_event_file_info(f));
	double stream = f && (asked || !memory || ray->straight);

	st = iso_comm_max(ray->p->ctx, st, &stream, 1); /* all ranks do, or none */
	return !st && stream > 0 ? open_disk(ray, f) : st;
}

/* Whether a device that events were taken to fit, while it was opened, does not hold them. */
static int too_small(struct ray_problem *ray, double *is)
{
	iso_ctx *ctx = ray->p->ctx;
	int64_t have = 0, need[2];
	struct iso_plan plan = { 0 };
	int st = ray->guessed ? iso_ctx_ready(ctx) : ISO_OK;

	if (st || !ray->guessed) return st;
	bool cuda = iso_ctx_is_cuda(ctx);

	if (!cuda)
		have = iso_ctx_host_left(ctx);
	else if ((st = iso_ctx_device_left(ctx, &have)))
		return st;
	plan_operator(ray, &plan, ray->e.n);
	iso_plan_total(&need[0], &need[1], &plan);
	iso_plan_voxels(&plan, iso_grid_voxels(&ray->grid));
	ray->lack = iso_plan_lack(ctx, &plan);
	iso_plan_free(&plan);
	*is = need[cuda] > have / (cuda ? iso_ranks_of_device(ctx) : 1);
	return ISO_OK;
}

int ray_disk_turn(struct ray_problem *ray)
{
	iso_event_file *f;
	double turn = 0;
	int st = too_small(ray, &turn);

	st = iso_comm_max(ray->p->ctx, st, &turn, 1); /* all ranks do, or none */
	if (st || turn == 0) return st;
	ray_forget_events(ray);
	return (st = ray_file(ray, &f, true)) ? st : open_disk(ray, f);
}

int ray_sample(struct ray_problem *ray)
{
	iso_event_file *f;
	int st = ray_file(ray, &f, false);

	if (!f) return st;
	ray->dry = true;
	return read_sample(ray, f);
}

/* ---- the frame in force ---- */

static void forget_frame(struct ray_disk *d)
{
	iso_op_free(d->op);
	iso_ray_scratch_free(d->scratch);
	d->op = NULL;
	d->scratch = NULL;
}

void ray_disk_close(struct ray_problem *ray)
{
	struct ray_disk *d = ray->disk;

	if (!d) return;
	forget_frame(d);
	iso_events_free(&d->piece);
	free(d->norm);
	free(d->add);
	free(d);
	ray->disk = NULL;
}

/* Before blocks are read: room for the pieces, and for whom. */
static int make_pieces(struct ray_problem *ray, struct ray_disk *d)
{
	int st = d->piece.v ? ISO_OK : iso_event_file_block(&d->piece, d->file, d->most);

	d->ray = ray;
	if (!st && ray->norm && !ray->factors.v && !d->norm) st = model_vector(&d->norm, d->most, "factors");
	if (!st && ray->add.n && !ray->add.v && !d->add) st = model_vector(&d->add, d->most, "additive term");
	return st;
}

/* Times that never fall, in one pass through the file, of which each rank looks at a stretch and the event before it:
   a frame is then one stretch of it. */
static int check_order(struct ray_problem *ray)
{
	struct ray_disk *d = ray->disk;
	struct iso_rows mine = iso_share(ray->p->ctx, ray->n);
	int64_t begin = mine.first > 0 ? mine.first - 1 : 0, end = mine.first + mine.n;
	struct iso_clock clock = iso_clock_start_of(ray->p->ctx, "times", "events", begin, end);
	uint32_t last = 0;
	int st = make_pieces(ray, d);

	for (int64_t i = begin; i < end && !st; i += d->most) {
		int64_t m = end - i < d->most ? end - i : d->most;

		if ((st = iso_ctx_poll(ray->p->ctx)) || (st = iso_event_file_read(&d->piece, d->file, i, m)))
			break;
		for (int64_t j = 0; j < m && !st; last = d->piece.time_ms[j++])
			if (d->piece.time_ms[j] < last)
				st = iso_fail(ISO_EINPUT,
				              "%s: event %" PRId64
				              " is earlier than the one before it; a time can be picked from "
				              "events that are streamed only if they are in order",
				              ray->events, i + j);
		if (!st) iso_clock_step(&clock, i + m, NULL);
	}
	st = iso_comm_agree(ray->p->ctx, st); /* the lowest rank's is the first in the file */
	d->ordered = !st;
	return st;
}

/* The first event from this time on. */
static int find_time(struct ray_problem *ray, int64_t *first, double time_s)
{
	int64_t low = 0, high = ray->n;
	struct iso_events one = { 0 };
	int st = iso_event_file_block(&one, ray->disk->file, 1);

	while (low < high && !st) {
		int64_t middle = low + (high - low) / 2;

		st = iso_event_file_read(&one, ray->disk->file, middle, 1);
		if (one.time_ms[0] >= 1e3 * time_s)
			high = middle;
		else
			low = middle + 1;
	}
	iso_events_free(&one);
	*first = low;
	return st;
}

int ray_disk_select(struct ray_problem *ray, const struct model_frame *f)
{
	struct ray_disk *d = ray->disk;
	int64_t end;
	int st;

	forget_frame(d);
	d->first = 0;
	ray->p->found.rows = ray->n;
	if (f->all) return ISO_OK;
	if (!d->ordered && (st = check_order(ray))) return st;
	if ((st = find_time(ray, &d->first, f->from_s))) return st;
	if ((st = find_time(ray, &end, f->to_s))) return st;
	ray->p->found.rows = end - d->first;
	return ISO_OK;
}

/* ---- blocks ---- */

/* m events from number `first` of the file on, with their factors. */
static int read_piece(struct ray_disk *d, struct iso_events *to, int64_t first, int64_t m)
{
	struct ray_problem *ray = d->ray;
	struct iso_events piece = d->piece;
	struct ray_part p = { &piece, NULL, d->norm, d->add };
	int64_t again = 0, *unknown = &ray->motion.unknown;
	int st;

	piece.v = to->v;
	if (to->time_ms) piece.time_ms = to->time_ms;
	if (to->fwhm_ps) piece.fwhm_ps = to->fwhm_ps;
	if ((st = iso_event_file_read(&piece, d->file, first, m))) return st;
	if (d->norm && (st = ray_values(ray, d->norm, ray->norm, first, m))) return st;
	if (d->add && (st = ray_values(ray, d->add, ray->additive, first, m))) return st;
	if (!d->norm && ray->norm && !ray_norm_per_crystal(ray)) p.norm = ray->factors.v + first;
	if (!d->add && ray->add.v) p.add = ray->add.v + first;
	if (first >= d->seen) {
		d->seen = first + m;
		d->bad += piece.n_bad;
	} else {
		unknown = &again;
	}
	if ((st = ray_times_correct(ray, &piece)) || (st = ray_motion_move(ray, &piece, unknown))) return st;
	return ray_fill(ray, &p, to->count, to->mult, to->add);
}

/* Apart from the pieces of the thread that reads for the operator. */
int ray_disk_factors(struct ray_problem *ray, struct iso_events *block, int64_t first, int64_t m)
{
	struct ray_part p = { block, NULL, NULL, NULL };
	iso_real *norm = NULL;
	int st = iso_event_file_read(block, ray->disk->file, first, m);

	if (!st && ray->norm && !ray->factors.v) {
		st = model_vector(&norm, m, "factors");
		if (!st) st = ray_values(ray, norm, ray->norm, first, m);
		p.norm = norm;
	} else if (!st && ray->norm && !ray_norm_per_crystal(ray)) {
		p.norm = ray->factors.v + first;
	}
	if (!st) st = ray_fill(ray, &p, NULL, block->mult, NULL);
	free(norm);
	return st;
}

static int read_block(void *arg, struct iso_events *block, int64_t first, int64_t n)
{
	struct ray_disk *d = arg;
	int st = ISO_OK;

	for (int64_t i = 0; i < n && !st; i += d->most) {
		struct iso_events to = ray_from_place(block, i);

		st = read_piece(d, &to, d->first + first + i, n - i < d->most ? n - i : d->most);
	}
	return st;
}

int ray_disk_block(struct ray_problem *ray, struct iso_events *block, int64_t first, int64_t m)
{
	int st = make_pieces(ray, ray->disk);
	struct iso_events b = *block;

	if (!ray_has_additive(ray)) b.add = NULL;
	return st ? st : read_block(ray->disk, &b, first, m);
}

static int attenuate_block(void *arg, struct iso_events *block)
{
	struct ray_disk *d = arg;

	return ray_attenuate(d->ray, block, block->count, block->mult, block->add);
}

/* Bad events, which a factor of 0 leaves out, add nothing where r is 0: they need none then. */
static struct iso_ray_source source(struct ray_problem *ray)
{
	bool has_add = ray_has_additive(ray), finish = ray->mu || ray_motion_attenuates(ray);

	return (struct iso_ray_source){
		.size = sizeof(struct iso_ray_source),
		.n = ray->p->found.rows,
		.arg = ray->disk,
		.has_count = ray->e.count || ray->precorrected,
		.has_mult = ray->s || finish || ray->norm || ray->motion.all || ray->e.mult || has_add ||
		            ray->frame.factor != 1,
		.has_add = has_add,
		.has_times = ray->motion.all && (finish || ray->lines > 1),
		.has_fwhm = ray->tof_each,
		.read = read_block,
		.finish = finish ? attenuate_block : NULL,
	};
}

/* ---- plan and operator ---- */

/* Bytes of a plan that has served. */
static int64_t sum_and_free(struct iso_plan *plan, bool device)
{
	int64_t sum[2];

	iso_plan_total(&sum[0], &sum[1], plan);
	iso_plan_free(plan);
	return sum[device];
}

/* Bytes that may be used and are not planned for yet; none is left of the device where there is none. */
static int64_t left_of(struct ray_problem *ray, const struct iso_plan *plan, bool device)
{
	iso_ctx *ctx = ray->p->ctx;
	int64_t have = device ? 0 : iso_ctx_host_memory(ctx), planned[2];

	if (device && iso_ctx_is_cuda(ctx) && iso_ctx_device_left(ctx, &have) != ISO_OK) have = 0;
	if (device) have /= iso_ranks_of_device(ctx);
	iso_plan_total(&planned[0], &planned[1], plan);
	return have > planned[device] ? have - planned[device] : 0;
}

/* Of the lines of an event that moved, once they are laid, and while they are. */
static int64_t laid_bytes(const struct ray_problem *ray, const struct iso_ray *p, bool for_a_while)
{
	return ray_moves(ray) ? iso_ray_moved_bytes(p, for_a_while) : 0;
}

/* Ordered events with their rows, or their packs on CUDA, and data. */
static int64_t kept_bytes(struct ray_problem *ray, const struct iso_ray *p, const struct iso_ray_source *s,
                          int64_t block)
{
	int64_t data = (s->has_count + s->has_mult + s->has_add) * (int64_t)sizeof(iso_real);

	return block * (iso_ray_event_bytes(ray->p->ctx, p) + laid_bytes(ray, p, false) + data);
}

static int64_t count_blocks(int64_t n, int n_sub, int64_t block)
{
	int64_t each = n / n_sub, longer = n % n_sub;

	return longer * ((each + block) / block) + (n_sub - longer) * ((each + block - 1) / block);
}

static void plan_step(struct iso_plan *plan, struct ray_problem *ray, const struct iso_ray *p,
                      const struct iso_ray_source *s, int64_t block)
{
	int64_t laid = laid_bytes(ray, p, false) + laid_bytes(ray, p, true);

	iso_ray_stream_plan(plan, ray->p->ctx, p, s, block);
	if (laid > 0)
		iso_plan_add(plan, "lines of the events of a block", block < s->n ? block : s->n, laid,
		             false);
}

/* What a step takes besides blocks that are kept. */
static int64_t step_bytes(struct ray_problem *ray, const struct iso_ray *p, const struct iso_ray_source *s,
                          int64_t block)
{
	struct iso_plan step = { 0 };

	plan_step(&step, ray, p, s, block);
	return sum_and_free(&step, iso_ctx_is_cuda(ray->p->ctx));
}

/* How many of the blocks so many bytes hold. */
static int64_t count_kept(struct ray_problem *ray, const struct iso_ray *p, const struct iso_ray_source *s,
                          int64_t block, int64_t bytes)
{
	int64_t each = kept_bytes(ray, p, s, block);
	int64_t blocks = count_blocks(ray_events_here(ray, s->n), p->n_sub, block);
	int64_t kept = bytes > 0 ? bytes / (each > 0 ? each : 1) : 0;

	return kept < blocks ? kept : blocks;
}

/* As many as what is left holds, with the room that the next block needs left free. */
static void plan_kept(struct ray_problem *ray, struct iso_plan *plan, const struct iso_ray *p,
                      const struct iso_ray_source *s)
{
	char text[64];
	bool cuda = iso_ctx_is_cuda(ray->p->ctx);
	struct ray_disk *d = ray->disk;
	int64_t blocks = count_blocks(ray_events_here(ray, s->n), p->n_sub, d->block);

	d->kept = count_kept(ray, p, s, d->block, left_of(ray, plan, cuda) - step_bytes(ray, p, s, d->block));
	snprintf(text, sizeof text, "%" PRId64 " of %" PRId64 " blocks kept", d->kept, blocks);
	iso_plan_add(plan, text, d->kept, kept_bytes(ray, p, s, d->block), cuda);
}

/* Bytes of a block that the host holds for a device. */
static int64_t held_bytes(const struct iso_ray *p, const struct iso_ray_source *s, int64_t block)
{
	return block * (iso_ray_held_bytes(p) + iso_ray_source_bytes(s) - (int64_t)sizeof(struct iso_event));
}

/* How many of the blocks so many bytes of the host hold; a part of them is left to others. */
static int64_t count_held(struct ray_problem *ray, const struct iso_ray *p, const struct iso_ray_source *s,
                          int64_t block, int64_t bytes)
{
	int64_t each = held_bytes(p, s, block),
		blocks = count_blocks(ray_events_here(ray, s->n), p->n_sub, block);
	int64_t held = bytes > 0 && each > 0 ? (bytes - bytes / 16) / each : 0;

	if (!iso_ctx_is_cuda(ray->p->ctx) || p->tof_each) return 0;
	return held < blocks ? held : blocks;
}

static void plan_held(struct ray_problem *ray, struct iso_plan *plan, const struct iso_ray *p,
                      const struct iso_ray_source *s)
{
	char text[64];
	struct ray_disk *d = ray->disk;
	int64_t others = count_blocks(ray_events_here(ray, s->n), p->n_sub, d->block) - d->kept;

	d->held =
		count_held(ray, p, s, d->block, left_of(ray, plan, false) / iso_ranks_of_device(ray->p->ctx));
	if (d->held > others) d->held = others;
	if (d->held == 0) return;
	snprintf(text, sizeof text, "%" PRId64 " blocks held for the device", d->held);
	iso_plan_add(plan, text, d->held, held_bytes(p, s, d->block), false);
}

static int64_t choose_block(struct ray_problem *ray, const struct iso_plan *plan, const struct iso_ray *p,
                            const struct iso_ray_source *s)
{
	int64_t parts = laid_bytes(ray, p, true) > 0 ? 1 + p->rays : 1; /* most of a block is its lines */

	if (ray->stream.block) return ray->stream.block;
	return iso_ray_stream_block(ray->p->ctx, p, s, left_of(ray, plan, false) / parts,
	                            left_of(ray, plan, true));
}

/* Whether memory holds what writing a scratch file takes, besides the step. */
static bool can_sort(struct ray_problem *ray, const struct iso_plan *plan, const struct iso_ray *p,
                     const struct iso_ray_source *s, int64_t block)
{
	struct iso_plan all = { 0 };

	iso_ray_scratch_plan(&all, s);
	plan_step(&all, ray, p, s, block);
	return sum_and_free(&all, false) <= left_of(ray, plan, false);
}

/* Where the scratch file lies: in the folder that was asked for; else, where memory does not keep all blocks and
   rewriting them takes less reading than it saves, in one that has room. */
static void choose_place(struct ray_problem *ray, const struct iso_plan *plan, const struct iso_ray *p,
                         const struct iso_ray_source *s)
{
	struct ray_disk *d = ray->disk;
	int64_t block = choose_block(ray, plan, p, s), bytes;
	int64_t left = left_of(ray, plan, iso_ctx_is_cuda(ray->p->ctx)) - 2 * step_bytes(ray, p, s, block);
	int64_t blocks = count_blocks(s->n, p->n_sub, block), kept = count_kept(ray, p, s, block, left);
	bool once = kept + count_held(ray, p, s, block, left_of(ray, plan, false)) >= blocks;

	d->place[0] = '\0';
	d->without = RAY_NEEDS_NONE;
	if (ray_scratch_asked(ray)) {
		snprintf(d->place, sizeof d->place, "%s", ray->stream.scratch);
		return;
	}
	if (!ray_scratch_pays(ray, p, s->finish, once) || !size_mul(&bytes, s->n, iso_ray_source_bytes(s)) ||
	    kept == blocks)
		return;
	if (!can_sort(ray, plan, p, s, block))
		d->without = RAY_NO_MEMORY;
	else if (!ray_scratch_place(d->place, ray, bytes))
		d->without = RAY_NO_DISK;
}

void ray_disk_plan(struct ray_problem *ray, struct iso_plan *plan, const struct model_subsets *subsets)
{
	struct iso_ray p = ray_parameters(ray, subsets);
	struct iso_ray_source s = source(ray);
	struct ray_disk *d = ray->disk;
	const struct iso_events_info *i = iso_event_file_info(d->file);

	iso_plan_add(plan, "a piece of the file, a sample", d->most, 2 * iso_event_bytes(i) + 8, false);
	ray_plan_inputs(ray, plan, iso_ctx_is_cuda(ray->p->ctx));
	choose_place(ray, plan, &p, &s);
	if (d->place[0]) {
		iso_ray_scratch_plan(plan, &s);
		p.rule = ISO_BLOCKS;
	}
	d->block = choose_block(ray, plan, &p, &s);
	plan_step(plan, ray, &p, &s, d->block);
	plan_kept(ray, plan, &p, &s);
	plan_held(ray, plan, &p, &s);
}

struct ray_planned ray_disk_planned(struct ray_problem *ray, const struct model_subsets *subsets)
{
	const struct ray_disk *d = ray->disk;
	struct iso_ray_source s = source(ray);
	int64_t blocks = count_blocks(ray_events_here(ray, s.n), subsets->n, d->block);

	struct iso_ray p = ray_parameters(ray, subsets);

	return (struct ray_planned){ .kept = (double)d->kept / (double)(blocks > 0 ? blocks : 1),
		                     .held = (double)d->held / (double)(blocks > 0 ? blocks : 1),
		                     .left = (double)(blocks - d->kept - d->held) /
		                             (double)(blocks > 0 ? blocks : 1),
		                     .held_bytes = (double)d->held * (double)held_bytes(&p, &s, d->block),
		                     .place = d->place,
		                     .without = d->without,
		                     .bytes = s.n * iso_ray_source_bytes(&s),
		                     .attenuates = s.finish && !d->place[0] };
}

/* Four pieces from the middle on, where nothing was read before. */
int ray_disk_time(struct ray_problem *ray, double *seconds)
{
	struct ray_disk *d = ray->disk;
	int64_t first = ray->n / 2 + ray->n / 64, n = 0;
	int st = make_pieces(ray, d);
	double began = iso_now_s();

	for (int k = 0; k < 4 && !st && first + n < ray->n; k++) {
		int64_t left = ray->n - first - n, m = left < d->most ? left : d->most;

		st = iso_event_file_read(&d->piece, d->file, first + n, m);
		n += m;
	}
	*seconds = n > 0 ? (iso_now_s() - began) * (double)ray->p->found.rows / (double)n : 0;
	return st;
}

int ray_disk_op(struct ray_problem *ray, iso_op **op, const struct model_subsets *subsets)
{
	struct iso_ray p = ray_parameters(ray, subsets);
	struct iso_ray_source s = source(ray);
	struct ray_disk *d = ray->disk;
	int st = make_pieces(ray, d);

	forget_frame(d); /* of an operator before */
	if (ray_scratch_asked(ray) && iso_ranks(ray->p->ctx) > 1)
		return iso_fail(ISO_EARG, "'scratch' is for one process, there are %d ranks",
		                iso_ranks(ray->p->ctx));
	if (!st && d->place[0] && !ray->stream.never)
		st = iso_ray_scratch_create(&d->scratch, ray->p->ctx, &p, &s, d->place);
	if (st) return st;
	if (d->scratch) {
		s = *iso_ray_scratch_source(d->scratch);
		p.rule = ISO_BLOCKS; /* the scratch file is in that order */
	}
	int64_t here = ray_events_here(ray, s.n), blocks = count_blocks(here, p.n_sub, d->block);
	int64_t kept = d->kept < blocks ? d->kept : blocks;
	int64_t held = d->held < blocks - kept ? d->held : blocks - kept;
	bool rereads = p.n_sub > 1 && p.rule != ISO_BLOCKS && kept + held < blocks, several = here < s.n;
	char from[PATH_MAX + 32] = "", host[64] = "";

	if (held > 0) snprintf(host, sizeof host, " and %" PRId64 " host memory", held);
	if (d->scratch) snprintf(from, sizeof from, " from a scratch file in %s,", d->place);

	record_tell(ray->p->record, ISO_NEWS,
	            "streaming %" PRId64 " events%s%s in %" PRId64 " blocks of at most %" PRId64
	            ", of which %" PRId64 " fit memory to be kept%s%s%s",
	            s.n, from, several ? ", each rank its share" : "", blocks, d->block, kept, host,
	            rereads ? "; each subset reads the whole file" : "",
	            rereads && !several && !ray->stream.never ? ": 'scratch' avoids that" : "");
	if ((st = iso_ray_moved_stream(op, ray->p->ctx, &p, &s, d->block, ray->motion.all))) return st;
	d->op = iso_op_keep(*op);
	return ISO_OK;
}

int ray_disk_describe(iso_problem *problem)
{
	struct ray_problem *ray = problem->self;
	struct ray_disk *d = ray->disk;
	int64_t blocks, kept;

	if (!d || !d->op) return ISO_OK;
	iso_ray_stream_state(&blocks, &kept, d->op);
	double seen = (double)d->seen; /* by the rank that came farthest */
	int64_t of_all[3] = { d->bad, blocks, kept };
	int st = iso_comm_sum(problem->ctx, ISO_OK, of_all, 3);

	if ((st = iso_comm_max(problem->ctx, st, &seen, 1))) return st;
	events_warn(problem->record, ray->events,
	            &(struct iso_events){ .n = (int64_t)seen, .n_bad = of_all[0] });
	d->bad = 0;
	if ((st = ray_motion_tell_unknown(ray))) return st;
	blocks = of_all[1];
	kept = of_all[2];
	return record_result(problem->record, "streamed",
	                     json_pack("{s:I, s:I, s:I, s:b, s:I}", "events_per_block", (json_int_t)d->block,
	                               "blocks", (json_int_t)blocks, "kept", (json_int_t)kept, "scratch",
	                               d->scratch != NULL, "scratch_bytes_read",
	                               (json_int_t)iso_ray_scratch_bytes_read(d->scratch)));
}
