#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/fidelity.md and docs/fidelity.svg, how far the simulated driver is the real one, entry point by entry
point, and the totals in README.md: from what the simulated driver serves, the statements and random programs
as they run on it now, and the answers recorded on real drivers.

  tools/fidelity.py            write them
  tools/fidelity.py --check    fail if they are not what the programs and the recorded answers say
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

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "include/cushim/entry_points.inc"
ANSWERS = ROOT / "tests/conformance/answers"
NOT_SIMULATED = ROOT / "tests/conformance/not_simulated.txt"
LACKS = ROOT / "tests/fidelity/lacks.txt"
WALKS = ROOT / "tests/differential/recorded"
PROFILES = ROOT / "mock/sim/profiles"
STATES = ("complete", "partial", "absent")
MARK = "<!-- fidelity: written by tools/fidelity.py -->\n"

# What tests call before they ask and between.
PREPARATION = {"cuInit", "cuCtxSetCurrent", "cuCtxSynchronize", "cuStreamSynchronize"}

# The first that fits. What comes first is more special.
NOUNS = [
    ("Graphs", "cuGraph(?!ics)|cuUserObject|cuStream(Begin|End|Update)Capture"),
    ("Interop with graphics", "cuGraphics|cuGL|cuEGL|cuVDPAU|cuD3D"),
    ("External memory and semaphores", "cuImportExternal|cuExternal|cuDestroyExternal|cu(Signal|Wait)External"),
    ("Modules and kernels", "cuModule|cuLibrary|cuKernel|cuFunc|cuLaunch(?!Host)|cuOccupancy|cuLink|cuParam|cuTensorMap"),
    ("Textures and surfaces", "cuTex|cuSurf"),
    ("Host functions", "cuLaunchHostFunc|cuStreamAddCallback"),
    ("Memory operations", "cuStream(Wait|Write)Value|cuStreamBatchMemOp"),
    ("Streams", "cuStream|cuThreadExchange"),
    ("Events", "cuEvent"),
    ("Sharing between processes", "cuIpc"),
    ("Pools", "cuMemPool|cuMem(Alloc|Free)(FromPool)?Async|cuDevice(Get|Set)(Default)?MemPool|cuMemGetMemPool"
              "|cuMemSetMemPool|cuMemGetDefaultMemPool"),
    ("Virtual memory", "cuMem(Address|Create|Release|Map|Unmap|SetAccess|GetAccess|ExportTo|ImportFrom"
                       "|GetAllocation|RetainAllocation|GetHandle)|cuMulticast"),
    ("Copies", "cuMemcpy|cuMemBatch|cuMemDiscard|cuFabric"),
    ("Sets", "cuMemset"),
    ("Arrays", "cuArray|cuMipmapped"),
    ("Peers", "cuCtx(En|Dis)ablePeer|cuDeviceCanAccessPeer|cuDeviceGetP2P"),
    ("Managed memory", "cuMemAllocManaged|cuMemAdvise|cuMemPrefetch|cuMemRange"),
    ("Host memory", "cuMemHost|cuMem(Alloc|Free)Host"),
    ("Device memory", "cuMemAlloc|cuMemFree|cuMemGet"),
    ("Pointers", "cuPointer"),
    ("Green contexts", "cuGreen|cuDevResource|cuDevSm|cuDeviceGetDevResource|cuCtxGetDevResource|cuCtxFromGreen"
                       "|cuDevice.*Resource"),
    ("Primary contexts", "cuDevicePrimary"),
    ("Contexts", "cuCtx"),
    ("Devices", "cuDevice"),
    ("Initialization, lookup and errors", "cuInit|cuDriver|cuGetError|cuGetProc|cuGetExport"),
    ("Tools", "cuProfiler|cuCoredump|cuCheckpoint|cuLog|cuFlush"),
]

HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# How far the simulated driver is the real one

Written by `tools/fidelity.py`; not edited by hand. A test of every build runs the statements and the random programs
on the simulated driver and fails if this page is not what they say.

- **absent**: the simulated driver does not have it. It answers `CUDA_ERROR_NOT_SUPPORTED` and says so once, lookups do
  not find it, `supports()` says no.
- **complete**: it is served; statements of the [conformance suite](../tests/conformance) ask it; all answers that a
  real driver gave them are the simulated driver's too; no call of it is answered otherwise in a random program; and nobody
  has named what it lacks. It does not mean more: what nobody has asked is not known.
- **partial**: it is served, but one of these does not hold. The last column says which.

**Statements** counts those in which an answer came from this very entry point: it was called after the answer
before, and what was asked names it; or it alone was called, beside what tests prepare with (`cuInit`, `cuCtxSetCurrent`,
`cuCtxSynchronize`, `cuStreamSynchronize`), and what was asked names none. What is read without a call since the answer
before is of the same entry point. Calls are counted by the simulated driver itself, so an ABI variant counts only
where it was called. **Equal to** gives, for each driver that answers were recorded on, how many of its answers are the
same here. **Random calls** are those of [random programs](gpu.md#random-programs) up to the first that is answered
otherwise: as many were answered alike, as many (after the slash) otherwise. Such a difference may come from an
earlier call: a query tells what a wait did. Known differences and their reasons are kept in
[not_simulated.txt](../tests/conformance/not_simulated.txt) and [lacks.txt](../tests/fidelity/lacks.txt).

The table of a noun has a line for each ABI variant, by its exported symbol; those that are absent share one.
"""


@dataclass
class Row:
    symbol: str
    base: str
    noun: str
    served: bool = False
    statements: set = field(default_factory=set)
    called: set = field(default_factory=set)
    equal: Counter = field(default_factory=Counter)    # by the driver's place
    recorded: Counter = field(default_factory=Counter)
    alike: int = 0
    different: int = 0
    differing: list = field(default_factory=list)  # statements with another answer than a recorded one
    reasons: list = field(default_factory=list)

    def state(self):
        if not self.served:
            return "absent"
        return "partial" if self.why_partial() else "complete"

    def why_partial(self):
        reasons = list(self.reasons)
        if self.differing:
            more = f" and {len(self.differing) - 1} more" if len(self.differing) > 1 else ""
            reasons.append(f"an answer differs in the statement {self.differing[0]}{more}")
        return reasons


def read_rows():
    pattern = re.compile(r"^CUSHIM_ENTRY_?\w*\((\d+), (\w+), (\w+),", re.MULTILINE)
    rows = {}
    for _, symbol, base in sorted(pattern.findall(LIST.read_text()), key=lambda entry: int(entry[0])):
        nouns = [noun for noun, names in NOUNS if re.match(names, symbol)]
        if not nouns:
            raise SystemExit(f"tools/fidelity.py: {symbol} belongs to no noun; add it to NOUNS")
        rows[symbol] = Row(symbol, base, nouns[0])
    count = int(re.search(r"#define CUSHIM_ENTRY_COUNT (\d+)", LIST.read_text())[1])
    if len(rows) != count:
        raise SystemExit(f"{LIST} has {count} entry points, but {len(rows)} were read")
    return rows


def lines_of(path):
    """The lines of an answers file: (test, key, value)."""
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            test, _, rest = line.partition(": ")
            key, _, value = rest.rpartition(" = ")
            yield test, key, value


def without_number(key):
    """The key as it was asked: a repeated one bears a number."""
    return re.sub(r" #\d+$", "", key)


def read_not_simulated():
    """{test: reason}, and the tests that differ at times only."""
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
    """One that answers were recorded on, and what the simulated one says to the same."""
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
    """The answers of the simulated driver, {(test, key): value}, and its calls as lines_of() gives them."""
    answers, calls = Path(folder, "answers.txt"), Path(folder, "calls.txt")
    for path in (answers, calls):
        path.unlink(missing_ok=True)
    # 1: some statements are not simulated.
    status, output = run([program, "--driver=sim", "--gtest_brief=1", f"--gtest_filter={chosen}",
                          f"--write-answers={answers}", f"--write-calls={calls}"],
                         CUSHIM_DEVICES=driver.devices, CUSHIM_DRIVER_VERSION=driver.version, CUSHIM_SCHEDULE="eager")
    if status not in (0, 1) or not answers.exists():
        raise SystemExit(f"{program} ended with {status}:\n{output[-3000:]}")
    served = re.findall(r"^# serves (\w+)$", calls.read_text(), re.MULTILINE)
    return {(test, key): value for test, key, value in lines_of(answers)}, list(lines_of(calls)), served


def note_calls(rows, calls):
    """What each test called; and which entry points an answer is of: {(test, key): symbols}."""
    asked = defaultdict(set)
    for test, key, symbols in calls:
        symbols = symbols.split()
        for symbol in symbols:
            rows[symbol].called.add(test)
        named = re.findall(r"\bcu[A-Z]\w*", key)
        for word in named:
            # As it is written, if that was called, else as <cuda.h> means it.
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
            # Nothing was called since the answer before: another value of the same call.
            symbols = last[1] if last[0] == test and (test, without_number(key)) not in called else ()
        last = test, symbols
        if test in at_times:
            for symbol in symbols:
                add(rows[symbol].reasons, not_simulated[test])
            continue
        if value == "crashed":  # no answer to be measured by
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
            row.reasons.append("no statement asks it" + (f", {len(row.called)} call it" if row.called else ""))
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
    text.append("![Complete, partial and absent entry points by noun](fidelity.svg)\n")
    counts = Counter(row.state() for row in rows.values())
    text.append("| Entry points | Complete | Partial | Absent |\n|---|---|---|---|")
    text.append(f"| {len(rows)} | {counts['complete']} | {counts['partial']} | {counts['absent']} |")
    bases = defaultdict(set)
    for row in rows.values():
        bases[row.base].add(row.state())
    text.append(f"\nBy base name, of which the variants are one: {len(bases)}, of which "
                f"{sum(states != {'absent'} for states in bases.values())} are served in one variant at least.\n")
    text.append("Drivers that answers were recorded on:\n")
    for place, driver in enumerate(drivers):
        tests = len({test for test, _, _ in driver.answers})
        equal = sum(row.equal[place] for row in rows.values())
        recorded = sum(row.recorded[place] for row in rows.values())
        text.append(f"{place + 1}. {code(driver.name)}: {len(driver.answers)} answers to {tests} statements; of those that "
                    f"are of an entry point's own, {equal} of {recorded} are the same here ({percent(equal, recorded)}); "
                    f"{looked_up_in_vain(rows, place)} of the rest are lookups of what is absent, which differ by intent")
    text.append("\nRandom programs: " + "; ".join(walks) + ".\n")
    for noun, members in by_noun(rows):
        text.append(f"- [{noun}](#{re.sub(r'[^a-z0-9 -]', '', noun.lower()).replace(' ', '-')}) ({len(members)})")
    for noun, members in by_noun(rows):
        text.append(f"\n## {noun}\n\n| Entry point | | Statements | Equal to | Random calls | Why partial |\n"
                    "|---|---|---|---|---|---|")
        absent = defaultdict(list)
        for row in sorted(members, key=lambda row: (row.base, row.symbol)):
            if row.served:
                text.append(table_row(row, drivers))
            else:
                absent[row.base].append(row.symbol)
        for base, symbols in sorted(absent.items()):
            text.append(f"| {', '.join(code(symbol) for symbol in symbols)} | absent | | | | |")
    return "\n".join(text) + "\n"


def picture(rows):
    """A bar a noun, as long as it has entry points."""
    colours = {"complete": "#2e7d32", "partial": "#f9a825", "absent": "#bdbdbd"}
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


def looked_up_in_vain(rows, place):
    """Answers that differ since lookups do not find what is absent, by intent."""
    return sum(row.recorded[place] - row.equal[place] for row in rows.values() if row.base == "cuGetProcAddress")


def totals(rows, drivers):
    counts = Counter(row.state() for row in rows.values())
    alike, different = sum(row.alike for row in rows.values()), sum(row.different for row in rows.values())
    lines = ["| Of the list's entry points, ABI variants counted | |", "|---|---|",
             f"| complete, by the evidence of statements and random programs | {counts['complete']} |",
             f"| partial, each with its reason | {counts['partial']} |",
             f"| absent, and said so | {counts['absent']} |"]
    for place, driver in enumerate(drivers):
        equal = sum(row.equal[place] for row in rows.values())
        recorded = sum(row.recorded[place] for row in rows.values())
        lines.append(f"| answers the same as those of {code(driver.name)} | {equal} of {recorded}; "
                     f"{looked_up_in_vain(rows, place)} of the rest are lookups of what is absent |")
    lines.append(f"| calls of random programs answered as recorded, up to the first that is not | {alike} of "
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
            raise SystemExit(f"there is no {program}: build it, or say where it is (--help)")
    rows, drivers, walks = measure(options)
    written = {options.into / "docs/fidelity.md": page(rows, drivers, walks),
               options.into / "docs/fidelity.svg": picture(rows)}
    written[options.into / "README.md"] = readme(options.into / "README.md", totals(rows, drivers))
    status = 0
    for path, text in written.items():
        if not options.check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            old = path.read_text().splitlines() if path.exists() else []
            changed = [line for line in text.splitlines() if line not in set(old)]
            print(f"{path} is not what the programs say: run tools/fidelity.py. New there:", *changed[:10], sep="\n  ",
                  file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
