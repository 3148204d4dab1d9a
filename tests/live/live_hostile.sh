#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A live page under attack: crowds, slow readers and writers, wrong tokens, malformed requests, tricks with paths, floods.
# It stays up for whoever has the token, gives nothing to others, takes little memory, and the image has the same bits.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python
export PYTHONPATH=$SOURCE/tests/live:$PYTHONPATH ISOTOME
grep -q libmicrohttpd <<<"$("$ISOTOME" --built-with)" || skip "this build has no libmicrohttpd"

check "a live page under attack" "$SOURCE" "$(size 200 60)" <<'END'
import os, socket, subprocess, sys, threading
from client import *

program, source, crowd = os.environ["ISOTOME"], sys.argv[1], int(sys.argv[2])
words = ["strip", "--follow", "--events", "-", "--block", "5000", "--every-s", "1000", "--scanner",
         source + "/examples/scanners/bialas2015.yaml"]
events = open(os.environ["TEST_DATA"] + "/jpet/events.f32", "rb").read()[:12 * 40000]
subprocess.run([program, "recon", *words, "-q", "-o", "plain.npy"], input=events, check=True)
r = Run(program, *words, "-o", "attacked.npy", stdin=subprocess.PIPE)
own = f"{r.host}:{r.port}"


def feed():
    """The scan goes on meanwhile: a piece after each attack."""
    for k in range(8):
        r.process.stdin.buffer.write(events[k * len(events) // 8:(k + 1) * len(events) // 8])
        r.process.stdin.buffer.flush()
        yield


def plug():
    return socket.create_connection((r.host, r.port), timeout=10)


def raw(request, seconds=.5, size=65536):
    """What comes back for these bytes, up to the end or some seconds; b"" where the connection is just closed."""
    s = plug()
    got = b""
    try:
        s.sendall(request)
        s.settimeout(seconds)
        while len(got) < size:
            more = s.recv(size)
            if not more:
                break
            got += more
    except OSError:
        pass
    s.close()
    return got


def status(request):
    got = raw(request, 20)
    return int(got.split()[1]) if got.startswith(b"HTTP/1.1 ") else 0


def get(path, host=None, more="", method="GET"):
    return f"{method} {path} HTTP/1.1\r\nHost: {own if host is None else host}\r\nConnection: close\r\n{more}\r\n".encode("latin-1")


more = feed()
next(more)
r.until(lambda s: s["image"] > 0)
page = r.connect()  # the user's browser, open all the time


def look():
    """Whether the page is there; a browser whose connection was idle for too long opens another."""
    try:
        return r.state(page)["image"] > 0
    except http.client.RemoteDisconnected:
        page.close()
        return r.state(page)["image"] > 0


require(look(), "the page")
began_kib = r.resident_kib()

# ---- without the token, or to another host, there is nothing ----
wrong = r.token[:-1] + ("0" if r.token[-1] != "0" else "1")
for path in ("/", "/state", "//", f"/{wrong}/", f"/{wrong}/state", f"/{r.token}", f"/{r.token.upper()}x/", f"/{r.token[:-1]}/",
             f"/x/{r.token}/", f"/{r.token}/../{r.token}/", f"/{r.token}/../../etc/passwd", f"/{r.token}/%2e%2e/%2e%2e/etc/passwd",
             f"/{r.token}//etc/passwd", f"/{r.token}/./state", f"/{r.token}/state/", f"/{r.token}/%73tate", f"/{r.token}/state%00",
             f"/{r.token}%2Fstate", f"/{r.token}/..%2fstate", f"/{r.token}/live.html", f"/{r.token}/attacked.npy",
             f"http://{own}/{r.token}/", f"file:///etc/passwd", "/favicon.ico", "/robots.txt", f"/{'a' * 4000}/", "/" + "../" * 300):
    require(status(get(path)) in (400, 404), f"{path}: {raw(get(path))[:200]}")
for host in ("evil.example", f"evil.example:{r.port}", f"127.0.0.1.evil.example:{r.port}", f"{r.host}:1", "", "[", f"[::1:{r.port}",
             f"localhost.evil:{r.port}"):
    require(status(get(f"/{r.token}/", host)) in (400, 403), f"Host {host}")
require(status(get(f"/{r.token}/", f"localhost:{r.port}")) == 200, "localhost")
require(status(get(f"/{r.token}/stop", more="Origin: http://evil.example\r\n", method="POST")) == 403, "Origin")
require(status(f"GET /{r.token}/ HTTP/1.0\r\n\r\n".encode()) in (0, 400, 403), "without Host")
next(more)

# ---- malformed, too long, and bodies that nobody needs ----
for request in (b"\0" * 2000, b"GET\r\n\r\n", b"\r\n\r\n\r\n", b"GET  /\r\n\r\n", b"\xff\xfe" * 500, b"G" * 100000,
                b"GET / HTTP/9.9\r\n\r\n", f"GET /{r.token}/\0state HTTP/1.1\r\nHost: {own}\r\n\r\n".encode(),
                get(f"/{r.token}/", more="X: " + "y" * 60000 + "\r\n"), get(f"/{r.token}/", more="".join(f"X{i}: y\r\n" for i in range(9000))),
                get(f"/{r.token}/state", more="Host: evil.example\r\n"), get(f"/{r.token}/" + "?" + "a=b&" * 9000),
                get(f"/{r.token}/save", more="Content-Length: 99999999999\r\n", method="POST"),
                get(f"/{r.token}/save", more="Content-Length: -1\r\n", method="POST"),
                get(f"/{r.token}/save", more="Transfer-Encoding: chunked\r\n", method="POST") + b"fffffff\r\n" + b"z" * 90000,
                get(f"/{r.token}/save", more="Transfer-Encoding: chunked\r\n", method="POST") + b"zzzz\r\n\r\n"):
    got = raw(request)
    require(b"root:" not in got and got.count(b"HTTP/1.1 200") <= 1, f"{request[:80]}: {got[:200]}")



def cookies(n):
    return get(f"/{r.token}/state", more="Cookie: " + "; ".join(f"c{i}=v" for i in range(n)) + "\r\n")


for n in (500, 450, 1000, 3000):  # 500 were an empty reply
    got = raw(cookies(n), 20)
    head, _, body = got.partition(b"\r\n\r\n")
    require(head.startswith(b"HTTP/1.1 431 ") and body and body.strip().count(b"\n") == 0, f"{n} cookies: {got[:200]}")
require(status(cookies(180)) == 200, "as many cookies as a browser has for one machine")
for n in range(330, 440, 10):
    require(status(cookies(n)) in (200, 431), f"{n} cookies: an empty reply")
require(status(get(f"/{r.token}/state?" + "a=b&" * 250)) == 414, "arguments")
require(status(get(f"/{r.token}/image?after=0")) == 200, "an argument")
require(status(get(f"/{r.token}/save", more="Content-Length: 5000\r\n", method="POST")) == 413, "a long body")
next(more)

# ---- a crowd that holds connections open and says nothing, or a byte now and then; the page goes on ----
idle = []
for k in range(crowd):
    try:
        s = plug()
        s.setblocking(False)
        if k % 2:
            s.send(b"GET /")
        idle.append(s)
    except OSError:
        pass
for k in range(8):
    for s in idle[k::7]:
        try:
            s.send(b"x")
        except OSError:
            pass
    require(look(), "the page is shut out")
next(more)
fresh = [r.state() for _ in range(3)]  # and who has the token comes in anew
require(all(s["image"] > 0 for s in fresh), "a new page is shut out")

# ---- readers who take a byte at a time of what is long ----
slow = []
for k in range(40):
    s = plug()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    try:
        s.sendall(get(f"/{r.token}/{'image' if k % 2 else 'state'}"))
        slow.append(s)
    except OSError:
        pass
for _ in range(5):
    for s in slow:
        try:
            s.recv(1)
        except OSError:
            pass
    require(look(), "slow readers keep the page waiting")
next(more)

# ---- the same with the token, more than there are connections: others get in before their ten seconds are over ----
many = []
for k in range(80):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    s.settimeout(.2)
    try:
        s.connect((r.host, r.port))
        s.sendall(get(f"/{r.token}/{'image' if k % 2 else 'state'}").replace(b"Connection: close\r\n", b""))
    except OSError:
        pass
    many.append(s)
served = 0
for _ in range(4):
    c = r.connect(timeout=5)
    try:
        served += r.state(c)["image"] > 0 and r.ask("image", connection=c)[0] == 200
    except (OSError, http.client.HTTPException) as e:
        print("with 80 readers:", repr(e))
    c.close()
require(served >= 3, f"readers with the token keep others out: {served} of 4 were served")
slow += many

# ---- floods: by many threads, with and without the token ----
answered = []


def flood(k):
    for i in range(30):
        path, method = ((f"/{r.token}/save", "POST"), (f"/{wrong}/stop", "POST"), (f"/{r.token}/image", "GET"))[(i + k) % 3]
        answered.append(status(get(path, method=method)))


threads = [threading.Thread(target=flood, args=(k,)) for k in range(6)]
for t in threads:
    t.start()
while any(t.is_alive() for t in threads):
    require(look(), "a flood shuts the page out")
    time.sleep(.05)
require(answered.count(404) > 30 and answered.count(204) > 30 and answered.count(200) > 15, "the floods had no answers")
next(more)

grown = r.resident_kib() - began_kib
require(os.environ.get("ISO_TEST_QUICK") == "1" or grown < 16384, f"it took {grown} KiB more")
for s in idle + slow:
    s.close()
page.close()
for _ in more:
    pass
r.process.stdin.close()
require(r.wait() == 0, r.lines)
require(len(r.lines) < 40 and r.token not in "".join(r.lines[1:]), r.lines)
require(open("plain.npy", "rb").read() == open("attacked.npy", "rb").read(), "other bits under attack")
require(r.token not in open("attacked.npy.json").read(), "the token is in the record")
print(f"grew by {grown} KiB")
END
