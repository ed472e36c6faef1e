// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: reserved ranges, physical memory, mappings, access, and the use of mapped
// memory.
#include <fmt/format.h>
#include <unistd.h>

#include "memory_walks.hpp"

namespace differential {

unsigned a_range(Walk &w) {
  return pick(w, of_mappings(w).r, [](const AddressRange &one) { return one.base != 0; });
}

Argument<CUdeviceptr> an_address(Walk &w, std::size_t inside) {
  const unsigned k = a_range(w);
  if (k == kNone || w.dice.once_in(30)) return nowhere_at(w.dice.one_of<CUdeviceptr>({0, granule}));
  const AddressRange &range = of_mappings(w).r[k];
  const auto granules = static_cast<unsigned>(range.size / granule);
  std::size_t offset = w.dice.below(granules + (w.dice.once_in(10) ? 1 : 0)) * granule + inside;
  if (w.dice.once_in(25)) offset += 4096;
  return {range.base + offset, fmt::format("r[{}] + {}", k, offset)};
}

std::size_t a_size_of_granules(Walk &w) {
  return w.dice.one_of<std::size_t>({granule, granule, granule, granule, 2 * granule, 2 * granule,
                                     2 * granule, 4 * granule, 4 * granule, 0, granule / 2, 4096,
                                     granule + 4096});
}

namespace {

using Physical = Mappings::Physical;

unsigned a_handle(Walk &w) {
  return pick(w, of_mappings(w).h, [](const Physical &one) { return one.references != 0; });
}

Argument<unsigned long long> flags_of(Walk &w) {
  const unsigned long long flags = w.dice.once_in(25) ? 1 : 0;
  return {flags, std::to_string(flags)};
}

// ---- Ranges ----

// Returns an address where 4 granules can be reserved, with free addresses before and behind them; 0 if the
// driver does not give ranges at addresses that the program asks for.
CUdeviceptr free_addresses() {
  for (const std::size_t around : {64 * granule, 16 * granule})
    for (const std::size_t alignment : {around, std::size_t{0}}) {
      CUdeviceptr area = 0, found = 0;
      if (driver().cuMemAddressReserve(&area, around, alignment, 0, 0) != CUDA_SUCCESS) continue;
      driver().cuMemAddressFree(area, around);
      const CUdeviceptr wanted = area + around / 4;
      if (driver().cuMemAddressReserve(&found, 4 * granule, 0, wanted, 0) != CUDA_SUCCESS) continue;
      driver().cuMemAddressFree(found, 4 * granule);
      if (found == wanted) return wanted;
    }
  return 0;
}

void reserve(Walk &w) {
  const unsigned k = w.dice.below(3);
  if (of_mappings(w).r[k].base != 0) return;
  const std::size_t size = w.dice.one_of<std::size_t>(
      {4 * granule, 4 * granule, 3 * granule, 2 * granule, granule, 0, granule / 2, granule + 4096});
  const std::size_t alignment =
      w.dice.one_of<std::size_t>({0, 0, 0, 0, granule, 4096, 2 * granule, 3, 3 * granule, 65536});
  CUdeviceptr hint = w.shared.area + (4 + 32 * k) * granule;
  std::string text = fmt::format("area + {}", hint - w.shared.area);
  if (w.subject == Subject::mapped) {
    hint = free_addresses();
    text = "free addresses";
  }
  const unsigned other = (k + 1) % 3;
  switch (w.dice.below(8)) {
    case 0:
      if (of_mappings(w).r[other].base == 0) break;
      hint = of_mappings(w).r[other].base + granule * w.dice.below(2);
      text = fmt::format("r[{}] + {}", other, hint - of_mappings(w).r[other].base);
      break;
    case 1:
      if (of_mappings(w).r[other].base == 0) break;
      hint = of_mappings(w).r[other].base + of_mappings(w).r[other].size;  // adjacent
      text = fmt::format("end of r[{}]", other);
      break;
    case 2:
      if (w.dice.once_in(2)) hint += 4096, text += " + 4096";
      break;
    default:
      break;
  }
  AddressRange &made = of_mappings(w).r[k];
  if (CALL(w, cuMemAddressReserve, Argument{&made.base, fmt::format("&r[{}]", k)}, bytes(size),
           bytes(alignment), Argument{hint, text}, flags_of(w)) != CUDA_SUCCESS) {
    made = {};
    return;
  }
  made.size = size;
  const bool is_there = made.base == hint || hint == 0;
  w.also(is_there ? "there" : "elsewhere");
  if (is_there) return;
  // The place of this range is up to the driver, and other ranges must not be beside it by chance.
  CALL(w, cuMemAddressFree, Argument{made.base, fmt::format("r[{}]", k)}, bytes(size));
  made = {};
}

void free_range(Walk &w) {
  const unsigned k = a_range(w);
  if (k == kNone) return;
  w.finish();
  AddressRange &range = of_mappings(w).r[k];
  const std::size_t offset = w.dice.one_of<std::size_t>({0, 0, 0, 0, granule, 4096});
  const std::size_t size = w.dice.one_of<std::size_t>(
      {range.size, range.size, range.size, range.size, granule, 2 * range.size, 0, range.size - 4096});
  const CUresult code = CALL(
      w, cuMemAddressFree, Argument{range.base + offset, fmt::format("r[{}] + {}", k, offset)}, bytes(size));
  if (code != CUDA_SUCCESS) return;
  range = {};
}

// ---- Physical memory ----

CUmemAllocationProp properties(Walk &w, std::string &text) {
  CUmemAllocationProp made{};
  const auto type = w.dice.once_in(20) ? w.dice.below(4) : 1;
  made.type = static_cast<CUmemAllocationType>(type);
  const int location = w.dice.once_in(10) ? static_cast<int>(w.dice.below(6)) : 1;
  made.location.type = static_cast<CUmemLocationType>(location);
  made.location.id = w.dice.once_in(20) ? w.dice.one_of({-1, 1, 99}) : 0;
  const int types = w.dice.one_of({0, 0, 0, 1, 1, 1, 2, 3, 4, 16});
  made.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(types);
  made.allocFlags.compressionType = static_cast<unsigned char>(w.dice.one_of({0, 0, 0, 0, 1, 2}));
  made.allocFlags.gpuDirectRDMACapable = w.dice.once_in(6) ? 1 : 0;
  text = fmt::format("properties({}, {}, {}, {}, {}, {})", type, location, made.location.id, types,
                     made.allocFlags.compressionType, made.allocFlags.gpuDirectRDMACapable);
  return made;
}

void create(Walk &w) {
  const unsigned k = pick(w, of_mappings(w).h, [](const Physical &one) { return one.references == 0; });
  if (k == kNone) return;
  Physical &made = of_mappings(w).h[k];
  std::string text;
  const CUmemAllocationProp with = properties(w, text);
  const std::size_t size = a_size_of_granules(w);
  if (CALL(w, cuMemCreate, Argument{&made.handle, fmt::format("&h[{}]", k)}, bytes(size),
           Argument<const CUmemAllocationProp *>{&with, text}, flags_of(w)) != CUDA_SUCCESS) {
    made = {};
    return;
  }
  made.size = size;
  made.references = 1;
}

void release(Walk &w) {
  const unsigned k = a_handle(w);
  if (k == kNone) return;
  Physical &one = of_mappings(w).h[k];
  if (CALL(w, cuMemRelease, Argument{one.handle, fmt::format("h[{}]", k)}) != CUDA_SUCCESS) return;
  if (--one.references == 0) one = {};
}

void get_properties(Walk &w) {
  const unsigned k = a_handle(w);
  if (k == kNone) return;
  Result<CUmemAllocationProp> found("found");
  CALL(w, cuMemGetAllocationPropertiesFromHandle, found.argument(),
       Argument{of_mappings(w).h[k].handle, fmt::format("h[{}]", k)});
  const CUmemAllocationProp &is = found.value;
  if (found.is_set())
    w.also(fmt::format("{} {} {} {} {} {} {}", static_cast<int>(is.type), static_cast<int>(is.location.type),
                       is.location.id, static_cast<int>(is.requestedHandleTypes),
                       is.allocFlags.compressionType, is.allocFlags.gpuDirectRDMACapable,
                       is.allocFlags.usage));
}

void granularity(Walk &w) {
  std::string text;
  const CUmemAllocationProp with = properties(w, text);
  Result<std::size_t> size("size");
  CALL(w, cuMemGetAllocationGranularity, size.argument(), Argument<const CUmemAllocationProp *>{&with, text},
       numbered("option", static_cast<CUmemAllocationGranularity_flags>(w.dice.one_of({0, 0, 1, 2}))));
  w.also_number(size);
}

// Adds a reference to a handle, which may be new.
void has_handle(Walk &w, CUmemGenericAllocationHandle handle, std::size_t size) {
  for (unsigned k = 0; k < of_mappings(w).h.size(); ++k) {
    Physical &one = of_mappings(w).h[k];
    if (one.references == 0 || one.handle != handle) continue;
    ++one.references;
    w.also(fmt::format("h[{}]", k));
    return;
  }
  w.also("new");
  for (Physical &one : of_mappings(w).h)
    if (one.references == 0) {
      one = {handle, size, 1};
      return;
    }
  CALL(w, cuMemRelease, Argument{handle, "new"});
}

void retain(Walk &w) {
  const auto address = an_address(w, w.dice.one_of<std::size_t>({0, 0, 4096, granule - 1}));
  CUmemGenericAllocationHandle handle = 0;
  if (CALL(w, cuMemRetainAllocationHandle, Argument{&handle, "&handle"},
           Argument{reinterpret_cast<void *>(address.value), address.text}) != CUDA_SUCCESS)
    return;
  std::size_t size = 0;
  for (const AddressRange &one : of_mappings(w).mapped)
    if (one.contains(address.value)) size = one.size;
  has_handle(w, handle, size);
}

void share(Walk &w) {
  const unsigned k = a_handle(w);
  if (k == kNone) return;
  union {
    int file = -1;
    unsigned char fabric[64];
  } out;
  const auto type = static_cast<CUmemAllocationHandleType>(w.dice.one_of({1, 1, 1, 1, 0, 2, 3, 8}));
  const std::size_t size = of_mappings(w).h[k].size;
  if (CALL(w, cuMemExportToShareableHandle, Argument<void *>{&out, "&file"},
           Argument{of_mappings(w).h[k].handle, fmt::format("h[{}]", k)}, numbered("type", type),
           flags_of(w)) != CUDA_SUCCESS)
    return;
  CUmemGenericAllocationHandle handle = 0;
  const auto imported = static_cast<CUmemAllocationHandleType>(w.dice.one_of({1, 1, 1, 1, 1, 0, 2}));
  const CUresult code = CALL(w, cuMemImportFromShareableHandle, Argument{&handle, "&handle"},
                             Argument{reinterpret_cast<void *>(static_cast<std::intptr_t>(out.file)), "file"},
                             numbered("type", imported));
  if (code == CUDA_SUCCESS) has_handle(w, handle, size);
  ::close(out.file);
}

// ---- Mappings ----

void map(Walk &w) {
  const unsigned k = a_handle(w);
  if (k == kNone) return;
  const Physical &memory = of_mappings(w).h[k];
  const auto address = an_address(w);
  const std::size_t size = w.dice.once_in(10) ? a_size_of_granules(w) : memory.size;
  const std::size_t offset = w.dice.once_in(25) ? w.dice.one_of<std::size_t>({granule, 4096}) : 0;
  if (CALL(w, cuMemMap, address, bytes(size), bytes(offset), Argument{memory.handle, fmt::format("h[{}]", k)},
           flags_of(w)) == CUDA_SUCCESS)
    of_mappings(w).mapped.push_back({address.value, size});
}

void unmap(Walk &w) {
  w.finish();
  Argument<CUdeviceptr> address = an_address(w);
  std::size_t size = a_size_of_granules(w);
  auto &mapped = of_mappings(w).mapped;
  if (!mapped.empty() && !w.dice.once_in(3)) {
    const AddressRange one = mapped[w.dice.below(static_cast<unsigned>(mapped.size()))];
    address = {one.base, of_mappings(w).name_of(one.base)};
    size = one.size;
  }
  if (CALL(w, cuMemUnmap, address, bytes(size)) != CUDA_SUCCESS) return;
  std::erase_if(mapped, [&](const AddressRange &one) {
    return one.base >= address.value && one.base + one.size <= address.value + size;
  });
}

CUmemLocation a_location(Walk &w, std::string &text) {
  CUmemLocation made{};
  const int type = w.dice.once_in(6) ? static_cast<int>(w.dice.below(6)) : 1;
  made.type = static_cast<CUmemLocationType>(type);
  made.id = w.dice.once_in(20) ? w.dice.one_of({-1, 1, 99}) : 0;
  text = fmt::format("{}, {}", type, made.id);
  return made;
}

void set_access(Walk &w) {
  w.finish();
  Argument<CUdeviceptr> address = an_address(w);
  std::size_t size = a_size_of_granules(w);
  const auto &mapped = of_mappings(w).mapped;
  if (!mapped.empty() && !w.dice.once_in(3)) {
    const AddressRange one = mapped[w.dice.below(static_cast<unsigned>(mapped.size()))];
    address = {one.base, of_mappings(w).name_of(one.base)};
    size = one.size;
  }
  std::string text;
  CUmemAccessDesc list[2]{};
  for (CUmemAccessDesc &one : list) {
    std::string location;
    one.location = a_location(w, location);
    one.flags = static_cast<CUmemAccess_flags>(w.dice.one_of({3, 3, 3, 3, 3, 1, 0, 2, 4}));
    text += fmt::format("{{{}, {}}}", location, static_cast<int>(one.flags));
  }
  const std::size_t count = w.dice.one_of<std::size_t>({1, 1, 1, 1, 1, 1, 1, 2, 2, 0});
  CALL(w, cuMemSetAccess, address, bytes(size), Argument<const CUmemAccessDesc *>{list, text}, bytes(count));
}

void get_access(Walk &w) {
  const auto address = an_address(w, w.dice.one_of<std::size_t>({0, 0, 1, granule - 1}));
  std::string text;
  const CUmemLocation location = a_location(w, text);
  Result<unsigned long long> flags("flags");
  CALL(w, cuMemGetAccess, flags.argument(), Argument<const CUmemLocation *>{&location, text}, address);
  w.also_number(flags);
}

void range_handle(Walk &w) {
  const auto address = an_address(w, w.dice.one_of<std::size_t>({0, 0, 0, 4096, 100}));
  const auto type = numbered("type", static_cast<CUmemRangeHandleType>(w.dice.once_in(10) ? 2 : 1));
  const auto size = bytes(a_size_of_granules(w));
  int file = -1;
  CALL(w, cuMemGetHandleForAddressRange, Argument<void *>{&file, "&file"}, address, size, type, flags_of(w));
  if (file >= 0) ::close(file);
}

}  // namespace

Choices mapping_choices() {
  return waiting({
      {22, reserve},
      {8, free_range},
      {24, create},
      {8, release},
      {3, get_properties},
      {2, granularity},
      {6, retain},
      {6, share},
      {34, map},
      {16, unmap},
      {28, set_access},
      {10, get_access},
      {2, range_handle},
  });
}

}  // namespace differential
