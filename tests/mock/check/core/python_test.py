#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the call sites in findings about Python programs. Usage: python_test.py TEST LIBRARY"""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LIBRARY = sys.argv[2]
START = f"""
import ctypes, threading
def opened(kind=ctypes.CDLL):
    return kind({LIBRARY!r})
cu = opened()
context = ctypes.c_void_p()
assert cu.cuInit(0) == 0
assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cu.cuCtxSetCurrent(context) == 0
def allocate(size, library=cu):
    memory = ctypes.c_uint64()
    assert library.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(size)) == 0
    return memory
"""
PLACE = "/the/program.py"


def tells_lines():
    """Returns whether this interpreter exports a function that dumps the stack of a thread without its lock."""
    return any(hasattr(ctypes.pythonapi, name) for name in ("PyUnstable_DumpTraceback", "_Py_DumpTraceback"))


def leaks(program):
    """Returns the leaks of the program: (count, bytes, the lines of the program that allocated the memory)."""
    with tempfile.TemporaryDirectory() as folder:
        run = f"exec(compile({START!r}, '/the/start.py', 'exec')); exec(compile({program!r}, {PLACE!r}, 'exec'))"
        environment = os.environ | {"CUSHIM_REPORT": f"{folder}/report", "CUSHIM_CHECK": "leaks"}
        done = subprocess.run([sys.executable, "-c", run], env=environment, timeout=50, capture_output=True, text=True)
        assert done.returncode == 0, done
        (file,) = pathlib.Path(folder).iterdir()
        findings = json.loads(file.read_text())["findings"]
    found = []
    for one in findings:
        if one["rule"] == "never-freed":
            lines = one["calls"][0]["call_stack"]
            assert [line.split(" ")[0] for line in lines] == [f"#{i}" for i in range(len(lines))], lines
            found.append((one["count"], one["bytes"], [line.split(" ", 1)[1] for line in lines if PLACE in line]))
    return sorted(found, key=lambda one: one[1])


def expect(found, *wanted, needs_lock=True):
    if needs_lock and not tells_lines():
        assert len(found) == sum(count for count, _, _ in wanted), found  # never merged
        return
    assert found == [(count, size, [f"{name} ({PLACE}:{line})" for name, line in lines])
                     for count, size, lines in wanted], found


def leaks_of_two_functions_are_two():
    found = leaks("""
def first():
    allocate(1 << 20)
def second():
    allocate(2 << 20)
first()
second()
""")
    expect(found, (1, 1 << 20, [("first", 3), ("<module>", 6)]), (1, 2 << 20, [("second", 5), ("<module>", 7)]))


def leaks_of_one_line_are_counted():
    found = leaks("for _ in range(3): allocate(1 << 20)")
    expect(found, (3, 3 << 20, [("<module>", 1)]))


def leaks_through_two_callers_are_two():
    found = leaks("""
def inner(size):
    allocate(size)
inner(1 << 20)
inner(2 << 20)
""")
    expect(found, (1, 1 << 20, [("inner", 3), ("<module>", 4)]), (1, 2 << 20, [("inner", 3), ("<module>", 5)]))


def calls_that_hold_the_lock_have_lines():
    found = leaks("""
def first():
    allocate(1 << 20, opened(ctypes.PyDLL))
def second():
    allocate(2 << 20, opened(ctypes.PyDLL))
first()
second()
""")
    expect(found, (1, 1 << 20, [("first", 3), ("<module>", 6)]), (1, 2 << 20, [("second", 5), ("<module>", 7)]),
           needs_lock=False)


def threads_have_lines_of_their_own():
    found = leaks("""
def work():
    assert cu.cuCtxSetCurrent(context) == 0
    allocate(1 << 20)
threads = [threading.Thread(target=work) for _ in range(4)]
for each in threads: each.start()
for each in threads: each.join()
""")
    expect(found, (4, 4 << 20, [("work", 4)]))


def an_exception_on_its_way_stays():
    found = leaks("""
class Buffer:
    def __del__(self):
        allocate(1 << 20, opened(ctypes.PyDLL))
def fail():
    buffer = Buffer()
    raise ValueError("mine")
try: fail()
except ValueError as error:
    assert str(error) == "mine"
    del error
""")
    assert [count for count, _, _ in found] == [1] and "__del__" in found[0][2][0], found


globals()[sys.argv[1]]()
