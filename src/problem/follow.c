/* SPDX-License-Identifier: BSD-3-Clause */
#include "follow.h"

#include "base/now.h"

int follow_check(iso_problem *problem)
{
	struct settings *s = &problem->s;

	if (!s->follow.picture) s->follow.picture = s->follow.path;
	if (!s->out && !problem->record->read.dry_run)
		return iso_fail(ISO_EARG, "'follow' needs a file to write the image to");
	if (!s->out || problem->record != &problem->own) return ISO_OK; /* a command has checked it */
	return iso_picture_write_check(s->follow.picture, problem->force);
}

void follow_look(struct following *f, const struct recon *r, bool end, const char *with_data,
                 const char *none_came)
{
	if (iso_ctx_cancelled(r->ctx))
		f->ended = "interrupted";
	else if (end)
		f->ended = with_data;
	else if (f->idle_s > 0 && f->waited_s >= f->idle_s)
		f->ended = none_came;
}

bool follow_is_due(struct following *f, const struct recon *r, int64_t n)
{
	if (iso_live_asked_to_save(r->record->to.live)) f->asked = true;
	return !f->ended && n > f->saved && (f->asked || iso_now_s() - f->saved_s >= r->s->follow.every_s);
}

int follow_saved(struct following *f, const struct recon *r, int st)
{
	if (f->asked) iso_live_saved(r->record->to.live, st);
	f->asked = false;
	return st;
}

int follow_picture(const struct recon *r, const char *title)
{
	struct iso_picture p = { .size = sizeof p, .title = title, .labels = ISO_LABEL_NONE };
	struct iso_pixels pixels = { 0 };
	int st = iso_picture_render(&pixels, NULL, &r->x, &p);

	if (!st) st = iso_picture_write(r->s->follow.picture, &pixels, NULL);
	iso_pixels_free(&pixels);
	return st;
}
