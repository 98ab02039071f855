# SPDX-License-Identifier: Apache-2.0
"""timing.py - the time of a call from Python, for the programs beside it."""


def microseconds(call, clock, calls, batches):
    """Of one call, by this clock: the best of several batches."""
    seconds = float("inf")
    for _ in range(batches):
        start = clock()
        for _ in range(calls):
            call()
        seconds = min(seconds, clock() - start)
    return seconds / calls * 1e6
