# SPDX-License-Identifier: BSD-3-Clause
# From the headers of include/ to what Doxygen reads: plain comments become its own. The first comment of
# a header is that of the file. One before several declarations, up to the next blank line, is
# that of each function among them, with the name of the first; one at the end of a line belongs to that line.

# `<` and `>` are no tags, and `name` is code
function plain(text) {
	gsub(/[<>\\@]/, "\\\\&", text)
	while (match(text, /`[^`]*`/))
		text = substr(text, 1, RSTART - 1) "<code>" substr(text, RSTART + 1, RLENGTH - 2) "</code>" \
			substr(text, RSTART + RLENGTH)
	return text
}

# a comment inside a struct, or at the end of a line
function inner(line, before, text) {
	if (!match(line, /\/\*/)) return inside ? plain(line) : line
	before = substr(line, 1, RSTART - 1)
	text = plain(substr(line, RSTART + 2))
	return before (before ~ /^[ \t]*$/ ? "/**" : "/**<") text
}

function end_of_comment(line) { return line ~ /\*\/[ \t]*$/ }

FNR == 1 { next }	# the licence
collecting || /^\/\*/ {
	if (!collecting) comment = ""
	collecting = !end_of_comment($0)
	comment = comment plain($0) "\n"
	if (collecting) next
	if (comment ~ /^\/\* ----/) comment = ""
	sub(/^\/\*/, file++ ? "/**" : "/** @file\n", comment)
	if (file == 1) { printf "%s", comment; comment = "" }
	fresh = comment != ""
	next
}
/^$/ { comment = ""; fresh = 0 }
{
	called = /^(ISO_CHECKED )?[a-z].*[ *]iso_[a-z0-9_]+\(/ && !/^typedef/
	if (comment != "" && (fresh || called)) printf "%s", comment
	if (comment != "" && fresh && called) {
		match($0, /iso_[a-z0-9_]+\(/)
		sub(/^\/\*\*/, "/** With " substr($0, RSTART, RLENGTH) "):", comment)
	}
	fresh = 0
	print inner($0)
	inside = inside ? !end_of_comment($0) : /\/\*/ && !end_of_comment($0)
}
