# SPDX-License-Identifier: Apache-2.0
"""replay_test.py CUSHIM LIBRARY PROGRAM LIST: records the statements on two simulated devices and replays the
recording on two others. Calls that are not replayed, and calls that differ, are those that the list has.

Statements that start processes, or that wait for a second, are left out: each process has a recording of its own.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CUSHIM, LIBRARY, PROGRAM, LIST = sys.argv[1:]
# Suites whose statements have processes of their own; statements that pass null where a driver may crash, which have one
# each; and those that wait for a second.
LEFT_OUT = ("Ipc*:Shared*.*:AddressesOf32Bits.*:*BeforeInitialization.*:Checkpoints.*:Coredumps.*:DestroyedPools.*:"
            "EndedContexts.*:Exit.*:Forked.*:Graphics.*:Logs.*:ManagedRuns.*:MemoryBlocks.*:Notifications.*:"
            "UnretainedPrimaryContexts.*:VisibleDevices.*:"
            "*null*:*needs_a_*:*without_addresses*:*without_sizes*:*without_locations*:*beyond_the_*:*over_its_end*:"
            "VirtualMemory.*ithout_access*:*said_to_be_of_*:"
            "*.Are_read_by_kernels_that_were_launched_before_*:CopyBatches.During_the_call_read_*_then:"
            "CopyBatches.In_stream_order_read_pageable_memory_during_the_call")


def listed():
    """Returns the most calls of each kind in the list: {"cuX: reason": 3}, and the kinds that may be missing."""
    most, at_times = {}, set()
    for line in pathlib.Path(LIST).read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        count, kind = re.fullmatch(r"(\d+) (.*?)(?: at times)?", line).groups()
        most[kind] = int(count)
        if line.endswith(" at times"):
            at_times.add(kind)
    return most, at_times


def replay(folder):
    environment = os.environ | {"CUSHIM_DEVICES": "h200x2"}
    subprocess.run([CUSHIM, "run", "--library", pathlib.Path(LIBRARY).parent, "--record", folder / "statements.%p", "--",
                    PROGRAM, "--driver=libcuda.so.1", "--gtest_brief=1", "--gtest_filter=-" + LEFT_OUT],
                   env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    recording = max(folder.glob("statements.*"), key=lambda file: file.stat().st_size)
    done = subprocess.run([CUSHIM, "replay", "--json", "--compare", recording], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return json.loads(done.stdout)


with tempfile.TemporaryDirectory(prefix="cushim-statements-") as name:
    report = replay(pathlib.Path(name))
print(f"replayed {report['replayed']} of {report['calls']} calls; {len(report['differences'])} differ")
found = collections.Counter()
for one in report["not_replayed"] + report["partly_replayed"]:
    found[f"{one['symbol']}: {one['reason']}"] += one["count"]
for one in report["differences"]:
    found[f"{one['symbol']}: {one['what']} differs"] += 1
most, at_times = listed()
wrong = [f"{count} {kind}: the list has {most.get(kind, 0)}" for kind, count in found.items() if count > most.get(kind, 0)]
wrong += [f"{kind}: this does not happen any more, take it off the list"
          for kind in most if kind not in found and kind not in at_times]
if report["calls"] < 150000 or report["replayed"] + sum(one["count"] for one in report["not_replayed"]) != report["calls"]:
    wrong.append("the replay is not complete")
for line in wrong:
    print(f"{LIST}: {line}")
sys.exit(1 if wrong else 0)
