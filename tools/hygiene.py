#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""House rules that no other tool knows; prints what breaks one and exits with 1."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Files whose format has no comments, or whose text is not ours to begin.
WITHOUT_LICENCE_LINE = re.compile(r"LICENSE|tools/slots\.txt|CMakePresets\.json|.*/data/.*|.*\.(json|golden)")

# The internal macro of <cuda.h> changes what every declaration means.
INTERNAL_MACRO = "__CUDA_API_VERSION" + "_INTERNAL"
MAY_NAME_INTERNAL_MACRO = re.compile(r"tools/generate_entry_points\.py|tests/check/.*|mock/libcuda/.*")

# How every one of NVIDIA's files begins, in two pieces so that this one does not.
THEIR_TEXT = re.compile("Copy" + "right.*NVIDIA")

SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(")


def files():
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout
    return sorted(name for name in set(listed.split("\0")) if name and (ROOT / name).is_file())


# Inputs of the fuzzers: bytes of any kind, and few.
INPUT = re.compile(r"tests/fuzz/corpus/.*")


def faults(name):
    content = (ROOT / name).read_bytes()
    if len(content) > 2_000_000:
        yield 1, "larger than two megabytes"
    if INPUT.fullmatch(name):
        if len(content) > 16_000:
            yield 1, "an input of a fuzzer is larger than 16 kilobytes"
        return
    try:
        text = content.decode()
    except UnicodeDecodeError:
        yield 1, "not UTF-8 text"
        return
    lines = text.split("\n")
    if not WITHOUT_LICENCE_LINE.fullmatch(name) and not any(
            "SPDX-License-Identifier: Apache-2.0" in line for line in lines[:2]):
        yield 1, "does not begin with its licence"
    if text and not text.endswith("\n"):
        yield len(lines), "no newline at the end"
    if INTERNAL_MACRO in text and not MAY_NAME_INTERNAL_MACRO.fullmatch(name):
        yield text[:text.index(INTERNAL_MACRO)].count("\n") + 1, f"must not name {INTERNAL_MACRO}"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip() and "/data/" not in name:
            yield number, "white space at the end of the line"
        if THEIR_TEXT.search(line):
            yield number, "text of NVIDIA's does not belong here"
        if name.startswith("tests/") and SLEEP.search(line):
            yield number, "tests do not sleep"


def main():
    found = [f"{name}:{number}: {fault}" for name in files() for number, fault in faults(name)]
    print("\n".join(found) if found else "no house rule is broken")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
