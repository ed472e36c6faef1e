#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks project rules that no other tool checks. Prints violations and exits with 1 if there are any."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Files whose format has no comments, and third-party or recorded text.
WITHOUT_LICENCE_LINE = re.compile(r"LICENSE|tools/generator/slots\.txt|CMakePresets\.json|.*/data/.*|.*\.(json|golden)")

# This internal macro of <cuda.h> changes the meaning of every declaration.
INTERNAL_MACRO = "__CUDA_API_VERSION" + "_INTERNAL"
MAY_NAME_INTERNAL_MACRO = re.compile(r"tools/generator/generate_entry_points\.py|tests/toolkits/.*|mock/libcuda/.*")

# The first line of NVIDIA's files, split in two so that this file does not match.
THEIR_TEXT = re.compile("Copy" + "right.*NVIDIA")

SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(")


def files():
    """Returns the paths of all project files that exist: tracked ones, and others that git does not ignore."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout
    return sorted(name for name in set(listed.split("\0")) if name and (ROOT / name).is_file())


# Fuzzer inputs: arbitrary bytes, at most 16 kilobytes each.
INPUT = re.compile(r"tests/fuzz/corpus/.*")

SOURCE = re.compile(r".*\.(c|h|cpp|hpp|cu)")
MOST_LINES = 400

# Compressed test data, and pictures of pages.
BINARY = re.compile(r"tests/.*/data/.*\.zst|docs/evidence/.*\.png")


LINK = re.compile(r"\]\(([\w./-]*)(#[\w-]+)?\)")
CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def slug(heading):
    """Returns the anchor of a heading, as GitHub generates it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def anchors(page):
    """Returns the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", CODE_BLOCK.sub("", page), re.MULTILINE)
    return {"#" + slug(heading) for heading in headings}


def broken_links(name, text):
    """Yields the line number and target of each relative link whose file or heading does not exist."""
    for number, line in enumerate(text.split("\n"), 1):
        for path, anchor in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            target = (ROOT / name).parent / path if path else ROOT / name
            if not target.exists():
                yield number, path
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
                yield number, path + anchor


def violations(name):
    content = (ROOT / name).read_bytes()
    if len(content) > 3_000_000:
        yield 1, "the file is larger than 3 MB"
    if INPUT.fullmatch(name):
        if len(content) > 16_000:
            yield 1, "a fuzzer input is larger than 16 kB"
        return
    if BINARY.fullmatch(name):
        return
    try:
        text = content.decode()
    except UnicodeDecodeError:
        yield 1, "the file is not UTF-8 text"
        return
    lines = text.split("\n")
    if not WITHOUT_LICENCE_LINE.fullmatch(name) and not any(
            "SPDX-License-Identifier: Apache-2.0" in line for line in lines[:2]):
        yield 1, "the first two lines do not contain the SPDX licence identifier"
    if text and not text.endswith("\n"):
        yield len(lines), "the file does not end with a newline"
    if SOURCE.fullmatch(name) and len(lines) > MOST_LINES:
        yield MOST_LINES, "the file is too long: split it by its subjects; tables are .inc files"
    if INTERNAL_MACRO in text and not MAY_NAME_INTERNAL_MACRO.fullmatch(name):
        yield text[:text.index(INTERNAL_MACRO)].count("\n") + 1, f"only the generator and mock/libcuda may name {INTERNAL_MACRO}"
    if name.endswith(".md"):
        yield from ((number, f"the link to {target} is broken") for number, target in broken_links(name, text))
    for number, line in enumerate(lines, 1):
        if line != line.rstrip() and "/data/" not in name and "/answers/" not in name:
            yield number, "trailing white space"
        if THEIR_TEXT.search(line):
            yield number, "NVIDIA's licence text: remove the copied source"
        if line.startswith("inline namespace v1") and not name.startswith("include/"):
            yield number, "only include/ is versioned: docs/architecture.md, Namespaces"
        if name.startswith("tests/") and SLEEP.search(line):
            yield number, "a test sleeps: wait for the condition instead"


def main():
    found = [f"{name}:{number}: {violation}" for name in files() for number, violation in violations(name)]
    print("\n".join(found) if found else "no project rule is violated")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
