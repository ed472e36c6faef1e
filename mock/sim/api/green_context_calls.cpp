// SPDX-License-Identifier: Apache-2.0
// Resources of devices, and green contexts. Errors: measured on an H200, driver 580.159. The groups of a
// split follow the documentation of the driver API, section Green Contexts, and the tests of cuda.core.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "api/context_calls.hpp"
#include "api/reserved.hpp"
#include "memory/rounding.hpp"
#include "objects/green_context.hpp"

#if CUDA_VERSION >= 12050

namespace cushim::sim {
namespace {

// The bytes of CUdevResource that are the driver's own.
struct Origin {
  static constexpr std::uint32_t kMagic = 0x6d736d73;
  int device = 0;      // the index of the device
  unsigned first = 0;  // the first of its multiprocessors
  std::uint32_t magic = kMagic;
  std::uint32_t is_split = 0;  // 1 if a split made the resource
  unsigned count = 0;          // of its multiprocessors
};
static_assert(sizeof(Origin) <= sizeof CUdevResource::_internal_padding);

// The smallest number of multiprocessors in a part, and what it must be a multiple of. Documentation.
struct Granularity {
  unsigned least, multiple;
};
Granularity granularity_of(const Device &device) {
  const int major = device.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  if (major >= 9) return {8, 8};
  return major == 8 ? Granularity{4, 2} : Granularity{2, 2};
}

// Returns the size of a part that has at least `count` multiprocessors.
unsigned size_of_part(unsigned count, Granularity granularity) {
  return std::max(granularity.least, static_cast<unsigned>(rounded_up(count, granularity.multiple)));
}

CUdevResource resource_of(const Multiprocessors &part, bool is_split = false) {
  CUdevResource resource{};
  if (part.count == 0) return resource;  // CU_DEV_RESOURCE_TYPE_INVALID
  [[maybe_unused]] const Granularity granularity = granularity_of(*part.device);
  resource.type = CU_DEV_RESOURCE_TYPE_SM;
  resource.sm.smCount = part.count;
#if CUDA_VERSION >= 13000
  resource.sm.minSmPartitionSize = granularity.least;
  resource.sm.smCoscheduledAlignment = granularity.multiple;
#endif
  const Origin origin{
      .device = part.device->index, .first = part.first, .is_split = is_split ? 1u : 0u, .count = part.count};
  std::memcpy(&resource._internal_padding, &origin, sizeof origin);
  return resource;
}

Multiprocessors all_of(Device &device) {
  return {&device, 0, static_cast<unsigned>(device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT))};
}

// Returns the part of a device that a resource is, and whether a split made it. Fails for resources that are
// not of type SM, and, with `error`, for those that the driver has not made.
std::pair<Multiprocessors, bool> part_of(Call &call, const CUdevResource &resource,
                                         CUresult error = CUDA_ERROR_INVALID_VALUE) {
  require(resource.type == CU_DEV_RESOURCE_TYPE_SM, CUDA_ERROR_INVALID_RESOURCE_TYPE);
  std::array<unsigned char, sizeof(Origin)> bytes;
  std::memcpy(bytes.data(), &resource._internal_padding, bytes.size());
  const auto origin = std::bit_cast<Origin>(bytes);
  require(origin.magic == Origin::kMagic && origin.count == resource.sm.smCount, error);
  const auto is_it = [&](const Device *device) { return device->index == origin.device; };
  const auto found = std::ranges::find_if(call.system.visible, is_it);
  require(found != call.system.visible.end(), error);
  const Multiprocessors part{*found, origin.first, resource.sm.smCount};
  const unsigned most = all_of(**found).count;
  require(part.first < most && part.count != 0 && part.count <= most - part.first, error);
  return {part, origin.is_split != 0};
}

GreenContext &green(Call &call, const void *handle) {
  return call.object<GreenContext>(handle, CUDA_ERROR_INVALID_CONTEXT);
}

GreenContext &healthy_green(Call &call, const void *handle) {
  GreenContext &found = green(call, handle);
  require_no_fault(*found.primary);
  return found;
}

// ---- Resources ----

void require_type(const CUdevResource *out, CUdevResourceType type) {
  require(out != nullptr);
  require(type == CU_DEV_RESOURCE_TYPE_SM, CUDA_ERROR_INVALID_RESOURCE_TYPE);
}

CUresult write(CUdevResource *out, CUdevResourceType type, const Multiprocessors &part) {
  require_type(out, type);
  *out = resource_of(part);
  return CUDA_SUCCESS;
}

CUresult get_of_device(Call &call, CUdevice number, CUdevResource *out, CUdevResourceType type) {
  return write(out, type, all_of(call.device(number)));
}

CUresult get_of_context(Call &call, CUcontext handle, CUdevResource *out, CUdevResourceType type) {
  require_type(out, type);  // before the context: measured on an H200, driver 580
  require(handle != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  if (call.system.handles.find<GreenContext>(handle) != nullptr)
    return write(out, type, healthy_green(call, handle).multiprocessors);
  const Context &context = call.context(handle);
  require_no_fault(context);
  return write(out, type, all_of(*context.device));
}

CUresult get_of_green_context(Call &call, CUgreenCtx handle, CUdevResource *out, CUdevResourceType type) {
  require_type(out, type);
  return write(out, type, healthy_green(call, handle).multiprocessors);
}

// Makes groups of equal size from the first multiprocessors. The real driver may make fewer, because it takes
// the multiprocessors of a group from as few processing clusters as it can.
CUresult split(Call &call, CUdevResource *out, unsigned *groups, const CUdevResource *input,
               CUdevResource *remaining, unsigned flags, unsigned least) {
  constexpr unsigned known =
      CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING | CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
  // Other flags are ignored: measured on an H200, driver 580.
  require(groups != nullptr && input != nullptr && (flags & known) != known);
  require(out == nullptr || *groups != 0);
  require((flags & known) == 0,
          CUDA_ERROR_NOT_SUPPORTED);  // not implemented: the granularity with them is not documented
  const auto [whole, is_split] = part_of(call, *input, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  // The resource is as the driver made it, byte by byte: measured on an H200, driver 580.
  require(!is_split && has_same_bytes(*input, resource_of(whole)), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  require(least <= whole.count, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  const unsigned size = size_of_part(least, granularity_of(*whole.device));
  unsigned count = whole.count / size;
  if (out == nullptr) {
    *groups = count;
  } else {
    *groups = count = std::min(count, *groups);
  }
  for (unsigned group = 0; out != nullptr && group < count; ++group)
    out[group] = resource_of({whole.device, whole.first + group * size, size}, true);
  const unsigned used = count * size;
  if (remaining != nullptr)
    *remaining = resource_of({whole.device, whole.first + used, whole.count - used}, true);
  return CUDA_SUCCESS;
}

// CU_DEV_SM_RESOURCE_GROUP_BACKFILL, which headers before 13.1 lack.
constexpr unsigned kBackfill = 1;

// A group that a split is to make. Documentation.
struct Group {
  unsigned count = 0;     // of its multiprocessors
  unsigned together = 0;  // how many of them are scheduled together
};

// Returns the next group of `whole` after `taken` multiprocessors. Without any multiprocessor only if it
// `may_be_empty`.
Group next_group(const CushimSmResourceGroup &wanted, const Multiprocessors &whole, unsigned taken,
                 bool may_be_empty) {
  const bool has_clusters = whole.device->attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 9;
  const bool fills_up = (wanted.flags & kBackfill) != 0;
  const unsigned left = whole.count - taken;
  Group group{.together = wanted.coscheduledSmCount};
  if (group.together == 0) group.together = has_clusters ? 8 : 2;
  require(group.together <= (has_clusters ? 32u : 2u) && group.together % 2 == 0);
  require(wanted.smCount % 2 == 0 && wanted.smCount <= whole.count);
  require(fills_up || wanted.smCount % group.together == 0);
  const unsigned available = left - left % (fills_up ? 2 : group.together);
  group.count = wanted.smCount != 0 ? wanted.smCount : available;
  require(group.count <= available && (may_be_empty || group.count >= group.together),
          CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  return group;
}

// Takes the groups from the first multiprocessors on, in order, as if the processing clusters had as many as
// the groups want together. Locality domains, which no simulated device has, return NOT_SUPPORTED.
CUresult split_into_groups(Call &call, CUdevResource *out, unsigned groups, const CUdevResource *input,
                           CUdevResource *remaining, unsigned flags, CushimSmResourceGroup *parameters) {
  require(groups != 0 && input != nullptr && parameters != nullptr && flags == 0);
  const Multiprocessors whole = part_of(call, *input).first;
  std::vector<Group> made;
  unsigned taken = 0;
  for (unsigned i = 0; i < groups; ++i) {
    require((parameters[i].flags & ~kBackfill) == 0, CUDA_ERROR_NOT_SUPPORTED);
    require(is_zero(parameters[i].reserved));
    made.push_back(next_group(parameters[i], whole, taken, out == nullptr));
    taken += made.back().count;
  }
  unsigned first = whole.first;
  for (unsigned i = 0; i < groups; ++i) {
    parameters[i].smCount = made[i].count;
    if (out != nullptr) {
      out[i] = resource_of({whole.device, first, made[i].count}, true);
#if CUDA_VERSION >= 13000
      out[i].sm.smCoscheduledAlignment = made[i].together;
#endif
    }
    first += made[i].count;
  }
  if (remaining != nullptr) *remaining = resource_of({whole.device, first, whole.count - taken}, true);
  return CUDA_SUCCESS;
}

// Several resources must overlap or be adjacent, in the order of their multiprocessors: other sets are not
// implemented.
CUresult generate_descriptor(Call &call, CUdevResourceDesc *out, CUdevResource *resources, unsigned count) {
  require(out != nullptr && resources != nullptr && count != 0);
  auto made = std::make_unique<ResourceDescriptor>();
  Multiprocessors &all = made->multiprocessors;
  all = part_of(call, resources[0]).first;
  for (unsigned i = 1; i < count; ++i) {
    const Multiprocessors next = part_of(call, resources[i]).first;
    require(next.device == all.device, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    require(next.first >= all.first && next.first <= all.first + all.count, CUDA_ERROR_NOT_SUPPORTED);
    all.count = std::max(all.count, next.first + next.count - all.first);
  }
  *out = reinterpret_cast<CUdevResourceDesc>(call.system.handles.add(std::move(made)).handle);
  return CUDA_SUCCESS;
}

// ---- Green contexts ----

CUresult create(Call &call, CUgreenCtx *out, CUdevResourceDesc handle, CUdevice number, unsigned flags) {
  require(out != nullptr);
  Device &device = call.device(number);
  require(flags == CU_GREEN_CTX_DEFAULT_STREAM);
  require(device.fault == CUDA_SUCCESS, device.fault);
  const auto *const descriptor = call.system.handles.find<ResourceDescriptor>(handle);
  require(descriptor != nullptr && descriptor->multiprocessors.device == &device);
  auto made = std::make_unique<GreenContext>();
  made->id = ++call.system.last_id;
  made->multiprocessors = descriptor->multiprocessors;
  call.system.handles.reserve(2);
  made->primary = &retain_primary(call, device);
  *out = reinterpret_cast<CUgreenCtx>(call.system.handles.add(std::move(made)).handle);
  return CUDA_SUCCESS;
}

// The streams stay, and calls that use them return CONTEXT_IS_DESTROYED.
CUresult destroy(Call &call, CUgreenCtx handle) {
  const GreenContext &context = green(call, handle);
  Device &device = *context.multiprocessors.device;
  call.system.handles.erase(context, call.name);
  release_primary(call, device);  // also if it has a fault: measured on an H200, driver 580
  return CUDA_SUCCESS;
}

CUresult convert(Call &call, CUcontext *out, CUgreenCtx handle) {
  require(out != nullptr);
  *out = reinterpret_cast<CUcontext>(healthy_green(call, handle).handle);
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12090
CUresult get_id(Call &call, CUgreenCtx handle, unsigned long long *id) {
  require(id != nullptr);
  *id = green(call, handle).id;
  return CUDA_SUCCESS;
}
#endif

CUresult create_stream(Call &call, CUstream *out, CUgreenCtx handle, unsigned flags, int priority) {
  require(out != nullptr);
  const GreenContext &context = green(call, handle);
  require(flags == CU_STREAM_NON_BLOCKING);
  require(context.primary->is_alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  require_no_fault(*context.primary);
  Stream &made = make_stream(call, *context.primary, flags, priority);
  made.green = context.handle;
  *out = reinterpret_cast<CUstream>(made.handle);
  return CUDA_SUCCESS;
}

CUresult get_of_stream(Call &call, CUstream handle, CUgreenCtx *out) {
  require(out != nullptr);
  *out = reinterpret_cast<CUgreenCtx>(green_of_stream(call, handle));
  return CUDA_SUCCESS;
}

// The multiprocessors of the stream's green context, or of its device.
CUresult get_resource_of_stream(Call &call, CUstream handle, CUdevResource *out, CUdevResourceType type) {
  Stream &stream = call.stream(handle);
  const std::uintptr_t in = green_of_stream(call, handle);
  return write(out, type,
               in != 0 ? green(call, reinterpret_cast<const void *>(in)).multiprocessors
                       : all_of(*stream.context->device));
}

}  // namespace

constinit const Entries entries_of_green_contexts = {
    entry<"cuDeviceGetDevResource", get_of_device>,
    entry<"cuCtxGetDevResource", get_of_context>,
    entry<"cuGreenCtxGetDevResource", get_of_green_context>,
    entry<"cuDevSmResourceSplitByCount", split>,
    entry<"cuDevSmResourceSplit", split_into_groups>,
    entry<"cuDevResourceGenerateDesc", generate_descriptor>,
    entry<"cuGreenCtxCreate", create>,
    entry<"cuGreenCtxDestroy", destroy>,
    entry<"cuCtxFromGreenCtx", convert>,
#if CUDA_VERSION >= 12090
    entry<"cuGreenCtxGetId", get_id>,
#endif
    entry<"cuGreenCtxStreamCreate", create_stream>,
    entry<"cuStreamGetGreenCtx", get_of_stream>,
    entry<"cuStreamGetDevResource", get_resource_of_stream>,
};

}  // namespace cushim::sim

#endif
