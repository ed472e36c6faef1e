#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on every project file in a compilation database.

usage: tidy.py CLANG_TIDY BUILD_FOLDER [--jobs N] [FILE...]

Parsing headers takes most of the time, so files of one directory with the same compile options are concatenated and
analyzed as one translation unit, unless they or headers of their target declare the same name. A file without names
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
sys.path.insert(0, str(ROOT / "cmake"))
from units import units_of  # noqa: E402

FILES_OF_A_UNIT = 16
# A named namespace, a C function, main() or a macro.
LINKAGE = re.compile(r'^(inline )?namespace \w|extern "C"|^int main\(|^# *define', re.MULTILINE)
FINDING = re.compile(r"^(/[^:\n]+):(\d+):(\d+): ", re.MULTILINE)
DOES_NOT_COMPILE = "[clang-diagnostic-error"


def in_own_namespace(text, number):
    """Returns the text with all that follows its includes in a namespace, and as many lines, or None if that would
    change its meaning or the line after the includes is not empty."""
    lines = text.splitlines()
    includes = [i for i, line in enumerate(lines) if re.match(r"# *include", line)]
    if LINKAGE.search(text) or not includes or lines[includes[-1] + 1:includes[-1] + 2] != [""]:
        return None
    lines[includes[-1] + 1] = f"namespace file_{number} {{"
    return "\n".join(lines) + f"\n}}  // namespace file_{number}"


def grouped(files, options):
    """Groups files of one directory with the same options: those that get a namespace of their own, and the others."""
    parent = files[0].parent
    folders = [pathlib.Path(option[2:]) for option in options if option.startswith("-I")]
    folder = next((folder for folder in folders if parent.is_relative_to(folder)), parent)  # of the target's headers
    apart = [file for file in files if in_own_namespace(file.read_text(), 0) is not None]
    together = units_of([file for file in files if file not in apart], folder, FILES_OF_A_UNIT)
    return [apart[i:i + FILES_OF_A_UNIT] for i in range(0, len(apart), FILES_OF_A_UNIT)] + together


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
            print(f"analyzed one by one, since they do not compile together: {', '.join(map(str, files))}", flush=True)
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
            for unit in grouped(sorted(files), options)]
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
