// SPDX-License-Identifier: Apache-2.0
#include "hazards/batch_effects.hpp"

#include <vector>

#include "hazards/copy_extents.hpp"

namespace cushim::check {
namespace {

using Use = HazardModel::Use;
[[maybe_unused]] constexpr auto kRead = Access::Kind::read;  // since CUDA 12.8
constexpr auto kWrite = Access::Kind::write;

}  // namespace

void discard_batch(CallView &call) {
  const auto *const addresses = call.pointed<CUdeviceptr>(0);
  const auto *const sizes = call.pointed<std::size_t>(1);
  std::vector<Use> uses;
  for (std::uint64_t i = 0; i < call.argument(2); ++i)
    uses.push_back({.extent = Extent::of(addresses[i], sizes[i]), .kind = kWrite});
  call.work(call.last_stream(), uses, HazardModel::Host::goes_on);
}

#if CUDA_VERSION >= 12080

namespace {

bool is_read_in_stream(CUmemcpySrcAccessOrder order) {
  return order != CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
}

// Returns the size of the elements of a copy in bytes; 0 if it is unknown.
std::uint64_t element_size(const CallView &call, const CUDA_MEMCPY3D_BATCH_OP &copy) {
  std::uint64_t size = 1;
  for (const CUmemcpy3DOperand *operand : {&copy.src, &copy.dst})
    if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) size = call.element_size(operand->op.array.array);
  return size;
}

}  // namespace

void copy_batch(CallView &call) {
  const auto *const targets = call.pointed<CUdeviceptr>(0), *const sources = call.pointed<CUdeviceptr>(1);
  const auto *const sizes = call.pointed<std::size_t>(2);
  const auto *const attributes = call.pointed<CUmemcpyAttributes>(4);
  const auto *const first = call.pointed<std::size_t>(5);
  const auto host_end = [](std::uint64_t address, std::uint64_t size, Access::Kind kind) {
    return Use{.extent = Extent::of(address, size), .kind = kind, .is_host = true};
  };
  std::vector<Use> uses;
  std::uint64_t entry = 0;
  for (std::uint64_t i = 0; i < call.argument(3); ++i) {
    if (entry + 1 < call.argument(6) && first[entry + 1] == i) ++entry;
    if (is_read_in_stream(attributes[entry].srcAccessOrder))
      uses.push_back(host_end(sources[i], sizes[i], kRead));
    uses.push_back(host_end(targets[i], sizes[i], kWrite));
  }
  call.work(call.last_stream(), uses, HazardModel::Host::goes_on);
}

void copy_3d_batch(CallView &call) {
  const auto *const copies = call.pointed<CUDA_MEMCPY3D_BATCH_OP>(1);
  std::vector<Use> uses;
  for (std::uint64_t i = 0; i < call.argument(0); ++i) {
    const std::uint64_t element = element_size(call, copies[i]);
    if (element == 0) return call.model.unknown_work(call.last_stream());
    if (is_read_in_stream(copies[i].srcAccessOrder)) uses.push_back(use_of(copies[i], element, false));
    uses.push_back(use_of(copies[i], element, true));
  }
  call.work(call.last_stream(), uses, HazardModel::Host::goes_on);
}

#else

void copy_batch(CallView &call) { call.model.unknown_work(call.last_stream()); }
void copy_3d_batch(CallView &call) { call.model.unknown_work(call.last_stream()); }

#endif

}  // namespace cushim::check
