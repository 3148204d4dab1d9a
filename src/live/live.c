/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run tells its live page, and what the page asks of the run. */
#include "live.h"

#include "base/utf8.h"
#include "core/ctx.h"
#include "core/progress.h"
#include "core/sized.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define END_WAIT_S 2.   /* at most, for a page to see how the run ended */
#define END_IMAGE_S .15 /* and then to fetch the last image */
#define POLLING_S 1.5   /* a page that asked within this time is open, */
#define HURRIED_S \
	.45      /* and where somebody waits for the program to end: pages that are seen ask every .35 s */
#define COST 100 /* an image is taken after this many times what the last one took */

static void copy_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
	iso_utf8_clean(to);
}

/* ---- beginning and end ---- */

static void live_free(iso_live *l)
{
	if (!l) return;
	free(l->back);
	free(l->ready);
	free(l->front);
	iso_ctx_free(l->ctx);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static iso_live *make(iso_ctx *ctx, const char *title)
{
	iso_live *l = calloc(1, sizeof *l);

	if (!l) return NULL;
	pthread_mutex_init(&l->lock, NULL);
	l->ctx = iso_ctx_keep(ctx);
	l->began_s = iso_now_s();
	l->facts.left_s = -1;
	copy_text(l->facts.title, sizeof l->facts.title, title ? title : "Isotome");
	l->back = calloc(1, sizeof *l->back);
	l->ready = calloc(1, sizeof *l->ready);
	l->front = calloc(1, sizeof *l->front);
	if (l->back && l->ready && l->front) return l;
	live_free(l);
	return NULL;
}

static int open_server(iso_live *l, const struct iso_live_options *o)
{
#ifdef ISO_MICROHTTPD
	int st = iso_live_make_token(l->token);

	return st ? st : iso_live_server_open(l, o->bind, o->port);
#else
	(void)l, (void)o;
	return iso_fail(ISO_EDEVICE, "a live page needs libmicrohttpd, which this build has not (Debian: "
	                             "libmicrohttpd-dev)");
#endif
}

int iso_live_start(iso_live **live, iso_ctx *ctx, const struct iso_live_options *given)
{
	struct iso_live_options o = { 0 };
	iso_live *l;
	int st;

	if (!live || !ctx || !given) return iso_fail_null(__func__);
	if ((st = iso_sized_take(&o, "iso_live_options", sizeof o, given))) return st;
	if (o.port < 0 || o.port > 65535)
		return iso_fail(ISO_EARG, "live: port is %d, must be 0 to 65535", o.port);
	if (!(l = make(ctx, o.title)))
		return iso_fail_memory("live page", 3 * (int64_t)sizeof(struct live_image));
	if ((st = open_server(l, &o))) {
		live_free(l);
		return st;
	}
	*live = l;
	return ISO_OK;
}

const char *iso_live_address(const iso_live *l)
{
	return l ? l->address : "";
}

/* A page that is open has a connection, and asks several times a second: it sees the end, and fetches the last image. */
bool iso_live_end_waits(const struct live_end *e)
{
	double asks_within_s = e->hurried ? HURRIED_S : POLLING_S;

	if (e->guests == 0 || e->polled_s <= 0 || e->now_s - e->polled_s >= asks_within_s) return false;
	if (e->seen_s > 0 && e->now_s - e->seen_s >= END_IMAGE_S) return false;
	return e->now_s - e->began_s < (e->hurried ? HURRIED_S + END_IMAGE_S : END_WAIT_S);
}

static void wait_for_pages(iso_live *l)
{
	struct live_end e = { .began_s = iso_now_s(), .hurried = iso_stopped(l->ctx) };

	for (;;) {
		e.now_s = iso_now_s();
		pthread_mutex_lock(&l->lock);
		e.polled_s = l->polled_s;
		e.guests = l->guests;
		if (l->end_seen && e.seen_s == 0) e.seen_s = e.now_s;
		pthread_mutex_unlock(&l->lock);
		if (!iso_live_end_waits(&e)) return;
		usleep(10000);
	}
}

void iso_live_stop(iso_live *l, const char *outcome)
{
	if (!l) return;
	pthread_mutex_lock(&l->lock);
	copy_text(l->facts.ended, sizeof l->facts.ended, outcome);
	l->facts.has_ended = true;
	pthread_mutex_unlock(&l->lock);
	wait_for_pages(l);
#ifdef ISO_MICROHTTPD
	iso_live_server_close(l->server);
#endif
	live_free(l);
}

/* ---- what the run tells ---- */

void iso_live_progress(iso_live *l, const struct iso_progress *p)
{
	if (!l || !p) return;
	pthread_mutex_lock(&l->lock);
	struct live_facts *f = &l->facts;

	copy_text(f->stage, sizeof f->stage, p->stage);
	if (p->note || p->elapsed_s == 0) copy_text(f->note, sizeof f->note, p->note);
	f->done = p->done;
	f->total = p->total;
	f->elapsed_s = p->elapsed_s;
	f->left_s = p->left_s;
	f->told_s = iso_now_s();
	pthread_mutex_unlock(&l->lock);
}

void iso_live_part(iso_live *l, const char *kind, int64_t k, int64_t n)
{
	if (!l || !kind) return;
	pthread_mutex_lock(&l->lock);
	snprintf(l->facts.part, sizeof l->facts.part, "%.20s %" PRId64 " of %" PRId64, kind, k, n);
	pthread_mutex_unlock(&l->lock);
}

void iso_live_warning(iso_live *l, const char *text)
{
	if (!l || !text) return;
	pthread_mutex_lock(&l->lock);
	copy_text(l->facts.warning[l->facts.warnings++ % LIVE_WARNINGS], LIVE_TEXT, text);
	pthread_mutex_unlock(&l->lock);
}

/* The last LIVE_MARKS of them, so that the rate is that of the last seconds. */
static void mark(struct live_facts *f, int64_t done)
{
	double now = iso_now_s();

	if (f->n_marks > 0 && now - f->mark[f->n_marks - 1].at_s < LIVE_MARK_S) return;
	if (f->n_marks == LIVE_MARKS) memmove(f->mark, f->mark + 1, (size_t)--f->n_marks * sizeof *f->mark);
	f->mark[f->n_marks++] = (struct live_mark){ now, done };
}

static void add_point(struct live_facts *f, double at, double value)
{
	if (f->next_thin-- > 1) return;
	if (f->n_points == LIVE_POINTS) {
		for (int i = 0; i < LIVE_POINTS / 2; i++) f->point[i] = f->point[2 * i];
		f->n_points = LIVE_POINTS / 2;
		f->thin *= 2;
	}
	f->point[f->n_points++] = (struct live_point){ at, value };
	f->next_thin = f->thin;
}

void iso_live_step(iso_live *l, const struct iso_live_step *given)
{
	struct iso_live_step s = { 0 };

	if (!l || iso_sized_take(&s, "iso_live_step", sizeof s, given)) return;
	pthread_mutex_lock(&l->lock);
	struct live_facts *f = &l->facts;

	if (s.done < f->steps || f->thin == 0) {
		f->n_marks = f->n_points = 0;
		f->thin = 1;
		f->next_thin = 0;
	}
	f->steps = s.done;
	f->steps_total = s.total;
	f->per = s.per > 0 ? s.per : 1;
	f->rows = s.rows;
	if (s.row_name) copy_text(f->row_name, sizeof f->row_name, s.row_name);
	if (s.figure) copy_text(f->figure, sizeof f->figure, s.figure);
	mark(f, s.done);
	if (isfinite(s.objective)) add_point(f, (double)s.done / (double)f->per, s.objective);
	pthread_mutex_unlock(&l->lock);
}

bool iso_live_wants_image(iso_live *l)
{
	if (!l) return false;
	double now = iso_now_s();

	pthread_mutex_lock(&l->lock);
	bool seen = l->polled_s > 0 && now - l->polled_s < LIVE_UNSEEN_S;
	pthread_mutex_unlock(&l->lock);
	if (now < l->image_due_s + (seen ? 0 : LIVE_UNSEEN_S - LIVE_IMAGE_S)) return false;
	l->asked_s = now;
	return true;
}

/* The point that was clicked, else the middle of what is seen: where that is follows the image now and then. */
static int point_of(iso_live *l, int64_t at[3], const struct iso_array *image)
{
	double now = iso_now_s();
	int st = ISO_OK;

	pthread_mutex_lock(&l->lock);
	bool chosen = l->facts.at_point;
	memcpy(at, l->facts.point_at, 3 * sizeof *at);
	pthread_mutex_unlock(&l->lock);
	if (chosen) return ISO_OK;
	if (now >= l->search_due_s && !(st = iso_live_object(l->found, image)))
		l->search_due_s = iso_now_s() + fmax(LIVE_SEARCH_S, 2 * COST * (iso_now_s() - now));
	memcpy(at, l->found, 3 * sizeof *at);
	return st;
}

int iso_live_image(iso_live *l, const struct iso_array *image)
{
	int64_t at[3];
	double began = iso_now_s();
	int st;

	if (!l) return ISO_OK;
	if (!image || !image->v) return iso_fail_null(__func__);
	if (l->asked_s > 0) began = l->asked_s; /* also what it took to get the image here */
	l->asked_s = 0;
	if ((st = point_of(l, at, image)) || (st = iso_live_planes(l->back, image, at))) return st;
	pthread_mutex_lock(&l->lock);
	struct live_image *made = l->back;

	l->back = l->ready;
	l->ready = made;
	made->version = ++l->facts.image;
	copy_text(l->facts.unit, sizeof l->facts.unit, image->unit);
	pthread_mutex_unlock(&l->lock);
	double now = iso_now_s();

	l->image_due_s = now + fmax(LIVE_IMAGE_S, COST * (now - began));
	return ISO_OK;
}

void iso_live_can_save(iso_live *l, bool can)
{
	if (!l) return;
	pthread_mutex_lock(&l->lock);
	l->facts.can_save = can;
	pthread_mutex_unlock(&l->lock);
}

bool iso_live_asked_to_save(iso_live *l)
{
	if (!l) return false;
	pthread_mutex_lock(&l->lock);
	bool asked = l->facts.save_asked;

	l->facts.save_asked = false;
	pthread_mutex_unlock(&l->lock);
	return asked;
}

void iso_live_saved(iso_live *l, int status)
{
	if (!l) return;
	pthread_mutex_lock(&l->lock);
	l->facts.save_failed = status != ISO_OK;
	l->facts.saves += status == ISO_OK;
	l->facts.saved_s = iso_now_s();
	pthread_mutex_unlock(&l->lock);
}

/* ---- for the server ---- */

struct live_facts iso_live_facts(iso_live *l)
{
	pthread_mutex_lock(&l->lock);
	struct live_facts f = l->facts;

	pthread_mutex_unlock(&l->lock);
	return f;
}

void iso_live_polled(iso_live *l)
{
	pthread_mutex_lock(&l->lock);
	l->polled_s = iso_now_s();
	pthread_mutex_unlock(&l->lock);
}

void iso_live_end_seen(iso_live *l)
{
	pthread_mutex_lock(&l->lock);
	l->end_seen = true;
	pthread_mutex_unlock(&l->lock);
}

void iso_live_guests(iso_live *l, int n)
{
	pthread_mutex_lock(&l->lock);
	l->guests = n;
	pthread_mutex_unlock(&l->lock);
}

void iso_live_ask_stop(iso_live *l)
{
	pthread_mutex_lock(&l->lock);
	l->facts.stop_asked = true;
	pthread_mutex_unlock(&l->lock);
	iso_ctx_cancel(l->ctx);
}

bool iso_live_ask_save(iso_live *l)
{
	pthread_mutex_lock(&l->lock);
	bool can = l->facts.can_save;

	l->facts.save_asked = l->facts.save_asked || can;
	pthread_mutex_unlock(&l->lock);
	return can;
}

void iso_live_ask_point(iso_live *l, const int64_t at[3])
{
	pthread_mutex_lock(&l->lock);
	l->facts.at_point = at;
	for (int a = 0; a < 3 && at; a++) l->facts.point_at[a] = at[a];
	pthread_mutex_unlock(&l->lock);
}

const struct live_image *iso_live_front(iso_live *l)
{
	pthread_mutex_lock(&l->lock);
	if (l->ready->version > l->front->version) {
		struct live_image *newer = l->ready;

		l->ready = l->front;
		l->front = newer;
	}
	pthread_mutex_unlock(&l->lock);
	return l->front;
}
