#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/mirror.md from the answers recorded on real drivers.

  tools/fidelity/mirror.py            write the page
  tools/fidelity/mirror.py --check    fail if the page does not match the answers
"""
import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = ROOT / "tests/conformance/answers"
PAGE = ROOT / "docs/reference/mirror.md"

HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# Answers of the real driver

Which calls does each statement of the [conformance suite](../../tests/conformance) make, and what did a real driver return?
`tools/fidelity/mirror.py` writes this page from the recorded answers; do not edit it by hand.
"""
NOTHING = """
No answers have been recorded yet. On a machine with a GPU,
`cushim_conformance --driver=real --write-answers=tests/conformance/answers/` records them.
"""


def read(path):
    """Returns a file's header lines, and its answers: {test: [(key, value)]}."""
    head, answers = [], {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("#") or not line:
            head.append(line.lstrip("# "))
            continue
        test, colon, rest = line.partition(": ")
        key, equals, value = rest.rpartition(" = ")
        if not colon or not equals:
            raise SystemExit(f"{path}:{number}: not an answer: {line}")
        answers.setdefault(test, []).append((key, value))
    if any(line.startswith("driver ") and "SIMULATED" in line for line in head):
        raise SystemExit(f"{path}: recorded on the simulated driver. The page has answers of real drivers only: "
                         "record with --driver=real on a machine with a GPU")
    return head, answers


def in_words(test):
    """Returns the suite of a test as a noun, and its name as a sentence."""
    suite, _, name = test.partition(".")
    suite = suite.rpartition("/")[2]
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", suite), name.replace("_", " ")


def code(text):
    """Formats text as code in a table cell."""
    return "`" + text.replace("`", "'").replace("|", "\\|") + "`"


def page(paths):
    if not paths:
        return HEAD + NOTHING
    drivers = [read(path) for path in paths]
    text = [HEAD]
    for number, (path, (head, answers)) in enumerate(zip(paths, drivers), 1):
        count = sum(len(keys) for keys in answers.values())
        text.append(f"{number}. {code(path.stem)}: {count} answers to {len(answers)} statements")
    nouns = {}
    for test in sorted({test for _, answers in drivers for test in answers}):
        noun, sentence = in_words(test)
        nouns.setdefault(noun, []).append((sentence, test))
    text.append("\nWhere the answers differ, the numbers of the drivers stand behind an answer.\n")
    text += [f"- [{noun}](#{noun.lower().replace(' ', '-')}) ({len(tests)})" for noun, tests in sorted(nouns.items())]
    for noun, tests in sorted(nouns.items()):
        text.append(f"\n## {noun}\n\n| Statement | Call | Answer |\n|---|---|---|")
        for sentence, test in tests:
            shown = sentence
            for key in dict.fromkeys(key for _, answers in drivers for key, _ in answers.get(test, [])):
                given = {}
                for number, (_, answers) in enumerate(drivers, 1):
                    value = dict(answers.get(test, [])).get(key)
                    if value is not None:
                        given.setdefault(value, []).append(str(number))
                everywhere = len(given) == 1 and len(next(iter(given.values()))) == len(drivers)
                cell = "; ".join(code(value) + ("" if everywhere else f" ({', '.join(who)})")
                                 for value, who in given.items())
                text.append(f"| {shown} | {code(key)} | {cell} |")
                shown = ""
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--answers", type=Path, default=ANSWERS)
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    text = page(sorted(options.answers.glob("*.txt")))
    if not options.check:
        options.page.write_text(text)
    elif not options.page.exists() or options.page.read_text() != text:
        print(f"{options.page} does not match the recorded answers: run tools/fidelity/mirror.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
