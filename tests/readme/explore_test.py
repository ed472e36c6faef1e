# SPDX-License-Identifier: Apache-2.0
"""explore_test.py README PROGRAM: checks that PROGRAM, the explore() test in README, fails with the output in README."""
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

readme, program = sys.argv[1:]
after_test = Path(readme).read_text().partition("sim::explore(")[2]
shown = textwrap.dedent(re.search(r"^```\n\n((?:    .*\n)+)", after_test, re.MULTILINE)[1])
environment = {name: value for name, value in os.environ.items() if not name.startswith("CUSHIM_")}
done = subprocess.run([program], env=environment, stdout=subprocess.PIPE, text=True)
if done.returncode != 1 or shown not in done.stdout:
    sys.exit(f"{program} ended with {done.returncode} and did not print\n{shown}\nbut\n{done.stdout}")
