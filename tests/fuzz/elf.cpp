// SPDX-License-Identifier: Apache-2.0
// Fuzzes the ELF reader of `cushim check`.
#include "check/check_facts.hpp"
#include "check/elf_file.hpp"
#include "fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace cushim::command;
  try {
    const FileFacts facts = inspect("file", fuzz::text_of(data, size));
    static_cast<void>(facts.floor());
    static_cast<void>(facts.would_use());
    static_cast<void>(facts.uses_cuda());
  } catch (const BrokenElf &broken) {
    fuzz::promise(*broken.what() != '\0', "an error has words");
  }
  return 0;
}
