// SPDX-License-Identifier: Apache-2.0
#include "recorder.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <mutex>

namespace cushim::recorder {

namespace {

struct Store {
  std::mutex mutex;
  sim::PtxStore store{[] {
    const char *const folder = std::getenv("CUSHIM_PTX_STORE");
    return std::string(folder != nullptr ? folder : "");
  }()};
};

// Never destroyed: other threads may compile while the process ends.
Store &store() {
  static auto &store = *new Store;  // NOLINT(bugprone-unhandled-exception-at-new)
  return store;
}

}  // namespace

void keep(std::string_view cubin, std::string_view ptx, std::string_view origin,
          unsigned max_registers) noexcept try {
  const std::lock_guard lock(store().mutex);
  store().store.keep(cubin, ptx, origin, max_registers);
} catch (const std::exception &) {
  return;  // the driver reports that it has no PTX
}

std::optional<sim::StoredPtx> find(std::string_view cubin) {
  const std::lock_guard lock(store().mutex);
  return store().store.find(cubin);
}

unsigned max_registers(const std::vector<std::string> &options) {
  constexpr std::string_view kName = "maxrregcount";
  for (std::size_t i = 0; i < options.size(); ++i) {
    std::string_view option = options[i];
    option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
    if (option.empty() || option.size() == options[i].size() || !option.starts_with(kName)) continue;
    option.remove_prefix(kName.size());
    const bool is_next = option.empty() && i + 1 < options.size();
    const std::string value(is_next ? options[i + 1] : option.substr(option.starts_with('=')));
    return static_cast<unsigned>(std::max(0, std::atoi(value.c_str())));
  }
  return 0;
}

std::string content_of(const std::string &file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void *find_function(const link_map &library, std::string_view name) {
  const ElfW(Sym) *symbols = nullptr;
  const char *names = nullptr;
  const std::uint32_t *hashes = nullptr;
  for (const ElfW(Dyn) *entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym) *>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char *>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH) hashes = reinterpret_cast<const std::uint32_t *>(entry->d_un.d_ptr);
  }
  if (symbols == nullptr || names == nullptr || hashes == nullptr) return nullptr;
  // The GNU hash table: four counts, a Bloom filter, the first symbol of each bucket, and for each symbol its
  // hash, with the lowest bit set at the end of a bucket.
  const std::uint32_t buckets = hashes[0], first = hashes[1], filter_words = hashes[2];
  const std::uint32_t *const bucket = hashes + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof *hashes);
  std::uint32_t hash = 5381;
  for (const char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
  for (std::uint32_t i = buckets != 0 ? bucket[hash % buckets] : 0; i >= first && i != 0; ++i) {
    const std::uint32_t its_hash = bucket[buckets + i - first];
    if ((its_hash | 1) == (hash | 1) && symbols[i].st_shndx != SHN_UNDEF &&
        name == names + symbols[i].st_name)
      return reinterpret_cast<void *>(library.l_addr + symbols[i].st_value);
    if ((its_hash & 1) != 0) break;
  }
  return nullptr;
}

}  // namespace cushim::recorder
