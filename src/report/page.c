/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame of the page: head, title, sections in their order. */
#include "page.h"

#include "report/markup/value.h"
#include "viewer.h"

#include <time.h>

static const char css[] =
#include "embedded/page.css.h"
	;

static void put_title(struct iso_text *t, const struct iso_report *r)
{
	if (r->title && r->title[0])
		iso_text_cut(t, r->title, 200);
	else
		for (int i = 0; i < r->n; i++)
			iso_text_html(t, "%s%.80s", i ? ", " : "", iso_value_base(r->image[i].path));
}

/* What comes from files is escaped; should that ever fail, the policy still lets nothing run but the viewer, and
   nothing load. */
static void put_policy(struct iso_text *t, bool viewer)
{
	iso_text_add(t, "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; img-src "
	                "data:; style-src 'unsafe-inline'; style-src-attr 'unsafe-inline'; style-src-elem ");
	iso_viewer_hash(t, css);
	if (viewer) iso_viewer_policy(t);
	iso_text_add(t, "; base-uri 'none'; form-action 'none'\">\n");
}

void iso_page_open(struct iso_text *t, const char *brand, const char *title, bool viewer)
{
	iso_text_add(t, "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n");
	put_policy(t, viewer);
	iso_text_add(t,
	             "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
	             "<meta name='color-scheme' content='light dark'>\n"
	             "<meta name='generator' content='Isotome %s'>\n<title>%s \u2013 %s</title>\n"
	             "<style>%s</style>\n",
	             iso_version(), title, brand, css);
	if (viewer) iso_viewer_style(t);
	iso_text_add(t,
	             "</head>\n<body>\n<header>\n<p class='brand'>%s</p>\n<h1>%s</h1>\n</header>\n<main>\n",
	             brand, title);
}

void iso_page_close(struct iso_text *t, const char *command, bool viewer)
{
	char day[32];
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(day, sizeof day, "%Y-%m-%d %H:%M UTC", &tm);
	iso_text_add(t,
	             "</main>\n<footer><p>Made by <code>isotome %s</code> %s on %s. This page is complete: "
	             "it loads nothing and runs no script%s.</p></footer>\n</body>\n"
	             "</html>\n",
	             command, iso_version(), day, viewer ? " but its own viewer" : "");
}

static void open_page(struct iso_text *t, const char *brand, const struct iso_report *r)
{
	struct iso_text title = { 0 };

	put_title(&title, r);
	iso_page_open(t, brand, title.v ? title.v : "", r->viewer);
	t->failed |= title.failed;
	iso_text_free(&title);
}

static int close_page(struct iso_text *t, const char *command, bool viewer)
{
	iso_page_close(t, command, viewer);
	return t->failed ? iso_fail_memory("report", (int64_t)t->n) : ISO_OK;
}

/* Where the viewer runs, it takes the place of the pictures. */
int iso_report_view(struct iso_text *t, const struct iso_report *r)
{
	int st;

	open_page(t, "Isotome view", r);
	if ((st = iso_viewer_section(t, r))) return st;
	iso_text_add(t, "<div id='stills'>\n");
	if ((st = iso_report_pictures(t, r))) return st;
	iso_text_add(t, "</div>\n");
	return close_page(t, "view", true);
}

int iso_report_page(struct iso_text *t, const struct iso_report *r)
{
	int st;

	open_page(t, "Isotome report", r);
	iso_report_warnings(t, r);
	iso_report_figures(t, r);
	if (r->viewer && (st = iso_viewer_section(t, r))) return st;
	if ((st = iso_report_pictures(t, r)) || (st = iso_report_profile(t, r))) return st;
	iso_report_regions(t, r);
	iso_report_decay(t, r);
	iso_report_nema(t, r);
	if ((st = iso_report_likelihood(t, r)) || (st = iso_report_objective(t, r)) ||
	    (st = iso_report_scatter(t, r)))
		return st;
	iso_report_times(t, r);
	iso_report_steps(t, r);
	iso_report_checks(t, r);
	iso_report_parameters(t, r);
	iso_report_notes(t, r);
	return close_page(t, "report", r->viewer);
}
