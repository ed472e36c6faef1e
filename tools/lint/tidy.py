#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on every project file in a compilation database.

usage: tidy.py CLANG_TIDY BUILD_FOLDER [--jobs N] [FILE...]

Parsing headers takes most of the time, so files of one directory with the same compile options are concatenated and
analyzed as one translation unit, unless they or headers of their directory declare the same name. A file without names
of external linkage, such as a test, gets a namespace of its own. Findings are printed with the original file and line.
If a unit does not compile, its files are analyzed one by one. With FILE arguments, analyzes only these files.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES_OF_A_UNIT = 8
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
MACRO_CALL = re.compile(r"([A-Z][A-Z0-9_]+)\((\w+), *(\w+)")
INCLUDE = re.compile(r'^# *include "([^"]+)"', re.MULTILINE)
# A named namespace, a C function, main() or a macro.
LINKAGE = re.compile(r'^(inline )?namespace \w|extern "C"|^int main\(|^# *define', re.MULTILINE)
FINDING = re.compile(r"^(/[^:\n]+):(\d+):(\d+): ", re.MULTILINE)
DOES_NOT_COMPILE = "[clang-diagnostic-error"


def names_of(text):
    """Returns the names declared at namespace scope, or None if the file must be analyzed alone."""
    names = set()
    for line in text.splitlines():
        if re.match(r"# *undef|using namespace", line):
            return None
        if define := re.match(r"# *define +(\w+)", line):
            names.add(define[1])
        elif macro := MACRO_CALL.match(line):
            names.add(f"{macro[2]}.{macro[3]}")
        elif re.match(r"[A-Za-z_]", line) and not re.match(r"namespace|template|using [\w:]+;", line):
            before = re.split(r"[(={;:\[]", line.replace("::", "_"))[0]
            names.update(IDENTIFIER.findall(before)[-1:])
    return names


def headers_of(file):
    """Returns the headers in the directory of a file that the file includes, also by another such header."""
    found, left = set(), [file]
    while left:
        for name in INCLUDE.findall(left.pop().read_text()):
            header = file.parent / name
            if header not in found and header.exists():
                found.add(header)
                left.append(header)
    return found


def sources_of_names(file):
    """Returns {name: file or header that declares it}, or None if the file must be analyzed alone."""
    names = {}
    for source in (*headers_of(file), file):
        declared = names_of(source.read_text())
        if declared is None and source == file:
            return None
        names |= dict.fromkeys(declared or (), source)
    return names


def in_own_namespace(text, number):
    """Returns the text with all that follows its includes in a namespace, and as many lines, or None if that would
    change its meaning or the line after the includes is not empty."""
    lines = text.splitlines()
    includes = [i for i, line in enumerate(lines) if re.match(r"# *include", line)]
    if LINKAGE.search(text) or not includes or lines[includes[-1] + 1:includes[-1] + 2] != [""]:
        return None
    lines[includes[-1] + 1] = f"namespace file_{number} {{"
    return "\n".join(lines) + f"\n}}  // namespace file_{number}"


def units_of(files):
    """Groups files of one directory with the same options so that a group declares no name twice."""
    units = []
    for file in files:
        is_apart = in_own_namespace(file.read_text(), 0) is not None
        names = {} if is_apart else sources_of_names(file)
        fits = [unit for unit in units if names is not None and unit["names"] is not None
                and unit["is_apart"] == is_apart and len(unit["files"]) < FILES_OF_A_UNIT
                and all(unit["names"].get(name, source) == source for name, source in names.items())]
        if fits:
            fits[0]["files"].append(file)
            fits[0]["names"] |= names
        else:
            units.append({"files": [file], "names": names, "is_apart": is_apart})
    return [unit["files"] for unit in units]


def options_of(entry):
    """Returns the command without its output, dependency file and source."""
    words, options = iter(shlex.split(entry["command"])), []
    for word in words:
        if word in ("-o", "-MF", "-MT", "-MQ", "-c"):
            next(words)
        elif word not in ("-MD", "-MMD") and not word.endswith("/ccache"):
            options.append(word)
    return tuple(options)


class Tidy:
    def __init__(self, program, build):
        self.program, self.build, self.units = program, build, build / "units"

    def run(self, file, options):
        # Passes the options explicitly: the database may have several commands for a file.
        command = [str(self.program), "--quiet", str(file), "--", *options[1:]]
        done = subprocess.run(command, cwd=self.build, capture_output=True, text=True)
        errors = "".join(line for line in done.stderr.splitlines(True) if "warnings generated" not in line)
        return done.returncode, done.stdout + errors

    def run_unit(self, number, files, options):
        if len(files) == 1:
            return self.run(files[0], options)
        # Writes the unit to a parallel directory that has copies of the .clang-tidy files of the parent
        # directories.
        folder = self.units / files[0].parent.relative_to(ROOT)
        folder.mkdir(parents=True, exist_ok=True)
        for parent in files[0].relative_to(ROOT).parents[:-1]:
            if (ROOT / parent / ".clang-tidy").exists():
                (self.units / parent / ".clang-tidy").write_bytes((ROOT / parent / ".clang-tidy").read_bytes())
        unit, text, starts = folder / f"unit_{number}.cpp", "", []
        for index, file in enumerate(files):
            starts.append(text.count("\n"))
            content = file.read_text()
            text += (in_own_namespace(content, index) or content) + "\n"
        unit.write_text(text)
        status, output = self.run(unit, (*options, "-iquote", str(files[0].parent)))
        if DOES_NOT_COMPILE in output:
            results = [self.run(file, options) for file in files]
            return max(status for status, _ in results), "".join(output for _, output in results)

        def in_file(match):
            if match[1] != str(unit):
                return match[0]
            line = int(match[2])
            index = max(i for i, start in enumerate(starts) if start < line)
            return f"{files[index]}:{line - starts[index]}:{match[3]}: "

        return status, FINDING.sub(in_file, output)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="CLANG_TIDY")
    parser.add_argument("build", metavar="BUILD_FOLDER", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("files", metavar="FILE", nargs="*")
    arguments = parser.parse_intermixed_args()
    build = arguments.build.resolve()
    chosen = {str(pathlib.Path(file).resolve()) for file in arguments.files}

    groups = collections.defaultdict(list)
    seen = set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["file"])
        # Analyzes a file of several targets once, and skips generated files.
        if (file in seen or file.suffix not in (".c", ".cpp") or file.is_relative_to(ROOT / "build")
                or chosen and str(file) not in chosen):
            continue
        seen.add(file)
        # C files are analyzed one by one: there are few, and concatenated they may not be valid C.
        alone = file if file.suffix == ".c" else None
        groups[(file.parent, options_of(entry), alone)].append(file)

    work = [(unit, options) for (_, options, _), files in sorted(groups.items(), key=lambda group: str(group[0]))
            for unit in units_of(sorted(files))]
    work.sort(key=lambda one: -sum(file.stat().st_size for file in one[0]))  # largest first
    print(f"clang-tidy of {len(seen)} files in {len(work)} translation units", flush=True)
    tidy = Tidy(pathlib.Path(arguments.program).resolve(), build)
    failed = False
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        runs = [pool.submit(tidy.run_unit, number, *one) for number, one in enumerate(work)]
        for run in concurrent.futures.as_completed(runs):
            status, output = run.result()
            failed |= status != 0
            if output.strip():
                print(output, end="", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
