// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of recorded walks (tests/differential).
#include "recording.hpp"

#include <stdexcept>

#include "file.hpp"
#include "fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static const fuzz::File file, copy;
  file.set(fuzz::text_of(data, size));
  try {
    const differential::Recording recording = differential::read(file.path());
    fuzz::promise(recording.kind.choices != 0, "walks have a length");
    differential::write(copy.path(), recording);
    const differential::Recording again = differential::read(copy.path());
    fuzz::promise(
        again.walks.size() == recording.walks.size() && again.kind.subject == recording.kind.subject,
        "what was read can be written and read");
  } catch (const std::runtime_error &refusal) {
    fuzz::promise(std::string_view(refusal.what()).find("/proc/self/fd/") != std::string_view::npos,
                  "an error names the file");
  }
  return 0;
}
