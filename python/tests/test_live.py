# SPDX-License-Identifier: BSD-3-Clause
"""A live page: what it shows while a reconstruction runs, how it ends, and wrong words."""

import json
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from conftest import BOX, make_lines

import isotome


@pytest.fixture
def page(context):
    try:
        live = isotome.Live(context=context, title="A <test>")
    except isotome.DeviceError as error:
        pytest.skip(str(error))
    with live:
        yield live


@pytest.fixture
def problem(context):
    return isotome.ray(make_lines(2000), method="mlem", iterations=20, sens="none", context=context, **BOX)


def ask(page, name=""):
    with urllib.request.urlopen(page.address + name, timeout=20) as answer:
        return answer.read()


def test_it_follows(page, problem):
    assert b"<script" in ask(page) and json.loads(ask(page, "state"))["title"] == "A <test>"
    seen = []

    def look(step):
        time.sleep(0.05)  # a page is told a few times a second
        seen.append(json.loads(ask(page, "state")))

    image = problem.reconstruct(live=page, callback=look)
    seen.append(json.loads(ask(page, "state")))
    updates = [s["iterations"]["updates"] for s in seen]  # what a page is told may be some updates old
    assert len(updates) == 21 and updates == sorted(updates) and updates[-1] > 5
    assert np.array_equal(image, problem.reconstruct())


def test_stop_cancels(page, problem):
    def stop(step):
        done = urllib.request.urlopen(urllib.request.Request(page.address + "stop", method="POST"), timeout=20)
        done.close()

    with pytest.raises(isotome.Cancelled):
        problem.reconstruct(live=page, callback=stop)
    assert problem.reconstruct().max() > 0  # the problem is as good as before


def test_after_its_end(context):
    try:
        live = isotome.Live(context=context)
    except isotome.DeviceError as error:
        pytest.skip(str(error))
    address = live.address
    assert address.startswith("http://127.0.0.1:") and "127.0.0.1" in repr(live) and address not in repr(live)
    live.close("done")
    live.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=5)
    with pytest.raises(isotome.ArgumentError, match="closed"):
        live.address  # noqa: B018


def test_wrong_words(page, problem, context):
    with isotome.Live(context=isotome.Context("cpu", threads=1)) as other:
        with pytest.raises(isotome.ArgumentError, match="another context"):
            problem.reconstruct(live=other)
    for words in ({"port": 70000}, {"bind": "example.org"}, {"port": "x"}):
        with pytest.raises((isotome.IsotomeError, TypeError)):
            isotome.Live(context=context, **words)
