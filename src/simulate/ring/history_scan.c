/* SPDX-License-Identifier: BSD-3-Clause */
/* Histories without photon physics on CUDA: their tables are copied there once. */
#include "history_scan.h"

int iso_history_scan_create(struct iso_history_scan *scan, iso_ctx *ctx, const struct iso_histories *h,
                            int64_t crystals)
{
	struct iso_history_scan s = { .device = *h, .ctx = ctx, .room = iso_room_of(ctx, "simulate") };
	const struct iso_woodcock *w = &h->mu;

	ISO_UPLOAD(&s.room, s.device.pos, h->pos, 3 * crystals);
	ISO_UPLOAD(&s.room, s.device.eff, h->eff, crystals);
	for (int k = 0; k < 2; k++)
		ISO_UPLOAD(&s.room, s.device.emission[k].slot, h->emission[k].slot,
		           (int64_t)h->emission[k].n);
	ISO_UPLOAD(&s.room, s.device.mu.mu, w->mu, w->n[0] * w->n[1] * w->n[2]);
	ISO_DEVICE(&s.room, s.made, PHOTON_PIECE);
	ISO_DEVICE(&s.room, s.kept, PHOTON_PIECE);
	int st = s.room.status;

	if (st)
		iso_history_scan_free(&s);
	else
		*scan = s;
	return st;
}

void iso_history_scan_free(struct iso_history_scan *s)
{
	iso_room_free(&s->room);
	*s = (struct iso_history_scan){ 0 };
}

typedef int (*events_fn)(struct photon_event *e, int64_t *found, const struct iso_history_scan *scan,
                         enum iso_history_kind kind, int64_t block, int64_t blocks, int64_t first, int64_t n);

int iso_history_scan_events(struct photon_event *e, int64_t *found, const struct iso_history_scan *scan,
                            enum iso_history_kind kind, int64_t block, int64_t blocks, int64_t first,
                            int64_t n)
{
	void *cuda = NULL;
	int st = iso_cuda_symbol(&cuda, "iso_history_events_cuda");

	return st ? st : ((events_fn)cuda)(e, found, scan, kind, block, blocks, first, n);
}

void iso_history_scan_plan(struct iso_plan *plan, const struct iso_simulate *p)
{
	const int64_t tables = p->physics ? 0 : 1 + (p->bent > 0);

	iso_plan_add(plan, "emission tables on the device", tables * p->activity->n,
	             sizeof(struct iso_emission_slot), true);
	iso_plan_add(plan, "attenuation on the device", p->mu && !p->physics ? p->mu->n : 0, sizeof(iso_real),
	             true);
	iso_plan_add(plan, "histories on the device", 2 * (int64_t)PHOTON_PIECE, sizeof(struct photon_event),
	             true);
}
