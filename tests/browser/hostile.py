# SPDX-License-Identifier: BSD-3-Clause
"""Images whose records, names and titles try to be more than text.

    hostile.py IMAGE        whose record is taken; writes into the current folder
"""
import json
import shutil
import sys

# What would run, make an element, leave its attribute, or turn the text around it.
PAYLOADS = [
    "<script>hostile=1</script>",
    "</script><script>hostile=2</script>",
    "'\"><img src=x onerror=hostile=3>",
    "<svg/onload=hostile=4>",
    "</title></style></textarea><iframe srcdoc='<script>top.hostile=5</script>'>",
    "<!-- --!><b id=hostile>",
    "javascript:hostile=6",
    "&lt;script&gt; &#60;b&#62; &amp;",
    "${hostile=7} {{hostile=8}} %s%n \\u003cscript\\u003e",
    "\u202egnp.exe \u2066isolate \u2069\u2028\u2029\ufeff\u200d\u0085\u0301\u0301",
    "\U000e0001\U0010ffff\ufffe \u05d0\u05d1 \ufdfd \U0001f600",
    "\u0001\u0008\u001b[31m\u007f\r\n\t",
]
ALL = " ".join(PAYLOADS)
HUGE = "<b>" + "W" * (1 << 20)
NAME = "<img src=x onerror=hostile=9>\u202e'\".nii"  # / can't be in a name


def hostile(v, count):
    """The same value with a payload behind every text, and one more key in every object; each text gets the next."""
    if isinstance(v, str):
        count[0] += 1
        return v + PAYLOADS[count[0] % len(PAYLOADS)]
    if isinstance(v, list):
        return [hostile(e, count) for e in v]
    if isinstance(v, dict):
        count[0] += 1
        return {**{k: hostile(e, count) for k, e in v.items()}, PAYLOADS[count[0] % len(PAYLOADS)]: ALL}
    return v


def main():
    image = sys.argv[1]
    record = json.load(open(image.replace(".nii", ".json")))
    evil = hostile(record, [0])
    evil["verb"] = "recon"  # or nothing of it is shown as a reconstruction
    evil["results"]["events"] = record["results"].get("events")
    evil["warnings"] = evil["notes"] = PAYLOADS + [HUGE, ALL]
    evil["parameters"].update({HUGE: HUGE, "huge": HUGE, "list": [HUGE] * 3})
    evil["command"] = ALL + HUGE
    evil["device"] = evil["ReconMethodName"] = ALL + HUGE
    evil["Units"] = "</td><b>"
    evil["times_s"].update({p: 1.5 for p in PAYLOADS})
    noted = {**record, "warnings": ["half of it"], "notes": ["27 of 5000000 events"]}
    texts = {"hostile": json.dumps(evil), "noted": json.dumps(noted), NAME[:-4]: json.dumps(hostile({**record, "verb": "recon"}, [5])),
             "damaged-nul": json.dumps({**record, "command": "\0" + ALL}),
             "damaged-surrogate": json.dumps({**record, "command": "\ud800" + ALL}),
             "damaged-bytes": "{\"verb\": \"recon\", \"command\": \"\udcff" + ALL + "\"}",
             "damaged-deep": "[" * 100000}
    for name, text in texts.items():
        shutil.copy(image, name + ".nii")
        with open(name + ".json", "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write(text)
    open("hostile.txt", "w", encoding="utf-8").write(ALL)
    open("name.txt", "w", encoding="utf-8").write(NAME)


if __name__ == "__main__":
    main()
