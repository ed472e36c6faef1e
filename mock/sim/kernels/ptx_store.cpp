// SPDX-License-Identifier: Apache-2.0
#include "kernels/ptx_store.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "kernels/cubin.hpp"

namespace cushim::sim {

namespace {

namespace fs = std::filesystem;

// The last lines of a file: comments of PTX. The second is optional.
constexpr std::string_view kOrigin = "\n// made by ";
constexpr std::string_view kRegisters = "\n// registers: ";

std::string file_of(const std::string &folder, std::string_view cubin) {
  return folder + "/" + content_key(cubin) + ".ptx";
}

}  // namespace

bool PtxStore::keep(std::string_view cubin, std::string_view ptx, std::string_view origin,
                    unsigned max_registers) {
  if (folder_.empty()) return false;
  while (ptx.ends_with('\0')) ptx.remove_suffix(1);
  std::error_code error;
  fs::create_directories(folder_, error);
  std::string temporary = folder_ + "/new-XXXXXX";
  const int descriptor = mkstemp(temporary.data());
  if (descriptor < 0) return false;
  close(descriptor);
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << ptx << kOrigin << origin;
  if (max_registers != 0) file << kRegisters << max_registers;
  file << '\n';
  file.close();
  if (file) fs::rename(temporary, file_of(folder_, cubin), error);
  if (!file || error) {
    fs::remove(temporary, error);
    return false;
  }
  written_ += ptx.size();
  if (is_first_ || written_ > limit_ / 8) {
    remove_oldest();
    written_ = 0;
  }
  is_first_ = false;
  return true;
}

std::optional<StoredPtx> PtxStore::find(std::string_view cubin) const {
  if (folder_.empty()) return std::nullopt;
  const std::string name = file_of(folder_, cubin);
  std::ifstream file(name, std::ios::binary);
  if (!file) return std::nullopt;
  std::error_code ignored;
  fs::last_write_time(name, fs::file_time_type::clock::now(), ignored);  // it has been used
  StoredPtx found;
  found.text = std::string(std::istreambuf_iterator<char>(file), {});
  const std::size_t end = found.text.rfind(kOrigin);
  if (end == std::string::npos) return std::nullopt;
  found.origin = found.text.substr(end + kOrigin.size());
  if (found.origin.ends_with('\n')) found.origin.pop_back();
  if (const std::size_t at = found.origin.find(kRegisters); at != std::string::npos) {
    found.max_registers = static_cast<unsigned>(std::atoi(found.origin.c_str() + at + kRegisters.size()));
    found.origin.resize(at);
  }
  found.text.resize(end);
  return found;
}

void PtxStore::remove_oldest() const {
  struct File {
    fs::file_time_type time;
    std::uintmax_t size;
    fs::path path;
  };
  std::vector<File> files;
  std::uintmax_t total = 0;
  std::error_code error;
  // Other processes remove files meanwhile.
  for (fs::directory_iterator one(folder_, error), end; !error && one != end; one.increment(error)) {
    std::error_code gone;
    File file{one->last_write_time(gone), 0, one->path()};
    if (!gone) file.size = one->file_size(gone);
    if (gone) continue;
    total += file.size;
    files.push_back(std::move(file));
  }
  if (total <= limit_) return;
  std::ranges::sort(files, {}, &File::time);
  for (const File &file : files) {
    if (total <= limit_) return;
    fs::remove(file.path, error);
    total -= file.size;
  }
}

}  // namespace cushim::sim
