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
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "include/cushim/entry_points.inc"
TRAITS = ROOT / "mock/include/cushim/detail/entry_traits.inc"
ANSWERS = ROOT / "tests/conformance/answers"
NOT_SIMULATED = ROOT / "tests/conformance/not_simulated.txt"
LACKS = ROOT / "tests/tools/fidelity/lacks.txt"
WALKS = ROOT / "tests/differential/recorded"
PROFILES = ROOT / "mock/sim/profile/devices"
NOT_IMPLEMENTED = "not implemented"
STATES = ("complete", "partial", NOT_IMPLEMENTED)
MARK = "<!-- fidelity: written by tools/fidelity/fidelity.py -->\n"

# Calls that only prepare the call whose answer a test records.
PREPARATION = {"cuInit", "cuCtxSetCurrent", "cuCtxSynchronize", "cuStreamSynchronize"}

HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# How far the simulated driver matches the real driver

Which entry points does the simulated driver implement, and do its answers equal those of a real driver?
`tools/fidelity/fidelity.py` writes this page; do not edit it by hand. A test of every build runs the conformance suite and the
random programs on the simulated driver, and fails if this page does not match their results.

- **complete**: implemented, and all of this holds: statements of the [conformance suite](../../tests/conformance) ask it;
  all their answers equal the recorded answers of a real driver; no random program gets another answer from it; no
  known gap is listed. Behaviour that no statement asks for is unknown.
- **partial**: implemented, but one of these conditions does not hold. The last column says which.
- **not implemented**: calls return `CUDA_ERROR_NOT_SUPPORTED` (801), with one message on stderr. Lookups do not find the
  entry point; `supports()` returns false.

The columns:

- **Statements**: the number of statements with an answer of this entry point. An answer belongs to an entry point if the
  entry point was called since the previous answer, and the question names it. If the question names none, the entry
  point must be the only one called, apart from preparation (`cuInit`, `cuCtxSetCurrent`, `cuCtxSynchronize`,
  `cuStreamSynchronize`). A value read without a further call belongs to the entry point of the answer before it. The
  simulated driver counts the calls, so an ABI variant counts only where that variant was called.
- **Equal to**: for each real driver, the number of its recorded answers that the simulated driver gives too.
- **Random calls**: calls in [random programs](../evidence/gpu.md#random-programs) up to the first different answer: equal
  answers / different answers. The cause of a difference may be an earlier call.

[not_simulated.txt](../../tests/conformance/not_simulated.txt) and [lacks.txt](../../tests/tools/fidelity/lacks.txt) list the
known differences and their reasons. A noun's table has one line for each exported symbol; the symbols of one name that
are not implemented share a line.
"""


@dataclass
class Row:
    symbol: str
    base: str
    noun: str
    served: bool = False
    statements: set = field(default_factory=set)
    called: set = field(default_factory=set)
    equal: Counter = field(default_factory=Counter)    # by the driver's index
    recorded: Counter = field(default_factory=Counter)
    alike: int = 0
    different: int = 0
    differing: list = field(default_factory=list)  # statements whose answer differs from the recorded one
    reasons: list = field(default_factory=list)

    def state(self):
        if not self.served:
            return NOT_IMPLEMENTED
        return "partial" if self.why_partial() else "complete"

    def why_partial(self):
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


def ask(program, driver, chosen, folder):
    """Returns the simulated driver's answers {(test, key): value}, its calls as from lines_of(), and the
    entry points that it implements."""
    answers, calls = Path(folder, "answers.txt"), Path(folder, "calls.txt")
    for path in (answers, calls):
        path.unlink(missing_ok=True)
    # Exit code 1: some statements are not simulated.
    status, output = run([program, "--driver=sim", "--gtest_brief=1", f"--gtest_filter={chosen}",
                          f"--write-answers={answers}", f"--write-calls={calls}"],
                         CUSHIM_DEVICES=driver.devices, CUSHIM_DRIVER_VERSION=driver.version, CUSHIM_SCHEDULE="eager")
    if status not in (0, 1) or not answers.exists():
        raise SystemExit(f"{program} ended with {status}:\n{output[-3000:]}")
    served = re.findall(r"^# serves (\w+)$", calls.read_text(), re.MULTILINE)
    return {(test, key): value for test, key, value in lines_of(answers)}, list(lines_of(calls)), served


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
        served = [symbol for symbol in fnmatch.filter(rows, pattern) if rows[symbol].served]
        if not served or not reason:
            raise SystemExit(f"{LACKS}:{number}: not \"pattern: reason\" of an entry point that is served: {line}")
        for symbol in served:
            add(rows[symbol].reasons, reason)


def measure(options):
    rows = read_rows()
    not_simulated, at_times = read_not_simulated()
    drivers = [Driver.read(path) for path in sorted(ANSWERS.glob("*.txt"))]
    with tempfile.TemporaryDirectory() as folder:
        for place, driver in enumerate(drivers):
            answers, calls, served = ask(options.conformance, driver, "-" + ":".join(at_times), folder)
            _, others, _ = ask(options.conformance, driver, ":".join(at_times), folder)
            for symbol in served:
                rows[symbol].served = True
            asked = note_calls(rows, calls + others)
            called = {(test, key) for test, key, _ in calls + others}
            compare(rows, place, driver, answers, asked, called, not_simulated, at_times)
        walks = []
        for path in sorted(WALKS.glob("*.txt")):
            counts = Path(folder, "walks.txt")
            status, output = run([options.differential, "--recorded", path, "--write-calls", counts, "--shown", "0",
                                  "--at-least", "0"])
            if status != 0:
                raise SystemExit(f"{options.differential} ended with {status}:\n{output}")
            walks.append(output.strip().splitlines()[-1])
            for line in counts.read_text().splitlines():
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


def code(text):
    return f"`{text}`"


def percent(part, all_of_it):
    return f"{100 * part / all_of_it:.1f} %" if all_of_it else "none"


def table_row(row, drivers):
    equal = "; ".join(f"{place + 1}: {row.equal[place]} of {row.recorded[place]}" for place in range(len(drivers))
                      if row.recorded[place])
    random = f"{row.alike} / {row.different}" if row.alike + row.different else ""
    return f"| {code(row.symbol)} | {row.state()} | {len(row.statements) or ''} | {equal} | {random} " \
           f"| {'; '.join(row.why_partial())} |"


def by_noun(rows):
    nouns = defaultdict(list)
    for row in rows.values():
        nouns[row.noun].append(row)
    return sorted(nouns.items())


def page(rows, drivers, walks):
    text = [HEAD]
    text.append("![Complete, partial and not implemented entry points by noun](fidelity.svg)\n")
    counts = Counter(row.state() for row in rows.values())
    text.append("| Entry points | Complete | Partial | Not implemented |\n|---|---|---|---|")
    text.append(f"| {len(rows)} | {counts['complete']} | {counts['partial']} | {counts[NOT_IMPLEMENTED]} |")
    bases = defaultdict(set)
    for row in rows.values():
        bases[row.base].add(row.state())
    text.append(f"\nABI variants not counted: {len(bases)} names, of which "
                f"{sum(states != {NOT_IMPLEMENTED} for states in bases.values())} are implemented in at least one variant.\n")
    text.append("Answers were recorded on these drivers:\n")
    for place, driver in enumerate(drivers):
        tests = len({test for test, _, _ in driver.answers})
        equal = sum(row.equal[place] for row in rows.values())
        recorded = sum(row.recorded[place] for row in rows.values())
        text.append(f"{place + 1}. {code(driver.name)}: {len(driver.answers)} answers to {tests} statements. {recorded} of "
                    f"the answers belong to an entry point; {equal} of these are equal ({percent(equal, recorded)}). "
                    f"{lookups_that_differ(rows, place)} of the others are lookups of entry points that are not "
                    "implemented, which differ by design.")
    text.append("\nRandom programs: " + "; ".join(walks) + ".\n")
    for noun, members in by_noun(rows):
        text.append(f"- [{noun}](#{re.sub(r'[^a-z0-9 -]', '', noun.lower()).replace(' ', '-')}) ({len(members)})")
    for noun, members in by_noun(rows):
        text.append(f"\n## {noun}\n\n| Entry point | | Statements | Equal to | Random calls | Why partial |\n"
                    "|---|---|---|---|---|---|")
        not_implemented = defaultdict(list)
        for row in sorted(members, key=lambda row: (row.base, row.symbol)):
            if row.served:
                text.append(table_row(row, drivers))
            else:
                not_implemented[row.base].append(row.symbol)
        for base, symbols in sorted(not_implemented.items()):
            text.append(f"| {', '.join(code(symbol) for symbol in symbols)} | {NOT_IMPLEMENTED} | | | | |")
    return "\n".join(text) + "\n"


def picture(rows):
    """Draws one bar per noun; its length is the number of entry points."""
    colours = {"complete": "#2e7d32", "partial": "#f9a825", NOT_IMPLEMENTED: "#bdbdbd"}
    nouns = by_noun(rows)
    longest = max(len(members) for _, members in nouns)
    left, unit, height = 230, 520 / longest, 20
    width, bottom = left + 520 + 60, 40 + height * len(nouns)
    text = ['<!-- SPDX-License-Identifier: Apache-2.0 -->',
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{bottom + 8}" '
            'font-family="sans-serif" font-size="12">',
            '<title>Entry points of the simulated driver by noun</title>',
            f'<rect width="{width}" height="{bottom + 8}" fill="#ffffff"/>']
    at = left
    for state in STATES:
        text.append(f'<rect x="{at}" y="10" width="12" height="12" fill="{colours[state]}"/>'
                    f'<text x="{at + 18}" y="20">{state}</text>')
        at += 110
    for number, (noun, members) in enumerate(nouns):
        top = 34 + number * height
        counts = Counter(row.state() for row in members)
        text.append(f'<text x="{left - 8}" y="{top + 13}" text-anchor="end">{escape(noun)}</text>')
        at = float(left)
        for state in STATES:
            if counts[state]:
                text.append(f'<rect x="{at:.1f}" y="{top + 2}" width="{counts[state] * unit:.1f}" height="{height - 5}" '
                            f'fill="{colours[state]}"><title>{state}: {counts[state]}</title></rect>')
            at += counts[state] * unit
        text.append(f'<text x="{at + 6:.1f}" y="{top + 13}">{len(members)}</text>')
    return "\n".join(text + ["</svg>"]) + "\n"


def lookups_that_differ(rows, place):
    """Counts cuGetProcAddress answers that differ: the simulated driver does not find entry points that it
    does not implement."""
    return sum(row.recorded[place] - row.equal[place] for row in rows.values() if row.base == "cuGetProcAddress")


def totals(rows, drivers):
    counts = Counter(row.state() for row in rows.values())
    alike, different = sum(row.alike for row in rows.values()), sum(row.different for row in rows.values())
    lines = ["| Entry points of the simulated driver, ABI variants counted | |", "|---|---|",
             f"| complete: all recorded answers of the real driver are equal | {counts['complete']} |",
             f"| partial: implemented, with a listed difference or an answer not recorded | {counts['partial']} |",
             f"| not implemented: returns `CUDA_ERROR_NOT_SUPPORTED` (801) | {counts[NOT_IMPLEMENTED]} |"]
    for place, driver in enumerate(drivers):
        equal = sum(row.equal[place] for row in rows.values())
        recorded = sum(row.recorded[place] for row in rows.values())
        lines.append(f"| answers equal to {code(driver.name)} | {equal} of {recorded}; "
                     f"{lookups_that_differ(rows, place)} of the others are lookups of what is not implemented |")
    lines.append(f"| calls of random programs with the recorded answer, up to the first difference | {alike} of "
                 f"{alike + different} |")
    return "\n".join(lines) + "\n"


def readme(path, text):
    old = path.read_text()
    parts = old.split(MARK)
    if len(parts) != 3:
        raise SystemExit(f"{path} has no place for the totals: two lines {MARK}")
    return MARK.join([parts[0], text, parts[2]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--conformance", type=Path, default=ROOT / "build/gcc/tests/conformance/cushim_conformance")
    parser.add_argument("--differential", type=Path,
                        default=ROOT / "build/gcc/tests/differential/cushim_differential")
    parser.add_argument("--into", type=Path, default=ROOT, help="the folder of README.md and docs")
    options = parser.parse_args()
    for program in (options.conformance, options.differential):
        if not program.exists():
            raise SystemExit(f"{program} does not exist: build it, or name its path (--help)")
    rows, drivers, walks = measure(options)
    written = {options.into / "docs/reference/fidelity.md": page(rows, drivers, walks),
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
