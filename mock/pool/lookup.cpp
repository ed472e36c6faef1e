// SPDX-License-Identifier: Apache-2.0
#include "lookup.hpp"

#include <cushim/mock/signature.hpp>

#include <cstring>

namespace cushim {
inline namespace v1 {
namespace mock {
namespace {

// Bit 1 asks for per-thread default stream variants, bit 0 for the legacy ones, none is the same as bit 0.
bool is_per_thread(cuuint64_t flags) noexcept { return (flags & 2) != 0; }

// The second ABI's statuses, which the headers of the first do not have.
enum { kFound = 0, kNoSymbol = 1, kVersionTooLow = 2 };

void store(void **answer, Function function) noexcept { std::memcpy(answer, &function, sizeof function); }

CUresult look_up(const Frame &frame, const char *base, void **function, int version, cuuint64_t flags,
                 int &status) noexcept {
  if (base == nullptr || function == nullptr || version > frame.driver().version() || flags > 3)
    return CUDA_ERROR_INVALID_VALUE;
  if (version < 0) version = frame.driver().version();  // as driver 580 takes it
  const int slot = cushim_find_version(base, version, is_per_thread(flags));
  const bool is_served = slot >= 0 && frame.driver().supports(static_cast<Entry>(slot));
  store(function, is_served ? frame.function(slot) : nullptr);
  const int newest = cushim_find_version(base, frame.driver().version(), false);
  const bool is_known = newest >= 0 && frame.driver().supports(static_cast<Entry>(newest));
  status = is_served ? kFound : is_known ? kVersionTooLow : kNoSymbol;
  return CUDA_SUCCESS;
}

template <class Signature>
class LookupBelow;

// The arguments beyond these are the second ABI's.
template <class... More>
class LookupBelow<CUresult(const char *, void **, int, cuuint64_t, More...)> final
    : public Receiver<CUresult(const char *, void **, int, cuuint64_t, More...)> {
 public:
  LookupBelow(Frame &frame, int slot) noexcept : frame_(frame), slot_(slot) {}

  CUresult receive(const char *base, void **function, int version, cuuint64_t flags, More... more) override {
    const CUresult result = frame_.call_below<const char *, void **, int, cuuint64_t, More...>(
        slot_, base, function, version, flags, more...);
    if (result != CUDA_SUCCESS || base == nullptr || function == nullptr || *function == nullptr)
      return result;
    // What this list does not know, or these headers cannot type, stays the driver's own.
    const Function own = frame_.function(cushim_find_version(base, version, is_per_thread(flags)));
    if (own != nullptr) store(function, own);
    return result;
  }

 private:
  Frame &frame_;
  const int slot_;
};

template <Entry entry>
void answer_below(Frame &frame) {
  const int slot = static_cast<int>(entry);
  frame.cover(slot,
              [&](AnyReceiver *) { return std::make_unique<LookupBelow<Signature<entry>>>(frame, slot); });
}

}  // namespace

CUresult look_up(const Frame &frame, const char *base, void **function, int version,
                 cuuint64_t flags) noexcept {
  int status = kFound;
  const CUresult result = look_up(frame, base, function, version, flags, status);
  return result == CUDA_SUCCESS && status != kFound ? CUDA_ERROR_NOT_FOUND : result;
}

#if CUDA_VERSION >= 12000
CUresult look_up(const Frame &frame, const char *base, void **function, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult *status) noexcept {
  int found = kFound;
  const CUresult result = look_up(frame, base, function, version, flags, found);
  if (result == CUDA_SUCCESS && status != nullptr)
    *status = static_cast<CUdriverProcAddressQueryResult>(found);
  return result;
}
#endif

void answer_lookups_below(Frame &frame) {
  answer_below<Entry::cuGetProcAddress_v11030>(frame);
#if CUDA_VERSION >= 12000
  answer_below<Entry::cuGetProcAddress_v12000>(frame);
#endif
}

}  // namespace mock
}  // namespace v1
}  // namespace cushim
