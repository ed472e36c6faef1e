#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the instructions that a driver call executes before the driver's own function, in two programs.

usage: same_jump_test.py OBJDUMP PROGRAM_WITHOUT_CHECKERS PROGRAM_WITH_CHECKERS

A call through cushim::driver() goes to a function of its entry, CushimCurrentEntry<...>::jump. That function must
only read the current driver, read the entry and jump, and must be the same with and without linked checkers.
any_driver_test.cpp tests the contents of the entry while checkers are registered and afterwards.
"""

import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(_ZN18CushimCurrentEntry\w+4jump\w+)(?:\.isra\.\d+)?>:$")
INSTRUCTION = re.compile(r"^ *[0-9a-f]+:\t(.*)$")
PADDING = re.compile(r"nop|xchg +%ax,%ax|(data16|cs) ")
# Reads the pointer to the current driver, reads the entry, and jumps.
JUMP = [r"mov +cushim_current\(%rip\),%rax", r"mov +0x[0-9a-f]+\(%rax\),%rax", r"jmp +\*%rax"]


def jumps(objdump, program):
    """Returns the instructions of each entry's function, by its name."""
    listing = subprocess.run([objdump, "-d", "--no-show-raw-insn", program], check=True, capture_output=True,
                             text=True).stdout
    found, instructions = {}, None
    for line in listing.splitlines():
        if function := FUNCTION.match(line):
            instructions = found.setdefault(function[1], [])
        elif not (instruction := INSTRUCTION.match(line)):
            instructions = None
        elif instructions is not None and not PADDING.match(instruction[1]):
            words = re.sub(r"0x[0-9a-f]+\(%rip\)(.*?) *# [0-9a-f]+ <(\w+).*>", r"\2(%rip)\1", instruction[1])
            instructions.append(words.strip())
    return found


def is_bare(instructions):
    return len(instructions) == len(JUMP) and all(map(re.fullmatch, JUMP, instructions))


# Moves of an argument that is narrower than a register or is on the stack may be between them; there must be
# no comparison and no other call.
def is_straight(instructions):
    *moves, last = instructions
    return (bool(re.fullmatch(JUMP[-1], last)) and all(move.startswith("mov") for move in moves)
            and all(any(re.fullmatch(read, move) for move in moves) for read in JUMP[:-1]))


def main():
    objdump, *programs = sys.argv[1:]
    without, with_checkers = (jumps(objdump, program) for program in programs)
    faults = [f"{name} does more than jump: {', '.join(one)}" for entries in (without, with_checkers)
              for name, one in entries.items() if not is_straight(one)]
    both = sorted(without.keys() & with_checkers.keys())
    faults += [f"{name} differs: {', '.join(without[name])} and {', '.join(with_checkers[name])}"
               for name in both if without[name] != with_checkers[name]]
    bare = [name for name in both if is_bare(without[name])]
    if len(bare) < 10:
        faults.append(f"of {len(both)} entries that both programs call {len(bare)} are three instructions")
    print("\n".join(faults) or f"{len(both)} entries are called alike, {len(bare)} by three instructions")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
