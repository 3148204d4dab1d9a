/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames between the thread that reads them and the one that works on them. Frames of one set (all wavelengths) are
   kept or dropped together. */
#ifndef ISO_FRAME_QUEUE_H
#define ISO_FRAME_QUEUE_H

#include "io/frame_file.h"

typedef struct frame_queue frame_queue;

/* Of a file that has begun, which it does not close. `set`: wavelengths that take turns. `group`: frames that are taken
   together, a multiple of set. `drop`: where frames come faster than they are taken, the oldest are dropped; else
   they wait, and so does the pipe. */
int frame_queue_create(frame_queue **q, iso_frame_file *file, int64_t set, int64_t group, bool drop);
void frame_queue_free(frame_queue *q);

/* Up to `group` frames, one behind the other, and when each came (seconds of iso_now_s). Waits up to wait_s; with `few`
   it takes fewer than a group, in whole sets. *n = 0: none came. *end: none will come. */
int frame_queue_take(void *frames, double *came_s, int *n, bool *end, frame_queue *q, bool few,
                     double wait_s);

/* Frames that were read, and dropped, so far. */
void frame_queue_count(int64_t *in, int64_t *dropped, frame_queue *q);

#endif
