#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds C++ files that can be compiled as one translation unit.

usage: units.py LIST

LIST has a line FOLDER|FILE for each file. Prints FOLDER|FILE|UNIT for each file that shares a unit with others of the
folder: these files and their headers declare different names at namespace scope. A file is compiled by itself if it has
a using directive or #undef, defines a macro before its first #include, or makes cushim define formatters of {fmt}. If
two files of a unit declare one name in a way that this program does not see, the unit does not compile, and one of the
names has to change.
"""

import argparse
import collections
import functools
import pathlib
import re
import sys

FILES_OF_A_UNIT = 12
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
MACRO_CALL = re.compile(r"([A-Z][A-Z0-9_]+)\((\w+), *(\w+)")
# A class that is only declared may be declared again.
DECLARES_NOTHING = re.compile(r"namespace|template|using [\w:]+;|static_assert|enum \{|(class|struct|union|enum)\b[^{=(]*;")
INCLUDE = re.compile(r'^# *include "([^"]+)"', re.MULTILINE)


@functools.cache
def names_of(file):
    """Returns the names declared at namespace scope, or None if the file must be compiled by itself."""
    names, text = set(), file.read_text()
    if file.suffix == ".cpp" and (re.match(r"(//.*\n|\n)*# *define", text) or
                                  "#include <fmt/" in text and "#include <cushim/format.hpp>" in text):
        return None
    for line in text.splitlines():
        line = re.sub(r"^\[\[\w+\]\] ", "", line)
        if re.match(r"# *undef|using namespace", line):
            return None
        if define := re.match(r"# *define +(\w+)", line):
            names.add(define[1])
        elif macro := MACRO_CALL.match(line):
            names.add(f"{macro[2]}.{macro[3]}")
        elif re.match(r"[A-Za-z_]", line) and not DECLARES_NOTHING.match(line):
            before = re.split(r"[(={;:\[]| final\b", line.replace("::", "_"))[0]
            names.update(IDENTIFIER.findall(before)[-1:])
        if re.match(r"[A-Za-z_]| {10,}k[A-Z]", line):  # further constants of one declaration
            names.update(re.findall(r"(?:^ +|, )(k[A-Z]\w*)(?: =|{)", line))
    return names


@functools.cache
def includes_of(file, beside, folder):
    """Returns the headers beside another file and below `folder` that a file includes itself."""
    paths = (place / name for name in INCLUDE.findall(file.read_text()) for place in (beside, folder))
    return [path for path in paths if path.exists()]


def headers_of(file, folder):
    """Returns the headers beside a file and below `folder` that the file includes, also by another such header."""
    found, left = set(), [file]
    while left:
        new = set(includes_of(left.pop(), file.parent, folder)) - found
        found |= new
        left += new
    return found


def sources_of_names(file, folder):
    """Returns {name: file or header that declares it}, or None if the file must be compiled by itself."""
    names = {}
    for source in (*sorted(headers_of(file, folder)), file):
        declared = names_of(source)
        if declared is None and source == file:
            return None
        for name in declared or ():
            names.setdefault(name, source)  # what the file defines for a header is the header's
    return names


def units_of(files, folder, most):
    """Groups files of a folder so that a group declares no name twice and has at most `most` files."""
    units = []
    for file in files:
        names = sources_of_names(file, folder)
        fits = [unit for unit in units if names is not None and unit["names"] is not None and len(unit["files"]) < most
                and all(unit["names"].get(name, source) == source for name, source in names.items())]
        if fits:
            fits[0]["files"].append(file)
            fits[0]["names"] |= names
        else:
            units.append({"files": [file], "names": names})
    return [unit["files"] for unit in units]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", metavar="LIST", type=pathlib.Path)
    arguments = parser.parse_args()
    folders = collections.defaultdict(list)
    for line in arguments.list.read_text().splitlines():
        folder, file = line.split("|")
        folders[folder].append(pathlib.Path(file))
    for folder, files in folders.items():
        for number, unit in enumerate(units_of(sorted(set(files)), pathlib.Path(folder), FILES_OF_A_UNIT)):
            for file in unit if len(unit) > 1 else ():
                print(f"{folder}|{file}|{number}")


if __name__ == "__main__":
    sys.exit(main())
