#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every public function has its text in the API reference: in what the filter gives to Doxygen, and, where
# there is Doxygen, in its pages, without a warning.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

for header in "$SOURCE"/include/isotome.h "$SOURCE"/include/isotome/*.h; do
	awk -f "$SOURCE/docs/api/filter.awk" "$header"
done >filtered
check "functions without a text" "$SOURCE" <<'END'
import glob, re, sys
declared = set()
for header in glob.glob(sys.argv[1] + "/include/isotome/*.h"):
    declared |= set(re.findall(r"(?m)^(?!typedef)(?:ISO_CHECKED )?[a-z].*?[ *](iso_[a-z0-9_]+)\(", open(header).read()))
text = open("filtered").read()
begins = set(re.findall(r"/\*\*(?!<)(?:(?!\*/).)+\*/\n(?!typedef)(?:ISO_CHECKED )?[a-z][^(;]*?[ *](iso_[a-z0-9_]+)\(", text, re.S))
ends = set(re.findall(r"(?m)^(?:ISO_CHECKED )?[a-z][^(;]*?[ *](iso_[a-z0-9_]+)\([^;]*\); +/\*\*<", text))
bare = sorted(declared - begins - ends)
if len(declared) < 200 or bare:
    sys.exit(f"{len(declared)} functions, without a text: {' '.join(bare)}")
END
if command -v doxygen >/dev/null; then
	(cd "$SOURCE" && ISO_VERSION=0 ISO_API=$work/api ISO_AWK=awk doxygen docs/api/Doxyfile) >out 2>err || fail doxygen
	[ ! -s err ] || fail "doxygen warns"
	check "functions without a text in Doxygen's pages" "$SOURCE" <<'END'
import glob, re, sys, xml.etree.ElementTree as tree
declared = set()
for header in glob.glob(sys.argv[1] + "/include/isotome/*.h"):
    declared |= set(re.findall(r"(?m)^(?!typedef)(?:ISO_CHECKED )?[a-z].*?[ *](iso_[a-z0-9_]+)\(", open(header).read()))
told = set()
for page in glob.glob("api/xml/*_8h.xml"):
    for member in tree.parse(page).iter("memberdef"):
        words = "".join("".join(member.find(part).itertext()) for part in ("briefdescription", "detaileddescription"))
        if member.get("kind") == "function" and words.strip():
            told.add(member.findtext("name"))
if declared - told:
    sys.exit(" ".join(sorted(declared - told)))
END
fi
echo "all passed"
