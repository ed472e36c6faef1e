// SPDX-License-Identifier: Apache-2.0
// Runs a target over the files of its corpus, for compilers without libFuzzer: earlier findings become
// regression tests.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "fuzz.hpp"

int main(int argc, char **argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i)
    for (const auto &entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
      if (!file) {
        std::cerr << "cannot read " << entry.path() << "\n";
        return 1;
      }
      std::cout << entry.path().filename() << "\n" << std::flush;  // printed before a possible crash
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size());
      ++count;
    }
  std::cout << count << " inputs\n";
  return count == 0 ? 1 : 0;
}
