#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the includes between directories, and the uses between the files of shim/: prints every include and use
that the design does not allow.

  tools/lint/arrows.py           check; exit code 1 if an include is not allowed
  tools/lint/arrows.py --print   print the includes from directory to directory, with their number
"""
import re
import sys
from collections import Counter
from pathlib import Path

from hygiene import ROOT, files as all_files

PUBLIC = "mock/include/cushim/"

# Each directory may include itself and the directories in its list. Each directory of public headers of mock/
# has an entry; the headers in detail/ are shared by targets and are not for users.
MAY_INCLUDE = {
    "include": [],
    "shim": ["include"],
    PUBLIC + "mock": ["include"],
    PUBLIC + "detail": ["include", PUBLIC + "mock"],
    PUBLIC + "check": ["include", PUBLIC + "mock"],
    PUBLIC + "faults": ["include", PUBLIC + "mock", PUBLIC + "check"],
    PUBLIC + "ptx": [],
    PUBLIC + "trace": ["include", PUBLIC + "mock"],
    PUBLIC + "replay": ["include", PUBLIC + "trace"],
    PUBLIC + "sim": ["include", PUBLIC + "mock", PUBLIC + "check", PUBLIC + "faults", PUBLIC + "ptx"],
    PUBLIC + "testing": ["include", PUBLIC + "mock", PUBLIC + "check", PUBLIC + "sim"],
    "mock/entry_traits": ["include", PUBLIC + "detail"],
    "mock/dispatch": ["include", PUBLIC + "mock", PUBLIC + "detail"],
    "mock/hooks": ["include", PUBLIC + "mock", PUBLIC + "detail"],
    "mock/gmock": ["include", PUBLIC + "mock"],
    "mock/check/core": ["include", PUBLIC + "mock", PUBLIC + "detail", PUBLIC + "check"],
    "mock/check/leaks": ["mock/check/core", "include", PUBLIC + "mock", PUBLIC + "detail", PUBLIC + "check"],
    "mock/check/misuse": ["mock/check/core", "include", PUBLIC + "mock", PUBLIC + "detail", PUBLIC + "check"],
    "mock/check/hazards": ["mock/check/core", "include", PUBLIC + "mock", PUBLIC + "detail", PUBLIC + "check"],
    "mock/check/deadlock": ["mock/check/core", "mock/check/hazards", "include", PUBLIC + "mock", PUBLIC + "detail",
                            PUBLIC + "check"],
    "mock/check/kernels": ["mock/check/core", "mock/check/hazards", "include", PUBLIC + "mock", PUBLIC + "detail",
                           PUBLIC + "check"],
    "mock/faults": ["include", PUBLIC + "mock", PUBLIC + "detail", PUBLIC + "check", PUBLIC + "faults"],
    "mock/trace": ["include", PUBLIC + "mock", PUBLIC + "detail", PUBLIC + "trace"],
    "mock/replay": ["mock/trace", "include", PUBLIC + "mock", PUBLIC + "detail", PUBLIC + "trace", PUBLIC + "replay"],
    "mock/ptx": [PUBLIC + "mock", PUBLIC + "ptx"],
    # The engine implements operations and time; it must not depend on driver calls or on the machine.
    "mock/sim/engine": [PUBLIC + "mock", PUBLIC + "sim"],
    "mock/sim": ["mock/sim/engine", "include", PUBLIC + "mock", PUBLIC + "detail", PUBLIC + "check", PUBLIC + "faults",
                 PUBLIC + "ptx", PUBLIC + "sim"],
    "mock/libcuda": ["include", PUBLIC + "mock", PUBLIC + "detail", PUBLIC + "check", PUBLIC + "faults", PUBLIC + "sim",
                     PUBLIC + "replay", PUBLIC + "trace"],
    "mock/ptx_recorder": ["mock/sim"],
    "mock/testing": ["include", PUBLIC + "mock", PUBLIC + "check", PUBLIC + "faults", PUBLIC + "sim", PUBLIC + "testing"],
    "tools": ["include", PUBLIC + "mock", PUBLIC + "detail", PUBLIC + "replay", PUBLIC + "sim", PUBLIC + "trace"],
}
# Single public headers outside the directory of their target.
IS_HEADER_OF = {PUBLIC + "testing.hpp": PUBLIC + "testing"}
# A test includes private headers of the directory that it tests: tests/mock/sim those of mock/sim. These
# directories test several.
TESTS_OF_SEVERAL = ("tests/fuzz/", "tests/support/")


def folder_of(path):
    """Returns the longest directory of MAY_INCLUDE that contains the file; None for tests, examples and
    benchmarks."""
    if path in IS_HEADER_OF:
        return IS_HEADER_OF[path]
    return max((folder for folder in MAY_INCLUDE if path.startswith(folder + "/")), key=len, default=None)


def includes(root, files):
    """Yields (file, line, included file) for each include of a project file."""
    roots = ["include", "mock/include", "tools/cushim", "tests", "tests/differential", "mock/sim", "mock/check", "mock/ptx",
             "mock/testing"]
    for file in sorted(files):
        target = "/".join(file.split("/")[:2])
        text = (root / file).read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+([<"])([^>"]+)', line)
            if not match:
                continue
            beside = [str(Path(file).parent)] if match[1] == '"' else []
            for folder in [*beside, target, *roots]:
                parts = []
                for part in f"{folder}/{match[2]}".split("/"):
                    if part == "..":
                        parts.pop()
                    else:
                        parts.append(part)
                if "/".join(parts) in files:
                    yield file, number, "/".join(parts)
                    break


def is_allowed(file, included):
    source, target = folder_of(file), folder_of(included)
    if target is None or source == target:
        return True
    if source is not None:
        return target in MAY_INCLUDE[source]
    if target.startswith((PUBLIC.rstrip("/"), "include")):
        return True  # tests, examples and benchmarks include every public header
    return file.startswith(("tests/" + "/".join(included.split("/")[:2]), *TESTS_OF_SEVERAL)) and \
        file.startswith("tests/")


def check(root, files):
    """Returns the includes that are not allowed, one line each."""
    return [f"{file}:{line}: {folder_of(file) or file} may not include {included}"
            for file, line, included in includes(root, files) if not is_allowed(file, included)]


def stated_uses(header):
    """Reads the lines "a -> b, c" in the comment of shim/internal.h: {module: modules that it uses}."""
    return {user: set(used.split(", ")) for user, used in re.findall(r"^ \*   (\w+) -> (.*)$", header, re.MULTILINE)}


def shim_uses(texts):
    """Returns {module: modules whose functions and variables it uses}, for {module: text}. Static functions do not
    count."""
    texts = {module: re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL) for module, text in texts.items()}
    defined = {}
    for module, text in texts.items():
        for pattern in (r"^(?!static|extern|typedef)[A-Za-z][^;{}=#]*?\b(cushim_\w+)\([^;{]*\{",  # a function
                        r"^(?!static|extern|typedef)[A-Za-z][\w *]*?\b(cushim_\w+) = ",  # a variable
                        r"^ *\.globl +(cushim_\w+)", r"^ *returning (cushim_\w+)"):  # both, in assembly
            defined.update((name, module) for name in re.findall(pattern, text, re.MULTILINE))
    return {module: {defined[name] for name in re.findall(r"\bcushim_\w+", text) if name in defined} - {module}
            for module, text in texts.items()}


def shim_module(file):
    """Returns the module of a file of shim/: its name, but lazy.S is the part of driver.c that is in assembly."""
    if file.startswith("shim/dropin/"):
        return "dropin"
    return "driver" if file == "shim/lazy.S" else Path(file).stem


def cyclic(uses):
    """Returns the modules that use themselves, directly or through others."""
    def reached(module, seen):
        for used in uses.get(module, ()):
            if used not in seen:
                seen.add(used)
                reached(used, seen)
        return seen
    return sorted(module for module in uses if module in reached(module, set()))


def check_shim(header, texts):
    """Compares the uses between the modules of shim/ with those that the comment of internal.h states; returns the
    differences and the circles, one line each."""
    stated, found = stated_uses(header), shim_uses(texts)
    pairs = [{(user, used) for user in uses for used in uses[user]} for uses in (stated, found)]
    return [f"shim/: {user} uses {used}, which the comment in shim/internal.h does not state"
            for user, used in sorted(pairs[1] - pairs[0])] + \
        [f"shim/internal.h: the comment states that {user} uses {used}, which it does not"
         for user, used in sorted(pairs[0] - pairs[1])] + \
        [f"shim/: {module} uses itself through other modules" for module in cyclic(found)]


def shim_texts(root, files):
    texts = {}
    for file in sorted(files):
        if file.startswith("shim/") and not file.endswith(".h"):
            texts[shim_module(file)] = texts.get(shim_module(file), "") + (root / file).read_text(encoding="utf-8")
    return texts


def source_files():
    return {file for file in all_files() if re.search(r"\.(c|h|cpp|hpp|inc|S)$", file)}


def main():
    files = source_files()
    if "--print" in sys.argv[1:]:
        arrows = Counter((folder_of(file) or file.split("/")[0], folder_of(included) or included.split("/")[0])
                         for file, _, included in includes(ROOT, files))
        for (source, target), count in sorted(arrows.items()):
            if source != target:
                print(f"{source} -> {target} {count}")
        return 0
    header = (ROOT / "shim/internal.h").read_text(encoding="utf-8")
    wrong = check(ROOT, files) + check_shim(header, shim_texts(ROOT, files))
    print("\n".join(wrong) if wrong else "every include is allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
