// SPDX-License-Identifier: Apache-2.0
#include "kernels/image.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include <cushim/detail/fat_binary.hpp>
#include "kernels/cubin.hpp"
#include "kernels/ptx_text.hpp"
#include "kernels/read.hpp"

namespace cushim::sim {

namespace {

using fat_binary::Container;
using fat_binary::kContainerMagic;
using fat_binary::kWrapperMagic;
using fat_binary::Wrapper;

struct Entry {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_size;
  std::uint64_t size;             // of the payload with padding
  std::uint32_t compressed_size;  // 0: not compressed
  std::uint32_t options;
  std::uint16_t minor, major;
  std::uint32_t target;
  std::uint32_t name, name_size;
  std::uint64_t flags;
  std::uint64_t reserved;
  std::uint64_t uncompressed_size;
};
constexpr std::uint16_t kPtx = 1, kMachineCode = 2, kLtoIr = 8;
constexpr std::uint64_t kLz4 = 0x2000, kZstd = 0x8000, kOneTarget = 0x100000;  // sm_90a runs on 9.0 only

// A larger payload is rejected as an attack on memory.
constexpr std::uint64_t kLargest = std::uint64_t{1} << 30;

// Loads a decompression library on first use, so that programs without compressed images do not need it.
template <class Function>
Function *function_of(const char *library, const char *name) {
  void *const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return handle != nullptr ? reinterpret_cast<Function *>(dlsym(handle, name)) : nullptr;
}

// Returns whether `size` bytes can be compressed to `compressed` bytes. LZ4: at most 255 bytes per compressed
// byte. zstd: at most 128 KiB per block, which has at least 4 compressed bytes.
bool is_possible(std::uint64_t size, std::uint64_t compressed, std::uint64_t flags) {
  constexpr std::uint64_t kMostOfLz4 = 255, kLeastBlock = 4, kMostOfBlock = 128 << 10;
  return (flags & kZstd) != 0 ? size / kMostOfBlock <= compressed / kLeastBlock
                              : size / kMostOfLz4 <= compressed;
}

std::optional<std::string> decompress(std::string_view data, std::uint64_t size, std::uint64_t flags,
                                      std::string &log) {
  if (size > kLargest) {
    log = "the fat binary declares an entry of " + std::to_string(size) + " bytes";
    return std::nullopt;
  }
  constexpr const char *kDamaged = "the compressed code of the fat binary is damaged";
  if (!is_possible(size, data.size(), flags)) {
    log = kDamaged;
    return std::nullopt;
  }
  // Not initialized: a small file may claim a large size.
  const std::unique_ptr<char[]> text(new char[size]);
  if ((flags & kZstd) != 0) {
    static const auto zstd = function_of<std::size_t(void *, std::size_t, const void *, std::size_t)>(
        "libzstd.so.1", "ZSTD_decompress");
    if (zstd == nullptr) {
      log = "its code is compressed with zstd: install libzstd.so.1 (Debian: libzstd1)";
      return std::nullopt;
    }
    if (zstd(text.get(), size, data.data(), data.size()) == size) return std::string(text.get(), size);
  } else {
    static const auto lz4 =
        function_of<int(const char *, char *, int, int)>("liblz4.so.1", "LZ4_decompress_safe");
    if (lz4 == nullptr) {
      log = "its code is compressed with LZ4: install liblz4.so.1 (Debian: liblz4-1)";
      return std::nullopt;
    }
    if (data.size() <= std::numeric_limits<int>::max() &&
        lz4(data.data(), text.get(), static_cast<int>(data.size()), static_cast<int>(size)) ==
            static_cast<int>(size))
      return std::string(text.get(), size);
  }
  log = kDamaged;
  return std::nullopt;
}

struct Candidate {
  Entry entry;
  std::string_view payload;
};

// The entries of a container that a device can run.
struct Candidates {
  std::vector<Candidate> ptx, machine_code;
  bool has_lto_ir = false;
};

Candidates find_candidates(std::string_view bytes, int capability) {
  Candidates found;
  const auto container = read<Container>(bytes, 0);
  if (!container || container->magic != kContainerMagic || container->header_size < sizeof(Container))
    return found;
  if (container->size > bytes.size() || bytes.size() - container->size < container->header_size) return found;
  bytes = bytes.substr(0, container->header_size + container->size);
  for (std::uint64_t offset = container->header_size; offset < bytes.size();) {
    const auto entry = read<Entry>(bytes, offset);
    if (!entry || entry->header_size < sizeof(Entry) || entry->header_size > bytes.size() - offset)
      return found;
    const std::uint64_t begin = offset + entry->header_size;
    if (entry->size > bytes.size() - begin) return found;
    const auto target = static_cast<int>(std::min<std::uint32_t>(entry->target, 10'000));
    const bool is_ptx = entry->kind == kPtx, is_code = entry->kind == kMachineCode;
    const bool runs = (entry->flags & kOneTarget) != 0 ? target == capability
                      : is_ptx                         ? target <= capability
                                                       : runs_machine_code(target, capability);
    if ((is_ptx || is_code) && runs && entry->compressed_size <= entry->size)
      (is_ptx ? found.ptx : found.machine_code)
          .push_back({*entry, bytes.substr(begin, entry->compressed_size != 0 ? entry->compressed_size
                                                                              : entry->size)});
    found.has_lto_ir |= entry->kind == kLtoIr && target == capability;
    offset = begin + entry->size;
  }
  return found;
}

std::string_view container_at(const void *data) {
  Container container;
  std::memcpy(&container, data, sizeof container);
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() - container.header_size;
  return {static_cast<const char *>(data), container.header_size + std::min(container.size, most)};
}

// Returns the candidate with the highest target: of equal ones the first, and sm_90a before sm_90. Null if
// there is none.
const Candidate *best_of(const std::vector<Candidate> &found) {
  const auto is_lower = [](const Candidate &a, const Candidate &b) {
    return a.entry.target != b.entry.target ? a.entry.target < b.entry.target
                                            : (a.entry.flags & kOneTarget) < (b.entry.flags & kOneTarget);
  };
  const auto best = std::max_element(found.begin(), found.end(), is_lower);
  return best != found.end() ? &*best : nullptr;
}

std::optional<std::string> content_of(const Candidate &candidate, std::string &log) {
  const Entry &entry = candidate.entry;
  const bool is_compressed = entry.compressed_size != 0 && (entry.flags & (kLz4 | kZstd)) != 0;
  return is_compressed ? decompress(candidate.payload, entry.uncompressed_size, entry.flags, log)
                       : std::string(candidate.payload);
}

Image of_candidates(const Candidates &found) {
  Image image;
  if (const Candidate *const ptx = best_of(found.ptx)) {
    image.ptx = content_of(*ptx, image.log);
    if (!image.ptx) image.error = CUDA_ERROR_INVALID_IMAGE;
    return image;
  }
  image.error = CUDA_ERROR_NO_BINARY_FOR_GPU;
  image.log =
      "the fat binary has no PTX that this device runs, and the simulated driver does not execute "
      "machine code: build with PTX (nvcc -gencode arch=compute_75,code=compute_75)";
  if (const Candidate *const code = best_of(found.machine_code)) {
    const auto content = content_of(*code, image.log);
    const auto cubin = content ? cubin_at(content->data(), content->size()) : std::nullopt;
    if (cubin) image.cubin = std::string(*cubin);
  }
  return image;
}

}  // namespace

bool runs_machine_code(int target, int capability) {
  return target / 10 == capability / 10 && target <= capability;
}

Image read_image(const void *data, int capability, std::optional<std::size_t> size) {
  Image image;
  const auto has = [&](std::size_t wanted) { return !size || *size >= wanted; };
  // Without a size, what follows a zero byte may not be readable: no magic number has one.
  const auto begins_with = [&](const auto &magic) {
    return has(sizeof magic) && std::strncmp(static_cast<const char *>(data),
                                             reinterpret_cast<const char *>(&magic), sizeof magic) == 0;
  };
  if (begins_with(kWrapperMagic) && has(sizeof(Wrapper))) {
    Wrapper wrapper;
    std::memcpy(&wrapper, data, sizeof wrapper);
    return of_candidates(wrapper.data != nullptr ? find_candidates(container_at(wrapper.data), capability)
                                                 : Candidates{});
  }
  if (begins_with(kContainerMagic) && has(sizeof(Container))) {
    const std::string_view whole = container_at(data);
    return of_candidates(find_candidates(size ? whole.substr(0, *size) : whole, capability));
  }
  // An ELF header without the CUDA machine type is not a cubin. Measured, driver 580.
  if (is_cubin(data, size)) {
    image.error = CUDA_ERROR_NO_BINARY_FOR_GPU;
    image.log =
        "the image is machine code (a cubin), which the simulated driver does not execute: load its PTX";
    if (const auto cubin = cubin_at(data, size)) image.cubin = std::string(*cubin);
    return image;
  }
  const auto *const characters = static_cast<const char *>(data);
  const std::string_view text(characters, size ? strnlen(characters, *size) : std::strlen(characters));
  if (is_ptx(text)) {
    image.ptx = std::string(text);
  } else {
    image.error = CUDA_ERROR_INVALID_IMAGE;
    image.log = "error   : Binary format for key='0', ident='' is not recognized";
  }
  return image;
}

bool has_lto_ir(std::string_view fat_binary, int capability) {
  return find_candidates(fat_binary, capability).has_lto_ir;
}

}  // namespace cushim::sim
