/* SPDX-License-Identifier: BSD-3-Clause */
/* A small sans-serif font, drawn as strokes so that it is smooth at any size. */
#include "font.h"

#include <stdbool.h>
#include <stdint.h>

/* One glyph: points, each a capital for x (A = 0) and a small letter for y (a = -4, e = 0 is the
   base line, m = 8 the top of small letters, q = 12 that of capitals). A point after '*' is
   passed by: the control point of a parabola, as in TrueType. A comma lifts the pen. */
static const char *const ascii[] = {
	"",                                                                      /* space */
	"Ai Aq, Ae Af",                                                          /* ! */
	"An Aq, Dn Dq",                                                          /* " */
	"Be Dq, Fe Hq, Ai Hi, Bm Im",                                            /* # */
	"Go *Fq Dq *Aq An *Ak Dk *Gk Gh *Ge De *Ae Ag, Dc Ds",                   /* $ */
	"Be Jq, Cq *Aq Ao *Am Cm *Em Eo *Eq Cq, Ii *Gi Gg *Ge Ie *Ke Kg *Ki Ii", /* % */
	"Je Cn *Bq Eq *Hq Gn *Fl Cj *Ai Ag *Ae De *He Ij",                       /* & */
	"An Aq",                                                                 /* ' */
	"Cs *Ao Aj *Ae Ca",                                                      /* ( */
	"As *Co Cj *Ce Aa",                                                      /* ) */
	"Dk Dq, Al Gp, Ap Gl",                                                   /* * */
	"Aj Gj, Dg Dm",                                                          /* + */
	"Bf Ac",                                                                 /* , */
	"Aj Dj",                                                                 /* - */
	"Ae Af",                                                                 /* . */
	"Ac Gr",                                                                 /* / */
	"Dq *Aq An Ah *Ae De *Ge Gh Gn *Gq Dq",                                  /* 0 */
	"Ao Dq De, Ae Ge",                                                       /* 1 */
	"An *Aq Dq *Gq Gn *Gl Dh Ae Ge",                                         /* 2 */
	"Ao *Bq Dq *Gq Gn *Gk Ck, Dk *Gk Gh *Ge De *Be Ag",                      /* 3 */
	"Ee Eq Ah Gh",                                                           /* 4 */
	"Fq Aq Ak *Bl Dl *Gl Gi Gh *Ge De *Be Ag",                               /* 5 */
	"Fp *Eq Dq *Aq Ak Ah *Ae De *Ge Gh Gi *Gl Dl *Al Ai",                    /* 6 */
	"Aq Gq Ce",                                                              /* 7 */
	"Dq *Aq An *Ak Dk *Gk Gn *Gq Dq, Dk *Ak Ah *Ae De *Ge Gh *Gk Dk",        /* 8 */
	"Bf *Ce De *Ge Gk Gn *Gq Dq *Aq An Am *Aj Dj *Gj Gm",                    /* 9 */
	"Ae Af, Al Am",                                                          /* : */
	"Bf Ac, Bl Bm",                                                          /* ; */
	"Gn Aj Gf",                                                              /* < */
	"Ah Gh, Al Gl",                                                          /* = */
	"An Gj Af",                                                              /* > */
	"Ao *Bq Dq *Gq Gn *Gl Dj Dh, De Df",                                     /* ? */
	"Jg *He Fe *Ae Ak *Aq Fq *Kq Kk *Kh Ih *Hh Hj Hn, Hk *Hn Fn *Dn Dk *Dh Fh *Hh Hk",
	"Ae Eq Ie, Bh Hh",                                       /* A */
	"Ae Aq Dq *Gq Gn *Gk Dk Ak, Dk *Hk Hh *He De Ae",        /* B */
	"In *Hq Eq *Aq Am Ai *Ae Ee *He Ih",                     /* C */
	"Ae Aq Dq *Iq Ik *Ie De Ae",                             /* D */
	"Gq Aq Ae Ge, Ak Fk",                                    /* E */
	"Gq Aq Ae, Ak Fk",                                       /* F */
	"In *Hq Eq *Aq Am Ai *Ae Ee *Ie Ii Ik Fk",               /* G */
	"Ae Aq, Ie Iq, Ak Ik",                                   /* H */
	"Ae Ee, Aq Eq, Cq Ce",                                   /* I */
	"Fq Fi *Fe Ce *Ae Ah",                                   /* J */
	"Ae Aq, Hq Aj, Cl He",                                   /* K */
	"Aq Ae Ge",                                              /* L */
	"Ae Aq Fh Kq Ke",                                        /* M */
	"Ae Aq Ie Iq",                                           /* N */
	"Eq *Aq Am Ai *Ae Ee *Ie Ii Im *Iq Eq",                  /* O */
	"Ae Aq Dq *Hq Hn *Hk Dk Ak",                             /* P */
	"Eq *Aq Am Ai *Ae Ee *Ie Ii Im *Iq Eq, Fh Id",           /* Q */
	"Ae Aq Dq *Hq Hn *Hk Dk Ak, Dk He",                      /* R */
	"Ho *Gq Eq Dq *Aq An *Ak Dk Ek *Hk Hh *He Ee De *Be Ag", /* S */
	"Aq Iq, Eq Ee",                                          /* T */
	"Aq Ai *Ae Ee *Ie Ii Iq",                                /* U */
	"Aq Ee Iq",                                              /* V */
	"Aq De Go Je Mq",                                        /* W */
	"Ae Iq, Aq Ie",                                          /* X */
	"Aq Ek Iq, Ek Ee",                                       /* Y */
	"Aq Hq Ae He",                                           /* Z */
	"Cs As Aa Ca",                                           /* [ */
	"Ar Gc",                                                 /* \ */
	"As Cs Ca Aa",                                           /* ] */
	"An Dq Gn",                                              /* ^ */
	"Ac Gc",                                                 /* _ */
	"Aq Co",                                                 /* ` */
	"Al *Bm Dm *Gm Gj Ge, Gi Ci *Ai Ag *Ae Ce *Fe Gh",       /* a */
	"Aq Ae, Dm *Am Ai *Ae De *Ge Gi *Gm Dm",                 /* b */
	"Fk *Em Dm *Am Ai *Ae De *Ee Fg",                        /* c */
	"Gq Ge, Dm *Am Ai *Ae De *Ge Gi *Gm Dm",                 /* d */
	"Ai Gi *Gm Dm *Am Ai *Ae De *Fe Gg",                     /* e */
	"Eq *Bq Bn Be, Am Em",                                   /* f */
	"Dm *Am Ai *Ae De *Ge Gi *Gm Dm, Gm Gd *Ga Da *Ba Ab",   /* g */
	"Aq Ae, Ai *Am Dm *Gm Gj Ge",                            /* h */
	"Ae Am, Ap Aq",                                          /* i */
	"Cm Cc *Ca Aa, Cp Cq",                                   /* j */
	"Aq Ae, Fm Ah, Cj Fe",                                   /* k */
	"Aq Ag *Ae Be",                                          /* l */
	"Ae Am, Aj *Am Cm *Fm Fj Fe, Fj *Fm Hm *Km Kj Ke",       /* m */
	"Ae Am, Ai *Am Dm *Gm Gj Ge",                            /* n */
	"Dm *Am Ai *Ae De *Ge Gi *Gm Dm",                        /* o */
	"Am Aa, Dm *Am Ai *Ae De *Ge Gi *Gm Dm",                 /* p */
	"Gm Ga, Dm *Am Ai *Ae De *Ge Gi *Gm Dm",                 /* q */
	"Ae Am, Ai *Am Dm Em",                                   /* r */
	"Fl *Em Cm *Am Ak *Ai Ci *Fi Fg *Fe Ce *Be Af",          /* s */
	"Bp Bh *Be Ee, Am Em",                                   /* t */
	"Am Ah *Ae De *Ge Gi, Gm Ge",                            /* u */
	"Am De Gm",                                              /* v */
	"Am De Fl He Km",                                        /* w */
	"Ae Gm, Am Ge",                                          /* x */
	"Am De, Gm De *Ca Aa",                                   /* y */
	"Am Fm Ae Fe",                                           /* z */
	"Ds *Bs Bo Bl *Bj Aj, Aj *Bj Bh Be *Ba Da",              /* { */
	"Aa As",                                                 /* | */
	"As *Cs Co Cl *Cj Dj, Dj *Cj Ch Ce *Ca Aa",              /* } */
	"Ai *Bl Dj *Fg Gk",                                      /* ~ */
};
_Static_assert(sizeof ascii / sizeof *ascii == '~' - ' ' + 1, "one glyph a character");

static const char box[] = "Ae Aq Gq Ge Ae";

/* Other characters: a glyph of their own, or a raised ASCII one. */
static const struct {
	uint32_t code;
	char raised;
	const char *points;
} others[] = {
	{ 0xb0, 0, "Cq *Aq Ao *Am Cm *Em Eo *Eq Cq" },  /* degree */
	{ 0xb1, 0, "Ak Gk, Dh Dn, Ae Ge" },             /* plus or minus */
	{ 0xb5, 0, "Am Aa, Ah *Ae De *Ge Gi, Gm Ge" },  /* micro */
	{ 0x3bc, 0, "Am Aa, Ah *Ae De *Ge Gi, Gm Ge" }, /* mu */
	{ 0xb7, 0, "Aj Ak" },                           /* middle dot */
	{ 0x22c5, 0, "Aj Ak" },                         /* dot operator */
	{ 0xd7, 0, "Ag Gm, Am Gg" },                    /* times */
	{ 0x2212, 0, "Aj Gj" },                         /* minus */
	{ 0x2070, '0', 0 },
	{ 0xb9, '1', 0 },
	{ 0xb2, '2', 0 },
	{ 0xb3, '3', 0 },
	{ 0x2074, '4', 0 },
	{ 0x2075, '5', 0 },
	{ 0x2076, '6', 0 },
	{ 0x2077, '7', 0 },
	{ 0x2078, '8', 0 },
	{ 0x2079, '9', 0 },
	{ 0x207b, '-', 0 },
};
enum { N_OTHERS = sizeof others / sizeof *others };

#define BEARING 3 /* free space after a glyph */
#define SPACE 2   /* and the ink that a space has not */
#define RAISED_SIZE .62
#define RAISED_BY 5.5
#define PIECES 6 /* straight ones in a parabola */

/* ---- from text to characters ---- */

/* The character of n bytes that follow the lead byte, or 0 where they do not. */
static uint32_t tail(const char **text, uint32_t code, int n)
{
	const char *t = *text;

	for (; n > 0; n--, t++) {
		if (((unsigned char)*t & 0xc0) != 0x80) return 0;
		code = code << 6 | ((unsigned char)*t & 0x3f);
	}
	*text = t;
	return code;
}

static uint32_t next_code(const char **text)
{
	unsigned char lead = (unsigned char)*(*text)++;

	if (lead < 0x80) return lead;
	if (lead >= 0xc0 && lead < 0xe0) return tail(text, lead & 0x1f, 1);
	if (lead >= 0xe0 && lead < 0xf0) return tail(text, lead & 0xf, 2);
	return lead >= 0xf0 ? tail(text, lead & 7, 3) : 0;
}

/* ---- from points to strokes ---- */

struct point {
	double x, y;
};

struct pen {
	struct iso_glyph *glyph;
	struct point at, by; /* by: control point passed since, if `bent` */
	bool down, bent;
	double width;
};

static struct point middle(struct point a, struct point b)
{
	return (struct point){ .5 * (a.x + b.x), .5 * (a.y + b.y) };
}

static void line_to(struct pen *p, struct point to)
{
	struct iso_glyph *g = p->glyph;

	if (g->n < (int)(sizeof g->stroke / sizeof *g->stroke))
		g->stroke[g->n++] = (struct iso_stroke){ p->at.x, p->at.y, to.x, to.y };
	p->at = to;
}

static void curve_to(struct pen *p, struct point to)
{
	struct point from = p->at, by = p->by;

	for (int i = 1; i <= PIECES; i++) {
		double t = (double)i / PIECES, a = (1 - t) * (1 - t), b = 2 * t * (1 - t);

		line_to(p, (struct point){ a * from.x + b * by.x + t * t * to.x,
		                           a * from.y + b * by.y + t * t * to.y });
	}
	p->bent = false;
}

static void pass_by(struct pen *p, struct point by)
{
	if (p->bent) curve_to(p, middle(p->by, by));
	p->by = by;
	p->bent = true;
}

static void go_to(struct pen *p, struct point to)
{
	if (!p->down)
		p->at = to;
	else if (p->bent)
		curve_to(p, to);
	else
		line_to(p, to);
	p->down = true;
}

static void draw(struct iso_glyph *g, const char *points)
{
	struct pen p = { .glyph = g };
	bool control = false;

	for (; *points; points++) {
		if (*points == ',') p.down = false;
		control |= *points == '*';
		if (*points < 'A' || *points > 'Z') continue;

		struct point to = { points[0] - 'A', points[1] - 'e' };

		points++;
		p.width = to.x > p.width ? to.x : p.width;
		if (control)
			pass_by(&p, to);
		else
			go_to(&p, to);
		control = false;
	}
	g->advance = (g->n ? p.width : SPACE) + BEARING;
}

static void raise(struct iso_glyph *g)
{
	for (int i = 0; i < g->n; i++) {
		struct iso_stroke *s = &g->stroke[i];

		*s = (struct iso_stroke){ RAISED_SIZE * s->x0, RAISED_SIZE * s->y0 + RAISED_BY,
			                  RAISED_SIZE * s->x1, RAISED_SIZE * s->y1 + RAISED_BY };
	}
	g->advance *= RAISED_SIZE;
}

static void draw_code(struct iso_glyph *g, uint32_t code)
{
	int k = 0;

	if (code >= ' ' && code <= '~') {
		draw(g, ascii[code - ' ']);
		return;
	}
	while (k < N_OTHERS && others[k].code != code) k++;
	if (k == N_OTHERS) {
		draw(g, box);
	} else if (others[k].raised) {
		draw(g, ascii[others[k].raised - ' ']);
		raise(g);
	} else {
		draw(g, others[k].points);
	}
}

const char *iso_font_next(struct iso_glyph *g, const char *text)
{
	g->n = 0;
	draw_code(g, next_code(&text));
	return text;
}

double iso_font_width(const char *text)
{
	struct iso_glyph g;
	double width = 0;

	while (*text) {
		text = iso_font_next(&g, text);
		width += g.advance;
	}
	return width > 0 ? width - BEARING : 0;
}
