// SPDX-License-Identifier: Apache-2.0
#include "ipc/shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace cushim::sim {

namespace {

constexpr const char *kName = "cushim";
constexpr std::string_view kLink = "/memfd:cushim";  // the link target in /proc/<id>/fd

bool is_there(const std::string &path) {
  char target[1];
  return readlink(path.c_str(), target, sizeof target) >= 0;
}

// Returns the /proc path of another process's file. A main thread that has ended has no files; the other
// threads still have them.
std::string path_of(const Process &process, int number) {
  const std::string folder = "/proc/" + std::to_string(process.id), file = "/fd/" + std::to_string(number);
  if (is_there(folder + file)) return folder + file;
  std::error_code error;
  for (const auto &task : std::filesystem::directory_iterator(folder + "/task", error))
    if (const std::string path = task.path().string() + file; is_there(path)) return path;
  return folder + file;
}

}  // namespace

SharedFile::~SharedFile() {
  if (number_ >= 0) close(number_);
}

SharedFile SharedFile::make(std::size_t size) {
  // A file larger than RLIMIT_FSIZE would kill the program with SIGXFSZ.
  struct rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size) return errno = EFBIG, SharedFile();
  SharedFile file(memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING), size);
  if (!file) return file;
  // Only this user can open the file, and no process can shrink it: that would kill processes that have it
  // mapped.
  if (fchmod(file.number_, S_IRUSR | S_IWUSR) != 0 ||
      ftruncate(file.number_, static_cast<off_t>(size)) != 0 ||
      fcntl(file.number_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return {};
  return file;
}

SharedFile SharedFile::open(const Process &process, int number) {
  const std::string path = path_of(process, number);
  // Checked before the file is opened: the descriptor number may have been reused for any other file.
  char target[64];
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  if (length < 0) return {};
  if (!std::string_view(target, static_cast<std::size_t>(length)).starts_with(kLink))
    return errno = ENOENT, SharedFile();
  SharedFile file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK), 0);
  struct stat status = {};
  if (!file || fstat(file.number_, &status) != 0) return {};
  if (!S_ISREG(status.st_mode) || can_shrink(file.number_)) return errno = ENOENT, SharedFile();
  if (status.st_uid != geteuid()) return errno = EACCES, SharedFile();
  file.size_ = static_cast<std::size_t>(status.st_size);
  return file;
}

SharedFile SharedFile::duplicate(int number) {
  SharedFile file(fcntl(number, F_DUPFD_CLOEXEC, 0), 0);
  struct stat status = {};
  if (!file || fstat(file.number_, &status) != 0) return {};
  if (!S_ISREG(status.st_mode) || can_shrink(file.number_)) return errno = EINVAL, SharedFile();
  file.size_ = static_cast<std::size_t>(status.st_size);
  return file;
}

int SharedFile::new_descriptor() const { return fcntl(number_, F_DUPFD_CLOEXEC, 0); }

bool SharedFile::can_shrink(int number) {
  const int seals = fcntl(number, F_GET_SEALS);
  return seals < 0 || (seals & F_SEAL_SHRINK) == 0;
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
