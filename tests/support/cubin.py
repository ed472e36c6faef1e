# SPDX-License-Identifier: Apache-2.0
"""Cubins without machine code, for tests of kernels that are registered in C."""
import struct


def cubin(*functions):
    """Returns an ELF file of the CUDA machine type with a section for each function."""
    names = b"\0" + b"".join(b".text." + name.encode() + b"\0" for name in functions)
    sections, at = bytes(64), 1
    for name in functions:
        sections += struct.pack("<IIQQQQIIQQ", at, 1, *[0] * 8)
        at += len(name) + 7
    sections += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64, len(names), *[0] * 4)
    count = len(functions) + 2
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 190, 1, 0, 0, 64 + len(names), 0, 64, 0, 0, 64, count,
                       count - 1)
    return head + names + sections
