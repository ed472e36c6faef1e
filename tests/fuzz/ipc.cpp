// SPDX-License-Identifier: Apache-2.0
// Fuzzes input from another process: the bytes of an IPC handle, and the shared table that it refers to. The
// input is XORed with valid contents, so zeros are valid: a byte of choices, the handle, then the contents of
// the table.
#include <cushim/sim/machine.hpp>
#include <cushim/sim/profile.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>

#include "exporter.hpp"
#include "fuzz.hpp"

namespace {

using namespace cushim::sim;
using fuzz::Exporter;

// Consumes bytes of the input.
class Input {
 public:
  Input(const std::uint8_t *data, std::size_t size) : data_(data), size_(size) {}
  std::uint8_t byte() { return size_ == 0 ? std::uint8_t{0} : (--size_, *data_++); }
  void over(void *good, std::size_t size) {
    auto *const bytes = static_cast<std::uint8_t *>(good);
    for (std::size_t i = 0; i < size && size_ != 0; ++i) bytes[i] ^= byte();
  }

 private:
  const std::uint8_t *data_;
  std::size_t size_;
};

enum Choice : std::uint8_t { memory_handle = 1, broken_seal = 2 };

// A program that opens the handle and uses the imported object.
class Importer {
 public:
  Importer() {
    fuzz::promise(driver_.cuInit(0) == CUDA_SUCCESS, "the driver starts");
    fuzz::promise(driver_.cuCtxCreate_v2(&context_, 0, 0) == CUDA_SUCCESS, "there is a context");
    fuzz::promise(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS,
                  "there is a stream");
  }

  void event(const ShareHandle &handle, Exporter &exporter) {
    CUevent event = nullptr;
    if (driver_.cuIpcOpenEventHandle(&event, std::bit_cast<CUipcEventHandle>(handle)) == CUDA_SUCCESS) {
      static_cast<void>(driver_.cuEventQuery(event));
      good(driver_.cuStreamWaitEvent(stream_, event, 0));
      good(driver_.cuEventRecord(event, stream_));
      static_cast<void>(driver_.cuEventQuery(event));
      good(driver_.cuEventDestroy(event));
    }
    exporter.complete();
    good(driver_.cuStreamSynchronize(stream_));
  }

  void memory(const ShareHandle &handle) {
    CUdeviceptr address = 0, base = 0;
    std::size_t size = 0;
    if (driver_.cuIpcOpenMemHandle(&address, std::bit_cast<CUipcMemHandle>(handle),
                                   CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS)
      return;
    good(driver_.cuMemGetAddressRange(&base, &size, address));
    fuzz::promise(base == address && size != 0, "what is opened begins where it begins");
    unsigned char bytes[256] = {};
    const std::size_t part = std::min(size, sizeof bytes);
    good(driver_.cuMemcpyDtoH(bytes, address, part));
    good(driver_.cuMemcpyHtoD(address + (size - part), bytes, part));
    good(driver_.cuMemsetD8(address + size / 2, 3, 1));
    good(driver_.cuIpcCloseMemHandle(address));
    fuzz::promise(driver_.cuMemGetAddressRange(&base, &size, address) != CUDA_SUCCESS, "closed is closed");
  }

 private:
  static void good(CUresult code) { fuzz::promise(code == CUDA_SUCCESS, "what was opened can be used"); }

  Machine machine_{{.devices = "small", .patience = std::chrono::seconds(5)}};
  cushim::Driver &driver_ = machine_.driver();
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  // created before there are other threads
  static Exporter exporter(uuid_of(machine("small").devices[0], 0));
  static Importer importer;
  Input input(data, size);
  const std::uint8_t choices = input.byte();
  exporter.reset();
  ShareHandle handle =
      exporter.handle((choices & memory_handle) != 0 ? ShareHandle::Kind::memory : ShareHandle::Kind::event);
  input.over(&handle, sizeof handle);
  if ((choices & broken_seal) == 0) handle.seal();
  auto &layout = exporter.layout();
  if ((choices & memory_handle) != 0)
    input.over(&layout.memory[0], sizeof layout.memory[0]);
  else
    input.over(&layout.events[0], sizeof layout.events[0]);
  input.over(&layout, offsetof(Exporter::ShareLayout, participants));
  input.over(layout.participants.data(), 2 * sizeof layout.participants[0]);
  if ((choices & memory_handle) != 0)
    importer.memory(handle);
  else
    importer.event(handle, exporter);
  return 0;
}
