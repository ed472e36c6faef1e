// SPDX-License-Identifier: Apache-2.0
// A file that is to be opened as the driver, as the loader looks at it before the dynamic linker does.
#include <cushim/load.h>

#include <cstring>

#include "file.hpp"
#include "fuzz.hpp"

// Of shim/internal.h, which only C can read.
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
