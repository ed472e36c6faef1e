// SPDX-License-Identifier: Apache-2.0
#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "walk.hpp"

namespace differential {

Argument<std::nullptr_t> null() { return {nullptr, "nullptr"}; }
Argument<unsigned> number(unsigned value) { return {value, fmt::format("{}u", value)}; }
Argument<int> integer(int value) { return {value, std::to_string(value)}; }
Argument<std::size_t> bytes(std::size_t value) { return {value, fmt::format("{}ul", value)}; }
Argument<CUdeviceptr> nowhere_at(CUdeviceptr address) {
  return {address, "nowhere", fmt::format("const CUdeviceptr nowhere = {}", address)};
}

CUDA_MEMCPY2D box_within(CUdeviceptr buffer, std::size_t pitch, std::size_t width, std::size_t height) {
  CUDA_MEMCPY2D box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = buffer;
  box.dstDevice = buffer + 2048;
  box.srcPitch = box.dstPitch = pitch;
  box.WidthInBytes = width;
  box.Height = height;
  return box;
}

void fill_pinned(unsigned number, unsigned char *bytes) {
  std::memset(bytes, static_cast<int>(0x70 + number), buffer_bytes);
}

std::string name_of(CUdeviceptr address, std::span<const Buffer> b, std::span<unsigned char *const> p) {
  for (unsigned i = 0; i < b.size(); ++i)
    if (b[i].address != 0 && address >= b[i].address && address < b[i].address + b[i].bytes)
      return fmt::format("b[{}]+{}", i, address - b[i].address);
  for (unsigned i = 0; i < p.size(); ++i) {
    const auto start = reinterpret_cast<std::uintptr_t>(p[i]);
    if (start != 0 && address >= start && address < start + buffer_bytes)
      return fmt::format("p[{}]+{}", i, address - start);
  }
  return address == 0 ? "null" : "elsewhere";
}

std::string digest(std::span<const unsigned char> bytes) {
  std::uint32_t hash = 2166136261U;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 16777619U;
  return fmt::format("{:08x}", hash);
}

std::string spelling_of(const std::type_info &type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  return name != nullptr ? name.get() : type.name();
}

}  // namespace differential
