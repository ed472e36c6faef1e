// SPDX-License-Identifier: Apache-2.0
#include "shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace cushim::sim {

namespace {

constexpr const char *kName = "cushim";
constexpr std::string_view kLink = "/memfd:cushim";  // what /proc calls such a file

}  // namespace

SharedFile::~SharedFile() {
  if (number_ >= 0) close(number_);
}

SharedFile SharedFile::make(std::size_t size) {
  // A file beyond the limit would not fail but kill the program.
  struct rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size) return errno = EFBIG, SharedFile();
  SharedFile file(memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING), size);
  if (!file) return file;
  // Of this user alone; and nobody can make it smaller, which would kill whoever has it mapped.
  if (fchmod(file.number_, S_IRUSR | S_IWUSR) != 0 ||
      ftruncate(file.number_, static_cast<off_t>(size)) != 0 ||
      fcntl(file.number_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return {};
  return file;
}

SharedFile SharedFile::open(const Process &process, int number) {
  const std::string path = "/proc/" + std::to_string(process.id) + "/fd/" + std::to_string(number);
  // Looked at before it is opened: the number may mean anything by now.
  char target[64];
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  if (length < 0) return {};
  if (!std::string_view(target, static_cast<std::size_t>(length)).starts_with(kLink))
    return errno = ENOENT, SharedFile();
  SharedFile file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK), 0);
  struct stat status = {};
  if (!file || fstat(file.number_, &status) != 0) return {};
  if (!S_ISREG(status.st_mode) || (fcntl(file.number_, F_GET_SEALS) & F_SEAL_SHRINK) == 0)
    return errno = ENOENT, SharedFile();
  if (status.st_uid != geteuid()) return errno = EACCES, SharedFile();
  file.size_ = static_cast<std::size_t>(status.st_size);
  return file;
}

std::byte *SharedFile::map(std::size_t offset, std::size_t size, std::byte *at) const {
  if (offset > size_ || size > size_ - offset) return nullptr;
  void *const place =
      mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | (at != nullptr ? MAP_FIXED : 0),
           number_, static_cast<off_t>(offset));
  if (place == MAP_FAILED) return nullptr;
  madvise(place, size, MADV_DONTDUMP);
  return static_cast<std::byte *>(place);
}

}  // namespace cushim::sim
