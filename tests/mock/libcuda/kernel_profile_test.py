#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests `cushim run --profile-kernels`, `--kernel-times` and `--kernel-limit` with a program that launches a kernel in PTX.

Usage: kernel_profile_test.py TEST CUSHIM LIBRARY_FOLDER [BROWSER]
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CUSHIM, FOLDER = sys.argv[2:4]
BROWSER = "".join(sys.argv[4:])
HERE = pathlib.Path(tempfile.mkdtemp(prefix="cushim-kernel-profile-test-"))

# Every thread stores to words[2 * tid] of global memory, and to words[4 * tid] of shared memory.
PROGRAM = r"""
import ctypes
PTX = b'''
.version 7.8
.target sm_52
.address_size 64
.file 1 "spread.cu"
.visible .entry spread(.param .u64 to) {
  .shared .align 4 .b8 words[512];
  .reg .u64 a; .reg .u32 t, s;
  .loc 1 3 1
  ld.param.u64 a, [to];
  mov.u32 t, %tid.x;
  mad.wide.u32 a, t, 8, a;
  .loc 1 4 1
  st.global.u32 [a], t;
  mov.u32 s, words;
  mad.lo.u32 s, t, 16, s;
  st.shared.u32 [s], t;
  ret;
}
'''
cu = ctypes.CDLL('libcuda.so.1')
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
memory = ctypes.c_uint64()
assert cu.cuInit(0) == 0
assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cu.cuCtxSetCurrent(context) == 0
assert cu.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096)) == 0
assert cu.cuModuleLoadData(ctypes.byref(module), PTX) == 0
assert cu.cuModuleGetFunction(ctypes.byref(function), module, b'spread') == 0
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
begin, end, milliseconds = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
assert cu.cuEventCreate(ctypes.byref(begin), 0) == 0 and cu.cuEventCreate(ctypes.byref(end), 0) == 0
assert cu.cuEventRecord(begin, None) == 0
for i in range(3):
    assert cu.cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, None, parameters, None) == 0
assert cu.cuEventRecord(end, None) == 0 and cu.cuCtxSynchronize() == 0
assert cu.cuEventElapsedTime(ctypes.byref(milliseconds), begin, end) == 0
import sys
print('done' if len(sys.argv) < 2 else milliseconds.value)
"""


def run(*options, status=0, prints_time=False):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUSHIM_")}
    done = subprocess.run([CUSHIM, "run", "--library", FOLDER, "--ptx-store", "none", *options, "--", sys.executable, "-c",
                           PROGRAM] + ["time"] * prints_time, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == status, done
    return done


def the_summary_is_on_stderr():
    done = run("--profile-kernels")
    assert done.stdout == "done\n", done
    for line in ("kernel spread: 3 launches, 6 blocks, 192 threads", "0 of 0 branches diverged",
                 "global: 6 requests, 0 bytes read, 768 written; 8.00 sectors per request, ideal 4.00",
                 "shared: 6 requests, 0 bytes read, 768 written; 4.00 passes per request, ideal 1.00; 18 bank conflicts",
                 "(spread.cu:4): global: "):
        assert line in done.stderr, done.stderr
    assert all(re.match(r"cushim\[\d+\]: ", line) for line in done.stderr.splitlines()), done.stderr


def without_the_option_nothing_is_counted():
    assert run().stderr == ""


def a_script_reads_it_as_json():
    done = run(f"--profile-kernels={HERE}/profile.json")
    (file,) = HERE.glob("profile.*.json")
    (kernel,) = json.loads(file.read_text())["kernels"]
    assert kernel["kernel"] == "spread" and kernel["launches"] == 3, kernel
    store = next(one for one in kernel["instructions"] if one["class"] == "store")
    assert store["executions"] == 6 and store["spaces"]["global"]["transactions"] == 48, store
    assert "kernel spread" in done.stderr, done


def a_name_with_the_process_keeps_it():
    run(f"--profile-kernels={HERE}/%p.json")
    (file,) = HERE.glob("*.json")
    assert file.stem.isdigit(), file


def another_format_is_refused():
    done = run(f"--profile-kernels={HERE}/profile.txt", status=2)
    assert "must be stderr, FILE.html or FILE.json" in done.stderr and done.stdout == "", done
    done = run("--profile-kernels=/nonexistent/profile.html", status=2)
    assert "/nonexistent/profile." in done.stdout + done.stderr, done


def the_page_shows_the_counts_of_each_line():
    run(f"--profile-kernels={HERE}/profile.html")
    (file,) = HERE.glob("profile.*.html")
    page = file.read_text()
    assert "src=" not in page and "http" not in page, "the page needs other files"
    if not BROWSER:
        return
    shown = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={HERE}/browser",
                            "--virtual-time-budget=20000", "--dump-dom", file.as_uri()],
                           capture_output=True, text=True, timeout=100).stdout
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.S) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", shown, re.S)]
    rows = {row[8].strip(): row for row in rows if len(row) == 10}
    assert any(".entry spread" in text for text in rows), shown
    assert rows["st.global.u32 [a], t;"][1:5] == ["6", "32.0", "8.00 / 4.00", ""], rows
    assert rows["st.shared.u32 [s], t;"][4] == "4.00 / 1.00", rows
    assert rows["st.global.u32 [a], t;"][9] == "spread.cu:4", rows
    assert '<option value="0">spread (3)</option>' in shown, shown
    assert "rgba(" in shown, "no line is coloured"


def the_time_of_kernels_is_modelled_by_request():
    fixed, model = (float(run("--kernel-times", times, prints_time=True).stdout) for times in ("fixed", "model"))
    assert fixed == float(run(prints_time=True).stdout), fixed
    assert model != fixed and 0.5 * fixed < model < 2 * fixed, (fixed, model)
    assert model == float(run("--kernel-times", "model", "--schedule", "eager", prints_time=True).stdout), model
    assert "--kernel-times" in run("--kernel-times", "guessed", status=2).stderr


def a_kernel_ends_after_a_number_of_instructions():
    assert run("--kernel-limit", "100").stdout == "done\n"
    assert "kernel spread: instruction budget" in run("--kernel-limit", "10", status=1).stderr
    assert "CUSHIM_KERNEL_LIMIT" in run("--kernel-limit", "many", status=2).stderr


try:
    globals()[sys.argv[1]]()
finally:
    shutil.rmtree(HERE, ignore_errors=True)
