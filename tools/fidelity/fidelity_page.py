# SPDX-License-Identifier: Apache-2.0
"""The text of docs/reference/fidelity.md, its picture and the totals in README.md, from the rows of fidelity.py."""
import re
from collections import Counter, defaultdict
from xml.sax.saxutils import escape

DOCUMENTED_ONLY = "documented only"
NOT_IMPLEMENTED = "not implemented"
STATES = ("complete", "partial", DOCUMENTED_ONLY, NOT_IMPLEMENTED)
MARK = "<!-- fidelity: written by tools/fidelity/fidelity.py -->\n"

HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# How far the simulated driver matches the real driver

Which entry points does the simulated driver implement, and do its answers equal those of a real driver?
`tools/fidelity/fidelity.py` writes this page; do not edit it by hand. A test of every build runs the conformance suite and the
random programs on the simulated driver, and fails if this page does not match their results.

- **complete**: implemented, and all of this holds: statements of the [conformance suite](../../tests/conformance) ask it;
  all their answers equal the recorded answers of a real driver; no random program gets another answer from it; no
  known gap is listed. Behaviour that no statement asks for is unknown.
- **partial**: implemented, but one of these conditions does not hold. The last column says which.
- **documented only**: implemented after NVIDIA's documentation, and never run on a real driver. The last column says why.
- **not implemented**: calls return `CUDA_ERROR_NOT_SUPPORTED` (801), with one message on stderr. Lookups do not find the
  entry point; `supports()` returns false. The last column says why.

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


def code(text):
    return f"`{text}`"


def percent(part, all_of_it):
    return f"{100 * part / all_of_it:.1f} %" if all_of_it else "none"


def table_row(row, drivers):
    equal = "; ".join(f"{place + 1}: {row.equal[place]} of {row.recorded[place]}" for place in range(len(drivers))
                      if row.recorded[place])
    random = f"{row.alike} / {row.different}" if row.alike + row.different else ""
    return f"| {code(row.symbol)} | {row.state()} | {len(row.statements) or ''} | {equal} | {random} " \
           f"| {'; '.join(row.why())} |"


def by_noun(rows):
    nouns = defaultdict(list)
    for row in rows.values():
        nouns[row.noun].append(row)
    return sorted(nouns.items())


def page(rows, drivers, walks, wrapped):
    text = [HEAD]
    text.append("![Entry points by noun and state](fidelity.svg)\n")
    counts = Counter(row.state() for row in rows.values())
    text.append(f"| Entry points | {' | '.join(state.capitalize() for state in STATES)} |\n|---|{'---|' * len(STATES)}")
    text.append(f"| {len(rows)} | {' | '.join(str(counts[state]) for state in STATES)} |")
    bases = defaultdict(set)
    for row in rows.values():
        bases[row.base].add(row.state())
    text.append(f"\nABI variants not counted: {len(bases)} names, of which "
                f"{sum(states != {NOT_IMPLEMENTED} for states in bases.values())} are implemented in at least one variant.\n")
    text.append(f"Typed C++ wrappers call {wrapped} of these names.\n")
    text.append("Answers were recorded on these drivers:\n")
    for place, driver in enumerate(drivers):
        tests = len({test for test, _, _ in driver.answers})
        equal = sum(row.equal[place] for row in rows.values())
        recorded = sum(row.recorded[place] for row in rows.values())
        text.append(f"{place + 1}. {code(driver.name)}: {len(driver.answers)} answers to {tests} statements. {recorded} of "
                    f"the answers belong to an entry point; {equal} of these are equal ({percent(equal, recorded)}). "
                    f"{lookups_that_differ(rows, place)} of the others are lookups of entry points that are not "
                    "implemented, which differ by design.")
    text.append("\n[Random programs](../evidence/gpu.md#random-programs), by subject:\n")
    text.extend(f"- {one}" for one in walks)
    text.append("\nNouns, with the statements that have an answer of one of the noun's entry points:\n")
    text.append("| Noun | Entry points | Statements | with a recorded answer |\n|---|---|---|---|")
    for noun, members in by_noun(rows):
        link = re.sub(r"[^a-z0-9 -]", "", noun.lower()).replace(" ", "-")
        statements = len(set().union(*(row.statements for row in members)))
        answered = len(set().union(*(row.answered for row in members)))
        text.append(f"| [{noun}](#{link}) | {len(members)} | {statements} | {answered} |")
    for noun, members in by_noun(rows):
        text.append(f"\n## {noun}\n\n| Entry point | | Statements | Equal to | Random calls | Why not complete |\n"
                    "|---|---|---|---|---|---|")
        not_implemented = defaultdict(list)
        for row in sorted(members, key=lambda row: (row.base, row.symbol)):
            if row.served:
                text.append(table_row(row, drivers))
            else:
                not_implemented[row.base, '; '.join(row.why())].append(row.symbol)
        for (_, why), symbols in sorted(not_implemented.items()):
            text.append(f"| {', '.join(code(symbol) for symbol in symbols)} | {NOT_IMPLEMENTED} | | | | {why} |")
    return "\n".join(text) + "\n"


def picture(rows):
    """Draws one bar per noun; its length is the number of entry points."""
    colours = {"complete": "#2e7d32", "partial": "#f9a825", DOCUMENTED_ONLY: "#5c6bc0", NOT_IMPLEMENTED: "#bdbdbd"}
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
        at += 130
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
             f"| documented only: implemented, never run on a real driver | {counts[DOCUMENTED_ONLY]} |",
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
