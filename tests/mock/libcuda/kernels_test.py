#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests kernels in C that `cushim run --kernels` registers, with a program that loads a cubin.

Usage: kernels_test.py TEST CUSHIM LIBRARY_FOLDER COMPILER INCLUDE_FOLDER
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cubin import cubin

CUSHIM, FOLDER, COMPILER, INCLUDE = sys.argv[2:6]
HERE = pathlib.Path(tempfile.mkdtemp(prefix="cushim-kernels-test-"))

KERNELS = """
#include <cushim/sim/kernels.h>
static int scale(const CushimLaunch *launch) {
  const float factor = *(const float *)launch->parameters[1];
  size_t available = 0;
  float *values = launch->memory(launch, *(const unsigned long long *)launch->parameters[0], &available);
  if (values == NULL || available < launch->grid[0] * launch->block[0] * sizeof *values) return 700;
  for (unsigned i = 0; i < launch->grid[0] * launch->block[0]; ++i) values[i] *= factor;
  return 0;
}
void cushim_register_kernels(const CushimKernels *kernels) {
  const size_t sizes[] = {8, 4};
  kernels->add(kernels, "scale", scale, 2, sizes);
}
"""

PROGRAM = f"""
import ctypes, sys
cu = ctypes.CDLL('libcuda.so.1')
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
memory, factor, there = ctypes.c_uint64(), ctypes.c_float(3), (ctypes.c_float * 8)(*range(8))
assert cu.cuInit(0) == 0
assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cu.cuCtxSetCurrent(context) == 0
assert cu.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(32)) == 0
assert cu.cuMemcpyHtoD_v2(memory, there, ctypes.c_size_t(32)) == 0
print(cu.cuModuleLoad(ctypes.byref(module), b'{HERE}/code.cubin'))
print(cu.cuModuleGetFunction(ctypes.byref(function), module, b'scale'))
parameters = (ctypes.c_void_p * 2)(ctypes.addressof(memory), ctypes.addressof(factor))
print(cu.cuLaunchKernel(function, int(sys.argv[1]), 1, 1, 4, 1, 1, 0, None, parameters, None))
print(cu.cuCtxSynchronize())
if sys.argv[1] == '2':
    assert cu.cuMemcpyDtoH_v2(there, memory, ctypes.c_size_t(32)) == 0
    print(*there)
    assert cu.cuMemFree_v2(memory) == 0 and cu.cuModuleUnload(module) == 0
"""


def run(*options, blocks=2):
    (HERE / "code.cubin").write_bytes(cubin("scale", "other"))
    done = subprocess.run([CUSHIM, "run", "--library", FOLDER, "--ptx-store", "none", *options, "--", sys.executable, "-c",
                           PROGRAM, str(blocks)], capture_output=True, text=True, timeout=60)
    return done, done.stdout.split()


def library(source=KERNELS):
    (HERE / "kernels.c").write_text(source)
    subprocess.run([COMPILER, "-shared", "-fPIC", f"-I{INCLUDE}", HERE / "kernels.c", "-o", HERE / "libkernels.so"],
                   check=True)
    return str(HERE / "libkernels.so")


def a_registered_kernel_runs():
    done, words = run("--kernels", library())
    assert words[:4] == ["0"] * 4 and words[4:] == [str(3.0 * i) for i in range(8)], done


def an_error_of_its_function_ends_the_launch():
    done, words = run("--kernels", library(), blocks=3)
    assert words[2:4] == ["0", "700"] and "kernel scale: its function returned 700" in done.stderr, done


def a_library_without_kernels_ends_the_program():
    for path, words in ((library("int nothing;"), "does not define cushim_register_kernels()"),
                        ("/nonexistent.so", "/nonexistent.so")):
        done, _ = run("--kernels", path)
        assert done.returncode == 2 and words in done.stderr, done


def kernels_that_are_skipped_are_findings():
    done, words = run("--skip-kernels", "--report", str(HERE / "%p.json"))
    assert words[:4] == ["0"] * 4 and words[4:] == [str(float(i)) for i in range(8)], done
    (file,) = HERE.glob("*.json")
    report = json.loads(file.read_text())
    assert report["skipped_kernels"] == [{"kernel": "scale", "launches": 1}] and report["has_findings"], report


try:
    globals()[sys.argv[1]]()
finally:
    shutil.rmtree(HERE, ignore_errors=True)
