// SPDX-License-Identifier: Apache-2.0
// Fuzzes the inspection of a library file before the dynamic linker opens it.
#include <cushim/load.h>

#include <cstring>

#include "file.hpp"
#include "fuzz.hpp"

// Declared in shim/internal.h, which is a C header.
extern "C" CushimDiagnosisId cushim_inspect_elf(const char *path, char *detail, std::size_t capacity);

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static const fuzz::File file;
  file.set(fuzz::text_of(data, size));
  char detail[256];
  const CushimDiagnosisId id = cushim_inspect_elf(file.path().c_str(), detail, sizeof detail);
  fuzz::promise((id == CUSHIM_OK) == (detail[0] == '\0'), "a refusal has words, and nothing else has");
  fuzz::promise(std::memchr(detail, '\0', sizeof detail) != nullptr, "words end");
  return 0;
}
