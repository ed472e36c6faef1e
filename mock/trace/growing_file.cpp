// SPDX-License-Identifier: Apache-2.0
#include "growing_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace cushim::trace {

int open_again(const std::string &file, ino_t &inode) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return -1;
  struct stat status {};
  int error = fstat(descriptor, &status) == 0 ? 0 : errno;
  if (error == 0 && inode != 0 && status.st_ino != inode) error = ESTALE;
  if (error != 0) {
    close(descriptor);
    errno = error;
    return -1;
  }
  inode = status.st_ino;
  return descriptor;
}

void *map_part(const std::string &file, ino_t &inode, std::size_t offset, std::size_t size) {
  const int descriptor = open_again(file, inode);
  if (descriptor < 0) return nullptr;
  void *memory = MAP_FAILED;
  errno = posix_fallocate(descriptor, static_cast<off_t>(offset), static_cast<off_t>(size));
  if (errno == 0)
    memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor,
                  static_cast<off_t>(offset));
  const int error = errno;
  close(descriptor);
  errno = error;
  return memory != MAP_FAILED ? memory : nullptr;
}

bool write_at(int descriptor, const char *memory, std::size_t begin, std::size_t end, std::uint64_t offset) {
  while (begin < end) {
    const ssize_t written =
        pwrite(descriptor, memory + begin, end - begin, static_cast<off_t>(offset + begin));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    begin += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace cushim::trace
