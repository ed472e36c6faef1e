// SPDX-License-Identifier: Apache-2.0
#include "memory_kinds.hpp"

#include <cstring>
#include <memory>

namespace conformance {

const char *name_of(Kind kind) {
  static constexpr std::array names = {"device", "managed", "pinned", "registered", "pageable"};
  return names[static_cast<std::size_t>(kind)];
}

CUdeviceptr memory_of(OnDevice &test, Kind kind, std::size_t bytes) {
  switch (kind) {
    case Kind::device:
      return test.memory(bytes);
    case Kind::managed:
      return test.managed(bytes);
    case Kind::pinned:
      return address_of(test.pinned(bytes));
    case Kind::registered:
      return address_of(test.registered(bytes));
    case Kind::pageable:
      break;
  }
  struct alignas(4096) Page {
    unsigned char bytes[4096];
  };
  static std::vector<std::unique_ptr<Page[]>> kept;
  kept.push_back(std::make_unique<Page[]>((bytes + 4095) / 4096));
  return address_of(kept.back().get());
}

void put(Kind kind, CUdeviceptr address, const std::vector<unsigned char> &bytes) {
  if (kind == Kind::device)
    NEED(driver().cuMemcpyHtoD(address, bytes.data(), bytes.size()));
  else
    std::memcpy(reinterpret_cast<void *>(address), bytes.data(), bytes.size());
}

std::vector<unsigned char> take(Kind kind, CUdeviceptr address, std::size_t bytes) {
  std::vector<unsigned char> taken(bytes);
  NEED(driver().cuCtxSynchronize());
  if (kind == Kind::device)
    NEED(driver().cuMemcpyDtoH(taken.data(), address, bytes));
  else
    std::memcpy(taken.data(), reinterpret_cast<void *>(address), bytes);
  return taken;
}

unsigned char *pinned_one(OnDevice &test) {
  auto *const made = static_cast<unsigned char *>(test.pinned());
  made[0] = 1;
  return made;
}

std::vector<unsigned char> pattern(std::size_t bytes, unsigned start) {
  std::vector<unsigned char> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<unsigned char>(start + 7 * i + i / 256);
  return made;
}

}  // namespace conformance
