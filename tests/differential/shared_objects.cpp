// SPDX-License-Identifier: Apache-2.0
// The objects that all walks of a process share.
#include "walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

namespace differential {

namespace {

void need(CUresult code, const char *what) {
  if (code != CUDA_SUCCESS) throw std::runtime_error(fmt::format("{}: {}", what, static_cast<int>(code)));
}
#define NEED(call) need(driver().call, #call)

}  // namespace

SharedObjects::SharedObjects(std::function<std::size_t()> so_it_settles) : settle(std::move(so_it_settles)) {
  NEED(cuInit(0));
  NEED(cuDeviceGet(&device, 0));
  NEED(cuDeviceGetDefaultMemPool(&pool, device));
  NEED(cuDevicePrimaryCtxRetain(&c[0], device));
  NEED(cuCtxCreate_v2(&c[1], 0, device));
  CUcontext home = nullptr;
  NEED(cuCtxCreate_v2(&home, 0, device));
  constexpr std::size_t area_bytes = std::size_t{1} << 30;
  NEED(cuMemAddressReserve(&area, area_bytes, area_bytes, 0, 0));
  void *host = nullptr;
  NEED(cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  NEED(cuMemHostGetDevicePointer(&words_on_device, host, 0));
  words = static_cast<std::uint32_t *>(host);
}

void SharedObjects::begin() const {
  CUcontext popped = nullptr;
  while (driver().cuCtxPopCurrent(&popped) == CUDA_SUCCESS) continue;
  NEED(cuCtxPushCurrent(c[0]));
}

std::vector<CUcontext> SharedObjects::active(bool primary_is_active, std::span<const CUcontext> made) const {
  std::vector<CUcontext> active{c[1]};
  if (primary_is_active) active.push_back(c[0]);
  std::ranges::copy_if(made, std::back_inserter(active), [](CUcontext one) { return one != nullptr; });
  return active;
}

std::vector<CUcontext> Walk::active_contexts() const { return shared.active(primary_is_active, m); }
unsigned char *SharedObjects::pages(unsigned k) const {
  alignas(4096) static std::array<std::array<unsigned char, buffer_bytes>, 3> all;
  return all[k].data();
}

void SharedObjects::finish(std::span<const CUcontext> contexts) const {
  CUcontext popped = nullptr;
  for (CUcontext context : contexts) {
    NEED(cuCtxPushCurrent(context));
    NEED(cuCtxSynchronize());
    NEED(cuCtxPopCurrent(&popped));
  }
}

void SharedObjects::let_go(unsigned held) const {
  for (unsigned i = 0; i < held; ++i) std::atomic_ref(words[i]).store(1);
}

void SharedObjects::release(unsigned held, std::span<const CUcontext> contexts) const {
  let_go(held);
  finish(contexts);
  for (unsigned i = 0; i < held; ++i) words[i] = 0;
}

void SharedObjects::fill(unsigned number, const Buffer &buffer, std::span<const CUcontext> contexts) const {
  finish(contexts);
  NEED(cuMemsetD8(buffer.address, static_cast<unsigned char>(number), buffer.bytes));
  finish(contexts);
}

std::string SharedObjects::name_of(CUcontext context, std::span<const CUcontext> made) const {
  if (context == nullptr) return "null";
  for (unsigned i = 0; i < c.size(); ++i)
    if (c[i] == context) return fmt::format("c[{}]", i);
  for (unsigned i = 0; i < made.size(); ++i)
    if (made[i] == context) return fmt::format("m[{}]", i);
  return "another";
}

}  // namespace differential
