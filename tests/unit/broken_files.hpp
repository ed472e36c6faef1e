// SPDX-License-Identifier: Apache-2.0
// Files that bear the driver's name and are none.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

struct BrokenFile {
  std::string name;
  std::function<void(const std::string &path)> make;
  // The whole text when CUSHIM_LIBRARY names this path.
  std::function<std::string(const std::string &path)> diagnosis;
};

void PrintTo(const BrokenFile &file, std::ostream *stream);

// What the dynamic linker cannot load at all.
std::vector<BrokenFile> broken_files();

// Sound libraries that are no driver, or not one that can be used.
std::vector<BrokenFile> foreign_libraries();
