# SPDX-License-Identifier: Apache-2.0
"""not_simulated_test.py PROGRAM LIST: each name in the list is a statement that the simulated driver fails, or
fails at times, if the list says so."""
import re
import subprocess
import sys

program, path = sys.argv[1:]
lines = open(path).read().splitlines()
listed = [line for line in lines if line and not line.startswith("#")]
names = [line.removesuffix(" at times") for line in listed]
done = subprocess.run([program, "--driver=sim", "--gtest_color=no", "--gtest_filter=" + ":".join(names)],
                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
run = re.findall(r"^\[ RUN      \] (\w+\.\w+)", done.stdout, re.MULTILINE)
wrong = [f"{test} is simulated: take it off the list"
         for test in re.findall(r"^\[       OK \] (\w+\.\w+)", done.stdout, re.MULTILINE)
         if test + " at times" not in listed]
wrong += [f"there is no statement {name}" for name in names
          if not any(re.fullmatch(re.escape(name).replace(r"\*", ".*"), test) for test in run)]
for line in wrong:
    print(f"{path}: {line}")
sys.exit(1 if wrong else 0)
