#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that docs/reference/instructions.md lists each instruction of mock/ptx/forms.inc once, and no others."""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
page = (ROOT / "docs/reference/instructions.md").read_text()
rows = re.findall(r"^\| (`[a-z].*?) \|", page, re.M)
listed = collections.Counter(re.findall(r"`([a-z0-9]+)`", " ".join(rows)))
known = set(re.findall(r'^FORM\("([a-z0-9]+)"', (ROOT / "mock/ptx/forms.inc").read_text(), re.M))
problems = [f"does not list {name}" for name in sorted(known - set(listed))]
problems += [f"lists {name}, which forms.inc lacks" for name in sorted(set(listed) - known)]
problems += [f"lists {name} {count} times" for name, count in sorted(listed.items()) if count > 1]
for problem in problems:
    print("docs/reference/instructions.md", problem)
sys.exit(1 if problems else 0)
