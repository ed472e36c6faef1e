// SPDX-License-Identifier: Apache-2.0
// Files that have the driver's name but are not drivers.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

struct BrokenFile {
  std::string name;
  std::function<void(const std::string &path)> make;
  // Returns the complete diagnosis when CUSHIM_LIBRARY names this path.
  std::function<std::string(const std::string &path)> diagnosis;
};

void PrintTo(const BrokenFile &file, std::ostream *stream);

// Files that the dynamic linker cannot load.
std::vector<BrokenFile> broken_files();

// Valid libraries that are not usable drivers.
std::vector<BrokenFile> foreign_libraries();
