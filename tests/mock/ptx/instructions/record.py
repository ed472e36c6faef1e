#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs each form of forms.py on a GPU and records the results: record.py FOLDER [--ptx FILE | FAMILY...]

Writes into FOLDER:
  forms.tsv    a line for each form that the driver accepts: body, input types, output type
  inputs.bin   little-endian u64: for each type of TYPES, arity 1 to 3, operand: COUNT values
  results.bin  for each line of forms.tsv COUNT results, each as wide as its output type, but at least 16 bits
  refused.tsv  the forms that the driver refuses, with the message of its compiler
  gpu.txt      the device and the driver
The two .bin files are stored compressed: zstd -19 --rm data/*.bin.
With names of families of forms.py, records only these: append the files to those of data/ (results.bin uncompressed).
With --ptx, writes the kernels of all forms to FILE and needs no GPU.
"""
import ctypes
import random
import struct
import sys

from forms import BITS, FAMILIES, forms

COUNT = 512
TARGET = "sm_90a"
TYPES = ("i16", "i32", "i64", "n32", "b5", "s5", "p", "f16", "bf16", "f16x2", "bf16x2", "f32", "f64")


def float_edges(exponent, mantissa):
    """Returns the bits of zero, the smallest and largest subnormal and normal numbers, powers of two, halves, NaNs."""
    bias, top = (1 << (exponent - 1)) - 1, (1 << exponent) - 1
    number = lambda e, m: (e << mantissa) | m
    full = (1 << mantissa) - 1
    positive = [0, 1, full, number(1, 0), number(bias, 0), number(bias, 1), number(bias - 1, full), number(bias - 1, 0),
                number(bias, 1 << (mantissa - 1)), number(bias + 1, 1 << (mantissa - 2)), number(top - 1, full), number(top, 0),
                number(top, 1 << (mantissa - 1)), number(top, 1), number(top, full)]
    return positive + [1 << (exponent + mantissa) | one for one in positive]


FLOATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}


def edges(kind):
    if kind in FLOATS:
        return float_edges(*FLOATS[kind])
    if kind[0] == "i":
        bits = int(kind[1:])
        half = 1 << (bits - 1)
        return [0, 1, 2, 3, 7, 0x7F, 0x80, 0xFF, 0x100, half - 1, half, half + 1, 2 * half - 1, 2 * half - 2, 2 * half - 128,
                0x5555555555555555 & (2 * half - 1), half >> 1]
    if kind == "n32":
        return [0, 1, 2, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0xFFFFFFFF, 0x80000000, 0x1F20]
    if kind == "b5":
        return [0, 1, 15, 30, 31]
    if kind == "s5":
        return [0, 1, 2, 0xFFFFFFFF, 0xFFFFFFFD]
    return [0, 1]


def drawn(random_, kind):
    if kind in FLOATS:
        exponent, mantissa = FLOATS[kind]
        bias, width = (1 << (exponent - 1)) - 1, exponent + mantissa + 1
        if random_.random() < 0.25:
            return random_.getrandbits(width)
        near = min(bias - 1, 30 if kind != "f16" else 12)
        e = bias + random_.randint(-near, near)
        return random_.getrandbits(1) << (width - 1) | e << mantissa | random_.getrandbits(mantissa)
    if kind == "n32":
        return random_.randint(0, 70)
    if kind == "b5":
        return random_.randint(0, 31)
    if kind == "s5":
        return random_.randint(-6, 6) & 0xFFFFFFFF
    if kind == "p":
        return random_.getrandbits(1)
    bits = int(kind[1:])
    return random_.getrandbits(bits) >> random_.choice((0, 0, 0, random_.randrange(bits)))


def values(kind, arity):
    """Returns COUNT values for each operand: combinations of edge values, and random values."""
    random_ = random.Random(f"{kind} {arity}")
    if kind.endswith("x2"):
        low, high = values(kind[:-2], arity), values(kind[:-2], arity)
        return [[l | h << 16 for l, h in zip(a, b[7:] + b[:7])] for a, b in zip(low, high)]
    edge = edges(kind)
    random_.shuffle(edge)
    edge = edge[:17] if arity > 1 and kind in FLOATS else edge
    operands = [[], [], []]
    for index in range(COUNT):
        if index < (len(edge) if arity == 1 else min(len(edge) ** 2, COUNT * 5 // 8)):
            chosen = [edge[index % len(edge)], edge[index // len(edge) % len(edge)], random_.choice(edge)]
        else:
            chosen = [drawn(random_, kind) for _ in range(3)]
        for operand, value in zip(operands, chosen):
            operand.append(value)
    return operands[:arity]


def width(kind):
    """Returns the width in bits of the register for an input of this type."""
    if kind in ("i16", "f16", "bf16"):
        return 16
    return 64 if kind in ("i64", "f64") else 32


def kernel(name, body, inputs, output):
    """Returns the entry of a form: thread i applies the body to the i-th values. Inputs are u64, whatever their type."""
    bits = max(BITS[output], 16)
    lines = [f".visible .entry {name}(.param .u64 to, .param .u64 from0, .param .u64 from1, .param .u64 from2)", "{",
             "  .reg .u32 %i, %a2; .reg .u64 %at, %base, %wide; .reg .pred %pa, %pb, %pc;", f"  .reg .b{bits} %d;",
             "  mov.u32 %i, %tid.x;"]
    for place, kind in enumerate(inputs):
        letter = "abc"[place]
        lines += [f"  .reg .b{width(kind)} %{letter};", f"  ld.param.u64 %base, [from{place}];",
                  "  mad.wide.u32 %at, %i, 8, %base;", "  ld.global.u64 %wide, [%at];",
                  f"  cvt.u{width(kind)}.u64 %{letter}, %wide;" if width(kind) < 64 else f"  mov.b64 %{letter}, %wide;"]
        if kind == "p":
            lines += [f"  setp.ne.u32 %p{letter}, %{letter}, 0;"]
    lines += [f"  mov.b{bits} %d, 0;", f"  {body}", "  ld.param.u64 %base, [to];",
              f"  mad.wide.u32 %at, %i, {bits // 8}, %base;", f"  st.global.b{bits} [%at], %d;", "  ret;", "}"]
    return "\n".join(lines) + "\n"


HEADER = f".version 9.0\n.target {TARGET}\n.address_size 64\n"


def all_forms(families=tuple(FAMILIES)):
    return list(dict.fromkeys(forms(families)))


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.check(self.cuda.cuInit(0))
        context = ctypes.c_void_p()
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        self.check(self.cuda.cuCtxSetCurrent(context))

    @staticmethod
    def check(code):
        if code != 0:
            raise RuntimeError(f"the driver answers {code}")

    def name(self):
        text, version = ctypes.create_string_buffer(100), ctypes.c_int()
        self.check(self.cuda.cuDeviceGetName(text, 100, 0))
        self.check(self.cuda.cuDriverGetVersion(ctypes.byref(version)))
        return f"{text.value.decode()}, CUDA {version.value // 1000}.{version.value % 1000 // 10}"

    def allocate(self, size):
        address = ctypes.c_uint64()
        self.check(self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
        return address

    def upload(self, data):
        address = self.allocate(len(data))
        self.check(self.cuda.cuMemcpyHtoD_v2(address, data, ctypes.c_size_t(len(data))))
        return address

    def download(self, address, size):
        data = ctypes.create_string_buffer(size)
        self.check(self.cuda.cuMemcpyDtoH_v2(data, address, ctypes.c_size_t(size)))
        return data.raw

    def load(self, text):
        """Returns the module, or the compiler's message if it fails."""
        module, log = ctypes.c_void_p(), ctypes.create_string_buffer(4096)
        names = (ctypes.c_int * 2)(5, 6)  # CU_JIT_ERROR_LOG_BUFFER and its size
        options = (ctypes.c_void_p * 2)(ctypes.addressof(log), 4096)
        code = self.cuda.cuModuleLoadDataEx(ctypes.byref(module), text.encode(), 2, names, options)
        return module if code == 0 else " ".join(log.value.decode().split())

    def launch(self, module, name, arguments):
        function = ctypes.c_void_p()
        self.check(self.cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(one) for one in arguments))
        self.check(self.cuda.cuLaunchKernel(function, 1, 1, 1, COUNT, 1, 1, 0, None, pointers, None))
        self.check(self.cuda.cuCtxSynchronize())


def record(folder, families):
    driver = Driver()
    inputs = {}
    with open(f"{folder}/inputs.bin", "wb") as file:
        for kind in TYPES:
            for arity in (1, 2, 3):
                for place, operand in enumerate(values(kind, arity)):
                    data = struct.pack(f"<{COUNT}Q", *operand)
                    inputs[kind, arity, place] = driver.upload(data)
                    file.write(data)
    to = driver.allocate(8 * COUNT)
    with open(f"{folder}/forms.tsv", "w") as accepted, open(f"{folder}/refused.tsv", "w") as refused, \
            open(f"{folder}/results.bin", "wb") as results:
        for body, kinds, output in all_forms(families):
            module = driver.load(HEADER + kernel("form", body, kinds, output))
            if isinstance(module, str):
                print(body, module, sep="\t", file=refused)
                continue
            arguments = [to] + [inputs[kind, len(kinds), place] for place, kind in enumerate(kinds)]
            driver.launch(module, "form", arguments + [to] * (4 - len(arguments)))
            results.write(driver.download(to, COUNT * max(BITS[output], 16) // 8))
            print(body, ",".join(kinds), output, sep="\t", file=accepted)
            driver.cuda.cuModuleUnload(module)
    with open(f"{folder}/gpu.txt", "w") as file:
        print(driver.name(), file=file)


if __name__ == "__main__":
    if len(sys.argv) > 3 and sys.argv[2] == "--ptx":
        with open(sys.argv[3], "w") as file:
            file.write(HEADER)
            for number, form in enumerate(all_forms()):
                file.write(kernel(f"form{number}", *form))
    else:
        record(sys.argv[1], tuple(sys.argv[2:]) or tuple(FAMILIES))
