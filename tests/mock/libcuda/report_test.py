#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the reports of the simulated libcuda.so.1. Usage: report_test.py TEST LIBRARY"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LIBRARY = sys.argv[2]
START = f"""
import ctypes, os, signal, sys
cu = ctypes.CDLL({LIBRARY!r})
memory = ctypes.c_uint64()
context = ctypes.c_void_p()
stream = ctypes.c_void_p()
def begin():
    assert cu.cuInit(0) == 0
    assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cu.cuCtxSetCurrent(context) == 0
    assert cu.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(3 << 20)) == 0
def end():
    assert cu.cuMemFree_v2(memory) == 0
"""


def run(program, **variables):
    return subprocess.run([sys.executable, "-c", START + program], env=os.environ | variables, timeout=50,
                          capture_output=True, text=True)


def report(program, **variables):
    """Runs the program. Returns its only report and the completed process."""
    with tempfile.TemporaryDirectory() as folder:
        done = run(program, CUSHIM_REPORT=f"{folder}/%p.json", **variables)
        files = list(pathlib.Path(folder).iterdir())
        assert len(files) == 1, (files, done)
        return json.loads(files[0].read_text()), done


def counts_calls():
    found, done = report("begin(); [cu.cuCtxGetCurrent(ctypes.byref(context)) for _ in range(5)]; end()")
    assert done.returncode == 0, done
    assert found["calls"] == {"cuInit": 1, "cuDevicePrimaryCtxRetain": 1, "cuCtxSetCurrent": 1, "cuMemAlloc_v2": 1,
                              "cuCtxGetCurrent": 5, "cuMemFree_v2": 1}, found
    assert found["devices"] == [{"name": "NVIDIA H200", "peak_bytes": 4 << 20}], found
    assert found["has_ended"] and not found["has_findings"] and found["alive"] == [], found
    assert done.stdout == "" and "SIMULATED" in found["driver"], done


def names_each_process():
    with tempfile.TemporaryDirectory() as folder:
        child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {START + 'begin(); end()'!r}], check=True)"
        assert run("begin(); end()\n" + child, CUSHIM_REPORT=f"{folder}/report").returncode == 0
        found = [json.loads(file.read_text()) for file in pathlib.Path(folder).iterdir()]
        names = {file.name for file in pathlib.Path(folder).iterdir()}
    assert len(found) == 2 and names == {f"report.{one['process']}" for one in found}, (names, found)


def says_it_to_people():
    done = run("begin(); print('mine'); end()", CUSHIM_REPORT="stderr")
    assert done.stdout == "mine\n" and "1 cuMemAlloc_v2" in done.stderr, done
    assert "NVIDIA H200: at most 4194304 bytes" in done.stderr and "FINDING" not in done.stderr, done


def leaks_are_findings():
    found, done = report("begin(); cu.cuStreamCreate(ctypes.byref(stream), 0)", CUSHIM_ERROR_EXITCODE="42")
    assert done.returncode == 42, done
    assert found["alive"] == [{"what": "streams", "count": 1, "bytes": 0},
                              {"what": "device memory", "count": 1, "bytes": 3 << 20}], found
    assert run("begin(); end(); sys.exit(7)", CUSHIM_ERROR_EXITCODE="42").returncode == 7


def what_is_not_implemented_is_a_finding():
    found, done = report("begin(); end(); print(cu.cuEventCreateFromEGLSync(None, None, 0))", CUSHIM_ERROR_EXITCODE="42")
    assert done.returncode == 42 and done.stdout == "801\n", done
    assert found["not_implemented"] == ["cuEventCreateFromEGLSync"] and found["has_findings"], found


def what_is_looked_up_and_not_implemented_says_so_when_it_is_called():
    found, done = report("""
begin(); end()
function, status = ctypes.c_void_p(), ctypes.c_int(7)
assert cu.cuGetProcAddress_v2(b'cuEventCreateFromEGLSync', ctypes.byref(function), 12000, ctypes.c_uint64(0),
                              ctypes.byref(status)) == 0
call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)(function.value)
print(status.value, call(None, None, 0), call(None, None, 0))
assert cu.cuGetProcAddress_v2(b'cuNoSuchThing', ctypes.byref(function), 12000, ctypes.c_uint64(0),
                              ctypes.byref(status)) == 0
print(function.value, status.value)
""", CUSHIM_ERROR_EXITCODE="42")
    assert done.returncode == 42 and done.stdout == "0 801 801\nNone 1\n", done
    assert done.stderr.count("cuEventCreateFromEGLSync is not implemented") == 1, done
    assert found["not_implemented"] == ["cuEventCreateFromEGLSync"] and found["not_found"] == ["cuNoSuchThing"], found


def nvidias_runtime_gets_one_sentence():
    """NVIDIA's runtime requests tables that only NVIDIA's driver has."""
    found, done = report("table = ctypes.c_void_p(1)\nbegin()\n"
                         "for _ in range(3): assert cu.cuGetExportTable(ctypes.byref(table), bytes(16)) == 500\n"
                         "assert table.value is None\nend()")
    assert done.stderr.count("cushim[sim]") == 1, done
    assert "a library of NVIDIA's, as a rule the runtime (libcudart), that works with NVIDIA's driver only" in done.stderr
    assert found["calls"]["cuGetExportTable"] == 3 and not found["has_findings"], found


def nvrtc_gets_no_sentence():
    """NVRTC requests a table, too, and works without it."""
    found, done = report("table = ctypes.c_void_p(1)\nbegin()\n"
                         "id = bytes.fromhex('da9151d33ae6cc41a5c04f26d533e328')\n"
                         "assert cu.cuGetExportTable(ctypes.byref(table), id) == 500\n"
                         "assert table.value is None\nend()")
    assert "cushim[sim]" not in done.stderr, done
    assert found["calls"]["cuGetExportTable"] == 1, found


def faults_are_reported_with_their_call_stack():
    found, done = report("begin(); print(cu.cuMemsetD8Async(memory, 1, ctypes.c_size_t(1), None), "
                         "cu.cuCtxSynchronize(), cu.cuMemFree_v2(memory))",
                         CUSHIM_FAULTS="cuMemsetD8Async:1=LAUNCH_FAILED,late # once is enough")
    assert done.stdout == "0 719 719\n", done
    fault = found["faults"].pop()
    assert found["faults"] == [] and fault.pop("call_stack")[0].startswith("#0 "), (found, fault)
    assert fault == {"rule": "cuMemsetD8Async:1=LAUNCH_FAILED,late", "call": "cuMemsetD8Async", "number": 1,
                     "result": "CUDA_ERROR_LAUNCH_FAILED", "late": True, "returned_by": "cuCtxSynchronize"}, fault
    done = run("begin()", CUSHIM_FAULTS="cuInit:2=UNKNOWN; cuMemAlloc:1=OUT_OF_MEMORY", CUSHIM_REPORT="stderr")
    assert "injected: cuMemAlloc_v2, call 1: CUDA_ERROR_OUT_OF_MEMORY (cuMemAlloc:1=OUT_OF_MEMORY)\n" in done.stderr, done
    done = run("begin()", CUSHIM_FAULTS="cuMemAlloc:1=OUT_OF_MEMORY")
    assert done.stderr.count("injected: cuMemAlloc_v2, call 1: CUDA_ERROR_OUT_OF_MEMORY") == 1, "without a report"


def is_there_if_a_process_is_killed():
    found, done = report("begin(); os.kill(os.getpid(), signal.SIGKILL)")
    assert done.returncode == -9 and not found["has_ended"] and found["process"] > 0, (done, found)


def a_forked_child_makes_none():
    found, done = report("begin()\nif os.fork() == 0: sys.exit(cu.cuInit(0))\n_, status = os.wait(); end()\n"
                         "print(os.waitstatus_to_exitcode(status))")
    assert done.stdout == "3\n" and found["has_ended"], (done, found)


def words_that_it_does_not_know():
    wrong = {
        "CUSHIM_CHECK": ("leaks,misue", "misue"),
        "CUSHIM_ERROR_EXITCODE": ("many", "many"),
        "CUSHIM_FAULTS": ("cuMemAloc", "cuMemAloc"),
        "CUSHIM_REPORT": ("/nonexistent/report", "/nonexistent/report"),
        "CUSHIM_DEVICES": ("h20", 'there is no device "h20"; did you mean "h200"?'),
        "CUSHIM_SCHEDULE": ("eger", 'there is no schedule "eger"; did you mean "eager"?'),
        "CUSHIM_SEED": ("many", 'CUSHIM_SEED must be a number, at most 18446744073709551615, not "many"'),
        "CUSHIM_PATIENCE": ("soon", 'CUSHIM_PATIENCE must be a number of milliseconds, at most 4294967295, not "soon"'),
        "CUSHIM_DRIVER_VERSION": ("9.2", '"9.2" is not a CUDA version from 11.0 to 13.99'),
    }
    for variable, (value, words) in wrong.items():
        done = run("print('started')", **{variable: value})
        assert done.returncode == 2 and done.stdout == "" and words in done.stderr, done


FAULTY = """
begin()
event = ctypes.c_void_p()
assert cu.cuEventCreate(ctypes.byref(event), 0) == 0 and cu.cuEventDestroy_v2(event) == 0
print(cu.cuEventQuery(event))
"""


def what_checkers_find_is_reported():
    found, done = report(FAULTY, CUSHIM_CHECK="leaks,misuse", CUSHIM_ERROR_EXITCODE="42")
    assert done.returncode == 42 and done.stdout.split() == ["400"] and done.stderr == "", done
    rules = [f'{one["checker"]}/{one["rule"]}' for one in found["findings"]]
    assert rules == ["leaks/never-freed", "leaks/never-released", "misuse/use-after-destroy"], rules
    memory, misuse = found["findings"][0], found["findings"][2]
    assert memory["bytes"] == 3 << 20 and memory["calls"][0]["call"] == "cuMemAlloc_v2", memory
    symbols = [call["call"].split("(")[0] for call in misuse["calls"]]
    assert symbols == ["cuEventQuery", "cuEventDestroy_v2", "cuEventCreate"], misuse
    assert all(call["call_stack"] and call["call_stack"][0].startswith("#0 ") for call in misuse["calls"]), misuse
    assert found["misuses"] == 0, "the simulated driver did not see it"


def what_checkers_find_is_said_without_a_report():
    done = run(FAULTY, CUSHIM_CHECK="misuse")
    assert done.returncode == 0 and done.stdout.split() == ["400"], done
    assert "FINDING: misuse/use-after-destroy: event 0x" in done.stderr, done
    assert "destroy or free it after its last use" in done.stderr, done
    assert "leaks/" not in done.stderr and "is undefined" not in done.stderr, done


def hazards_are_found_in_programs_that_know_nothing_of_it():
    found, done = report("""
begin()
streams = [ctypes.c_void_p() for _ in range(2)]
for each in streams: assert cu.cuStreamCreate(ctypes.byref(each), 1) == 0
for each in streams: assert cu.cuMemsetD8Async(memory, 1, ctypes.c_size_t(64), each) == 0
assert cu.cuCtxSynchronize() == 0
end()
""", CUSHIM_CHECK="hazards,deadlock")
    assert done.returncode == 0 and [one["rule"] for one in found["findings"]] == ["unordered"], (found, done)
    assert "let stream 2 wait for it" in found["findings"][0]["advice"], found


def kernels_are_checked_in_programs_that_know_nothing_of_it():
    found, done = report("""
begin()
text = b'''.version 7.8
.target sm_52
.address_size 64
.visible .entry store(.param .u64 to) {
  .reg .u64 %d<2>; .reg .u32 %r<2>;
  ld.param.u64 %d0, [to];
  mov.u32 %r0, %tid.x;
  st.global.u32 [%d0], %r0;
  ret;
}'''
module, function = ctypes.c_void_p(), ctypes.c_void_p()
assert cu.cuModuleLoadData(ctypes.byref(module), text) == 0
assert cu.cuModuleGetFunction(ctypes.byref(function), module, b"store") == 0
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
assert cu.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, parameters, None) == 0
assert cu.cuCtxSynchronize() == 0
end()
""", CUSHIM_CHECK="memory,races,init,barriers", CUSHIM_ERROR_EXITCODE="42")
    assert done.returncode == 42 and len(found["findings"]) == 1, (found, done)
    race = found["findings"][0]
    assert (race["checker"], race["rule"], race["bytes"]) == ("races", "write-write", 4), race
    acts = [(call["role"], call["call"]) for call in race["calls"]]
    assert acts[0] == ("written by", "line 8 of the PTX, thread (0, 0, 0) of block (0, 0, 0)"), acts
    assert acts[1] == ("written by", "line 8 of the PTX, thread (1, 0, 0) of block (0, 0, 0)"), acts
    assert acts[2] == ("launched by", "cuLaunchKernel") and race["calls"][2]["call_stack"], race


def checkers_find_nothing_where_nothing_is():
    found, done = report("begin(); end(); cu.cuDevicePrimaryCtxRelease_v2(0)", CUSHIM_CHECK="leaks,misuse",
                         CUSHIM_ERROR_EXITCODE="42")
    assert done.returncode == 0 and found["findings"] == [] and not found["has_findings"], (found, done)


def calls_at_the_end_are_counted():
    found, done = report("import atexit; atexit.register(lambda: end() or print('freed')); begin()")
    assert done.stdout == "freed\n" and found["calls"]["cuMemFree_v2"] == 1 and not found["has_findings"], (done, found)


def an_exit_in_a_signal_handler_ends():
    """The handler of a fault in a driver call calls exit(): the call's locks are never released."""
    # 4096 is not mapped, so cuMemGetInfo faults when it writes there.
    done = run("""
begin()
exit = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda _: ctypes.CDLL(None).exit(3))
ctypes.CDLL(None).signal(signal.SIGSEGV, exit)
cu.cuMemGetInfo_v2(ctypes.c_void_p(4096), ctypes.c_void_p(4096))
""", CUSHIM_REPORT="/dev/null", CUSHIM_CHECK="leaks,misuse")
    assert done.returncode == 3, done


def an_idle_process_costs_no_time():
    """The driver's threads wait in the kernel and are not woken: looked at again and again, they have run no more."""
    done = run("""
begin()
assert cu.cuStreamCreate(ctypes.byref(stream), 0) == 0
for _ in range(100):
    assert cu.cuMemsetD8Async(memory, 1, ctypes.c_size_t(64), stream) == 0
assert cu.cuStreamSynchronize(stream) == 0
def look():
    threads = {}
    for thread in os.listdir('/proc/self/task'):
        if int(thread) == os.getpid(): continue
        status = open(f'/proc/self/task/{thread}/status').read()
        words = dict(line.split(':\\t', 1) for line in status.splitlines())
        threads[thread] = (words['State'][0], int(words['voluntary_ctxt_switches']))
    return threads
before = look()
while any(state != 'S' for state, _ in before.values()): before = look()
import time
begun = time.process_time()
while time.process_time() - begun < 0.5: pass
print(len(before), before == look())
""")
    assert done.stdout == "1 True\n", done


globals()[sys.argv[1]]()
