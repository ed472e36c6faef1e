// SPDX-License-Identifier: Apache-2.0
#include "memory/virtual_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

#include "memory/multicast.hpp"
#include "memory/rounding.hpp"
#include "objects/device.hpp"

namespace cushim::sim {

namespace {

// The end of an exported file. All members are fixed by the exporter and checked by the importer.
struct Label {
  static constexpr char kMagic[16] = "cushim memory 1";

  char magic[16] = {};
  std::uint64_t size = 0;
  std::uint64_t nonce = 0;
  CUuuid device = {};
  CUmemAllocationProp properties = {};
};

constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

// Reserves addresses that the process cannot access: at `at`, if that is not null. Returns null on failure.
std::byte *map_nothing(std::size_t size, std::byte *at = nullptr) {
  const int placed = at != nullptr ? MAP_FIXED_NOREPLACE : 0;
  void *const made = mmap(at, size, PROT_NONE, kAnonymous | placed, -1, 0);
  if (made == MAP_FAILED) return nullptr;
  auto *const bytes = static_cast<std::byte *>(made);
  if (at != nullptr && bytes != at) return munmap(bytes, size), nullptr;  // a kernel before 4.17
  madvise(bytes, size, MADV_DONTDUMP);
  return bytes;
}

// Reserves addresses with an alignment that may exceed the system's.
std::byte *map_aligned(std::size_t size, std::size_t alignment) {
  if (size > SIZE_MAX - alignment) return nullptr;
  std::byte *const whole = map_nothing(size + alignment);
  if (whole == nullptr) return nullptr;
  const auto start = reinterpret_cast<std::uintptr_t>(whole);
  const std::size_t before = rounded_up(start, alignment) - start;
  if (before != 0) munmap(whole, before);
  munmap(whole + before + size, alignment - before);
  return whole + before;
}

}  // namespace

// ---- Physical memory ----

PhysicalBytes::PhysicalBytes(std::shared_ptr<SharedBlocks> blocks, std::size_t offset, std::size_t size,
                             Device *counted_on, Holder holder)
    : blocks_(std::move(blocks)),
      offset_(offset),
      size_(size),
      counted_on_(counted_on),
      hold_(holder == Holder::file ? nullptr : std::make_unique<BlocksHold>(blocks_, offset, size)) {
  if (counted_on_ == nullptr) return;
  counted_on_->physical += size_;
  counted_on_->used += size_;
  counted_on_->peak = std::max(counted_on_->peak, counted_on_->used);
}

PhysicalBytes::~PhysicalBytes() {
  if (counted_on_ == nullptr) return;
  counted_on_->physical -= size_;
  counted_on_->used -= size_;
}

std::size_t PhysicalMemory::size() const noexcept {
  return multicast != nullptr ? multicast->size() : bytes->size();
}

bool PhysicalBytes::map(std::byte *at) const { return blocks_->file().map(offset_, size_, at) != nullptr; }

std::shared_ptr<PhysicalBytes> PhysicalFiles::make(std::size_t size, const CUmemAllocationProp &properties,
                                                   Device *device) {
  if (properties.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE)
    return make_exportable(size, properties, device);
  const auto blocks = shared_.with_room(size);
  if (blocks == nullptr) return nullptr;
  return std::make_shared<PhysicalBytes>(blocks, *blocks->take(size), size, device,
                                         PhysicalBytes::Holder::this_object);
}

std::shared_ptr<PhysicalBytes> PhysicalFiles::make_exportable(std::size_t size,
                                                              const CUmemAllocationProp &properties,
                                                              Device *device) {
  const auto nonce = make_nonce();
  if (!nonce) return nullptr;
  Label label{.size = size,
              .nonce = *nonce,
              .device = device != nullptr ? device->uuid : CUuuid{},
              .properties = properties};
  std::memcpy(label.magic, Label::kMagic, sizeof label.magic);
  label.properties.win32HandleMetaData = nullptr;
  auto blocks = SharedBlocks::make(size, *nonce, std::as_bytes(std::span(&label, 1)));
  if (blocks == nullptr) return nullptr;
  if (exportable_.size() >= exportable_swept_at_) {
    std::erase_if(exportable_, [](const auto &entry) { return entry.second.expired(); });
    exportable_swept_at_ = std::max<std::size_t>(32, 2 * exportable_.size());
  }
  auto made =
      std::make_shared<PhysicalBytes>(std::move(blocks), 0, size, device, PhysicalBytes::Holder::file);
  exportable_[*nonce] = made;
  return made;
}

std::optional<PhysicalFiles::Opened> PhysicalFiles::open(int descriptor) {
  return open(SharedFile::duplicate(descriptor));
}

std::optional<PhysicalFiles::Opened> PhysicalFiles::open(const Process &process, int file,
                                                         std::uint64_t nonce) {
  auto opened = open(SharedFile::open(process, file));
  return opened && opened->bytes->nonce() == nonce ? opened : std::nullopt;
}

std::optional<PhysicalFiles::Opened> PhysicalFiles::open(SharedFile file) {
  Label label;
  if (!file || !SharedBlocks::read_label(file, std::as_writable_bytes(std::span(&label, 1)))) return {};
  if (std::memcmp(label.magic, Label::kMagic, sizeof label.magic) != 0 || label.size == 0) return {};
  auto blocks = SharedBlocks::open(std::move(file), label.size, label.nonce, sizeof label);
  if (blocks == nullptr) return {};
  const auto own = exportable_.find(label.nonce);
  std::shared_ptr<PhysicalBytes> bytes = own != exportable_.end() ? own->second.lock() : nullptr;
  if (bytes == nullptr)
    bytes = std::make_shared<PhysicalBytes>(std::move(blocks), 0, label.size, nullptr,
                                            PhysicalBytes::Holder::file);
  return Opened{std::move(bytes), label.properties, label.device};
}

// ---- Mappings ----

bool VirtualMapping::set_access(const Device *location, CUmemAccess_flags flags, CUdeviceptr base) {
  auto entry = std::ranges::find(access, location, [](const auto &one) { return one.first; });
  if (entry == access.end()) entry = access.insert(entry, {location, CU_MEM_ACCESS_FLAGS_PROT_NONE});
  CUmemAccess_flags &stored = entry->second;
  if (location == nullptr && stored != flags) {
    auto *const addresses = reinterpret_cast<std::byte *>(base);
    const int protection = flags == CU_MEM_ACCESS_FLAGS_PROT_NONE   ? PROT_NONE
                           : flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ
                                                                    : PROT_READ | PROT_WRITE;
    if (stored == CU_MEM_ACCESS_FLAGS_PROT_NONE && !physical->bytes->map(addresses)) return false;
    if (mprotect(addresses, physical->size(), protection) != 0) return false;
  }
  stored = flags;
  return true;
}

void VirtualMapping::unmap(CUdeviceptr base) noexcept {
  const std::size_t size = physical->size();
  mmap(bytes - offset, size, PROT_READ | PROT_WRITE, kAnonymous | MAP_FIXED, -1, 0);
  if (std::ranges::any_of(access, [](const auto &one) { return one.first == nullptr; }))
    mmap(reinterpret_cast<void *>(base), size, PROT_NONE, kAnonymous | MAP_FIXED, -1, 0);
}

// ---- Reserved ranges ----

ReservedRanges::~ReservedRanges() {
  while (!ranges_.empty()) free(ranges_.begin()->second);
  for (const auto &[base, size] : freed_) munmap(reinterpret_cast<void *>(base), size);
}

// Takes a part of freed addresses.
CUdeviceptr ReservedRanges::take_freed(Freed::iterator from, CUdeviceptr base, std::size_t size) {
  const auto [start, length] = *from;
  const CUdeviceptr end = base + size;
  if (start + length > end) freed_.emplace(end, start + length - end);
  if (base > start)
    from->second = base - start;
  else
    freed_.erase(from);
  return base;
}

void ReservedRanges::give_addresses(CUdeviceptr base, std::size_t size) {
  const auto given = freed_.emplace(base, size).first;
  const auto after = std::next(given);
  if (after != freed_.end() && base + size == after->first) {
    given->second += after->second;
    freed_.erase(after);
  }
  if (given == freed_.begin()) return;
  const auto before = std::prev(given);
  if (before->first + before->second != base) return;
  before->second += given->second;
  freed_.erase(given);
}

// Returns addresses at `wanted` if all of them are free, else anywhere; 0 if address space is exhausted.
CUdeviceptr ReservedRanges::take_addresses(std::size_t size, std::size_t alignment, CUdeviceptr wanted) {
  const auto after = freed_.upper_bound(wanted);
  if (wanted != 0 && after != freed_.begin()) {
    const auto around = std::prev(after);
    const std::size_t skipped = wanted - around->first;
    if (skipped < around->second && size <= around->second - skipped) return take_freed(around, wanted, size);
  }
  if (wanted != 0 && map_nothing(size, reinterpret_cast<std::byte *>(wanted)) != nullptr) return wanted;
  for (auto place = freed_.begin(); place != freed_.end(); ++place) {
    const CUdeviceptr base = rounded_up(place->first, alignment);
    const std::size_t skipped = base - place->first;
    if (skipped < place->second && size <= place->second - skipped) return take_freed(place, base, size);
  }
  return reinterpret_cast<CUdeviceptr>(map_aligned(size, alignment));
}

const ReservedRange *ReservedRanges::reserve(std::size_t size, std::size_t alignment, CUdeviceptr wanted) {
  Zeros<Allocation *> mappings(size / kGranularity);
  std::byte *const bytes = map_nothing(size);
  const CUdeviceptr base = bytes != nullptr ? take_addresses(size, alignment, wanted) : 0;
  if (base == 0) {
    if (bytes != nullptr) munmap(bytes, size);
    return nullptr;
  }
  gap_size_ = 0;
  return &ranges_.emplace(base, ReservedRange{base, size, bytes, std::move(mappings)}).first->second;
}

void ReservedRanges::free(const ReservedRange &range) {
  give_addresses(range.base, range.size);
  munmap(range.bytes, range.size);
  last_ = nullptr;
  ranges_.erase(range.base);
}

bool ReservedRanges::has(CUdeviceptr address) const noexcept {
  if (find(address) != nullptr) return true;
  const auto after = freed_.upper_bound(address);
  if (after == freed_.begin()) return false;
  const auto &[base, size] = *std::prev(after);
  return address - base < size;
}

ReservedRange *ReservedRanges::search(CUdeviceptr address) noexcept {
  const auto after = ranges_.upper_bound(address);
  ReservedRange *const before = after != ranges_.begin() ? &std::prev(after)->second : nullptr;
  if (before != nullptr && address < before->end()) return last_ = before;
  gap_ = before != nullptr ? before->end() : 0;
  gap_size_ = (after != ranges_.end() ? after->first : ~CUdeviceptr{0}) - gap_;
  return nullptr;
}

}  // namespace cushim::sim
