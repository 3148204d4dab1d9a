/* SPDX-License-Identifier: BSD-3-Clause */
/* A small sans-serif font, drawn as strokes so that it is smooth at any size. */
#include "canvas.h"
#include "base/utf8.h"

/* One glyph: points, each a capital for x (A = 0) and a small letter for y (a = -4, e = 0 is the
   base line, m = 8 the top of small letters, q = 12 that of capitals). A point after '*' is
   passed by: the control point of a parabola. A comma lifts the pen. */
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

static const struct {
	uint32_t code;
	const char *points;
} others[] = {
	{ 0xb0, "Cq *Aq Ao *Am Cm *Em Eo *Eq Cq" },  /* degree */
	{ 0xb1, "Ak Gk, Dh Dn, Ae Ge" },             /* plus or minus */
	{ 0xb5, "Am Aa, Ah *Ae De *Ge Gi, Gm Ge" },  /* micro */
	{ 0x3bc, "Am Aa, Ah *Ae De *Ge Gi, Gm Ge" }, /* mu */
	{ 0xb7, "Aj Ak" },                           /* middle dot */
	{ 0x22c5, "Aj Ak" },                         /* dot operator */
	{ 0xd7, "Ag Gm, Am Gg" },                    /* times */
	{ 0x2212, "Aj Gj" },                         /* minus */
};

/* Characters that are raised ones of these. */
static const char low[] = "0123456789-";
static const uint32_t raised[] = { 0x2070, 0xb9,   0xb2,   0xb3,   0x2074, 0x2075,
	                           0x2076, 0x2077, 0x2078, 0x2079, 0x207b };

enum { N_OTHERS = sizeof others / sizeof *others, N_RAISED = sizeof raised / sizeof *raised };

#define BEARING 3 /* free space after a glyph */
#define SPACE 2   /* and the ink that a space has not */
#define RAISED_SIZE .62
#define RAISED_BY 5.5
#define PIECES 6 /* straight ones in a parabola */

/* The first character, and the text after it; 0, and the text after the first byte, where that is no UTF-8. */
static uint32_t next_code(const char **text)
{
	const unsigned char *s = (const unsigned char *)*text;
	int n = iso_utf8_length(*text);
	uint32_t code = n == 0 ? 0 : n == 1 ? s[0] : s[0] & (0x7fu >> n);

	for (int i = 1; i < n; i++) code = code << 6 | (s[i] & 0x3f);
	*text += n ? n : 1;
	return code;
}

struct point {
	double x, y;
};

/* The parabola between two points, with the control point `by`, as straight pieces. */
static void add_curve(struct iso_glyph *g, struct point from, struct point by, struct point to, int pieces)
{
	struct point at = from;

	for (int i = 1; i <= pieces && g->n < (int)(sizeof g->stroke / sizeof *g->stroke); i++) {
		double t = (double)i / pieces, a = (1 - t) * (1 - t), b = 2 * t * (1 - t);
		struct point next = { a * from.x + b * by.x + t * t * to.x,
			              a * from.y + b * by.y + t * t * to.y };

		g->stroke[g->n++] = (struct iso_stroke){ at.x, at.y, next.x, next.y };
		at = next;
	}
}

static void draw(struct iso_glyph *g, const char *points)
{
	struct point at = { 0 }, by = { 0 };
	bool down = false, control = false, bent = false; /* bent: `by` was passed since `at` */
	double width = 0;

	for (; *points; points++) {
		if (*points == ',') down = false;
		control |= *points == '*';
		if (*points < 'A' || *points > 'Z') continue;

		struct point to = { points[0] - 'A', points[1] - 'e' };

		points++;
		width = to.x > width ? to.x : width;
		if (control) {
			by = to;
		} else {
			if (down) add_curve(g, at, by, to, bent ? PIECES : 1);
			at = to;
			down = true;
		}
		bent = control;
		control = false;
	}
	g->advance = (g->n ? width : SPACE) + BEARING;
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

const char *iso_font_next(struct iso_glyph *g, const char *text)
{
	uint32_t code = next_code(&text);
	const char *points = code >= ' ' && code <= '~' ? ascii[code - ' '] : box;
	int k = 0;

	g->n = 0;
	for (int i = 0; i < N_OTHERS; i++)
		if (others[i].code == code) points = others[i].points;
	while (k < N_RAISED && raised[k] != code) k++;
	draw(g, k < N_RAISED ? ascii[low[k] - ' '] : points);
	if (k < N_RAISED) raise(g);
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
