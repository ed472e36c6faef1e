#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the list of driver entry points from the CUDA headers of several toolkits.

How the list is made:
  * cuda.h and related headers, preprocessed with __CUDA_API_VERSION_INTERNAL, declare every ABI
    variant of every function; the *Typedefs.h headers have one PFN_<base>_v<version> for each.
    Within one base name and per-thread suffix the n-th oldest symbol is the n-th oldest version.
  * Toolkits are merged by symbol. The parameters come from the newest toolkit's typedef: typedefs
    use versioned type names (CUDA_KERNEL_NODE_PARAMS_v2), whose meaning never changes, while
    declarations use the unversioned names, whose meaning does.
  * An entry point is typed from the first toolkit whose plain headers declare all its types.
  * A slot never moves after it was assigned: new symbols are appended to the slot file.

The output contains only names, numbers and parameter lists; the headers are only read.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "include/cushim/entry_points.inc"
RESULTS = ROOT / "include/cushim/results.inc"
SLOTS = ROOT / "tools/generator/slots.txt"

INTERNAL = "-D__CUDA_API_VERSION_INTERNAL"
DECLARING = ["cuda.h", "cudaProfiler.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h"]
TYPEDEFS = ["cudaTypedefs.h", "cudaProfilerTypedefs.h", "cudaGLTypedefs.h", "cudaEGLTypedefs.h",
            "cudaVDPAUTypedefs.h"]

# Types that headers of some supported toolkits lack, or that belong to graphics headers, which the list must
# not require. cushim declares its own equivalents (include/cushim/foreign_types.h);
# tests/toolkits/entry_points_check.cpp asserts that they are equivalent.
OWN_WORDS = {
    "CUdeviceptr_v1": "unsigned int",
    "CUDA_MEMCPY2D_v1": "CushimMemcpy2D_v1",
    "CUDA_MEMCPY3D_v1": "CushimMemcpy3D_v1",
    "CUDA_ARRAY_DESCRIPTOR_v1": "CushimArrayDescriptor_v1",
    "CUDA_ARRAY3D_DESCRIPTOR_v1": "CushimArray3DDescriptor_v1",
    "CUoutput_mode": "unsigned int",
    "GLuint": "unsigned int",
    "GLenum": "unsigned int",
    "CUGLDeviceList": "unsigned int",
    "EGLImageKHR": "void *",
    "EGLStreamKHR": "void *",
    "EGLSyncKHR": "void *",
    "EGLint": "int",
    "CUeglStreamConnection": "struct CUeglStreamConnection_st *",
    "CUeglFrame_v1": "CushimEglFrame_v1",
    "VdpDevice": "unsigned int",
    "VdpVideoSurface": "unsigned int",
    "VdpOutputSurface": "unsigned int",
    "VdpGetProcAddress": "CushimVdpGetProcAddress",
    "CU_DEV_SM_RESOURCE_GROUP_PARAMS": "CushimSmResourceGroup",
    "CUcoredumpStatusCallback": "CushimCoredumpStatusCallback",
    "CUcoredumpCallbackHandle": "struct CUcoredumpCallbackEntry_st *",
    "CUgraphRecaptureCallback": "CushimGraphRecaptureCallback",
    "CUtensorMapAllocClass": "CushimTensorMapAllocClass",
}

C_WORDS = {"const", "struct", "unsigned", "int", "char", "void", "size_t", "long", "short", "float",
           "double", "uint32_t", "uint64_t"}


class Failure(Exception):
    """An error that ends the generator; its message is printed."""


class Toolkit:
    """The headers of one CUDA toolkit, read through a C preprocessor."""

    def __init__(self, folder, compiler, stubs):
        cuda_h = sorted(Path(folder).rglob("cuda.h"))
        profiler_h = sorted(Path(folder).rglob("cudaProfiler.h"))
        if not cuda_h or not profiler_h:
            raise Failure(f"{folder}: no cuda.h and cudaProfiler.h below it")
        self._flags = [f"-I{cuda_h[0].parent}", f"-I{profiler_h[0].parent}", f"-I{stubs}"]
        self._compiler = compiler
        match = re.search(r"#define CUDA_VERSION (\d+)", cuda_h[0].read_text())
        if not match:
            raise Failure(f"{cuda_h[0]}: does not define CUDA_VERSION")
        self.version = int(match[1])
        self.declared = set(re.findall(r"\bCUresult\s+(cu\w+)\s*\(", self.read(DECLARING, INTERNAL)))
        self.typedefs = {m[0]: parameters(m[1]) for m in re.findall(
            r"\(\s*\*\s*PFN_(cu\w+_v\d+\w*)\)\s*\(([^;]*)\)\s*;", self.read(TYPEDEFS, INTERNAL))}
        plain = self.read(["cuda.h"])
        self.words = set(re.findall(r"\b\w+\b", plain))
        body = re.search(r"typedef enum cudaError_enum\s*\{(.*?)\}", plain, re.S)
        self.results = {name: int(code) for name, code in re.findall(r"(CUDA_\w+)\s*=\s*(\d+)", body[1])}

    def read(self, headers, *flags):
        source = "".join(f"#include <{header}>\n" for header in headers)
        done = subprocess.run([self._compiler, "-E", "-P", "-x", "c", *self._flags, *flags, "-"],
                              input=source, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failure(f"preprocessing {' '.join(headers)} failed:\n{done.stderr}")
        return done.stdout


def parameters(text):
    """Parses 'const T *p, size_t n' into [('const T *', 'p'), ('size_t', 'n')]."""
    text = " ".join(text.split())
    if text in ("", "void"):
        return []
    if "(" in text or "[" in text:
        raise Failure(f"a parameter list of a new shape: ({text})")
    found = []
    for one in text.split(","):
        match = re.fullmatch(r"\s*(.*?[\s*])(\w+)\s*", one)
        if not match:
            raise Failure(f"a parameter of a new shape: {one!r} in ({text})")
        found.append((re.sub(r"\s*\*\s*", " *", match[1]).strip().replace("* *", "**"), match[2]))
    return found


def type_names(parameter_list):
    return {word for kind, _ in parameter_list for word in re.findall(r"\w+", kind)} - C_WORDS


def split_symbol(symbol):
    base, abi, thread = re.fullmatch(r"(cu\w+?)(?:_v(\d+))?(_ptsz|_ptds)?", symbol).groups()
    return base, int(abi or 1), thread or ""


def pair(toolkit):
    """Returns {symbol: (base, version, thread, parameters)}; pairs the n-th symbol with the n-th version."""
    symbols, versions = defaultdict(list), defaultdict(list)
    for symbol in toolkit.declared:
        base, abi, thread = split_symbol(symbol)
        symbols[base, thread].append((abi, symbol))
    for name, params in toolkit.typedefs.items():
        base, version, thread = re.fullmatch(r"(cu\w+)_v(\d+)(_ptsz|_ptds)?", name).groups()
        versions[base, thread or ""].append((int(version), params))
    rows = {}
    for (base, thread), found in symbols.items():
        known = sorted(versions.get((base, thread), []), key=lambda v: v[0])
        # The per-thread variants of two old interop calls have a typedef but no declaration. A symbol without
        # a typedef occurs in no supported toolkit.
        if len(found) > len(known):
            raise Failure(f"CUDA {toolkit.version}: {base}{thread} has {len(found)} symbols, "
                          f"{len(known)} typedefs")
        for (_, symbol), (version, params) in zip(sorted(found, reverse=True), reversed(known)):
            rows[symbol] = (base, version, thread, params)
    # The reverse case: a typedef whose symbol no header declares.
    for (base, thread), known in versions.items():
        if (base, thread) not in symbols:
            twin = sorted(symbols[base, ""])[-1][1]
            for version, params in known:
                rows[twin + thread] = (base, version, thread, params)
    return rows


def merge(toolkits):
    """Merges the entry points of all toolkits, oldest first. Returns {symbol: row with its first header}."""
    merged = {}
    for toolkit in toolkits:
        for symbol, (base, version, thread, params) in pair(toolkit).items():
            if symbol in merged and merged[symbol][:3] != (base, version, thread):
                raise Failure(f"{symbol}: {merged[symbol][:3]} before CUDA {toolkit.version}, "
                              f"{(base, version, thread)} in it")
            merged[symbol] = (base, version, thread, params)
    rows = {}
    for symbol, (base, version, thread, params) in merged.items():
        needed = type_names(params) - set(OWN_WORDS)
        able = [toolkit.version for toolkit in toolkits if needed <= toolkit.words]
        if not able or able != [t.version for t in toolkits if t.version >= able[0]]:
            raise Failure(f"{symbol}: its types {sorted(needed)} are known to {able} only; "
                          "spell them in cushim's own words")
        rows[symbol] = (base, version, thread, able[0],
                        [(own_words(kind), name) for kind, name in params])
    return rows


def own_words(kind):
    for theirs, ours in OWN_WORDS.items():
        kind = re.sub(rf"\b{theirs}\b", ours, kind)
    return re.sub(r"\*\s+\*", "**", kind)


def read_slots():
    if not SLOTS.exists():
        return []
    return [line for line in SLOTS.read_text().splitlines() if line and not line.startswith("#")]


def refuse_moved_slots(slots, committed):
    for slot, symbol in enumerate(committed):
        if slot >= len(slots) or slots[slot] != symbol:
            raise Failure(f"slot {slot} was {symbol} and is "
                          f"{slots[slot] if slot < len(slots) else 'gone'}: slots are append-only")


def assign_slots(rows, slots):
    lost = [symbol for symbol in slots if symbol not in rows]
    if lost:
        raise Failure(f"in the slot file but in no toolkit given: {', '.join(lost)}; "
                      "give every toolkit of tools/generator/toolkits.txt")
    if len(set(slots)) != len(slots):
        raise Failure("the slot file names a symbol twice")
    new = sorted(set(rows) - set(slots), key=lambda s: (rows[s][0].lower(), rows[s][2], rows[s][1]))
    return slots + new


def c_list(params):
    return ", ".join(kind + ("" if kind.endswith("*") else " ") + name for kind, name in params) or "void"


def write_list(rows, slots, toolkits):
    headers = sorted({row[3] for row in rows.values()})
    names = sorted(set(rows) | {row[0] for row in rows.values()})
    out = [f"""\
// SPDX-License-Identifier: Apache-2.0
// Generated by tools/generator/generate_entry_points.py; do not edit. The one list of driver entry points:
// every ABI variant and per-thread-stream variant that the headers of CUDA {release(toolkits[0].version)} to \
{release(toolkits[-1].version)} declare,
// and the GL, EGL and VDPAU interop calls. In slot order; slots are append-only (tools/generator/slots.txt).
//
//   CUSHIM_ENTRY(slot, symbol, base, version, thread, (parameters), (arguments))
//
// symbol   the exported name
// base     the name for cuGetProcAddress, together with
// version  the release that this ABI came with (12040 is 12.4), as in PFN_<base>_v<version><thread>
// thread   _ptsz or _ptds for a per-thread default stream variant, else empty
//
// A row whose types the CUDA headers in use do not have expands CUSHIM_ENTRY_UNTYPED, with the same
// arguments; the number in a row's macro is the first CUDA_VERSION whose headers spell its types.
// Both macros are undefined again at the end. cuda.h makes many symbols macros, differently by
// release and by CUDA_API_PER_THREAD_DEFAULT_STREAM; they are undefined while the list expands, so
// symbol and base are plain identifiers here and mean the same in every translation unit.

#ifndef CUDA_VERSION
#error "cushim: include <cuda.h> before the list of entry points"
#endif
#ifndef CUSHIM_ENTRY_UNTYPED
#define CUSHIM_ENTRY_UNTYPED(...)
#endif
#undef CUSHIM_ENTRY_COUNT
#define CUSHIM_ENTRY_COUNT {len(slots)}
"""]
    for header in headers:
        typed = "CUSHIM_ENTRY" if header == headers[0] else None
        if typed:
            out.append(f"#define CUSHIM_ENTRY_{header} CUSHIM_ENTRY\n")
        else:
            out.append(f"#if CUDA_VERSION >= {header}\n#define CUSHIM_ENTRY_{header} CUSHIM_ENTRY\n#else\n"
                       f"#define CUSHIM_ENTRY_{header} CUSHIM_ENTRY_UNTYPED\n#endif\n")
    out.append("\n// clang-format off\n")
    out += [f'#pragma push_macro("{name}")\n#undef {name}\n' for name in names]
    out.append("\n")
    for slot, symbol in enumerate(slots):
        base, version, thread, header, params = rows[symbol]
        args = ", ".join(name for _, name in params)
        out.append(f"CUSHIM_ENTRY_{header}({slot}, {symbol}, {base}, {version}, {thread}, "
                   f"({c_list(params)}), ({args}))\n")
    out.append("\n")
    out += [f'#pragma pop_macro("{name}")\n' for name in names]
    out.append("// clang-format on\n\n")
    out += [f"#undef CUSHIM_ENTRY_{header}\n" for header in headers]
    out.append("#undef CUSHIM_ENTRY\n#undef CUSHIM_ENTRY_UNTYPED\n")
    return "".join(out)


def write_results(toolkits):
    results = {}
    for toolkit in toolkits:
        results.update({name: (code, results.get(name, (0, toolkit.version))[1])
                        for name, code in toolkit.results.items()})
    rows = "".join(f"CUSHIM_RESULT({code}, {name})\n"
                   for name, (code, _) in sorted(results.items(), key=lambda r: r[1][0]))
    return ("// SPDX-License-Identifier: Apache-2.0\n"
            "// Generated by tools/generator/generate_entry_points.py; do not edit. Every CUresult of every\n"
            "// supported toolkit: CUSHIM_RESULT(code, name). Undefined again at the end.\n\n"
            f"// clang-format off\n{rows}// clang-format on\n\n#undef CUSHIM_RESULT\n")


def release(version):
    return f"{version // 1000}.{version % 1000 // 10}"


def committed_slots(path):
    """Returns the slots in the slot file of a git revision, for comparison with a release."""
    done = subprocess.run(["git", "-C", str(ROOT), "show", path + ":tools/generator/slots.txt"],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"git has no tools/generator/slots.txt at {path}")
    return [line for line in done.stdout.splitlines() if line and not line.startswith("#")]


def read_toolkits(folders, compiler):
    """Reads the headers of toolkits, oldest first.

    Empty files stand for the headers of GL, EGL and VDPAU. They are deleted at the end: afterwards a toolkit's read()
    works for headers that do not include them, such as cuda.h.
    """
    with tempfile.TemporaryDirectory() as stubs:
        for header in ("GL/gl.h", "EGL/egl.h", "EGL/eglext.h", "vdpau/vdpau.h"):
            path = Path(stubs) / header
            path.parent.mkdir(exist_ok=True)
            path.write_text("")
        return sorted((Toolkit(folder, compiler, stubs) for folder in folders), key=lambda t: t.version)


def add_toolkit_arguments(parser):
    """Adds the arguments that read_toolkits() takes."""
    parser.add_argument("toolkits", nargs="+", metavar="FOLDER",
                        help="a toolkit's folder; its headers are looked for below it")
    parser.add_argument("--compiler", default=os.environ.get("CC", "cc"), help="the C preprocessor to use")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add_toolkit_arguments(parser)
    parser.add_argument("--check", action="store_true",
                        help="write nothing; exit 1 with the difference if a committed file is not current")
    parser.add_argument("--released", metavar="REVISION",
                        help="also refuse any slot that differs from the slot file of this git revision")
    given = parser.parse_args()
    try:
        toolkits = read_toolkits(given.toolkits, given.compiler)
        rows = merge(toolkits)
        before = read_slots()
        slots = assign_slots(rows, before)
        if given.released:
            refuse_moved_slots(slots, committed_slots(given.released))
        slot_text = ("# The slot of each entry point is its place in this file. Only the generator writes\n"
                     "# here, and only at the end: a slot is part of the ABI.\n" + "\n".join(slots) + "\n")
        outputs = {LIST: write_list(rows, slots, toolkits), RESULTS: write_results(toolkits),
                   SLOTS: slot_text}
        stale = False
        for path, text in outputs.items():
            old = path.read_text() if path.exists() else ""
            if old == text:
                continue
            stale = True
            if given.check:
                name = str(path.relative_to(ROOT))
                sys.stdout.writelines(difflib.unified_diff(
                    old.splitlines(True), text.splitlines(True), name + " (committed)", name + " (current)"))
            else:
                path.write_text(text)
    except Failure as failure:
        print(f"generate_entry_points: {failure}", file=sys.stderr)
        return 1
    print(f"{len(rows)} entry points of CUDA {', '.join(release(t.version) for t in toolkits)}; "
          f"{len(slots) - len(before)} new; "
          + (("stale" if given.check else "written") if stale else "current"))
    return 1 if given.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
