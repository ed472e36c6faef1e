#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program with deliberate errors under NVIDIA's tools and checks their reports.

  judge.py --program table=build/.../fault_through_the_table --program drop-in=build/.../fault_through_the_drop_in

Each tool must report the error of a program that has one, and no error otherwise. Exit codes: 0 all checks passed, 1 a
check failed, 77 compute-sanitizer is not installed.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SANITIZERS = ["compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer"]
PROFILERS = ["ncu", "/usr/local/cuda/bin/ncu"]
CUPTI = ["/usr/local/cuda/extras/CUPTI", "/usr/local/cuda/targets/x86_64-linux"]

# Each check: the error, the tool's options, and a pattern that its report must match.
CHECKS = [
    ("none", ["--tool", "memcheck", "--leak-check", "full"], r"ERROR SUMMARY: 0 errors"),
    ("none", ["--tool", "initcheck"], r"ERROR SUMMARY: 0 errors"),
    ("write", ["--tool", "memcheck"], r"Invalid __global__ write of size 4 bytes"),
    ("leak", ["--tool", "memcheck", "--leak-check", "full"], r"Leaked 256 bytes"),
    ("call", ["--tool", "memcheck", "--report-api-errors", "all"], r"CUDA_ERROR_INVALID_VALUE.*cuMemAlloc"),
    ("uninitialized", ["--tool", "initcheck"], r"Uninitialized __global__ memory read of size 4 bytes"),
]
# The calls of the program. cuInit is missing: the driver loads the injected library inside it.
CALLS = ["cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuModuleLoadData", "cuModuleGetFunction", "cuMemAlloc_v2", "cuMemsetD8_v2",
         "cuLaunchKernel", "cuCtxSynchronize", "cuMemFree_v2", "cuModuleUnload", "cuDevicePrimaryCtxRelease_v2"]


def found(names):
    return next((path for path in map(shutil.which, names) if path), None)


def output_of(command, **environment):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                          env=os.environ | environment)
    return done.stdout


def report(name, tool, fault, good, output):
    print(f"{'ok    ' if good else 'FAILED'} {name:8} {tool:32} {fault}", flush=True)
    if not good:
        print(output)
    return good


def sanitize(sanitizer, name, program):
    good = True
    for fault, options, wanted in CHECKS:
        output = output_of([sanitizer, *options, program, fault])
        good &= report(name, " ".join(options), fault, bool(re.search(wanted, output)), output)
    return good


def profile(profiler, name, program):
    """Checks that Nsight Compute names the launched kernel."""
    output = output_of([profiler, "--section", "LaunchStats", "--clock-control", "none", program, "none"])
    return report(name, "ncu", "lists the kernel", bool(re.search(r"\bput \(1, 1, 1\)x\(1, 1, 1\)", output)), output)


def list_calls(library, name, program):
    """Checks that CUPTI reports every call, in order."""
    output = output_of([program, "none"], CUDA_INJECTION64_PATH=str(library))
    calls = re.findall(r"^call (\w+)$", output, re.MULTILINE)
    rest = iter(calls)
    return report(name, "CUPTI", f"lists {len(calls)} calls", all(call in rest for call in CALLS), output)


def build_list_calls(folder):
    """Builds list_calls.c as a library in the folder. Returns its path, or None without CUPTI or a compiler."""
    home = next((Path(path) for path in CUPTI if (Path(path) / "include/cupti.h").exists()), None)
    compiler = found(["cc", "gcc", "clang"])
    if home is None or compiler is None:
        return None
    libraries = next((home / path for path in ["lib64", "lib"] if any((home / path).glob("libcupti.so*"))), None)
    if libraries is None:
        return None
    file = next(iter(sorted(libraries.glob("libcupti.so*"))))
    library = folder / "liblist_calls.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-Wall", "-Wextra", "-I", home / "include",
                    "-I", "/usr/local/cuda/include", Path(__file__).with_name("list_calls.c"), file,
                    f"-Wl,-rpath,{libraries}", "-o", library], check=True)
    return library


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", action="append", required=True, metavar="NAME=PATH")
    parser.add_argument("--work", type=Path, default=Path("."),
                        help="folder for the library that the script builds; default: the current directory")
    options = parser.parse_args()
    sanitizer = found(SANITIZERS)
    if sanitizer is None:
        print("cushim-skip: compute-sanitizer is not installed")
        return 77
    profiler, library = found(PROFILERS), build_list_calls(options.work)
    good = True
    for program in options.program:
        name, _, path = program.partition("=")
        good &= sanitize(sanitizer, name, path)
        if profiler:
            good &= profile(profiler, name, path)
        if library:
            good &= list_calls(library.resolve(), name, path)
    for what, there in [("ncu", profiler), ("CUPTI", library)]:
        if not there:
            print(f"not run: {what} is not installed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
