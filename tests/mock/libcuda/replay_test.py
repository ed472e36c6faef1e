#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests cushim run --record and cushim replay with a program that does not use cushim.

Usage: replay_test.py TEST CUSHIM LIBRARY
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CUSHIM, LIBRARY = sys.argv[2:4]
FOLDER = pathlib.Path(LIBRARY).parent
HERE = pathlib.Path(tempfile.mkdtemp(prefix="cushim-replay-test-"))
PROGRAM = """
import ctypes
cu = ctypes.CDLL('libcuda.so.1')
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
cu.cuInit(0)
cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cu.cuCtxSetCurrent(context)
size = ctypes.c_size_t(64)
cu.cuMemAlloc_v2(ctypes.byref(memory), size)
there, back, name = (ctypes.create_string_buffer(64) for _ in range(3))
there.value = b'there and back'
cu.cuMemcpyHtoD_v2(memory, there, size)
cu.cuMemcpyDtoH_v2(back, memory, size)
cu.cuDeviceGetName(name, 64, 0)
assert back.value == there.value
END
"""


def record(*options, end=""):
    done = subprocess.run([CUSHIM, "run", "--library", FOLDER, "--record", HERE / "calls", *options, "--", sys.executable,
                           "-c", PROGRAM.replace("END", end)], capture_output=True, text=True, timeout=60)
    assert end or (done.returncode == 0 and done.stderr == ""), done
    [file] = HERE.glob("calls.*")
    return file


def replay(*options, **variables):
    return subprocess.run([CUSHIM, "replay", *options], env=os.environ | variables, capture_output=True, text=True,
                          timeout=60)


def a_recording_is_replayed_on_the_simulated_driver_and_through_a_library():
    file = record()
    for driver in ("sim", LIBRARY):
        done = replay("--compare", "--driver", driver, file)
        assert done.returncode == 0 and done.stdout == "replayed 7 of 7 calls\nno difference\n", done


def another_device_differs_in_its_name_unless_that_is_ignored():
    file = record()
    done = replay("--json", file, CUSHIM_DEVICES="a100")
    report = json.loads(done.stdout)
    assert done.returncode == 1 and report["replayed"] == 7, done
    assert [one["symbol"] for one in report["differences"]] == ["cuDeviceGetName"], report
    assert report["differences"][0]["recorded"] == '"NVIDIA H200"', report
    done = replay("--ignore", "cuInit,cuDevice*", file, CUSHIM_DEVICES="a100")
    assert done.returncode == 0, done


def without_data_copies_to_the_device_are_listed_and_not_made():
    done = replay(record("--record-data", "none"))
    assert done.returncode == 1, done
    assert "not replayed: 1 x cuMemcpyHtoD_v2: the memory that it read was not recorded\n" in done.stdout, done


def calls_are_listed_in_words_and_as_json():
    file = record()
    lines = replay("--list", file).stdout.splitlines()
    assert len(lines) == 7 and "cuMemAlloc_v2(dptr -> memory#1, bytesize=64) = CUDA_SUCCESS" in lines[3], lines
    calls = [json.loads(line) for line in replay("--list", "--json", file).stdout.splitlines()]
    assert [call["call"] for call in calls][:2] == ["cuInit", "cuDevicePrimaryCtxRetain"], calls


def a_difference_is_shrunk_to_a_test():
    file, test = record(), HERE / "test.cpp"
    done = replay("--shrink", "--output", test, file, CUSHIM_DEVICES="a100")
    assert done.returncode == 0 and "2 of 7 calls show it" in done.stderr, done
    text = test.read_text()
    assert "TEST(Shrunk, cuDeviceGetName_of_call_6)" in text and 'EXPECT_STREQ(name6, "NVIDIA H200");' in text, text
    done = replay("--shrink", file)
    assert done.returncode == 1 and "no call differs, and none returned an error" in done.stderr, done
    done = replay("--shrink", "--driver", LIBRARY, file)
    assert done.returncode == 2 and "on the simulated driver only" in done.stderr, done


def a_file_that_is_none_is_refused_with_an_offset():
    file = HERE / "none"
    file.write_text("no recording\n" * 1000)
    for options in ((), ("--list",)):
        done = replay(*options, file)
        assert done.returncode == 2 and "is not a recording of cushim, at offset 0" in done.stderr, done


def a_killed_process_leaves_a_recording_that_says_so():
    file = record(end="import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    done = replay("--list", file)
    assert done.returncode == 0 and "did not end normally" in done.stderr, done


try:
    globals()[sys.argv[1]]()
finally:
    shutil.rmtree(HERE)
