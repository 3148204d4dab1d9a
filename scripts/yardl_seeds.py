# SPDX-License-Identifier: BSD-3-Clause
"""PETSIRD files for the tests and the fuzz targets: an encoder that walks a schema as the reader does, and small scans
to encode. The schemas are those of the samples in tests/data/petsird."""
import json
import math
import os
import struct
import zipfile

SAMPLES = os.path.join(os.path.dirname(__file__), "..", "tests", "data", "petsird")
VERSIONS = ("0.7.2", "0.9.1", "0.12.0")


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def zigzag(n):
    return varint((n << 1 ^ n >> 63) & (1 << 64) - 1)


PLAIN = {"uint8": lambda v: bytes([v]), "int8": lambda v: struct.pack("b", v), "bool": lambda v: bytes([v]),
         "float32": lambda v: struct.pack("<f", v), "float64": lambda v: struct.pack("<d", v),
         "string": lambda v: varint(len(v.encode())) + v.encode()}
PLAIN.update({k: varint for k in ("uint16", "uint32", "uint64", "size")})
PLAIN.update({k: zigzag for k in ("int16", "int32", "int64", "date", "time", "datetime")})


class Encoder:
    """Bytes of values: dicts for records, lists, (tag, value) or None for unions; what a dict lacks is empty."""

    def __init__(self, schema):
        self.types = {t["name"]: t for t in schema["types"]}

    def empty(self, t, scope):
        if isinstance(t, str) and t in PLAIN:
            return "" if t == "string" else 0
        if isinstance(t, list):
            return None
        if isinstance(t, dict) and "vector" in t:
            v = t["vector"]
            return [self.empty(v["items"], scope)] * v.get("length", 0)
        if isinstance(t, dict) and "array" in t:
            return []
        e, inner = self.entry(t, scope)
        if e is None:
            return self.empty(*inner)
        return {} if "fields" in e else 0 if "values" in e else self.empty(e["type"], inner)

    def entry(self, t, scope):
        """An entry of the schema with its own scope, or, for a parameter, None and what it stands for."""
        name = t if isinstance(t, str) else t["name"]
        if name in scope:
            return None, scope[name]
        e = self.types[name.split(".")[-1]]
        arguments = [] if isinstance(t, str) else t.get("typeArguments", [])
        return e, {p: (a, scope) for p, a in zip(e.get("typeParameters", []), arguments)}

    def items(self, t, values, scope):
        return b"".join(self.bytes(t, v, scope) for v in values)

    def array(self, a, value, scope):
        axes, flat = a.get("dimensions"), value
        shape = []
        while isinstance(flat, list) and (axes is None or len(shape) < (axes if isinstance(axes, int) else len(axes))):
            shape.append(len(flat))
            flat = flat[0] if flat else 0
        fixed = isinstance(axes, list) and all(isinstance(x, dict) and "length" in x for x in axes)
        for _ in shape[1:]:
            value = [v for row in value for v in row]
        head = b"" if fixed else b"".join(map(varint, shape))
        return (varint(len(shape)) if axes is None else b"") + head + self.items(a["items"], value, scope)

    def bytes(self, t, v, scope):
        if isinstance(t, str) and t in PLAIN:
            return PLAIN[t](v)
        if isinstance(t, list):
            if v is None:
                return varint(t.index(None))
            tags = [None if c is None else c["tag"] if isinstance(c, dict) and "tag" in c else "" for c in t]
            tag, v = v if isinstance(v, tuple) else ("", v)
            case = t[tags.index(tag)]
            return varint(tags.index(tag)) + self.bytes(case["type"] if tag else case, v, scope)
        if isinstance(t, dict) and "vector" in t:
            a = t["vector"]
            return (b"" if "length" in a else varint(len(v))) + self.items(a["items"], v, scope)
        if isinstance(t, dict) and "array" in t:
            return self.array(t["array"], v, scope)
        if isinstance(t, dict) and "stream" in t:
            return varint(len(v)) + self.items(t["stream"]["items"], v, scope) + varint(0) if v else varint(0)
        e, inner = self.entry(t, scope)
        if e is None:
            return self.bytes(inner[0], v, inner[1])
        if "fields" in e:
            return b"".join(self.bytes(f["type"], v.get(f["name"], self.empty(f["type"], inner)), inner)
                            for f in e["fields"])
        return zigzag(v) if "values" in e else self.bytes(e["type"], v, inner)


def schema_of(version):
    name = "point-%s.petsird" % version
    path = os.path.join(SAMPLES, name)
    data = open(path, "rb").read() if os.path.exists(path) else zipfile.ZipFile(SAMPLES + ".zip").read("petsird/" + name)
    n, shift, at = 0, 0, 9
    while True:
        n |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return json.loads(data[at:at + n])


def head(schema):
    text = json.dumps(schema, separators=(",", ":"))
    return b"yardl" + struct.pack("<I", 1) + PLAIN["string"](text)


def body(schema, header, blocks):
    e = Encoder(schema)
    return b"".join(e.bytes(s["type"], v, {}) for s, v in zip(schema["protocol"]["sequence"], (header, blocks)))


KEPT = {"scanner", "modelName", "scannerGeometry", "replicatedModules", "object", "transforms", "detectingElements", "shape",
        "corners", "c", "matrix", "tofBinEdges", "edges", "tofResolution", "eventEnergyBinEdges", "detectionEfficiencies",
        "calibrationFactor", "detectionBinEfficiencies", "modulePairSGIDLUT", "modulePairEfficienciesVectors", "values",
        "sgid", "timeInterval", "start", "stop", "promptEvents", "delayedEvents", "detectionBins", "tofIdx", "transform"}


def pruned(schema):
    """The schema with what the reader looks at alone, so that a whole file is small."""
    types = [dict(t, fields=[f for f in t["fields"] if f["name"] in KEPT]) if "fields" in t else t
             for t in schema["types"]]
    named, found = {t["name"]: t for t in types}, ["Header", "TimeBlock"]
    named["TimeBlock"]["type"] = [c for c in named["TimeBlock"]["type"]
                                  if c["tag"] in ("EventTimeBlock", "BedMovementTimeBlock", "GantryMovementTimeBlock")]
    for name in found:  # grows
        text = json.dumps(named[name])
        found += [n for n in named if '"PETSIRD.%s"' % n in text and n not in found]
    text = json.dumps({"protocol": schema["protocol"], "types": [t for t in types if t["name"] in found]})
    for i, name in enumerate(found):  # names of types may be any
        text = text.replace('"PETSIRD.%s"' % name, '"P.%d"' % i).replace('{"name": "%s"' % name, '{"name": "%d"' % i)
    return json.loads(text)


# ---- scans ----

def triangle(version):
    return version == "0.12.0"


def lower(n, value, version):
    """A table by two numbers below n: its lower triangle since 0.10, full before."""
    return [[value(i, j) for j in range(i + 1 if triangle(version) else n)] for i in range(n)]


def place(x=0., y=0., z=0.):
    return {"matrix": [[1., 0., 0., x], [0., 1., 0., y], [0., 0., 1., z]]}


def turned(degrees):
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return {"matrix": [[c, -s, 0., 0.], [s, c, 0., 0.], [0., 0., 1., 0.]]}


def box(x, y, z):
    return {"corners": [{"c": [a, b, c]} for a in (0., x) for b in (0., y) for c in (0., z)]}


def modules(m, n, radius):
    """m modules on both sides of the axis, n crystals each along it."""
    return {"object": {"detectingElements": {"object": {"shape": box(10., 4., 4.)},
                                             "transforms": [place(z=5. * i) for i in range(n)]}},
            "transforms": [place(radius * (1 - 2 * (i % 2)), 8. * i) for i in range(m)]}


def scan(version="0.12.0", kinds=((4, 2),), windows=2, tof=3, efficiencies=True, moved=False, pairs=None, extra_row=False,
         edges=True, turns=None):
    """Header and time blocks; kinds: modules and crystals of each; pairs: events as (kind, kind, bin, bin, TOF bin);
    turns: degrees about z of each kind of modules, from the second block of events on."""
    n = len(kinds)
    bins = [m * e * windows for m, e in kinds]
    header = {"scanner": {
        "modelName": "seed",
        "scannerGeometry": {"replicatedModules": [modules(m, e, 100. + 20 * i) for i, (m, e) in enumerate(kinds)]},
        "tofBinEdges": lower(n, lambda i, j: {"edges": [-30. + 60. * k / tof for k in range(tof + 1)]}, version),
        "tofResolution": lower(n, lambda i, j: 30., version),
        "eventEnergyBinEdges": [{"edges": [400. + 100. * k for k in range(windows + 1)] if edges else []} for _ in kinds],
        "detectionEfficiencies": {"calibrationFactor": 1.5}}}
    if efficiencies:
        def numbers(i, j):
            m, l = kinds[i][0], kinds[j][0]
            return [[-1 if i == j and a == b else (a + b) % 2 for b in range(a + 1 if i == j and triangle(version) else l)]
                    for a in range(m)]

        def tables(i, j):
            return [{"sgid": g, "values": [[.5 + .1 * g + .01 * (a + b) for b in range(kinds[j][1] * windows)]
                                           for a in range(kinds[i][1] * windows)]} for g in range(2)]

        header["scanner"]["detectionEfficiencies"].update({
            "detectionBinEfficiencies": [[.75 + .01 * (k % 7) for k in range(b)] for b in bins],
            "modulePairSGIDLUT": lower(n, numbers, version), "modulePairEfficienciesVectors": lower(n, tables, version)})
    if pairs is None:
        pairs = [(i, j, bins[i] - 1 - k % bins[i], k % bins[j], k % tof)
                 for i in range(n) for j in range(i + 1) for k in range(5)]
    lists = [[[] for _ in range(n)] for _ in range(n + extra_row)]
    late = [[[] for _ in range(n)] for _ in range(n)]
    for k, (i, j, a, b, t) in enumerate(pairs):
        (late if k % 4 == 3 else lists)[i][j].append({"detectionBins": [a, b], "tofIdx": t})
    if extra_row:
        lists[n][0].append({"detectionBins": [1, 0], "tofIdx": 0})
    if triangle(version):
        lists = [row[:i + 1] for i, row in enumerate(lists)]
        late = [row[:i + 1] for i, row in enumerate(late)]
    move = place(1. if moved else 0.)
    blocks = [("EventTimeBlock", {"timeInterval": {"start": 100, "stop": 200}, "promptEvents": lists, "delayedEvents": late}),
              ("BedMovementTimeBlock", {"timeInterval": {"start": 200, "stop": 200}, "transform": move}),
              ("EventTimeBlock", {"timeInterval": {"start": 200, "stop": 400}, "promptEvents": lists, "delayedEvents": []})]
    if turns is not None:
        blocks.insert(1, ("GantryMovementTimeBlock", {"timeInterval": {"start": 200, "stop": 200},
                                                      "transforms": [turned(a) for a in turns]}))
    return header, blocks


def petsird(version="0.12.0", small=True, **how):
    """A whole file; small: with a pruned schema."""
    schema = schema_of(version)
    schema = pruned(schema) if small else schema
    return head(schema) + body(schema, *scan(version, **how))


def petsird_seeds():
    """For the target: schema, NUL, what follows it in a file. Without a schema it takes that of 0.12.0, pruned."""
    own = {"plain": dict(kinds=((2, 1),), windows=1, tof=1, efficiencies=False), "efficient": {},
           "kinds": dict(kinds=((2, 1), (3, 1)), windows=1), "old": dict(version="0.7.2")}
    for name, how in own.items():
        schema = pruned(schema_of(how.get("version", "0.12.0")))
        yield name, json.dumps(schema, separators=(",", ":")).encode() + b"\0" + body(schema, *scan(**how))
    schema = pruned(schema_of("0.12.0"))
    bodies = {"body": {}, "body-plain": own["plain"], "body-kinds": dict(kinds=((3, 2), (2, 1), (2, 3))),
              "body-moved": dict(moved=True), "body-turned": dict(moved=True, turns=[30.]),
              "body-apart": dict(kinds=((2, 1), (2, 1)), turns=[30., 31.]), "body-row": dict(extra_row=True),
              "body-edgeless": dict(windows=1, edges=False)}
    for name, how in bodies.items():
        yield name, b"\0" + body(schema, *scan(**how))


def petsird_slow(size):
    """Files of so many bytes: entries that all are looked up, one event a block, tables of no rows for many modules."""
    schema = pruned(schema_of("0.12.0"))
    text = json.dumps(schema, separators=(",", ":"))
    more = ["{\"name\":\"T%d\",\"type\":\"P.T%d\"}" % (i, i + 1) for i in range((size - len(text)) // 40)]
    yield "entries", (text[:-2] + "," + ",".join(more) + "]}").encode() + b"\0"
    wide = "[" + ",".join("{\"name\":\"f%d\",\"type\":\"P.W\"}" % i for i in range(size // 40)) + "]"
    yield "wide", (text[:-2] + ",{\"name\":\"W\",\"fields\":" + wide + "}]}").replace("P.0\"", "P.W\"").encode() + b"\0"
    header, blocks = scan()
    block = ("EventTimeBlock", {"timeInterval": {"start": 1, "stop": 2},
                                "promptEvents": [[[{"detectionBins": [5, 0], "tofIdx": 0}]]]})
    one = len(body(schema, header, [block])) - len(body(schema, header, []))
    yield "blocks", b"\0" + body(schema, header, [block] * (size // one))
    n = 400
    header, blocks = scan(kinds=((n, 1),), windows=1, pairs=[(0, 0, 5, 0, 0)])
    rows = [[j % 1000 for j in range(i + 1)] for i in range(n)]
    header["scanner"]["detectionEfficiencies"].update({
        "modulePairSGIDLUT": [[rows]],
        "modulePairEfficienciesVectors": [[[{"sgid": 9999 - g, "values": []} for g in range(10000)]]]})
    yield "tables", b"\0" + body(schema, header, blocks)


def c_schema():
    """The schema that the target has in itself, as lines of C."""
    text = json.dumps(pruned(schema_of("0.12.0")), separators=(",", ":"))
    return "\n".join('\t"%s"' % text[i:i + 80].replace('"', '\\"') for i in range(0, len(text), 80))


if __name__ == "__main__":
    print(c_schema())
