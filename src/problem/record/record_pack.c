/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON numbers of a record, of which null stands for those that are not finite. */
#include "record.h"

#include <assert.h>
#include <math.h>

json_t *record_real(double v)
{
	return isfinite(v) ? json_real(v + 0.) : json_null(); /* + 0: no -0 */
}

/* All of it, or NULL. */
static json_t *unless(bool bad, json_t *made)
{
	if (!bad) return made;
	json_decref(made);
	return NULL;
}

json_t *record_reals(int n, const double *v)
{
	json_t *list = json_array();
	bool bad = !list;

	for (int i = 0; i < n && !bad; i++) bad = json_array_append_new(list, record_real(v[i])) != 0;
	return unless(bad, list);
}

/* What is left of the format, and its values. A failure does not end the walk: the objects that
   follow are still to be taken over. */
struct packer {
	const char *format;
	va_list *values;
};

static char next(struct packer *p)
{
	while (*p->format == ' ' || *p->format == ',' || *p->format == ':') p->format++;
	return *p->format ? *p->format++ : '\0';
}

static json_t *pack(struct packer *p, char kind);

static json_t *pack_object(struct packer *p)
{
	json_t *o = json_object();
	bool bad = !o;

	for (char c = next(p); c == 's'; c = next(p)) {
		const char *key = va_arg(*p->values, const char *);

		bad |= json_object_set_new(o, key, pack(p, next(p))) != 0;
	}
	return unless(bad, o);
}

static json_t *pack_list(struct packer *p)
{
	json_t *list = json_array();
	bool bad = !list;

	for (char c = next(p); c != ']' && c; c = next(p))
		bad |= json_array_append_new(list, pack(p, c)) != 0;
	return unless(bad, list);
}

static json_t *pack(struct packer *p, char kind)
{
	switch (kind) {
	case '{':
		return pack_object(p);
	case '[':
		return pack_list(p);
	case 's':
		return json_string(va_arg(*p->values, const char *));
	case 'i':
		return json_integer(va_arg(*p->values, int));
	case 'I':
		return json_integer(va_arg(*p->values, json_int_t));
	case 'b':
		return json_boolean(va_arg(*p->values, int));
	case 'f':
		return record_real(va_arg(*p->values, double));
	case 'o':
		return va_arg(*p->values, json_t *);
	}
	assert(!"a letter that record_pack does not know");
	return NULL;
}

json_t *record_pack(const char *format, ...)
{
	va_list values;
	struct packer p = { format, &values };
	json_t *made;

	va_start(values, format);
	made = pack(&p, next(&p));
	va_end(values);
	return made;
}
