// SPDX-License-Identifier: Apache-2.0
// Records the files of data/ on a GPU: record FOLDER. Built by hand on a machine with the driver:
//   g++ -std=c++20 -I CUDA/include record.cpp -o record -lcuda
// The files are stored compressed: zstd -19 --rm data/*.bin.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "units.hpp"

namespace {

namespace units = cushim::ptx::units;

constexpr std::string_view header = ".version 9.0\n.target sm_90a\n.address_size 64\n";

void check(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "the driver returns %d\n", static_cast<int>(result));
  std::exit(1);
}

CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  check(cuMemAlloc(&address, bytes + 256));
  return address;
}

template <class T>
CUdeviceptr upload(const std::vector<T> &values) {
  const CUdeviceptr address = allocate(values.size() * sizeof(T));
  check(cuMemcpyHtoD(address, values.data(), values.size() * sizeof(T)));
  return address;
}

template <class T>
std::vector<T> download(CUdeviceptr address, std::size_t count) {
  std::vector<T> values(count);
  check(cuMemcpyDtoH(values.data(), address, count * sizeof(T)));
  return values;
}

void launch(const std::string &text, unsigned grid, unsigned block, std::vector<CUdeviceptr> arguments) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  check(cuModuleLoadData(&module, text.c_str()));
  check(cuModuleGetFunction(&function, module, "k"));
  std::vector<void *> pointers;
  for (CUdeviceptr &one : arguments) pointers.push_back(&one);
  check(cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, nullptr, pointers.data(), nullptr));
  check(cuCtxSynchronize());
  check(cuModuleUnload(module));
}

template <class T>
void write(std::ofstream &file, const std::vector<T> &values) {
  file.write(reinterpret_cast<const char *>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
}

void record_products(std::ofstream file) {
  for (const units::Product &product : units::products) {
    const std::size_t bytes = units::bytes(product, product.registers_d);
    const auto [a, b, c] = units::inputs(product);
    const CUdeviceptr d = allocate(bytes);
    launch(units::text(product, header), units::cases, 32, {upload(a), upload(b), upload(c), d});
    write(file, download<std::uint8_t>(d, bytes));
  }
}

void record_fragments(std::ofstream file) {
  for (const units::Fragment &fragment : units::fragments()) {
    const std::size_t bytes = 32 * std::size_t(fragment.registers * units::register_bytes(fragment));
    const CUdeviceptr to = allocate(bytes);
    launch(units::text(fragment, header), 1, 32, {upload(units::elements(fragment)), to});
    write(file, download<std::uint8_t>(to, bytes));
  }
}

std::vector<std::uint32_t> results(std::string_view instruction,
                                   const std::vector<std::uint32_t> &arguments) {
  const CUdeviceptr from = upload(arguments), to = allocate(arguments.size() * 4);
  launch(units::text(instruction, header), static_cast<unsigned>(arguments.size() / 256), 256, {from, to});
  const auto all = download<std::uint32_t>(to, arguments.size());
  check(cuMemFree(from));
  check(cuMemFree(to));
  return all;
}

void record_functions(std::ofstream file) {
  for (const units::Function &function : units::functions()) {
    for (const int exponent : function.exponents)
      for (std::uint32_t block = 0; block < units::blocks; block += units::block_step) {
        std::vector<std::uint32_t> arguments(units::block_size);
        for (std::uint32_t i = 0; i < units::block_size; ++i)
          arguments[i] = static_cast<std::uint32_t>(127 + exponent) << 23 | (block * units::block_size + i);
        std::uint32_t sum = units::first_hash;
        for (const std::uint32_t one : results(function.instruction, arguments)) sum = units::hash(sum, one);
        write(file, std::vector<std::uint32_t>{sum});
      }
    write(file, results(function.instruction, units::arguments()));
    if (const std::string instruction = units::without_ftz(function.instruction); !instruction.empty())
      write(file, results(instruction, units::arguments()));
  }
}

}  // namespace

int main(int count, char **arguments) {
  if (count != 2) return 2;
  const std::string folder = std::string(arguments[1]) + "/";
  CUcontext context = nullptr;
  check(cuInit(0));
  check(cuDevicePrimaryCtxRetain(&context, 0));
  check(cuCtxSetCurrent(context));
  const auto open = [&](const char *name) { return std::ofstream(folder + name, std::ios::binary); };
  record_products(open("products.bin"));
  record_fragments(open("fragments.bin"));
  record_functions(open("functions.bin"));
  return 0;
}
