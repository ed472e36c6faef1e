#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The binary interface of the simulated libcuda.so.1: its exported names, and that no call terminates the process.

Usage: abi_test.py TEST LIBRARY LIST_OF_ENTRY_POINTS PROTOTYPES_CLIENT
"""
import ctypes
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile

LIBRARY, LIST, CLIENT = sys.argv[2:5]
RELEASE = 13000  # the driver version that the library implements
ROW = re.compile(r"^\s*CUSHIM_ENTRY_\d+\(\d+, (\w+), \w+, (\d+),", re.MULTILINE)

SCRATCH = 1 << 20


def rows():
    found = ROW.findall(pathlib.Path(LIST).read_text())
    assert len(found) >= 700, len(found)
    return sorted(symbol for symbol, version in found if int(version) <= RELEASE)


def exports():
    lines = subprocess.run(["readelf", "--wide", "--dyn-syms", LIBRARY], capture_output=True, text=True, check=True)
    found = [line.split() for line in lines.stdout.splitlines()]
    return [words[7] for words in found if len(words) == 8 and words[6].isdigit()]


def every_name_is_there_and_no_other():
    names = exports()
    assert sorted(names) == sorted([*rows(), "InitializeInjectionNvtx2", "cushim_simulated_driver"]), set(names) ^ set(rows())
    for name in ("cuGLGetDevices_v2", "cuCtxCreate", "cuStreamWaitValue32_v2_ptsz", "cuMemAlloc"):
        assert name in names, name


def it_is_named_as_the_real_one():
    dynamic = subprocess.run(["readelf", "--wide", "--dynamic", LIBRARY], capture_output=True, text=True, check=True)
    assert "Library soname: [libcuda.so.1]" in dynamic.stdout, dynamic.stdout
    assert "libstdc++" not in dynamic.stdout, dynamic.stdout
    # The exported names have no symbol versions, as in the real library.
    assert not any("@" in name for name in exports())


def call(names, argument):
    """Calls the functions in a new process with every argument set to `argument`.

    Returns how the process ended and the name of the last function that it called.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
        driver = ctypes.CDLL(LIBRARY)
        context = ctypes.c_void_p()
        if driver.cuInit(0) or driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0):
            os._exit(1)
        scratch = ctypes.create_string_buffer(SCRATCH)
        value = {"null": 0, "scratch": ctypes.addressof(scratch) + SCRATCH // 2}[argument]
        for name in names:
            os.write(writer, (name + "\n").encode())
            if not 0 <= getattr(driver, name)(*[ctypes.c_void_p(value)] * 14) <= 999:
                os._exit(1)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        called = said.read().split()
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), called


def call_all(argument):
    # The driver calls the function that cuLogsRegisterCallback is given, at the next error.
    names = [name for name in exports() if name not in ("cushim_simulated_driver", "cuLogsRegisterCallback", "InitializeInjectionNvtx2")]
    total = 0
    for first in range(0, len(names), 40):
        end, called = call(names[first:first + 40], argument)
        assert end == 0, (called[-1:], end)
        total += len(called)
    assert total == len(names) >= 670, total


def no_call_with_null_arguments_ends_the_process():
    call_all("null")


def no_call_with_objects_that_are_none_ends_the_process():
    """Every handle and pointer refers to memory of the program that is not a driver object."""
    call_all("scratch")


def each_call_by_its_prototype_reaches_its_own_function():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([CLIENT], capture_output=True, text=True, timeout=100, env=os.environ | {
            "LD_LIBRARY_PATH": os.path.dirname(LIBRARY), "CUSHIM_REPORT": f"{folder}/%p.json"})
        assert done.returncode == 0, (done.returncode, done.stdout[-200:], done.stderr[-200:])
        report, = pathlib.Path(folder).iterdir()
        counted = json.loads(report.read_text())["calls"]
    answers = dict(line.split() for line in done.stdout.splitlines())
    assert all(0 <= int(code) <= 999 for code in answers.values()), answers
    assert sorted(answers) == rows(), set(answers) ^ set(rows())
    assert counted == dict.fromkeys(rows(), 1), {name: counted.get(name) for name in rows() if counted.get(name) != 1}


def what_has_no_public_prototype_is_not_there():
    """The real driver exports these names; a program that needs one gets an error from the loader."""
    driver = ctypes.CDLL(LIBRARY)
    for name in ("cuEGLApiInit", "cuMemGetAttribute", "cuMemGetAttribute_v2", "cudbgApiInit", "cudbgGetAPI"):
        assert not hasattr(driver, name), name


globals()[sys.argv[1]]()
