#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests cushim's libcuda.so.1 in front of another driver: fake drivers, and a copy of the simulated one.

Usage: interpose_test.py TEST CUSHIM LIBRARY FOLDER_OF_FAKES LIST_OF_ENTRY_POINTS COMPILER
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CUSHIM, LIBRARY, FAKES, LIST, COMPILER = sys.argv[2:7]
FOLDER = str(pathlib.Path(LIBRARY).parent)
HERE = pathlib.Path(tempfile.mkdtemp(prefix="cushim-interpose-test-"))
FAKE = f"{FAKES}/13000/libcuda.so.1"
ROW = re.compile(r"^\s*CUSHIM_ENTRY_\d+\((\d+), (\w+), \w+, (\d+),", re.MULTILINE)
START = """
import ctypes, sys
cu = ctypes.CDLL('libcuda.so.1')
def look_up(name, version=12000, flags=0):
    function = ctypes.c_void_p()
    assert cu.cuGetProcAddress_v2(name, ctypes.byref(function), version, ctypes.c_uint64(flags), None) == 0
    return function.value
def address(name): return ctypes.cast(getattr(cu, name), ctypes.c_void_p).value
"""


START_WORK = """
context, stream = ctypes.c_void_p(), ctypes.c_void_p()
assert cu.cuInit(0) == 0
assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cu.cuCtxSetCurrent(context) == 0
assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
"""


def run(program, *options, driver=FAKE, **variables):
    return subprocess.run([CUSHIM, "run", "--library", FOLDER, *options, "--driver", driver, "--", sys.executable, "-c",
                           START + program], env=os.environ | variables, capture_output=True, text=True, timeout=60)


def output(program, *options, **others):
    done = run(program, *options, **others)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout


def rows():
    found = ROW.findall(pathlib.Path(LIST).read_text())
    assert len(found) >= 700, len(found)
    return {symbol: int(slot) for slot, symbol, version in found if int(version) <= 13000}


EVERY_CALL = f"""
driver = ctypes.CDLL({FAKE!r})
for symbol, slot in {{rows}}.items():
    getattr(cu, symbol)(*[ctypes.c_void_p(0)] * 14)
    assert driver.fake_last_call() == slot, (symbol, slot, driver.fake_last_call())
print('all')
"""


def every_call_reaches_the_same_function_of_the_driver():
    assert output(EVERY_CALL.replace("{rows}", repr(rows()))) == "all\n"


def every_call_does_so_with_a_hook_on_each():
    report = HERE / "report.json.%p"
    assert output(EVERY_CALL.replace("{rows}", repr(rows())), "--report", str(report)) == "all\n"
    file, = HERE.glob("report.json.*")
    found = json.loads(file.read_text())
    assert set(found["calls"].values()) == {1} and set(found["calls"]) == set(rows())
    assert found["driver"] == FAKE and found["other_drivers"] == [] and not found["has_findings"], found


def lookups_return_the_library_s_own_functions():
    assert output("""
assert look_up(b'cuInit') == address('cuInit')
assert look_up(b'cuMemAlloc', 2000) == address('cuMemAlloc')
assert look_up(b'cuMemAlloc') == address('cuMemAlloc_v2')
assert look_up(b'cuStreamQuery', 12000, 2) == address('cuStreamQuery_ptsz')
assert look_up(b'cuGetProcAddress') == address('cuGetProcAddress_v2')
assert look_up(b'cuNoSuchThing') is None
print('own')
""") == "own\n"


def what_the_driver_lacks_is_not_found():
    program = "print(look_up(b'cuMemAllocAsync'), cu.cuMemAllocAsync(None, 0, None))"
    assert output(program, driver=f"{FAKES}/incomplete/libcuda.so.1") == "None 302\n"
    # a hook on each entry point finds no more
    done = run(program, "--report", str(HERE / "report"), driver=f"{FAKES}/incomplete/libcuda.so.1")
    assert done.stdout == "None 302\n", done


def a_later_abi_than_the_list_has_is_the_driver_s_own():
    later = f"{FAKES}/later/libcuda.so.1"
    program = f"""
own = ctypes.cast(ctypes.CDLL({later!r}).fake_later_init, ctypes.c_void_p).value
print(look_up(b'cuInit', 99000) == own, look_up(b'cuInit', 13000) == address('cuInit'),
      look_up(b'cuMemAlloc', 99000) == address('cuMemAlloc_v2'))
"""
    assert output(program, driver=later) == "True True True\n"
    assert output(program, "--faults", "cuInit:9=UNKNOWN", driver=later) == "True True True\n"  # with a hook


def an_older_driver_keeps_its_version():
    program = """
version = ctypes.c_int()
assert cu.cuDriverGetVersion(ctypes.byref(version)) == 0
function = ctypes.c_void_p()
print(version.value, cu.cuGetProcAddress(b'cuInit', ctypes.byref(function), 11040, ctypes.c_uint64(0)),
      function.value == address('cuInit'), cu.cuGetProcAddress_v2(None, None, 0, ctypes.c_uint64(0), None))
"""
    assert output(program, driver=f"{FAKES}/11040/libcuda.so.1") == "11040 0 True 302\n"


def the_installed_driver_is_found():
    program = f"print(ctypes.CDLL({FAKE!r}).fake_calls() > 0, cu.cuInit(0))"
    assert output(program, driver="real", LD_LIBRARY_PATH=f"{FAKES}/13000") == "True 0\n"
    done = run("print('started')", driver="real", LD_LIBRARY_PATH=FOLDER)
    assert done.returncode == 3 and done.stdout == "" and f"{LIBRARY}, is cushim's" in done.stderr, done
    done = run("print('started')", driver="real", CUSHIM_LIBRARY="none")
    assert done.returncode == 3 and done.stdout == "" and "cushim[driver-disabled]" in done.stderr, done


def a_file_that_is_not_a_driver_is_refused():
    for driver, words in ((f"{FAKES}/not_a_driver/libcuda.so.1", "cushim[not-a-driver]"),
                          (f"{FAKES}/stub/libcuda.so.1", "cushim[stub-library]"), ("/nowhere/libcuda.so.1", "/nowhere")):
        done = run("print('started')", driver=driver)
        assert done.returncode == 2 and done.stdout == "" and words in done.stderr, done
    done = subprocess.run([sys.executable, "-c", START], env=os.environ | {"LD_LIBRARY_PATH": FOLDER, "CUSHIM_DRIVER": "real"},
                          capture_output=True, text=True)
    assert done.returncode == 2 and "CUSHIM_DRIVER must be sim or the absolute path" in done.stderr, done


def options_of_the_simulated_driver_are_refused():
    for options in (("--devices", "h200"), ("--seed", "7"), ("--schedule", "eager"), ("--driver-version", "11.8")):
        done = run("print('started')", *options)
        assert done.returncode == 2 and done.stdout == "" and "options of the simulated driver" in done.stderr, done
    done = run("print('started')", "--faults", "memory:2GiB")
    assert done.returncode == 2 and done.stdout == "" and "works only on the simulated driver" in done.stderr, done


def a_driver_whose_functions_lead_back_is_refused():
    """The fake driver resolves its own functions by name; a program that links libcuda.so.1 comes first in the search."""
    (HERE / "program.c").write_text("int cuInit(unsigned); int main() { return cuInit(0); }")
    subprocess.run([COMPILER, HERE / "program.c", "-o", HERE / "program", LIBRARY], check=True)
    done = subprocess.run([CUSHIM, "run", "--library", FOLDER, "--driver", FAKE, "--", HERE / "program"],
                          capture_output=True, text=True)
    assert done.returncode == 2 and f"{FAKE} returned this library's own cu" in done.stderr, done


def faults_are_injected():
    program = "print([cu.cuInit(0) for _ in range(3)])"
    done = run(program, "--faults", "cuInit:2=UNKNOWN")
    assert done.returncode == 0 and done.stdout == "[0, 999, 0]\n", done
    assert "injected: cuInit, call 2: CUDA_ERROR_UNKNOWN" in done.stderr, done


# ---- In front of a copy of the simulated driver ----

LEAKS = """
context, stream, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
assert cu.cuInit(0) == 0 and cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cu.cuCtxSetCurrent(context) == 0
function = ctypes.c_void_p(look_up(b'cuStreamCreate'))
assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint)(function.value)(ctypes.addressof(stream), 0) == 0
"""


def copy_of_simulated():
    (HERE / "driver").mkdir(exist_ok=True)
    shutil.copy(LIBRARY, HERE / "driver/libcuda.so.1")
    return str(HERE / "driver/libcuda.so.1")


def checkers_watch_the_calls():
    done = run(LEAKS, "--check", "leaks,misuse", driver=copy_of_simulated())
    assert done.returncode == 0 and done.stdout == "", done
    assert done.stderr.count("FINDING: leaks/never-destroyed: stream") == 1, done
    done = run(LEAKS, "--check", "leaks", "--error-exitcode", "42", "--report", "stderr", driver=copy_of_simulated())
    assert done.returncode == 42 and f" on {HERE}/driver/libcuda.so.1: 5 calls of 5 functions" in done.stderr, done


def the_driver_in_front_alone_reports():
    done = run(LEAKS + "print(cu.cuInit(0))", "--report", str(HERE / "report.%p"), "--faults", "cuInit:2=UNKNOWN",
               driver=copy_of_simulated())
    assert done.stdout == "999\n", done
    file, = HERE.glob("report.*")
    found = json.loads(file.read_text())
    assert found["driver"] == f"{HERE}/driver/libcuda.so.1" and len(found["faults"]) == 1, found
    assert "devices" not in found and found["calls"]["cuInit"] == 2, found


def a_negative_version_of_a_lookup_is_that_of_the_driver():
    program = "print(look_up(b'cuMemAlloc', -1) == address('cuMemAlloc_v2'))"
    assert output(program, driver=copy_of_simulated()) == "True\n"
    # with a hook
    assert output(program, "--faults", "cuInit:9=UNKNOWN", driver=copy_of_simulated()) == "True\n"


def a_trace_has_the_format_of_its_name():
    program = LEAKS + "import os; assert cu.cuStreamDestroy_v2(stream) == 0"
    for name, words in (("calls.%p.txt", ["cuStreamCreate(phStream -> stream#1, Flags=CU_STREAM_DEFAULT) = CUDA_SUCCESS <",
                                          "cuStreamDestroy_v2(hStream=stream#1)"]),
                        ("calls.%p.jsonl", ['"arguments":{"hStream":"stream#1"}']),
                        ("calls.%p.json", ['"traceEvents":[']),
                        ("calls.%p.html", ['"cuStreamCreate"', "</script>"])):
        assert output(program, "--trace", str(HERE / name), driver=copy_of_simulated()) == ""
        file, = HERE.glob(name.replace("%p", "*"))
        text = file.read_text()
        assert all(word in text for word in words), (name, text)
    assert output(program, "--trace", str(HERE / "calls"), driver=copy_of_simulated()) == ""
    recording, = HERE.glob("calls.*[0-9]")
    done = subprocess.run([CUSHIM, "trace", "--format", "summary", recording], capture_output=True, text=True)
    assert done.returncode == 0 and "6 calls of 6 functions by 1 thread" in done.stdout, done
    done = subprocess.run([CUSHIM, "trace", LIST], capture_output=True, text=True)
    assert done.returncode == 2 and "is not a trace" in done.stderr, done


# Loads the trace library as NVTX does at its first use. Then names a context, streams, an event and a thread.
NVTX = """
import os
Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
WideFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_wchar_p)
tables = {module: ((ctypes.c_void_p * 32)(), (ctypes.c_void_p * 32)()) for module in (1, 2, 4)}
for functions, addresses in tables.values():
    for i in range(1, 16):
        addresses[i] = ctypes.addressof(functions) + 8 * i
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))
def module_table(module, table, size):
    table[0], size[0] = ctypes.addressof(tables[module][1]), 16
    return 1
class Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("module_table", type(module_table))]
callbacks = Callbacks(ctypes.sizeof(Callbacks), module_table)
@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint)
def export_table(number): return ctypes.addressof(callbacks) if number == 1 else None
injected = ctypes.CDLL(os.environ['NVTX_INJECTION64_PATH'])
assert injected.InitializeInjectionNvtx2(export_table) == 1
def name(module, index, handle, text):
    kind = WideFunction if index % 2 == (0 if module != 1 else 1) else Function
    kind(tables[module][0][index])(handle, text)
import threading
context, streams, event = ctypes.c_void_p(), [ctypes.c_void_p(), ctypes.c_void_p()], ctypes.c_void_p()
assert cu.cuInit(0) == 0
assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cu.cuCtxSetCurrent(context) == 0
for stream in streams:
    assert cu.cuStreamCreate(ctypes.byref(stream), 0) == 0
assert cu.cuEventCreate(ctypes.byref(event), 0) == 0
name(2, 3, context, b'first')
name(2, 5, streams[0], b'upload')
name(4, 4, streams[1], 'r\u00fcckw\u00e4rts')
name(2, 7, event, b'done')
name(1, 14, threading.get_native_id(), b'main')
for stream in streams:
    assert cu.cuEventRecord(event, stream) == 0
assert cu.cuCtxSetCurrent(context) == 0
"""


def gpu_times_are_measured_on_request_and_no_checker_sees_the_events():
    program = START_WORK + """
memory = ctypes.c_uint64()
assert cu.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 22)) == 0
assert cu.cuMemsetD8Async(memory, 1, ctypes.c_size_t(1 << 22), stream) == 0
assert cu.cuStreamSynchronize(stream) == 0
assert cu.cuMemFree_v2(memory) == 0 and cu.cuStreamDestroy_v2(stream) == 0 and cu.cuDevicePrimaryCtxRelease(0) == 0
"""
    for options, count in (([], 0), (["--gpu-times"], 1)):
        assert output(program, "--trace", str(HERE / "times.%p.txt"), "--check", "leaks,misuse,hazards", "--faults",
                      "cuEventRecord:1=LAUNCH_FAILED", *options, driver=copy_of_simulated()) == ""
        file, = HERE.glob("times.*.txt")
        text = file.read_text()
        assert len(re.findall(r"cuMemsetD8Async\(.*, GPU [1-9][0-9.]* us>", text)) == count, text
        assert "cuEvent" not in text, text
        file.unlink()
    done = run(program, "--summary", "--gpu-times", driver=copy_of_simulated())
    assert done.returncode == 0 and re.search(r"GPU us +calls", done.stderr), done
    done = run(program, "--summary", "--gpu-times", driver="sim")
    assert done.returncode == 2 and "--gpu-times is an option of other drivers" in done.stderr, done


def a_trace_has_the_names_that_a_program_gave_by_nvtx():
    assert output(NVTX, "--trace", str(HERE / "names.%p.txt"), driver=copy_of_simulated()) == ""
    file, = HERE.glob("names.*.txt")
    text = file.read_text()
    for words in ('cuEventRecord(hEvent=event#1 "done", hStream=stream#1 "upload")', 'hStream=stream#2 "r\u00fcckw\u00e4rts")',
                  'cuCtxSetCurrent(ctx=context#1 "first")'):
        assert words in text, (words, text)
    assert output(NVTX, "--trace", str(HERE / "names.%p.json"), driver=copy_of_simulated()) == ""
    file, = HERE.glob("names.*.json")
    assert r'thread 1 \"main\"' in file.read_text()


def another_tool_receives_the_names_of_nvtx_if_it_was_there_first():
    program = "import os; print(os.environ.get('NVTX_INJECTION64_PATH'))"
    assert output(program, "--trace", str(HERE / "tool"), NVTX_INJECTION64_PATH="/tool.so") == "/tool.so\n"
    assert output(program) == "None\n"


def a_trace_has_call_stacks_on_request():
    program = "def work():\n    cu.cuInit(0)\nwork()"
    for options, lines in (([], 0), (["--trace-call-stacks"], 1)):
        assert output(program, "--trace", str(HERE / "stacks.%p.txt"), *options, driver=copy_of_simulated()) == ""
        file, = HERE.glob("stacks.*.txt")
        assert len(re.findall(r"cuInit\(.*\n    #0 ", file.read_text())) == lines, file.read_text()
        file.unlink()


def a_summary_comes_at_the_end_also_of_a_killed_process():
    program = LEAKS + "import os, signal; print('mine', flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    done = run(program, "--summary", driver=copy_of_simulated())
    assert done.returncode == -9 and done.stdout == "mine\n" and "5 calls of 5 functions by 1 thread" in done.stderr, done
    simulated = subprocess.run([CUSHIM, "run", "--library", FOLDER, "--summary", "--", sys.executable, "-c", START + LEAKS],
                               capture_output=True, text=True)
    assert "on SIMULATED" in simulated.stderr, simulated


def its_own_path_is_the_simulated_driver():
    program = START + "import os; print(cu.cuInit(0), os.environ.get('CUSHIM_DRIVER'))"
    done = subprocess.run([CUSHIM, "run", "--library", FOLDER, "--driver", LIBRARY, "--devices", "h200", "--",
                           sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "0 sim\n", done


try:
    globals()[sys.argv[1]]()
finally:
    shutil.rmtree(HERE)
