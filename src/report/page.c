/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame of the page: head, title, sections in their order. */
#include "page.h"

#include "value.h"

#include <time.h>

static const char css[] =
#include "embedded/page.css.h"
;

static void put_title(struct iso_text *t, const struct iso_report *r)
{
	if (r->title && r->title[0]) {
		iso_text_cut(t, r->title, 200);
		return;
	}
	for (int i = 0; i < r->n; i++) {
		iso_text_add(t, "%s", i ? ", " : "");
		iso_text_cut(t, iso_value_base(r->image[i].path), 80);
	}
}

/* What comes from files is escaped; should that ever fail, the policy still lets nothing run and
   nothing load. */
static void put_head(struct iso_text *t, const struct iso_report *r)
{
	iso_text_add(t, "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
		     "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; "
		     "img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
		     "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
		     "<meta name='color-scheme' content='light dark'>\n"
		     "<meta name='generator' content='Isotome %s'>\n<title>", iso_version());
	put_title(t, r);
	iso_text_add(t, " \u2013 Isotome report</title>\n<style>\n%s</style>\n</head>\n", css);
}

static void put_header(struct iso_text *t, const struct iso_report *r)
{
	iso_text_add(t, "<body>\n<header>\n<p class='brand'>Isotome report</p>\n<h1>");
	put_title(t, r);
	iso_text_add(t, "</h1>\n</header>\n<main>\n");
}

static void put_footer(struct iso_text *t)
{
	char day[32];
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(day, sizeof day, "%Y-%m-%d %H:%M UTC", &tm);
	iso_text_add(t, "</main>\n<footer><p>Made by <code>isotome report</code> %s on %s. This page "
		     "is complete: it loads nothing and runs no script.</p></footer>\n</body>\n"
		     "</html>\n", iso_version(), day);
}

int iso_report_page(struct iso_text *t, const struct iso_report *r)
{
	int st;

	put_head(t, r);
	put_header(t, r);
	iso_report_warnings(t, r);
	iso_report_figures(t, r);
	if ((st = iso_report_pictures(t, r))) return st;
	if ((st = iso_report_profile(t, r))) return st;
	if ((st = iso_report_likelihood(t, r))) return st;
	iso_report_times(t, r);
	iso_report_steps(t, r);
	iso_report_parameters(t, r);
	put_footer(t);
	return t->failed ? iso_fail_memory("report", (int64_t)t->n) : ISO_OK;
}
