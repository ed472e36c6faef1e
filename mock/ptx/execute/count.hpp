// SPDX-License-Identifier: Apache-2.0
// Counting operations, which compile() inserts before others with CompileOptions::counts.
#pragma once

#include "execute/machine.hpp"

namespace cushim::ptx::execute {

InstructionClass class_of(const Mnemonic &);
CountedAccess::Space counted_space(StateSpace space);

// Returns whether an operation only counts.
bool is_counter(Handler run);
const Op *count_execution(Warp &, const Op *);  // extra: number; a: index of brx; immediate: Branch; guard
const Op *count_access(Warp &, const Op *);     // a: addresses; immediate: offset; data: CountedAccess
enum class Branch : std::uint8_t { none, direct, indexed };

// Counts a move of consecutive bytes by an operation of any kind, if the program counts.
void count_move(Warp &, const Op *, std::uint64_t address, std::uint64_t bytes, bool in_shared, bool writes);

}  // namespace cushim::ptx::execute
