// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cushim/ptx/execute.hpp"
#include "cushim/ptx/module.hpp"
#include "support/sanitizers.hpp"

namespace cushim::ptx::testing {

// The thread sanitizer reports a data race for kernels whose blocks wait for each other's plain stores,
// because the interpreter executes them as plain loads and stores.
inline constexpr bool kFindsRaces = test::kHasThreadSanitizer;

// Global memory: ranges of device addresses, each backed by host memory.
class Arena final : public Memory {
 public:
  std::uint64_t add(std::size_t bytes) {
    auto &range = ranges_.emplace_back();
    range.begin = next_;
    range.bytes.resize((bytes + 15) / 16);
    range.size = bytes;
    range.unwritten.assign(bytes, true);
    next_ += (bytes + 0xffffff) / 0x1000000 * 0x1000000;
    return range.begin;
  }
  template <class T>
  std::uint64_t add(const std::vector<T> &values) {
    const std::uint64_t address = add(values.size() * sizeof(T));
    std::memcpy(host(address), values.data(), values.size() * sizeof(T));
    note_written(address, values.size() * sizeof(T));
    return address;
  }
  std::byte *host(std::uint64_t address) {
    const Resolved found = resolve(address, 1, Access::read);
    return found.host;
  }
  template <class T>
  std::vector<T> get(std::uint64_t address, std::size_t count) {
    std::vector<T> values(count);
    std::memcpy(values.data(), host(address), count * sizeof(T));
    return values;
  }
  Resolved resolve(std::uint64_t address, std::uint64_t bytes, Access) override {
    for (auto &range : ranges_) {
      const std::uint64_t at = address - range.begin;
      if (at < range.size && bytes <= range.size - at)
        return {reinterpret_cast<std::byte *>(range.bytes.data()) + at, range.size - at, at};
    }
    return {};
  }
  // Adds a multicast object for the memory at these addresses, and returns its address.
  std::uint64_t add_multicast(const std::vector<std::uint64_t> &memory) {
    const std::uint64_t address = next_;
    next_ += 0x1000000;
    multicasts_[address] = memory;
    return address;
  }
  std::vector<std::byte *> multicast(std::uint64_t address, std::uint64_t bytes, Access access) override {
    std::vector<std::byte *> places;
    const auto after = multicasts_.upper_bound(address);
    if (after == multicasts_.begin()) return places;
    const auto &[begin, copies] = *std::prev(after);
    for (const std::uint64_t copy : copies) {
      std::byte *const place = resolve(copy + address - begin, bytes, access).host;
      if (place == nullptr) return {};
      places.push_back(place);
    }
    return places;
  }
  bool is_unwritten(std::uint64_t address, std::uint64_t bytes) override {
    bool any = false;
    for_bytes(address, bytes, [&](auto one) { any |= *one; });
    return any;
  }
  void note_written(std::uint64_t address, std::uint64_t bytes) override {
    for_bytes(address, bytes, [](auto one) { *one = false; });
  }
  const Texture *texture(std::uint64_t handle) override {
    const auto found = textures.find(handle);
    return found == textures.end() ? nullptr : &found->second;
  }
  const Surface *surface(std::uint64_t handle) override {
    const auto found = surfaces.find(handle);
    return found == surfaces.end() ? nullptr : &found->second;
  }
  std::map<std::uint64_t, Texture> textures;  // by handle
  std::map<std::uint64_t, Surface> surfaces;

 private:
  struct alignas(16) Line {
    std::byte bytes[16];
  };
  struct Range {
    std::uint64_t begin = 0, size = 0;
    std::vector<Line> bytes;
    std::vector<bool> unwritten;  // by byte
  };
  template <class Visit>
  void for_bytes(std::uint64_t address, std::uint64_t bytes, Visit visit) {
    for (auto &range : ranges_)
      if (address - range.begin < range.size)
        for (std::uint64_t i = 0; i < bytes; ++i)
          visit(range.unwritten.begin() + static_cast<std::ptrdiff_t>(address - range.begin + i));
  }
  std::deque<Range> ranges_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> multicasts_;  // by the address
  std::uint64_t next_ = 0x7f0000000000 - 0x100000000;
};

// Copies the initial values of a module's variables into memory, and returns their addresses.
inline SymbolAddresses place(const Module &module, Arena &arena) {
  SymbolAddresses addresses;
  const auto each = [&](auto &&visit) {
    for (const Variable &one : module.variables)
      if (one.space == StateSpace::global || one.space == StateSpace::const_) visit(one);
    for (const Function &function : module.functions)
      for (const Variable &one : function.body.locals)
        if (one.space == StateSpace::global || one.space == StateSpace::const_) visit(one);
  };
  each([&](const Variable &one) {
    addresses[std::string{one.name}] = arena.add(std::max<std::size_t>(one.size, 16));
  });
  each([&](const Variable &one) {
    std::byte *const host = arena.host(addresses[std::string{one.name}]);
    arena.note_written(addresses[std::string{one.name}], std::max<std::size_t>(one.size, 16));
    std::ranges::copy(std::as_bytes(std::span(one.initializer)), host);
    for (const Relocation &relocation : one.relocations) {
      std::uint64_t value = relocation.symbol.kind == SymbolKind::function
                                ? code_window + 16 * std::uint64_t{relocation.symbol.index}
                                : addresses[std::string{relocation.name}];
      value = (value + static_cast<std::uint64_t>(relocation.addend)) >> relocation.shift;
      std::memcpy(host + relocation.offset, &value, relocation.size);
    }
  });
  return addresses;
}

// A decoded module and its memory.
struct Loaded {
  explicit Loaded(std::string_view text, const CompileOptions &options = {}) {
    auto parsed = parse(text);
    EXPECT_TRUE(parsed.ok()) << parsed.log();
    if (!parsed.ok()) return;
    module = std::move(parsed.module);
    addresses = place(module, memory);
    std::vector<Diagnostic> diagnostics;
    program = compile(module, addresses, diagnostics, options);
    for (const Diagnostic &one : diagnostics) refused += one.text() + "\n";
  }
  // Runs a kernel. The parameters are consecutive, each aligned to its size.
  template <class... Parameters>
  LaunchResult run(std::string_view kernel, const LaunchShape &shape, const Parameters &...parameters) {
    std::vector<std::byte> bytes;
    const auto append = [&bytes](const auto &value) {
      bytes.resize((bytes.size() + sizeof value - 1) / sizeof value * sizeof value);
      bytes.resize(bytes.size() + sizeof value);
      std::memcpy(bytes.data() + bytes.size() - sizeof value, &value, sizeof value);
    };
    (append(parameters), ...);
    if (!program) {
      ADD_FAILURE() << refused;
      return {};
    }
    return ptx::run(
        program, kernel, shape, bytes, memory,
        {.limits = limits, .print = [this](std::string_view text) { printed += text; }, .checks = checks});
  }
  // Enables checks, whose findings go to `findings`.
  void enable(std::initializer_list<Check> wanted = {Check::memory, Check::races, Check::init,
                                                     Check::barriers}) {
    for (const Check one : wanted) checks.is_on[static_cast<std::size_t>(one)] = true;
    checks.report = [this](const KernelFinding &one) { findings.push_back(one); };
  }
  // Returns the findings as lines of text.
  std::string found() const {
    std::string text;
    for (const KernelFinding &one : findings) {
      text += std::string(one.rule) + ": " + one.what;
      for (const auto &[role, at] : one.acts)
        text += "; " + role + " thread " + std::to_string(at.thread.x) + " of block " +
                std::to_string(at.block.x) + " in line " + std::to_string(at.line);
      text += "\n";
    }
    return text;
  }

  Arena memory;
  Module module;
  SymbolAddresses addresses;
  Program program;
  std::string refused, printed;
  Limits limits;
  Checks checks;
  std::vector<KernelFinding> findings;
};

// Runs the kernel k(out) of a module in one block, and returns the words that it stores to `out`.
inline std::vector<std::uint32_t> words_stored_by(std::string_view text, std::size_t words,
                                                  std::uint32_t threads = 1) {
  Loaded loaded(text);
  EXPECT_EQ(loaded.refused, "");
  const auto out = loaded.memory.add(words * sizeof(std::uint32_t));
  EXPECT_TRUE(loaded.run("k", {{1}, {threads}, {}}, out));
  return loaded.memory.get<std::uint32_t>(out, words);
}

// The registers of test kernels.
inline constexpr std::string_view registers = R"(  .reg .pred %p<8>;
  .reg .b16 %h<8>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<32>;
  .reg .f32 %f<8>;
  .reg .f64 %fd<8>;
)";

inline constexpr std::string_view header = ".version 9.0\n.target sm_90a\n.address_size 64\n";

}  // namespace cushim::ptx::testing
