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

namespace cushim::ptx::testing {

// Defined if the thread sanitizer is on. It reports a data race for kernels whose blocks wait for each
// other's plain stores, because the interpreter executes them as plain loads and stores.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CUSHIM_FINDS_RACES
#endif
#endif
#ifdef CUSHIM_FINDS_RACES
inline constexpr bool kFindsRaces = true;
#else
inline constexpr bool kFindsRaces = false;
#endif

// Global memory: ranges of device addresses, each backed by host memory.
class Arena final : public Memory {
 public:
  std::uint64_t add(std::size_t bytes) {
    auto &range = ranges_.emplace_back();
    range.begin = next_;
    range.bytes.resize((bytes + 15) / 16);
    range.size = bytes;
    next_ += (bytes + 0xffffff) / 0x1000000 * 0x1000000;
    return range.begin;
  }
  template <class T>
  std::uint64_t add(const std::vector<T> &values) {
    const std::uint64_t address = add(values.size() * sizeof(T));
    std::memcpy(host(address), values.data(), values.size() * sizeof(T));
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
  };
  std::deque<Range> ranges_;
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
  explicit Loaded(std::string_view text) {
    auto parsed = parse(text);
    EXPECT_TRUE(parsed.ok()) << parsed.log();
    if (!parsed.ok()) return;
    module = std::move(parsed.module);
    addresses = place(module, memory);
    std::vector<Diagnostic> diagnostics;
    program = compile(module, addresses, diagnostics);
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
    return ptx::run(program, kernel, shape, bytes, memory, limits,
                    [this](std::string_view text) { printed += text; });
  }

  Arena memory;
  Module module;
  SymbolAddresses addresses;
  Program program;
  std::string refused, printed;
  Limits limits;
};

inline constexpr std::string_view header = ".version 9.0\n.target sm_90a\n.address_size 64\n";

}  // namespace cushim::ptx::testing
