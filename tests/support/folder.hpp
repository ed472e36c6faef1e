// SPDX-License-Identifier: Apache-2.0
// A temporary directory, removed when the object is destroyed.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "cushim-test-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
    // Tests run programs of other users from here.
    std::filesystem::permissions(path_, std::filesystem::perms(0755));
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  std::string path() const { return path_; }
  std::string path(const std::string &name) const { return path_ / name; }

  // Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::string &file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}
