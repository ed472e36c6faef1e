// SPDX-License-Identifier: Apache-2.0
#include "ipc/shared_pool.hpp"

#include <unistd.h>

#include <cstring>

#include "ipc/shared_file.hpp"
#include "memory/location.hpp"

namespace cushim::sim {

namespace {

// The whole content of a pool's file.
struct Label {
  static constexpr char kMagic[16] = "cushim pool 2";

  char magic[16] = {};
  SharedPool pool;
};

}  // namespace

int make_pool_file(const SharedPool &pool) {
  Label label{.magic = {}, .pool = pool};
  std::memcpy(label.magic, Label::kMagic, sizeof label.magic);
  const SharedFile file = SharedFile::make(sizeof label);
  const bool is_written =
      file && pwrite(file.number(), &label, sizeof label, 0) == static_cast<ssize_t>(sizeof label);
  return is_written ? file.new_descriptor() : -1;
}

std::optional<SharedPool> read_pool_file(int descriptor) {
  const SharedFile file = SharedFile::duplicate(descriptor);
  Label label;
  if (!file || file.size() != sizeof label ||
      pread(file.number(), &label, sizeof label, 0) != static_cast<ssize_t>(sizeof label))
    return {};
  if (std::memcmp(label.magic, Label::kMagic, sizeof label.magic) != 0) return {};
  if (!label.pool.handle.is(ShareHandle::Kind::pool)) return {};
  if (label.pool.location != kDeviceLocation && label.pool.location != kHostNodeLocation) return {};
  return label.pool;
}

}  // namespace cushim::sim
