// SPDX-License-Identifier: Apache-2.0
#include "kernels/image.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

namespace cushim::sim {

namespace {

// The layout of fat binaries, measured on output of nvcc 11.8 to 13.0.
struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void *data;   // version 1: the container; version 2: the container of the linked cubin
  const void *extra;  // version 2: the containers of the linker's inputs, terminated by null
};
constexpr std::uint32_t kWrapperMagic = 0x466243B1;

struct Container {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_size;
  std::uint64_t size;  // without the header
};
constexpr std::uint32_t kContainerMagic = 0xBA55ED50;

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
constexpr std::uint16_t kPtx = 1;
constexpr std::uint64_t kLz4 = 0x2000, kZstd = 0x8000, kOneTarget = 0x100000;  // sm_90a runs on 9.0 only

// Larger PTX is rejected as an attack on memory.
constexpr std::uint64_t kLargestText = std::uint64_t{1} << 30;

template <class T>
std::optional<T> read(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Loads a decompression library on first use, so that programs without compressed images do not need it.
template <class Function>
Function *function_of(const char *library, const char *name) {
  void *const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return handle != nullptr ? reinterpret_cast<Function *>(dlsym(handle, name)) : nullptr;
}

std::optional<std::string> decompress(std::string_view data, std::uint64_t size, std::uint64_t flags,
                                      std::string &log) {
  if (size > kLargestText) {
    log = "the fat binary declares " + std::to_string(size) + " bytes of PTX";
    return std::nullopt;
  }
  std::string text(size, '\0');
  if ((flags & kZstd) != 0) {
    static const auto zstd = function_of<std::size_t(void *, std::size_t, const void *, std::size_t)>(
        "libzstd.so.1", "ZSTD_decompress");
    if (zstd == nullptr) {
      log = "its PTX is compressed with zstd: install libzstd.so.1 (Debian: libzstd1)";
      return std::nullopt;
    }
    if (zstd(text.data(), text.size(), data.data(), data.size()) == size) return text;
  } else {
    static const auto lz4 =
        function_of<int(const char *, char *, int, int)>("liblz4.so.1", "LZ4_decompress_safe");
    if (lz4 == nullptr) {
      log = "its PTX is compressed with LZ4: install liblz4.so.1 (Debian: liblz4-1)";
      return std::nullopt;
    }
    if (data.size() <= std::numeric_limits<int>::max() &&
        lz4(data.data(), text.data(), static_cast<int>(data.size()), static_cast<int>(size)) ==
            static_cast<int>(size))
      return text;
  }
  log = "the compressed PTX of the fat binary is damaged";
  return std::nullopt;
}

struct Candidate {
  Entry entry;
  std::string_view payload;
};

// Appends the PTX entries of a container that the device can run.
void add_candidates(std::string_view bytes, int capability, std::vector<Candidate> &found) {
  const auto container = read<Container>(bytes, 0);
  if (!container || container->magic != kContainerMagic || container->header_size < sizeof(Container)) return;
  if (container->size > bytes.size() || bytes.size() - container->size < container->header_size) return;
  bytes = bytes.substr(0, container->header_size + container->size);
  for (std::uint64_t offset = container->header_size; offset < bytes.size();) {
    const auto entry = read<Entry>(bytes, offset);
    if (!entry || entry->header_size < sizeof(Entry) || entry->header_size > bytes.size() - offset) return;
    const std::uint64_t begin = offset + entry->header_size;
    if (entry->size > bytes.size() - begin) return;
    const auto target = static_cast<int>(std::min<std::uint32_t>(entry->target, 10'000));
    const bool runs = (entry->flags & kOneTarget) != 0 ? target == capability : target <= capability;
    if (entry->kind == kPtx && runs && entry->compressed_size <= entry->size)
      found.push_back(
          {*entry, bytes.substr(begin, entry->compressed_size != 0 ? entry->compressed_size : entry->size)});
    offset = begin + entry->size;
  }
}

std::string_view container_at(const void *data) {
  Container container;
  std::memcpy(&container, data, sizeof container);
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() - container.header_size;
  return {static_cast<const char *>(data), container.header_size + std::min(container.size, most)};
}

Image of_candidates(std::vector<Candidate> found) {
  // Picks the highest target: of equal ones the first, and sm_90a before sm_90.
  const auto is_lower = [](const Candidate &a, const Candidate &b) {
    return a.entry.target != b.entry.target ? a.entry.target < b.entry.target
                                            : (a.entry.flags & kOneTarget) < (b.entry.flags & kOneTarget);
  };
  const auto best = std::max_element(found.begin(), found.end(), is_lower);
  Image image;
  if (best == found.end()) {
    image.error = CUDA_ERROR_NO_BINARY_FOR_GPU;
    image.log =
        "the fat binary has no PTX that this device runs, and the simulated driver does not execute "
        "machine code: build with PTX (nvcc -gencode arch=compute_75,code=compute_75)";
    return image;
  }
  const bool is_compressed = best->entry.compressed_size != 0 && (best->entry.flags & (kLz4 | kZstd)) != 0;
  image.ptx = is_compressed
                  ? decompress(best->payload, best->entry.uncompressed_size, best->entry.flags, image.log)
                  : std::string(best->payload);
  if (!image.ptx) image.error = CUDA_ERROR_INVALID_IMAGE;
  return image;
}

bool is_ptx(std::string_view text) {
  // Comments and white space may precede .version.
  while (!text.empty()) {
    if (std::string_view(" \t\r\n").find(text.front()) != std::string_view::npos) {
      text.remove_prefix(1);
    } else if (text.starts_with("//")) {
      text.remove_prefix(std::min(text.size(), text.find('\n')));
    } else if (text.starts_with("/*")) {
      const std::size_t end = text.find("*/");
      if (end == std::string_view::npos) return false;
      text.remove_prefix(end + 2);
    } else {
      return text.starts_with(".version");
    }
  }
  return false;
}

}  // namespace

Image read_image(const void *data, int capability, std::optional<std::size_t> size) {
  Image image;
  const auto has = [&](std::size_t wanted) { return !size || *size >= wanted; };
  const auto begins_with = [&](const auto &magic) {
    return has(sizeof magic) && std::memcmp(data, &magic, sizeof magic) == 0;
  };
  if (begins_with(kWrapperMagic) && has(sizeof(Wrapper))) {
    Wrapper wrapper;
    std::memcpy(&wrapper, data, sizeof wrapper);
    std::vector<Candidate> found;
    if (wrapper.data != nullptr) add_candidates(container_at(wrapper.data), capability, found);
    return of_candidates(std::move(found));
  }
  if (begins_with(kContainerMagic) && has(sizeof(Container))) {
    std::vector<Candidate> found;
    const std::string_view whole = container_at(data);
    add_candidates(size ? whole.substr(0, *size) : whole, capability, found);
    return of_candidates(std::move(found));
  }
  constexpr char kElf[4] = {0x7f, 'E', 'L', 'F'};
  // An ELF header without the CUDA machine type (190) is not a cubin. Measured, driver 580.
  if (begins_with(kElf) && has(20) && static_cast<const unsigned char *>(data)[18] == 190) {
    image.error = CUDA_ERROR_NO_BINARY_FOR_GPU;
    image.log =
        "the image is machine code (a cubin), which the simulated driver does not execute: load its PTX";
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

}  // namespace cushim::sim
