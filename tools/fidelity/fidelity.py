#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/fidelity.md, docs/reference/fidelity.svg and the totals in README.md: how far each entry point of
the simulated driver matches the real driver. Runs the conformance suite and the random programs on the simulated
driver, and compares with the answers recorded on real drivers.

  tools/fidelity/fidelity.py            write the files
  tools/fidelity/fidelity.py --check    fail if the files do not match the results
"""
import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from fidelity_page import DOCUMENTED_ONLY, NOT_IMPLEMENTED, page, picture, readme, totals

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "include/cushim/entry_points.inc"
TRAITS = ROOT / "mock/include/cushim/detail/entry_traits.inc"
ANSWERS = ROOT / "tests/conformance/answers"
NOT_SIMULATED = ROOT / "tests/conformance/not_simulated.txt"
LACKS = ROOT / "tests/tools/fidelity/lacks.txt"
WALKS = ROOT / "tests/differential/recorded"
PROFILES = ROOT / "mock/sim/profile/devices"

# The newest driver that is simulated, and a statement that is only asked to learn what it implements.
NEWEST = "13050"
ANY_STATEMENT = "ExternalSemaphores.Need_a_place"

# Calls that only prepare the call whose answer a test records.
PREPARATION = {"cuInit", "cuCtxSetCurrent", "cuCtxSynchronize", "cuStreamSynchronize"}


@dataclass
class Row:
    symbol: str
    base: str
    noun: str
    served: bool = False
    statements: set = field(default_factory=set)
    called: set = field(default_factory=set)
    answered: set = field(default_factory=set)  # statements with a recorded answer
    equal: Counter = field(default_factory=Counter)    # by the driver's index
    recorded: Counter = field(default_factory=Counter)
    alike: int = 0
    different: int = 0
    differing: list = field(default_factory=list)  # statements whose answer differs from the recorded one
    reasons: list = field(default_factory=list)

    def state(self):
        if not self.served:
            return NOT_IMPLEMENTED
        if any(reason.startswith(DOCUMENTED_ONLY) for reason in self.reasons):
            return DOCUMENTED_ONLY
        return "partial" if self.why() else "complete"

    def why(self):
        reasons = list(self.reasons)
        if self.differing:
            more = f" and {len(self.differing) - 1} more" if len(self.differing) > 1 else ""
            reasons.append(f"an answer differs in the statement {self.differing[0]}{more}")
        return reasons


def read_nouns():
    """Returns {base name: noun} of the table of entry traits. Nouns and the names of each noun are sorted."""
    nouns, noun = {}, None
    for line in TRAITS.read_text().splitlines():
        if heading := re.fullmatch(r"// ---- (.+) ----", line):
            noun = heading[1]
        elif row := re.match(r'\{"(\w+)", ', line):
            nouns[row[1]] = noun
    order = [(noun, base) for base, noun in nouns.items()]
    for one, other in zip(order, sorted(order)):
        if one != other:
            raise SystemExit(f"{TRAITS}: the row of {other[1]} is not in its sorted place")
    return nouns


def read_rows():
    pattern = re.compile(r"^CUSHIM_ENTRY_?\w*\((\d+), (\w+), (\w+),", re.MULTILINE)
    rows, nouns = {}, read_nouns()
    for _, symbol, base in sorted(pattern.findall(LIST.read_text()), key=lambda entry: int(entry[0])):
        if base not in nouns:
            raise SystemExit(f"{TRAITS} has no row for {base}")
        rows[symbol] = Row(symbol, base, nouns[base])
    count = int(re.search(r"#define CUSHIM_ENTRY_COUNT (\d+)", LIST.read_text())[1])
    if len(rows) != count:
        raise SystemExit(f"{LIST} has {count} entry points, but {len(rows)} were read")
    return rows


def lines_of(path):
    """Yields (test, key, value) for each line of an answers file."""
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            test, _, rest = line.partition(": ")
            key, _, value = rest.rpartition(" = ")
            yield test, key, value


def without_number(key):
    """Returns a key without the number that distinguishes repeated keys."""
    return re.sub(r" #\d+$", "", key)


def read_not_simulated():
    """Returns {test: reason}, and the tests whose answers differ only sometimes."""
    reasons, at_times, comment, in_comment = {}, [], [], False
    for line in NOT_SIMULATED.read_text().splitlines()[2:]:
        if line.startswith("#"):
            comment = comment + [line[2:]] if in_comment else [line[2:]]
        elif line:
            name = line.removesuffix(" at times")
            reasons[name] = " ".join(comment)
            if name != line:
                at_times.append(name)
        in_comment = line.startswith("#")
    return reasons, at_times


@dataclass
class Driver:
    """A real driver whose answers were recorded, and the settings with which the simulated driver imitates
    it."""
    name: str
    devices: str
    version: str
    answers: list

    @staticmethod
    def read(path):
        text = path.read_text()
        gpus = re.findall(r"^# gpu (.*)$", text, re.MULTILINE)
        profiles = [json.loads(profile.read_text()) for profile in PROFILES.glob("*.json")]
        ids = {profile["name"]: profile["id"] for profile in profiles if "id" in profile}
        unknown = [gpu for gpu in gpus if gpu not in ids]
        if unknown:
            raise SystemExit(f"{path} is of a {unknown[0]}, of which there is no profile to simulate it")
        return Driver(path.stem, ",".join(ids[gpu] for gpu in gpus),
                      re.search(r"^# driver .*, version (\d+)", text, re.MULTILINE)[1], list(lines_of(path)))


def run(command, **variables):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("CUSHIM_", "CUDA_", "GTEST_"))}
    done = subprocess.run(command, env=environment | variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    return done.returncode, done.stdout


@dataclass
class Result:
    """What a run of the conformance suite on the simulated driver wrote."""
    answers: dict = field(default_factory=dict)  # {(test, key): value}
    calls: list = field(default_factory=list)    # as from lines_of()
    served: set = field(default_factory=set)     # the entry points that the simulated driver implements

    def add(self, answers, calls):
        """Adds the files of --write-answers and --write-calls."""
        self.answers |= {(test, key): value for test, key, value in lines_of(answers)}
        self.calls += lines_of(calls)
        self.served |= set(re.findall(r"^# serves (\w+)$", calls.read_text(), re.MULTILINE))


def ask(program, driver, chosen, folder, result):
    """Runs the statements that are chosen, and adds what they write to the result."""
    answers, calls = Path(folder, "answers.txt"), Path(folder, "calls.txt")
    for path in (answers, calls):
        path.unlink(missing_ok=True)
    # Exit code 1: some statements are not simulated.
    status, output = run([program, "--driver=sim", "--gtest_brief=1", f"--gtest_filter={chosen}",
                          f"--write-answers={answers}", f"--write-calls={calls}"],
                         CUSHIM_DEVICES=driver.devices, CUSHIM_DRIVER_VERSION=driver.version, CUSHIM_SCHEDULE="eager")
    if status not in (0, 1) or not answers.exists():
        raise SystemExit(f"{program} ended with {status}:\n{output[-3000:]}")
    result.add(answers, calls)


def ask_all(options, driver, not_simulated, at_times, folder):
    """Returns the result of all statements, and that of those whose answers differ at times."""
    result, others = Result(), Result()
    if options.results:
        written = sorted(options.results.glob(f"x{driver.devices.count(',') + 1}*.answers"))
        if not written:
            raise SystemExit(f"{options.results} has no answers for {driver.name}")
        for answers in written:
            result.add(answers, answers.with_suffix(".calls"))
        ask(options.conformance, driver, ":".join(set(not_simulated) - set(at_times)), folder, result)
    else:
        ask(options.conformance, driver, "-" + ":".join(at_times), folder, result)
    ask(options.conformance, driver, ":".join(at_times), folder, others)
    return result, others


def counts_of_walks(options, folder):
    """Yields the subject of each recording of random programs, and the lines about their answers: the total, then
    "SYMBOL EQUAL DIFFERENT" for each entry point."""
    for recorded in sorted([*WALKS.glob("*.txt"), *WALKS.glob("data/*.txt.zst")]):
        name = recorded.name.removesuffix(".zst")
        counts = Path(options.results or folder, f"walks_{name}")
        if not options.results:
            if recorded.suffix == ".zst":
                status, output = run(["zstd", "-dqf", recorded, "-o", Path(folder, name)])
                if status != 0:
                    raise SystemExit(f"zstd ended with {status}:\n{output}")
                recorded = Path(folder, name)
            status, output = run([options.differential, "--recorded", recorded, "--write-calls", counts, "--shown", "0",
                                  "--at-least", "0"])
            if status != 0:
                raise SystemExit(f"{options.differential} ended with {status}:\n{output}")
        yield name.removesuffix(".txt").rsplit("_", 1)[1], counts.read_text().splitlines()


def note_calls(rows, calls):
    """Records the tests that called each entry point. Returns the entry points that an answer belongs to:
    {(test, key): symbols}."""
    asked = defaultdict(set)
    for test, key, symbols in calls:
        symbols = symbols.split()
        for symbol in symbols:
            rows[symbol].called.add(test)
        named = re.findall(r"\bcu[A-Z]\w*", key)
        for word in named:
            # The exact symbol if it was called, otherwise the symbol that <cuda.h> maps the name to.
            meant = {word} & set(symbols) or {symbol for symbol in symbols if rows[symbol].base == word}
            if meant:
                asked[test, key] |= meant
                break
        if not named and key != "end" and len(alone := set(symbols) - PREPARATION) == 1:
            asked[test, key] |= alone
    for (test, _), symbols in asked.items():
        for symbol in symbols:
            rows[symbol].statements.add(test)
    return asked


def compare(rows, place, driver, answers, asked, called, not_simulated, at_times):
    last = None, ()
    for test, key, value in driver.answers:
        symbols = asked.get((test, without_number(key)))
        if symbols is None:
            # No call since the previous answer: this is another value of the same call.
            symbols = last[1] if last[0] == test and (test, without_number(key)) not in called else ()
        last = test, symbols
        if test in at_times:
            for symbol in symbols:
                add(rows[symbol].reasons, not_simulated[test])
            continue
        if value == "crashed":  # not an answer to compare with
            continue
        for symbol in symbols:
            rows[symbol].recorded[place] += 1
            rows[symbol].answered.add(test)
            if answers.get((test, key)) == value:
                rows[symbol].equal[place] += 1
            elif test in not_simulated:
                add(rows[symbol].reasons, not_simulated[test])
            else:
                add(rows[symbol].differing, test)


def add(reasons, reason):
    if reason not in reasons:
        reasons.append(reason)


def note_lacks(rows):
    for number, line in enumerate(LACKS.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        pattern, _, reason = line.partition(": ")
        symbols = fnmatch.filter(rows, pattern)
        if not symbols or not reason:
            raise SystemExit(f"{LACKS}:{number}: not \"pattern: reason\" of an entry point: {line}")
        for symbol in symbols:
            add(rows[symbol].reasons, reason)
    unexplained = [symbol for symbol, row in rows.items() if not row.served and not row.reasons]
    if unexplained:
        raise SystemExit(f"{LACKS}: no reason why these are not implemented: {' '.join(unexplained)}")


def count_wrapped(rows):
    """Counts the names of entry points that the code of the typed wrappers mentions, ABI variants not counted."""
    names, found = {row.base for row in rows.values()}, set()
    for header in sorted((ROOT / "include/cushim").rglob("*.hpp")):
        code = re.sub(r'//.*|"(?:\\.|[^"\\])*"', "", header.read_text())
        found |= {re.sub(r"_v\d+(_pts[dz])?$", "", name) for name in re.findall(r"\bcu[A-Z]\w+", code)} & names
    return len(found)


def measure(options):
    rows = read_rows()
    not_simulated, at_times = read_not_simulated()
    drivers = [Driver.read(path) for path in sorted(ANSWERS.glob("*.txt"))]
    with tempfile.TemporaryDirectory() as folder:
        for place, driver in enumerate(drivers):
            result, others = ask_all(options, driver, not_simulated, at_times, folder)
            for symbol in result.served:
                rows[symbol].served = True
            calls = result.calls + others.calls
            asked = note_calls(rows, calls)
            called = {(test, key) for test, key, _ in calls}
            compare(rows, place, driver, result.answers, asked, called, not_simulated, at_times)
        newest, result = Driver(NEWEST, drivers[0].devices, NEWEST, []), Result()
        ask(options.conformance, newest, ANY_STATEMENT, folder, result)
        for symbol in result.served:
            if not rows[symbol].served:
                rows[symbol].served = True
                rows[symbol].reasons.append("documented only: only in drivers newer than the recorded ones")
        walks = []
        for subject, (total, *counts) in counts_of_walks(options, folder):
            walks.append(f"{subject}: {total.removeprefix('# ')}")
            for line in counts:
                symbol, alike, different = line.split()
                rows[symbol].alike += int(alike)
                rows[symbol].different += int(different)
    note_lacks(rows)
    for row in rows.values():
        if not row.served:
            continue
        if not row.statements:
            row.reasons.append("no statement asks it" + (f" ({len(row.called)} call it)" if row.called else ""))
        elif not row.recorded:
            row.reasons.append("no answer of a real driver is recorded")
        if row.different:
            row.reasons.append(f"random programs: {row.different} of {row.alike + row.different} calls differ")
    return rows, drivers, walks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--conformance", type=Path, default=ROOT / "build/gcc/tests/conformance/cushim_conformance")
    parser.add_argument("--differential", type=Path,
                        default=ROOT / "build/gcc/tests/differential/cushim_differential")
    parser.add_argument("--results", type=Path, metavar="FOLDER",
                        help="results that CTest's tests wrote; without it, all statements and programs run again")
    parser.add_argument("--into", type=Path, default=ROOT, help="the folder of README.md and docs")
    options = parser.parse_args()
    for program in [options.conformance] + ([] if options.results else [options.differential]):
        if not program.exists():
            raise SystemExit(f"{program} does not exist: build it, or name its path (--help)")
    rows, drivers, walks = measure(options)
    written = {options.into / "docs/reference/fidelity.md": page(rows, drivers, walks, count_wrapped(rows)),
               options.into / "docs/reference/fidelity.svg": picture(rows)}
    written[options.into / "README.md"] = readme(options.into / "README.md", totals(rows, drivers))
    status = 0
    for path, text in written.items():
        if not options.check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            old = path.read_text().splitlines() if path.exists() else []
            changed = [line for line in text.splitlines() if line not in set(old)]
            print(f"{path} does not match the results: run tools/fidelity/fidelity.py. New lines:", *changed[:10], sep="\n  ",
                  file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
