/* SPDX-License-Identifier: BSD-3-Clause */
/* A page in a browser that fills while a run goes on: planes of the image, the objective, rates, time left, warnings;
   and two buttons, to stop and to save.

	iso_live *live = NULL;
	struct iso_live_options o = { .size = sizeof o };

	iso_live_start(&live, ctx, &o);
	puts(iso_live_address(live));
	iso_problem_set_live(p, live);
	iso_problem_recon(NULL, "x.nii", p);
	iso_live_stop(live, "done");

   The page is served from memory by a thread of its own, which reads copies and changes nothing of the run: images have
   the same bits with and without it. Its address holds a random token, without which there is nothing to be had.

   Threads: what a run tells (iso_live_step and the like) comes from one thread at a time. All these functions do
   nothing where `live` is NULL. */
#ifndef ISOTOME_LIVE_H
#define ISOTOME_LIVE_H

#include "isotome/array.h"

ISO_BEGIN_C

typedef struct iso_live iso_live;

struct iso_live_options {
	size_t size;      /* sizeof(struct iso_live_options) */
	const char *bind; /* numeric address to listen on; NULL: 127.0.0.1, which only this machine reaches */
	int port;         /* 0: a free one */
	const char *title; /* of the page; NULL: "Isotome" */
};

/* Listens from now on. The page's stop cancels the context (iso_ctx_cancel), which is kept until iso_live_stop.
   ISO_EARG for a wrong address or port, ISO_EIO if the library can't listen on it, ISO_EDEVICE in a build
   without libmicrohttpd. */
ISO_CHECKED int iso_live_start(iso_live **live, iso_ctx *ctx, const struct iso_live_options *o);

/* "http://127.0.0.1:PORT/TOKEN/": whoever has it sees the run and may stop it. */
const char *iso_live_address(const iso_live *live);

/* Tells the pages that are open how it ended (NULL: nothing): where one is, waits until it has asked, at most 2 s; then
   closes. */
void iso_live_stop(iso_live *live, const char *outcome);

/* ---- what a run tells; iso_problem_recon does all of it ---- */

/* Progress of a stage, as the context's own listener has it. */
void iso_live_progress(iso_live *live, const struct iso_progress *p);

/* Progress from now on is of part k of n, from 1; kind: what the parts are ("frame"), up to 20 bytes. */
void iso_live_part(iso_live *live, const char *kind, int64_t k, int64_t n);

/* One of the page's warnings; the last dozen are shown. */
void iso_live_warning(iso_live *live, const char *text);

/* After a step of a run. A `done` smaller than before begins a new curve. */
struct iso_live_step {
	size_t size;          /* sizeof(struct iso_live_step) */
	int64_t done, total;  /* steps; total 0: not known */
	int64_t per;          /* steps of an iteration; 0: 1 */
	int64_t rows;         /* of the data that an iteration goes through; 0: not known */
	const char *row_name; /* "events" */
	double objective;     /* NaN: none of this step */
	const char *figure;   /* what the objective is: "log-likelihood" */
};

/* Counts, rates and the curve of the page follow from the steps. */
void iso_live_step(iso_live *live, const struct iso_live_step *s);

/* Whether an image is due: the last is a fifth of a second old (without a page that is open, two seconds), or as much
   older as keeps the images below a hundredth of the time. */
bool iso_live_wants_image(iso_live *live);

/* Copies the planes of an image through its greatest value, or through the point that was clicked; ISO_EARG for an
   array that is no image. */
ISO_CHECKED int iso_live_image(iso_live *live, const struct iso_array *image);

/* Whether the page may ask to save, from now on; at first not. */
void iso_live_can_save(iso_live *live, bool can);

/* Whether the page has asked to save; once for each time. */
bool iso_live_asked_to_save(iso_live *live);

/* How that went. */
void iso_live_saved(iso_live *live, int status);

ISO_END_C
#endif
