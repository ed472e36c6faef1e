#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs an unmodified program on the simulated driver. Checks its output and the report of its driver calls,
because an exit status of 0 alone proves nothing.

Usage: check_client.py CLIENT LIBRARY_FOLDER [PYTHON]
Exit codes: 0 all checks passed, 1 a check failed, 77 the program is not installed.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from cubin import cubin

NOT_INSTALLED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(NOT_INSTALLED)


def program(*names):
    for name in names:
        if found := shutil.which(name):
            return found
    skip(f"{names[0]} is not installed")


def run(command, folder, cwd=None, **variables):
    """Returns the program's standard output, and the report of the process that made the most calls."""
    with tempfile.TemporaryDirectory() as reports:
        environment = os.environ | {
            "LD_LIBRARY_PATH": folder,
            "CUSHIM_DEVICES": "h200x2",
            "CUSHIM_REPORT": f"{reports}/%p.json",
            "CUSHIM_PTX_STORE": f"{reports}/ptx",
            "LD_AUDIT": f"{folder}/libcushim_ptx_recorder.so",
        } | variables
        done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=120)
        print(done.stdout, done.stderr)
        if done.returncode == NOT_INSTALLED:
            skip(done.stdout)
        if done.returncode != 0:
            sys.exit(f"{command[0]} ended with {done.returncode}")
        found = [json.loads(file.read_text()) for file in pathlib.Path(reports).glob("*.json")]
    found = [report for report in found if report["has_ended"]]
    if not found:
        sys.exit("no process opened the simulated driver")
    return done.stdout, max(found, key=lambda report: sum(report["calls"].values()))


def need_output(output, *patterns):
    for pattern in patterns:
        if not re.search(pattern, output):
            sys.exit(f"its output lacks: {pattern}")


def need_calls(report, **least):
    """Requires a minimum number of calls of each function. A name without suffix means all its ABIs."""
    print(json.dumps(report["calls"]))
    for name, count in least.items():
        any_abi = re.compile(name + "(_v[0-9]+)?(_pt[sd][sz])?")
        made = sum(n for symbol, n in report["calls"].items() if any_abi.fullmatch(symbol))
        if made < count:
            sys.exit(f"{made} calls of {name}, at least {count} are asked for")


def need_nothing_missing(report):
    if report["not_implemented"]:
        sys.exit(f"called, but not implemented: {report['not_implemented']}")


def need_ptx(report, *makers):
    """Requires that the program loaded one cubin of each of these makers, and that all have PTX."""
    found = sorted(cubin["ptx_from"] for cubin in report["cubins"])
    if found != sorted(makers):
        sys.exit(f"its cubins have PTX from {found}, not from {makers}")


def need_python_package(python, package):
    if subprocess.run([python, "-c", f"import {package}"], capture_output=True).returncode != 0:
        skip(f"the Python package {package} is not installed; tools/dev clients installs it")


def run_python(folder, python, package, client, *more, **environment):
    """Runs a client in Python, which needs a package. Its output must have the line that all clients in Python print at
    their end, and each pattern of `more`. Returns the report."""
    need_python_package(python, package)
    output, report = run([python, HERE / client], folder, **environment)
    need_output(output, r"(?m)^all is as it should be$", *more)
    return report


def llvm_omp_device_info(folder, _):
    output, report = run([program("llvm-omp-device-info", "llvm-omp-device-info-14")], folder)
    need_output(output, r"(?s)NVIDIA H200.*NVIDIA H200", r"Number of Multiprocessors:\s+132")
    need_calls(report, cuInit=1, cuDeviceGetCount=1, cuDeviceGetName=2, cuDeviceGetAttribute=50)
    need_nothing_missing(report)


def hashcat(folder, _):
    output, report = run([program("hashcat"), "-I"], folder)
    need_output(output, r"CUDA\.Version\.: 13\.0", r"(?s)NVIDIA H200.*NVIDIA H200", r"Processor\(s\)\.*: 132")
    need_calls(report, cuInit=1, cuDeviceGetCount=1, cuDeviceGetName=2, cuCtxCreate=2, cuMemGetInfo=2)
    need_nothing_missing(report)


def hashcat_attack(folder, python):
    """hashcat compiles its kernels by NVRTC, tests them, and finds the password of an MD5 hash."""
    nvrtc = subprocess.run([python, "-c", "import nvidia.cu13; print(nvidia.cu13.__path__[0])"], capture_output=True, text=True)
    library = pathlib.Path(nvrtc.stdout.strip()) / "lib" / "libnvrtc.so.13"
    if not library.exists():
        skip("NVRTC is not installed; tools/dev clients installs it")
    with tempfile.TemporaryDirectory() as work:
        (pathlib.Path(work) / "libnvrtc.so").symlink_to(library)
        hashes, words = pathlib.Path(work) / "hashes", pathlib.Path(work) / "words"
        hashes.write_text("e10adc3949ba59abbe56e057f20f883e\n")
        words.write_text("password\n123456\nqwerty\n")
        output, report = run([program("hashcat"), "-m", "0", "-a", "0", "-d", "1", "--force", "-n", "1", "-u", "1", "-T", "32",
                              "--potfile-disable", hashes, words], folder, cwd=work, HOME=work, XDG_DATA_HOME=work,
                             XDG_CACHE_HOME=work, LD_LIBRARY_PATH=f"{folder}:{work}:{library.parent}", CUSHIM_DEVICES="h200")
    need_output(output, r"e10adc3949ba59abbe56e057f20f883e:123456", r"Status\.+: Cracked")
    need_calls(report, cuModuleLoadDataEx=2, cuLaunchKernel=4)
    need_nothing_missing(report)


def boinc(folder, _):
    """boinc opens libcuda.so, without a version suffix, and calls the oldest ABI."""
    with tempfile.TemporaryDirectory() as work:
        _, report = run([program("boinc"), "--detect_gpus"], folder, cwd=work)
        found = (pathlib.Path(work) / "coproc_info.xml").read_text()
    need_output(found, r"(?s)(<name>NVIDIA H200</name>.*){2}", r"<cuda_version>13000<",
                r"<multiProcessorCount>132<", r"<totalGlobalMem>150109880320\.0")
    need_calls(report, cuInit=1, cuDeviceGetCount=1, cuDeviceComputeCapability=2, cuDeviceGetAttribute=30)
    if report["calls"].get("cuCtxCreate") != 2:
        sys.exit("it did not make its contexts by the oldest ABI")
    need_nothing_missing(report)


def openacc(folder, _):
    compiler = program("gcc-12", "gcc")
    plugin = subprocess.run([compiler, "-print-file-name=libgomp-plugin-nvptx.so.1"], capture_output=True, text=True)
    if not os.path.isabs(plugin.stdout.strip()):
        skip("GCC's nvptx offload plugin is not installed")
    with tempfile.TemporaryDirectory() as build:
        binary = f"{build}/openacc"
        subprocess.run([compiler, "-fopenacc", "-foffload=disable", HERE / "openacc.c", "-o", binary], check=True)
        output, report = run([binary], folder, ACC_DEVICE_TYPE="nvidia")
    need_output(output, r"NVIDIA H200", r"(?m)^the same: 1048576 of 1048576 bytes$")
    need_calls(report, cuMemAlloc=2, cuMemcpyHtoDAsync=2, cuMemcpyDtoHAsync=2, cuEventRecord=1,
               cuStreamWaitEvent=1, cuStreamCreate=2, cuStreamSynchronize=2)
    need_nothing_missing(report)


def ffmpeg(folder, _):
    command = [program("ffmpeg"), "-v", "error", "-init_hw_device", "cuda=gpu:0", "-filter_hw_device", "gpu",
               "-f", "lavfi", "-i", "testsrc=duration=0.4:size=320x240:rate=25", "-f", "framemd5"]
    plain = subprocess.run([*command[:3], *command[7:11], "-vf", "format=nv12", *command[11:], "-"],
                           capture_output=True, text=True, check=True).stdout
    output, report = run([*command, "-vf", "format=nv12,hwupload,hwdownload,format=nv12", "-"], folder)
    if "cuMemcpy2DAsync_v2" in report["not_implemented"]:
        skip("the simulated driver has no copies of two dimensions")
    frames = [line for line in output.splitlines() if not line.startswith("#")]
    if len(set(frames)) != 10 or frames != [line for line in plain.splitlines() if not line.startswith("#")]:
        sys.exit(f"frames differ from those that were not on the device:\n{plain}")
    need_calls(report, cuMemAlloc=1, cuMemcpy2DAsync=40)
    need_nothing_missing(report)


def ffmpeg_filters(folder, _):
    """A filter that copies gives the same frames. One that chooses frames reads them with linear filtering, so that its
    choice is not that of the filter on the host."""
    source = ["-f", "lavfi", "-i", "testsrc=duration=0.4:size=320x240:rate=25"]
    start = [program("ffmpeg"), "-v", "error"]
    device = ["-init_hw_device", "cuda=gpu:0", "-filter_hw_device", "gpu"]

    def frames(text):
        return [line for line in text.splitlines() if not line.startswith("#")]

    plain = frames(subprocess.run([*start, *source, "-vf", "format=yuv420p", "-f", "framemd5", "-"],
                                  capture_output=True, text=True, check=True).stdout)
    for filter, count in (("scale_cuda=320:240:passthrough=0", 10), ("thumbnail_cuda=5", 2)):
        output, report = run([*start, *device, *source, "-vf", f"format=yuv420p,hwupload,{filter},hwdownload,format=yuv420p",
                              "-f", "framemd5", "-"], folder)
        if len(frames(output)) != count or not set(frames(output)) <= set(plain):
            sys.exit(f"{filter} gives other frames than there are:\n" + "\n".join(plain))
        need_calls(report, cuModuleLoadData=1, cuTexObjectCreate=1, cuLaunchKernel=1)
        need_nothing_missing(report)


def cuda_bindings(folder, python):
    report = run_python(folder, python, "cuda.bindings", "bindings_client.py")
    need_calls(report, cuMemAlloc=1, cuMemcpyHtoDAsync=1, cuMemcpyDtoHAsync=1, cuEventElapsedTime=1, cuStreamCreate=1)
    need_nothing_missing(report)


def cuda_core(folder, python):
    report = run_python(folder, python, "cuda.core", "core_client.py")
    need_calls(report, cuStreamCreateWithPriority=1, cuEventRecord=2, cuEventElapsedTime=1, cuDeviceGetAttribute=100,
               cuMemcpyAsync=1, cuDevicePrimaryCtxRetain=1)


def cuda_core_ipc(folder, python):
    report = run_python(folder, python, "cuda.core", "core_ipc_client.py")
    need_calls(report, cuIpcGetMemHandle=1, cuIpcGetEventHandle=1, cuEventRecord=1, cuMemPoolExportPointer=1)
    need_nothing_missing(report)


def numba_cuda(folder, python):
    report = run_python(folder, python, "numba_cuda", "numba_client.py", r"2/2 devices are supported",
                        NUMBA_CUDA_DRIVER=f"{folder}/libcuda.so.1")
    need_calls(report, cuMemAlloc=2, cuMemcpyHtoD=1, cuMemcpyDtoHAsync=1, cuEventElapsedTime=1, cuStreamCreate=1)
    need_nothing_missing(report)


def pycuda(folder, python):
    report = run_python(folder, python, "pycuda", "pycuda_client.py")
    need_calls(report, cuCtxCreate=1, cuMemAlloc=1, cuMemcpyHtoDAsync=1, cuMemcpyDtoHAsync=1, cuEventElapsedTime=1,
               cuMemAllocManaged=1, cuMemAllocPitch=1, cuModuleLoadDataEx=1)
    if report["not_implemented"] not in ([], ["cuModuleLoadDataEx"]):
        sys.exit(f"called, but not implemented: {report['not_implemented']}")


def cuda_core_kernels(folder, python):
    report = run_python(folder, python, "cuda.core", "core_kernels_client.py")
    need_ptx(report, "NVRTC", "nvJitLink", "nvJitLink")


def numba_kernels(folder, python):
    report = run_python(folder, python, "numba_cuda", "numba_kernels_client.py",
                        NUMBA_CUDA_DRIVER=f"{folder}/libcuda.so.1")
    need_ptx(report, "nvJitLink", "nvJitLink", "nvJitLink")


def pycuda_kernels(folder, python):
    report = run_python(folder, python, "pycuda", "pycuda_kernels_client.py")
    need_ptx(report, "ptxas")


def registered(folder, command_for):
    """Runs a program that adds two vectors by the kernel of a cubin without PTX, which a library in C registers.
    command_for(compiler, folder) builds it, and returns its command without the cubin."""
    compiler = program("gcc-12", "gcc", "cc")
    with tempfile.TemporaryDirectory() as build:
        kernels, code = f"{build}/libkernels.so", f"{build}/add.cubin"
        subprocess.run([compiler, "-shared", "-fPIC", f"-I{HERE.parents[1]}/mock/include", HERE / "registered_kernels.c",
                        "-o", kernels], check=True)
        pathlib.Path(code).write_bytes(cubin("add"))
        output, report = run([*command_for(compiler, build), code], folder, CUSHIM_KERNELS=kernels,
                             NUMBA_CUDA_DRIVER=f"{folder}/libcuda.so.1")
    need_calls(report, **{"cuLaunchKernel(Ex)?": 1})
    need_nothing_missing(report)
    return output


def registered_vector_addition(folder, _):
    def build(compiler, to):
        headers = os.environ.get("CUSHIM_TEST_HEADERS", "/usr/local/cuda/include")
        subprocess.run([compiler, f"-I{headers}", HERE / "vector_addition.c", f"{folder}/libcuda.so.1", "-o",
                        f"{to}/vector_addition"], check=True)
        return [f"{to}/vector_addition"]
    need_output(registered(folder, build), r"(?m)^all is as it should be$")


def registered_openmp(folder, _):
    """LLVM's offload plugin reads the cubin and launches its kernel."""
    libraries = "/usr/lib/llvm-14/lib"
    if not os.path.exists(f"{libraries}/libomptarget.rtl.cuda.so"):
        skip("LLVM 14's offload plugin is not installed (Debian: libomp-14-dev)")

    def build(compiler, to):
        # libomptarget calls functions of libomp, and does not name it as a dependency.
        subprocess.run([compiler, HERE / "openmp.c", "-Wl,--no-as-needed", f"{libraries}/libomptarget.so",
                        f"{libraries}/libomp.so", f"-Wl,-rpath,{libraries}", "-o", f"{to}/openmp"], check=True)
        return [f"{to}/openmp"]
    need_output(registered(folder, build), r"(?m)^2 devices$", r"(?m)^0: 1000 of 1000 sums$")


def registered_by(package, module):
    def client(folder, python):
        need_python_package(python, module)
        output = registered(folder, lambda *_: [python, HERE / "registered_client.py", package])
        need_output(output, r"(?m)^all is as it should be$")
    client.__name__ = f"registered_{package}"
    return client


def tinygrad(folder, python):
    need_python_package(python, "tinygrad")
    nvrtc = next(pathlib.Path(python).parent.parent.glob("lib/python*/site-packages/nvidia/cu13/lib"), folder)
    output, report = run([python, HERE / "tinygrad_client.py"], folder, LD_LIBRARY_PATH=f"{folder}:{nvrtc}",
                         CACHELEVEL="0")
    need_output(output, r"(?m)^all is as it should be$")
    need_calls(report, cuModuleLoadData=10, cuLaunchKernel=10, cuGraphAddKernelNode=2, cuGraphLaunch=2,
               cuCtxEnablePeerAccess=2)
    need_nothing_missing(report)


CLIENTS = {function.__name__: function for function in
           (llvm_omp_device_info, hashcat, hashcat_attack, boinc, openacc, ffmpeg, ffmpeg_filters, cuda_bindings, cuda_core,
            cuda_core_ipc, cuda_core_kernels, numba_cuda, numba_kernels, pycuda, pycuda_kernels, registered_vector_addition, registered_openmp,
            registered_by("cuda_core", "cuda.core"), registered_by("numba_cuda", "numba_cuda"), registered_by("pycuda", "pycuda"),
            tinygrad)}

if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4 or sys.argv[1] not in CLIENTS:
        sys.exit(__doc__ + "Clients: " + ", ".join(CLIENTS))
    CLIENTS[sys.argv[1]](sys.argv[2], sys.argv[3] if len(sys.argv) == 4 else sys.executable)
