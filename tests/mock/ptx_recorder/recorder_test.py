#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the PTX of cubins is kept when libraries and programs make them, and found by the simulated driver.
NVRTC, nvJitLink and ptxas are replaced by small programs with their interfaces; tests/clients uses NVIDIA's own.

Usage: recorder_test.py TEST CUSHIM LIBRARY_FOLDER COMPILER
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

CUSHIM, FOLDER, COMPILER = sys.argv[2:5]
HERE = pathlib.Path(tempfile.mkdtemp(prefix="cushim-recorder-test-"))

PTX = ".version 7.8\n.target sm_52\n.address_size 64\n.visible .entry %s() { ret; }\n"

# An ELF header of the CUDA machine type, without sections. The last bytes of e_entry distinguish cubins.
CUBIN = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
static void make_cubin(unsigned char *to, const char *name) {
  memset(to, 0, 64);
  memcpy(to, "\\177ELF\\2\\1\\1", 7);
  to[18] = 190;
  to[52] = 64;
  strncpy((char *)to + 24, name, 8);
}
"""
PTX_IN_C = '".version 7.8\\n.target sm_52\\n.address_size 64\\n.visible .entry %s() { ret; }\\n"'

NVRTC = CUBIN + f"""
static const char ptx[] = {PTX_IN_C % "by_nvrtc"};
int nvrtcGetCUBINSize(void *program, size_t *size) {{ *size = 64; return 0; }}
int nvrtcGetCUBIN(void *program, char *cubin) {{ make_cubin((unsigned char *)cubin, program); return 0; }}
int nvrtcGetPTXSize(void *program, size_t *size) {{ *size = sizeof ptx; return 0; }}
int nvrtcGetPTX(void *program, char *to) {{ memcpy(to, ptx, sizeof ptx); return 0; }}
"""

# With -ptx it makes PTX and takes LTO IR only, else a cubin. The handle tells which: 2 or 1.
NVJITLINK = CUBIN + f"""
static const char ptx[] = {PTX_IN_C % "by_lto"};
int nvJitLinkCreate(void **link, uint32_t count, const char **options) {{
  *link = (void *)(uintptr_t)(count != 0 && strcmp(options[count - 1], "-ptx") == 0 ? 2 : 1);
  return 0;
}}
int nvJitLinkDestroy(void **link) {{ *link = 0; return 0; }}
int nvJitLinkAddData(void *link, int type, const void *data, size_t size, const char *name) {{
  return link == (void *)2 && type != 3 ? 12 : 0;
}}
int nvJitLinkAddFile(void *link, int type, const char *file) {{ return 0; }}
int nvJitLinkComplete(void *link) {{ return 0; }}
int nvJitLinkGetLinkedCubinSize(void *link, size_t *size) {{ *size = 64; return 0; }}
int nvJitLinkGetLinkedCubin(void *link, void *cubin) {{ make_cubin(cubin, "linked"); return 0; }}
int nvJitLinkGetLinkedPtxSize(void *link, size_t *size) {{ *size = sizeof ptx; return link == (void *)2 ? 0 : 5; }}
int nvJitLinkGetLinkedPtx(void *link, char *to) {{ memcpy(to, ptx, sizeof ptx); return 0; }}
"""

PTXAS = CUBIN + """
int main(int count, char **arguments) {
  unsigned char cubin[64];
  make_cubin(cubin, "ptxas");
  FILE *file = fopen(arguments[count - 1], "wb");
  fwrite(cubin, 1, sizeof cubin, file);
  fclose(file);
  memset(arguments[1], 0, strlen(arguments[1]));
  return 0;
}
"""

START = f"""
import ctypes, pathlib, subprocess, sys
HERE = pathlib.Path({str(HERE)!r})
cu = ctypes.CDLL('libcuda.so.1')
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert cu.cuInit(0) == 0
assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cu.cuCtxSetCurrent(context) == 0
def has(cubin, name):
    code = cu.cuModuleLoadData(ctypes.byref(module), cubin)
    assert code == 0, code
    assert cu.cuModuleGetFunction(ctypes.byref(function), module, name) == 0
    assert cu.cuLaunchKernel(function, *[1] * 6, 0, None, None, None) == 0 and cu.cuCtxSynchronize() == 0
    assert cu.cuModuleUnload(module) == 0
"""


def build(source, name, *flags):
    (HERE / (name + ".c")).write_text(source)
    subprocess.run([COMPILER, "-D_GNU_SOURCE", "-w", HERE / (name + ".c"), "-o", HERE / name, *flags], check=True)
    return HERE / name


def library(source, name, folder=""):
    (HERE / folder).mkdir(exist_ok=True)
    return build(source, folder + name, "-shared", "-fPIC", f"-Wl,-soname,{name}")


def run(program, *options, **variables):
    """Runs a Python program on the simulated driver. Returns its report and its standard error."""
    report = HERE / "report.%p.json"
    done = subprocess.run([CUSHIM, "run", "--library", FOLDER, "--report", report, *options, "--",
                           sys.executable, "-c", START + program],
                          env=os.environ | {"XDG_CACHE_HOME": str(HERE / "cache")} | variables,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    (file,) = HERE.glob("report.*.json")
    found = json.loads(file.read_text())
    file.unlink()
    return found, done.stderr


def expect_origin(report, *origins):
    assert [cubin["ptx_from"] for cubin in report["cubins"]] == list(origins), report["cubins"]


CALL_NVRTC = """
cubin = ctypes.create_string_buffer(64)
nvrtc = ctypes.CDLL(str(HERE / 'libnvrtc.so.12'))
assert nvrtc.nvrtcGetCUBIN(b'first', cubin) == 0
has(cubin, b'by_nvrtc')
"""


def nvrtc_opened_by_its_path():
    library(NVRTC, "libnvrtc.so.12")
    report, _ = run(CALL_NVRTC)
    expect_origin(report, "NVRTC")
    assert list((HERE / "cache/cushim/ptx").glob("*.ptx")), "not in the user's cache"


def nvrtc_that_a_library_links():
    nvrtc = library(NVRTC, "libnvrtc.so.12")
    build("int nvrtcGetCUBIN(void *, char *);\nint compile(char *cubin) { return nvrtcGetCUBIN(\"linked\", cubin); }",
          "libuser.so", "-shared", "-fPIC", nvrtc, f"-Wl,-rpath,{HERE}")
    report, _ = run("cubin = ctypes.create_string_buffer(64)\n"
                    "assert ctypes.CDLL(str(HERE / 'libuser.so')).compile(cubin) == 0\nhas(cubin, b'by_nvrtc')")
    expect_origin(report, "NVRTC")


def two_versions_of_nvrtc():
    library(NVRTC, "libnvrtc.so.12")
    library(NVRTC.replace("by_nvrtc", "by_other"), "libnvrtc.so.11", "other/")
    report, _ = run(CALL_NVRTC + """
other = ctypes.CDLL(str(HERE / 'other/libnvrtc.so.11'))
assert other.nvrtcGetCUBIN(b'second', cubin) == 0
has(cubin, b'by_other')
assert nvrtc.nvrtcGetCUBIN(b'third', cubin) == 0
has(cubin, b'by_nvrtc')
""")
    expect_origin(report, "NVRTC", "NVRTC", "NVRTC")


LINK = """
link = ctypes.c_void_p()
jit = ctypes.CDLL(str(HERE / 'libnvJitLink.so.12'))
jit.nvJitLinkAddData.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
assert jit.nvJitLinkCreate(ctypes.byref(link), 1, (ctypes.c_char_p * 1)(b'-arch=sm_90')) == 0
def add(kind, data):
    assert jit.nvJitLinkAddData(link, kind, data, len(data), b'input') == 0
def linked():
    cubin = ctypes.create_string_buffer(64)
    assert jit.nvJitLinkComplete(link) == 0 and jit.nvJitLinkGetLinkedCubin(link, cubin) == 0
    assert jit.nvJitLinkDestroy(ctypes.byref(link)) == 0
    return cubin
"""


def nvjitlink_of_ptx_and_cubins():
    library(NVRTC, "libnvrtc.so.12")
    library(NVJITLINK, "libnvJitLink.so.12")
    report, _ = run(CALL_NVRTC + LINK + f"""
add(2, {PTX % "first"!r}.encode())
add(1, cubin.raw)
cubin = linked()
has(cubin, b'first')
has(cubin, b'by_nvrtc')
""")
    expect_origin(report, "NVRTC", "nvJitLink")
    assert sorted(cubin["loads"] for cubin in report["cubins"]) == [1, 2], report


def fat_binary(kind, content):
    """Returns a fat binary with one entry for sm_90: PTX (kind 1) or LTO IR (8)."""
    entry = struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(content), 0, 0, 0, 0, 90, 0, 0, 0, 0, 0)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry + content)) + entry + content


def object_file(content):
    """Returns an object file of the host with a fat binary."""
    (HERE / "content").write_bytes(content)
    made = build(f'__asm__(".section __nv_relfatbin, \\"a\\"\\n.incbin \\"{HERE}/content\\"\\n.section .nvFatBinSegment, \\"a\\"\\n.quad 0\\n.previous");\n', "object.o", "-c")
    return made.read_bytes()


def archive(content):
    return b"!<arch>\n" + b"member.o/".ljust(16) + b"0".ljust(32) + str(len(content)).encode().ljust(10) + b"`\n" + content


def nvjitlink_of_objects_and_archives():
    library(NVJITLINK, "libnvJitLink.so.12")
    objects = [object_file(fat_binary(1, (PTX % name).encode() + b"\0")) for name in ("first", "second")]
    report, _ = run(LINK + f"""
add(5, {objects[0]!r})
add(10, {archive(objects[1])!r})
cubin = linked()
has(cubin, b'first')
has(cubin, b'second')
""")
    expect_origin(report, "nvJitLink")


def nvjitlink_of_lto_ir_in_an_object():
    library(NVJITLINK.replace("type != 3", "type != 5"), "libnvJitLink.so.12")
    report, _ = run(LINK + f"add(5, {object_file(fat_binary(8, b'LTO IR'))!r})\nhas(linked(), b'by_lto')")
    expect_origin(report, "nvJitLink")


def nvjitlink_of_lto_ir():
    library(NVJITLINK, "libnvJitLink.so.12")
    report, _ = run(LINK + "add(3, b'LTO IR')\nhas(linked(), b'by_lto')")
    expect_origin(report, "nvJitLink")


def nvjitlink_of_lto_ir_and_ptx():
    library(NVJITLINK, "libnvJitLink.so.12")
    report, _ = run(LINK + f"""
add(3, b'LTO IR')
add(2, {PTX % "first"!r}.encode())
cubin = linked()
has(cubin, b'by_lto')
has(cubin, b'first')
""")
    expect_origin(report, "nvJitLink")


def nvjitlink_with_the_device_runtime():
    library(NVJITLINK, "libnvJitLink.so.12")
    caller = PTX.replace("ret;", """
  .reg .b64 group; .param .b32 scope; .param .b64 result;
  st.param.b32 [scope], 1;
  call.uni (result), cudaCGGetIntrinsicHandle, (scope);
  ld.param.b64 group, [result];
  ret;""").replace(".visible", ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle (.param .b32 s);\n.visible")
    report, _ = run(LINK + f"add(2, {caller % 'meets'!r}.encode())\nadd(6, b'!<arch>')\nhas(linked(), b'meets')")
    expect_origin(report, "nvJitLink without the code of input")


def nvjitlink_with_a_limit_of_registers():
    library(NVJITLINK, "libnvJitLink.so.12")
    many = PTX.replace("ret;", ".reg .b32 r<120>; " + "".join(f"mov.u32 r{i}, {i}; " for i in range(120)) + "ret;")
    run(LINK.replace("1, (ctypes.c_char_p * 1)(b'-arch=sm_90')",
                     "2, (ctypes.c_char_p * 2)(b'-arch=sm_90', b'-maxrregcount=38')") + f"""
add(2, {many % "first"!r}.encode())
cubin = linked()
has(cubin, b'first')
assert cu.cuModuleLoadData(ctypes.byref(module), cubin) == 0
assert cu.cuModuleGetFunction(ctypes.byref(function), module, b'first') == 0
registers = ctypes.c_int()
assert cu.cuFuncGetAttribute(ctypes.byref(registers), 4, function) == 0
assert registers.value == 38, registers
""")


def nvjitlink_of_an_unknown_cubin():
    library(NVJITLINK, "libnvJitLink.so.12")
    cubin = "bytes([127, 69, 76, 70, 2, 1, 1]) + bytes(11) + bytes([190]) + bytes(33) + bytes([64]) + bytes(11)"
    report, _ = run(LINK + f"add(2, {PTX % 'first'!r}.encode())\nadd(1, {cubin})\nhas(linked(), b'first')")
    expect_origin(report, "nvJitLink without the code of input")


def ptxas_that_a_program_starts():
    (HERE / "bin").mkdir()
    build(PTXAS, "bin/ptxas")
    (HERE / "in.ptx").write_text("// a comment\n" + PTX % "by_ptxas")
    report, _ = run("""
subprocess.run([HERE / 'bin/ptxas', '--gpu-name=sm_90', HERE / 'in.ptx', '-o', HERE / 'out.cubin'], check=True)
has((HERE / 'out.cubin').read_bytes(), b'by_ptxas')
""")
    expect_origin(report, "ptxas")


REFUSED = """
assert nvrtc.nvrtcGetCUBIN(b'first', cubin) == 0
code = cu.cuModuleLoadData(ctypes.byref(module), cubin)
assert code == 209, code
"""


def without_a_store_the_report_says_so():
    library(NVRTC, "libnvrtc.so.12")
    report, said = run(CALL_NVRTC.replace("has(cubin, b'by_nvrtc')", "") + REFUSED, "--ptx-store", "none")
    expect_origin(report, "")
    assert "no PTX is kept" in said and not (HERE / "cache").exists(), said


def a_cubin_made_elsewhere_is_reported():
    library(NVRTC.replace("nvrtcGetPTXSize", "nvrtcGetPTXLength"), "libnvrtc.so.12")
    report, said = run(CALL_NVRTC.replace("has(cubin, b'by_nvrtc')", "") + REFUSED,
                       "--ptx-store", str(HERE / "mine"))
    expect_origin(report, "")
    assert f"its PTX is not in {HERE}/mine" in said, said


try:
    globals()[sys.argv[1]]()
finally:
    shutil.rmtree(HERE, ignore_errors=True)
