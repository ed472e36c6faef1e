// SPDX-License-Identifier: Apache-2.0
// The code under test: makes a picture brighter with two kernels on two streams. The second kernel needs the
// first one's result, so its stream must wait for an event.
#pragma once

#include <cushim/cushim.hpp>

#include <cstdint>
#include <string>
#include <vector>

// The start of both kernels: %r4 is the index of the thread's element. Threads behind the last one return.
inline const std::string kElementOfThread = R"(
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [count];
  setp.ge.u32 %p, %r4, %r5;
  @%p bra done;
)";

// expand(floats, bytes, count): floats[i] = bytes[i].   brighten(floats, factor, count): floats[i] *= factor.
// A program usually gets PTX from nvcc or NVRTC.
inline const std::string kBrightenerCode = R"(
.version 7.8
.target sm_52
.address_size 64
.visible .entry expand(.param .u64 to, .param .u64 from, .param .u32 count) {
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .f32 %f;
  .reg .b64 %d<6>;
)" + kElementOfThread + R"(  ld.param.u64 %d1, [from];
  cvt.u64.u32 %d2, %r4;
  add.u64 %d1, %d1, %d2;
  ld.global.u8 %r5, [%d1];
  cvt.rn.f32.u32 %f, %r5;
  ld.param.u64 %d3, [to];
  mul.wide.u32 %d4, %r4, 4;
  add.u64 %d5, %d3, %d4;
  st.global.f32 [%d5], %f;
done:
  ret;
}
.visible .entry brighten(.param .u64 floats, .param .f32 factor, .param .u32 count) {
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .f32 %f<3>;
  .reg .b64 %d<4>;
)" + kElementOfThread + R"(  ld.param.u64 %d1, [floats];
  mul.wide.u32 %d2, %r4, 4;
  add.u64 %d3, %d1, %d2;
  ld.global.f32 %f1, [%d3];
  ld.param.f32 %f2, [factor];
  mul.f32 %f1, %f1, %f2;
  st.global.f32 [%d3], %f1;
done:
  ret;
}
)";

class Brightener {
 public:
  // `waits` is false only to show what the tests find.
  explicit Brightener(bool waits = true) : waits_(waits) {}

  const cushim::Stream &working() const { return working_; }

  std::vector<float> run(const std::vector<std::uint8_t> &picture, float factor) {
    using namespace cushim;
    const auto count = static_cast<unsigned>(picture.size());
    const auto bytes = DeviceBuffer<std::uint8_t>::create(count);
    const auto floats = DeviceBuffer<float>::create(count);
    const auto pinned = PinnedBuffer<std::uint8_t>::create(count);
    const auto result = PinnedBuffer<float>::create(count);
    std::copy(picture.begin(), picture.end(), pinned.begin());
    const LaunchConfig shape{.grid = (count + 127) / 128, .block = 128};

    copy(bytes, pinned, loading_);
    launch(expand_, shape, loading_, floats, bytes, count);
    expanded_.record(loading_);
    if (waits_) working_.wait(expanded_);
    launch(brighten_, shape, working_, floats, factor, count);
    copy(result, floats, working_);
    working_.synchronize();
    loading_.synchronize();
    return {result.begin(), result.end()};
  }

 private:
  template <class... Parameters>
  using Kernel = cushim::TypedKernel<void(Parameters...)>;

  bool waits_;
  cushim::Module module_ = cushim::Module::load(kBrightenerCode);
  Kernel<cushim::DevicePtr<float>, cushim::DevicePtr<const std::uint8_t>, unsigned> expand_{
      module_.function("expand")};
  Kernel<cushim::DevicePtr<float>, float, unsigned> brighten_{module_.function("brighten")};
  cushim::Stream loading_ = cushim::Stream::create({.flags = cushim::StreamFlags::non_blocking});
  cushim::Stream working_ = cushim::Stream::create({.flags = cushim::StreamFlags::non_blocking});
  cushim::Event expanded_ = cushim::Event::create();
};
