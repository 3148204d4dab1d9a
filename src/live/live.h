/* SPDX-License-Identifier: BSD-3-Clause */
/* A live page inside: what the run has told, the planes on their way to the server, what the page asked for.

   Two threads meet here. The run's writes `facts` under the lock, for less than a microsecond, and planes into `back`,
   which is its own; the server's copies `facts` under the lock and reads planes in `front`, which is its own. `ready`
   lies between them: under the lock either thread swaps it with its own, so that none waits for a copy of pixels. */
#ifndef ISO_LIVE_INSIDE_H
#define ISO_LIVE_INSIDE_H

#include "isotome.h"

#include <pthread.h>

enum {
	LIVE_SIDE = 256,       /* pixels of a plane along an axis; of more voxels every k-th is taken */
	LIVE_POINTS = 512,     /* of the curve; then every other is left out */
	LIVE_WARNINGS = 12,    /* the last of them */
	LIVE_TEXT = 400,       /* bytes of a warning */
	LIVE_MARKS = 32,       /* steps by which the rate is told */
	LIVE_TOKEN = 32,       /* hexadecimal digits: 128 bits */
	LIVE_CONNECTIONS = 64, /* at a time */
};

#define LIVE_IMAGE_S .2  /* least time between two images, */
#define LIVE_UNSEEN_S 2. /* and where no page has asked for as long as this */
#define LIVE_SEARCH_S 1. /* between two searches for the middle of what is seen */
#define LIVE_MARK_S .25  /* between two marks of the rate */

struct live_plane {
	int axis;           /* that it lies across: 0, 1, 2 */
	int64_t n[2], step; /* pixels, horizontal first, of every step-th voxel */
	double pixel_mm[2];
	int64_t cross[2]; /* the point, in pixels */
	float v[LIVE_SIDE * LIVE_SIDE];
};

struct live_image {
	uint64_t version; /* 0: none yet */
	int64_t at[3];    /* the point, a voxel */
	double place[3];  /* the same in mm; without a grid the index */
	double value;
	int64_t size[3];
	int n; /* planes: 3, of an image of one slice 1 */
	struct live_plane plane[3];
};

struct live_point {
	double at, value; /* iterations, objective */
};

struct live_mark {
	double at_s;
	int64_t done;
};

/* All that the page shows but the image; copied whole. */
struct live_facts {
	char title[128], part[64], stage[64], note[128], row_name[32], figure[32], unit[32], ended[256];
	int64_t done, total; /* of the stage */
	double elapsed_s, left_s, told_s;
	int64_t steps, steps_total, per, rows;
	int n_marks;
	struct live_mark mark[LIVE_MARKS];
	int n_points;
	int64_t thin, next_thin; /* every thin-th objective is kept; those until the next */
	struct live_point point[LIVE_POINTS];
	int64_t warnings; /* in all */
	char warning[LIVE_WARNINGS][LIVE_TEXT];
	bool can_save, save_asked, stop_asked, save_failed, has_ended;
	int64_t saves;
	double saved_s;
	bool at_point; /* the page has chosen `point_at`; else the middle of what is seen */
	int64_t point_at[3];
	uint64_t image; /* version of the last */
};

struct live_server;

struct iso_live {
	iso_ctx *ctx;
	double began_s;
	char token[LIVE_TOKEN + 1], address[160];
	struct live_server *server;

	pthread_mutex_t lock; /* of these: */
	struct live_facts facts;
	struct live_image *ready;
	double polled_s; /* when a page last asked for the state; 0: never */
	int guests;      /* connections of those who have shown the token */
	bool end_seen;   /* a page has the state with has_ended */

	/* the run's own */
	struct live_image *back;
	double asked_s, image_due_s, search_due_s;
	int64_t found[3]; /* the middle of what is seen, when last searched */

	/* the server's own */
	struct live_image *front;
};

/* ---- live.c, for the library's own runs ---- */

/* At the end of a run: whether to wait on, for pages that are open to see how it ended. */
struct live_end {
	double now_s, began_s; /* began_s: to wait */
	double polled_s;       /* when a page last asked; 0: never */
	double seen_s;         /* when one had seen the end; 0: none has */
	int guests;
	bool hurried; /* the run was asked to stop */
};

bool iso_live_end_waits(const struct live_end *e);

/* ---- for the server ---- */

struct live_facts iso_live_facts(iso_live *live); /* a copy */
void iso_live_polled(iso_live *live);
void iso_live_end_seen(iso_live *live);
void iso_live_guests(iso_live *live, int n);
void iso_live_ask_stop(iso_live *live);
bool iso_live_ask_save(iso_live *live); /* false: there is nothing to save to */

/* The point of the next planes; NULL: the middle of what is seen. */
void iso_live_ask_point(iso_live *live, const int64_t at[3]);

/* The latest planes, in `front`. */
const struct live_image *iso_live_front(iso_live *live);

/* live_planes.c: planes of an image through a voxel; and the voxel in the middle of what is seen. */
int iso_live_planes(struct live_image *to, const struct iso_array *image, const int64_t at[3]);
int iso_live_object(int64_t at[3], const struct iso_array *image);

/* live_bytes.c. The image for the page: 16 bits a pixel with their scale, docs/live.md has the layout. To be freed;
   NULL without memory. */
unsigned char *iso_live_image_bytes(const struct live_image *im, size_t *size);

/* live_state.c: the facts as JSON, to be freed; NULL without memory. */
char *iso_live_state(const struct live_facts *f, double now_s, double began_s);

/* live_guard.c */
int iso_live_make_token(char token[LIVE_TOKEN + 1]); /* of the system's random bytes */

/* What follows "/TOKEN/" in a path; NULL where the path is any other. Takes as long for each wrong token. */
const char *iso_live_behind_token(const char *path, const char *token);

/* Whether a Host header is one that this server can have: its address, any numeric one, or localhost; with the port. A
   name would be that of somebody who made it point here. NULL: none was sent. */
bool iso_live_host_is_own(const char *host, int port);

/* Whether an Origin header, NULL: none, is http://HOST. */
bool iso_live_origin_is_own(const char *origin, const char *host);

/* microhttpd/live_server.c: listens, and fills `address` of the live page. */
int iso_live_server_open(iso_live *live, const char *bind, int port);
void iso_live_server_close(struct live_server *s);

#endif
