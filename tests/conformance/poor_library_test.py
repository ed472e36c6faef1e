# SPDX-License-Identifier: Apache-2.0
"""poor_library_test.py PROGRAM LIBRARY ANSWERS: tests a library that lacks most entry points."""
import re
import subprocess
import sys

program, library, answers = sys.argv[1:]
done = subprocess.run([program, "--driver=" + library, "--compare-answers=" + answers, "--gtest_brief=1",
                       "--gtest_filter=Events.*:Lookup*:ErrorNames.*"],
                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def expect(condition, what):
    if not condition:
        print(done.stdout)
        sys.exit(f"the run of a poor library {what} (exit code {done.returncode})")


expect(done.returncode == 1, "does not end as failed")
expect(re.search(r"^answers +recorded +same +different +missing$", done.stdout, re.MULTILINE), "prints no table")
row = re.search(r"^Events +(\d+) +(\d+) +(\d+) +(\d+)$", done.stdout, re.MULTILINE)
expect(row, "has no row for events")
recorded, same, different, missing = map(int, row.groups())
expect(recorded == same + different + missing, "does not count up")
expect(different + missing > 0, "finds nothing missing")
expect(re.search(r"^cushim: executed \d+ ", done.stdout, re.MULTILINE), "has no summary")
