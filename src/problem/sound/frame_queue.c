/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of frames: a thread of its own reads into it. */
#include "frame_queue.h"

#include "base/now.h"
#include "core/progress.h"
#include "core/size.h"
#include "core/status.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_S .1 /* between two looks whether to stop */

struct frame_queue {
	iso_frame_file *file;
	int64_t set, group, bytes, places;
	bool drop;
	/* the ring: frame i of all that were read is in place i % places */
	uint8_t *ring, *under_way;
	double *came_s;
	int64_t first, in, dropped; /* oldest in the ring; frames read so far */
	bool ended, stop;
	int status;
	char message[1024];
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t change;
};

static void wait_a_little(frame_queue *q, double s)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += (long)(1e9 * (s < LOOK_S ? s : LOOK_S));
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&q->change, &q->lock, &t);
}

/* ---- the reader ---- */

/* The oldest frames up to the next set go. */
static void drop_set(frame_queue *q)
{
	int64_t n = q->set - q->first % q->set;

	q->first += n;
	q->dropped += n;
}

/* Room for one frame more: false, there is none and never will be. */
static bool make_room(frame_queue *q)
{
	while (q->in - q->first == q->places && !q->stop) {
		if (q->drop)
			drop_set(q);
		else
			wait_a_little(q, LOOK_S);
	}
	return !q->stop;
}

static void put(frame_queue *q, double now)
{
	pthread_mutex_lock(&q->lock);
	if (make_room(q)) {
		int64_t place = q->in % q->places;

		memcpy(q->ring + place * q->bytes, q->under_way, (size_t)q->bytes);
		q->came_s[place] = now;
		q->in++;
	}
	pthread_cond_broadcast(&q->change);
	pthread_mutex_unlock(&q->lock);
}

static bool is_stopped(frame_queue *q)
{
	pthread_mutex_lock(&q->lock);
	bool stop = q->stop;

	pthread_mutex_unlock(&q->lock);
	return stop;
}

static void *read_frames(void *arg)
{
	frame_queue *q = arg;
	bool came = false, end = false;
	int st = ISO_OK;

	iso_progress_mute();
	while (!st && !end && !is_stopped(q)) {
		st = iso_frame_file_next(q->under_way, &came, &end, q->file, LOOK_S);
		if (!st && came) put(q, iso_now_s());
	}
	pthread_mutex_lock(&q->lock);
	q->ended = true;
	q->status = st;
	if (st) snprintf(q->message, sizeof q->message, "%s", iso_message());
	pthread_cond_broadcast(&q->change);
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

int frame_queue_create(frame_queue **out, iso_frame_file *file, int64_t set, int64_t group, bool drop)
{
	frame_queue *q = size_alloc(1, sizeof *q);
	int e;

	if (!q) return iso_fail_memory("frames", sizeof *q);
	*q = (frame_queue){ .file = file, .set = set, .group = group, .drop = drop };
	q->bytes = iso_frame_file_bytes(file);
	q->places = 2 * group + set;
	q->ring = size_alloc(q->places, q->bytes);
	q->under_way = size_alloc(1, q->bytes);
	q->came_s = size_alloc(q->places, sizeof *q->came_s);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->change, NULL);
	if (!q->ring || !q->under_way || !q->came_s) {
		int st = iso_fail_memory("frames", (q->places + 1) * q->bytes);

		frame_queue_free(q);
		return st;
	}
	e = pthread_create(&q->thread, NULL, read_frames, q);
	q->running = e == 0;
	if (e) {
		frame_queue_free(q);
		return iso_fail(ISO_EIO, "can't start a thread that reads frames: %s", strerror(e));
	}
	*out = q;
	return ISO_OK;
}

void frame_queue_free(frame_queue *q)
{
	if (!q) return;
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_cond_broadcast(&q->change);
	pthread_mutex_unlock(&q->lock);
	if (q->running) pthread_join(q->thread, NULL);
	pthread_cond_destroy(&q->change);
	pthread_mutex_destroy(&q->lock);
	free(q->ring);
	free(q->under_way);
	free(q->came_s);
	free(q);
}

/* ---- who works ---- */

/* Of frames that wait, those that may be taken now: a group, or fewer in whole sets; at the end, all. */
static int64_t ready(const frame_queue *q, bool few)
{
	int64_t n = q->in - q->first;

	if (n >= q->group) return q->group;
	if (q->ended) return n;
	return few ? n / q->set * q->set : 0;
}

static int give(void *frames, double *came_s, frame_queue *q, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t place = (q->first + i) % q->places;

		memcpy((uint8_t *)frames + i * q->bytes, q->ring + place * q->bytes, (size_t)q->bytes);
		came_s[i] = q->came_s[place];
	}
	q->first += n;
	pthread_cond_broadcast(&q->change);
	return (int)n;
}

int frame_queue_take(void *frames, double *came_s, int *n, bool *end, frame_queue *q, bool few, double wait_s)
{
	double stop = iso_now_s() + wait_s, left = wait_s;
	int st;

	pthread_mutex_lock(&q->lock);
	while (ready(q, false) == 0 && !q->ended && (left = stop - iso_now_s()) > 0) wait_a_little(q, left);
	while (q->drop && (q->in - q->first) / q->set * q->set > q->group) drop_set(q);
	*n = give(frames, came_s, q, ready(q, few));
	*end = q->ended && q->in == q->first;
	st = *end ? q->status : ISO_OK;
	pthread_mutex_unlock(&q->lock);
	return st ? iso_fail(st, "%s", q->message) : ISO_OK;
}

void frame_queue_count(int64_t *in, int64_t *dropped, frame_queue *q)
{
	pthread_mutex_lock(&q->lock);
	*in = q->in;
	*dropped = q->dropped;
	pthread_mutex_unlock(&q->lock);
}
