// SPDX-License-Identifier: Apache-2.0
// What a walk stands on that is printed as a test: its variables, by the names that its text uses, and what
// it does beside its calls. The driver is the one that cushim::testing chose.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "walk.hpp"

namespace differential {

// Pinned memory, which is spelled as a pointer to anything and counts in bytes.
struct Pinned {
  unsigned char *bytes = nullptr;
  void **operator&() { return reinterpret_cast<void **>(&bytes); }
  operator unsigned char *() const { return bytes; }
  explicit operator CUdeviceptr() const { return reinterpret_cast<CUdeviceptr>(bytes); }
};

class Program : public ::testing::Test {
 protected:
  Program() { bench().begin(); }
  ~Program() override {
    release();
    if (!primary_is_active) driver().cuDevicePrimaryCtxRetain(&c[0], bench().device);
    bench().begin();
    for (CUstream stream : s)
      if (stream != nullptr) driver().cuStreamDestroy(stream);
    for (CUevent event : e)
      if (event != nullptr) driver().cuEventDestroy(event);
    for (CUdeviceptr address : b)
      if (address != 0) driver().cuMemFree(address);
    for (unsigned k = 0; k < 3; ++k)
      if (p[k].bytes != nullptr)
        p[k].bytes == pages(k) ? driver().cuMemHostUnregister(p[k]) : driver().cuMemFreeHost(p[k]);
    for (CUcontext context : m)
      if (context != nullptr) driver().cuCtxDestroy(context);
  }

  static Bench &bench() {
    static Bench bench(300);
    return bench;
  }

  std::array<CUcontext, 2> c = bench().c;
  bool primary_is_active = true;
  CUcontext m[3]{};
  CUstream s[4]{};
  CUevent e[5]{};
  CUdeviceptr b[5]{};
  Pinned p[3];
  CUdeviceptr words = bench().words_on_device;
  CUmemoryPool pool = bench().pool;
  std::atomic<unsigned> host_functions{0};

  static void count(void *counter) { ++*static_cast<std::atomic<unsigned> *>(counter); }
  static void callback(CUstream, CUresult, void *counter) { count(counter); }

  void settle() { bench().settle(); }
  std::vector<CUcontext> active_contexts() const { return bench().active(primary_is_active, m); }
  void finish() { bench().finish(active_contexts()); }
  void release() { bench().release(8, active_contexts()); }
  void look_at_p0() {}
  void look_at_p1() {}
  void look_at_p2() {}
  void fill(unsigned k, std::size_t size) {
    sizes_[k] = size;
    bench().fill(k, {b[k], size}, active_contexts());
  }
  std::string name_of(CUcontext context) { return bench().name_of(context, m); }
  std::string name_of(CUdeviceptr address) {
    std::array<Buffer, 5> buffers;
    for (unsigned k = 0; k < buffers.size(); ++k) buffers[k] = {b[k], sizes_[k]};
    return differential::name_of(address, buffers, std::array{p[0].bytes, p[1].bytes, p[2].bytes});
  }
  static unsigned char *pages(unsigned k) { return bench().pages(k); }
  static CUstreamBatchMemOpParams written(CUdeviceptr address, unsigned value) {
    CUstreamBatchMemOpParams made{};
    made.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    made.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    made.writeValue.address = address;
    made.writeValue.value = value;
    return made;
  }

 private:
  std::array<std::size_t, 5> sizes_{};
};

}  // namespace differential
