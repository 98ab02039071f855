# SPDX-License-Identifier: Apache-2.0
"""Calls from several threads at once, without the GIL, and from a forked child."""

import os
import sys
import threading
import time

import numpy as np
import pytest

import vjp
from support import as_tuple, call, problem, same


def test_every_operator_on_many_threads_at_once():
    problems = [(name, *problem(name, (16, 64))) for name in vjp.operators]
    expected = [as_tuple(call(*p)) for p in problems]
    failures = []

    def work():
        for _ in range(50):
            for p, results in zip(problems, expected):
                if not all(map(same, as_tuple(call(*p)), results)):
                    failures.append(p[0])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_gil_is_released():
    """Another thread runs Python while one call, of half a second or so, is under way."""
    x = np.ones(2**26, np.float32)
    out = np.empty_like(x)
    vjp.sigmoid_backward(x, x, out=out)
    ticks, done = 0, threading.Event()

    def compute():
        vjp.sigmoid_backward(x, x, out=out)
        done.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # no thread has to release the GIL
    try:
        thread = threading.Thread(target=compute)
        thread.start()
        while not done.is_set():
            ticks += 1
            time.sleep(0)
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert ticks > 10


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_child_computes_the_same_bits():
    x = np.linspace(-4, 4, 2**20, dtype=np.float32)
    expected = vjp.sigmoid_backward(x, x)  # with the threads of OpenMP
    child = os.fork()
    if child == 0:
        os._exit(0 if same(vjp.sigmoid_backward(x, x), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0
