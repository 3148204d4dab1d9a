/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a work that threads take in turn and make side by side, and what they made of them taken in the order
   of the parts:

	struct iso_turn t = { 0 };

	#pragma omp parallel
	for (int64_t i; (i = iso_turn_take(&t, n)) >= 0;) {
		make part i
		if (!iso_turn_wait(&t, i)) break;
		take it
		iso_turn_pass(&t);
	}

   A thread that waits looks again and again: parts take fractions of a millisecond, less than to be woken. (So do the
   ordered loops of OpenMP, whose threads sleep and wake at every turn.) */
#ifndef ISO_TURN_H
#define ISO_TURN_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct iso_turn {
	int64_t taken, turn; /* parts taken so far, and the one whose turn it is */
	int ended;           /* no part is wanted any more */
};

static inline void iso_turn_end(struct iso_turn *t)
{
	__atomic_store_n(&t->ended, 1, __ATOMIC_RELEASE);
}

static inline bool iso_turn_ended(const struct iso_turn *t)
{
	return __atomic_load_n(&t->ended, __ATOMIC_ACQUIRE) != 0;
}

/* The next of n parts; -1: there is none. All parts before it are done, or some thread is at them. */
static inline int64_t iso_turn_take(struct iso_turn *t, int64_t n)
{
	int64_t i = iso_turn_ended(t) ? n : __atomic_fetch_add(&t->taken, 1, __ATOMIC_RELAXED);

	return i < n ? i : -1;
}

/* Until it is the turn of part i; false: it never will be. */
static inline bool iso_turn_wait(const struct iso_turn *t, int64_t i)
{
	for (int looks = 0; __atomic_load_n(&t->turn, __ATOMIC_ACQUIRE) != i; looks++) {
		if (iso_turn_ended(t)) return false;
		if (looks > 1000) sched_yield();
	}
	return true;
}

static inline void iso_turn_pass(struct iso_turn *t)
{
	__atomic_store_n(&t->turn, t->turn + 1, __ATOMIC_RELEASE);
}

#endif
