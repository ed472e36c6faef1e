#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""recorded_test.py ROOT: compares the trait needs_context with the recorded answers of real drivers to calls without a
current context."""
import re
import sys
from collections import defaultdict
from pathlib import Path

INVALID_CONTEXT = 201


def read_traits(path):
    """Returns {base name: text of the traits}."""
    return dict(re.findall(r'^\{"(\w+)", \{(.*)\}\},$', path.read_text(), re.MULTILINE))


def answers_without_context(folder, bases):
    """Returns {base name: results} of the statements whose test says that no context is current."""
    results = defaultdict(set)
    for line in (line for path in folder.glob("*.txt") for line in path.read_text().splitlines()):
        answer = re.match(r"(\S+): (.*) = \w+ \((\d+)\)$", line)
        if not answer or "ithout_a_context" not in answer[1]:
            continue
        # The question names the call, or the test does.
        call = re.match(r"(cu\w+)\(", answer[2]) or re.search(r"\.(cu[A-Za-z0-9]+)_", answer[1])
        base = re.sub(r"_v\d+$", "", call[1]) if call else None
        if base in bases:
            results[base].add(int(answer[3]))
    return results


def main():
    root = Path(sys.argv[1])
    traits = read_traits(root / "mock/include/cushim/detail/entry_traits.inc")
    answers = answers_without_context(root / "tests/conformance/answers", traits)
    wrong = []
    for base, results in sorted(answers.items()):
        needs_context = "needs_context" in traits[base]
        if INVALID_CONTEXT in results and not needs_context:
            wrong.append(f"{base} returned {INVALID_CONTEXT} without a context, but its row lacks needs_context")
        # Calls in a stream need a context for the null stream only, which the statements may not ask.
        elif INVALID_CONTEXT not in results and needs_context and "enqueues" not in traits[base]:
            wrong.append(f"{base} returned {sorted(results)} without a context, but its row has needs_context")
    if len(answers) < 50:
        wrong.append(f"answers of {len(answers)} entry points only were found")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
