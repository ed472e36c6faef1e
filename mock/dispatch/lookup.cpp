// SPDX-License-Identifier: Apache-2.0
#include <cushim/detail/lookup.hpp>

#include <cushim/mock/signature.hpp>

#include <cstring>

namespace cushim::mock {
namespace {

// Flag bit 1 requests the per-thread default stream variant, bit 0 the legacy one; no flag means bit 0.
bool is_per_thread(cuuint64_t flags) noexcept { return (flags & 2) != 0; }

// The statuses of the second ABI, which older CUDA headers lack.
enum { kFound = 0, kNoSymbol = 1, kVersionTooLow = 2 };

void store(void **answer, Function function) noexcept { std::memcpy(answer, &function, sizeof function); }

CUresult look_up(const DriverSlot &driver_slot, const char *base, void **function, int version,
                 cuuint64_t flags, int &status) noexcept {
  if (base == nullptr || function == nullptr || version > driver_slot.driver().version() || flags > 3)
    return CUDA_ERROR_INVALID_VALUE;
  if (version < 0) version = driver_slot.driver().version();  // measured on driver 580
  const int slot = cushim_find_version(base, version, is_per_thread(flags));
  const bool is_served = slot >= 0 && driver_slot.driver().supports(static_cast<Entry>(slot));
  store(function, is_served ? driver_slot.function(slot) : nullptr);
  const int newest = cushim_find_version(base, driver_slot.driver().version(), false);
  const bool is_known = newest >= 0 && driver_slot.driver().supports(static_cast<Entry>(newest));
  status = is_served ? kFound : is_known ? kVersionTooLow : kNoSymbol;
  return CUDA_SUCCESS;
}

template <class Signature>
class LookupBelow;

// `More` are the additional parameters of the second ABI.
template <class... More>
class LookupBelow<CUresult(const char *, void **, int, cuuint64_t, More...)> final
    : public Receiver<CUresult(const char *, void **, int, cuuint64_t, More...)> {
 public:
  LookupBelow(DriverSlot &driver_slot, int slot) noexcept : driver_slot_(driver_slot), slot_(slot) {}

  CUresult receive(const char *base, void **function, int version, cuuint64_t flags, More... more) override {
    const CUresult result = driver_slot_.call_below<const char *, void **, int, cuuint64_t, More...>(
        slot_, base, function, version, flags, more...);
    if (result != CUDA_SUCCESS || base == nullptr || function == nullptr || *function == nullptr)
      return result;
    // A function that the entry point list does not have, or whose types the headers lack, stays the
    // driver's own. A driver later than the list may return an ABI that the list does not have.
    if (version < 0) version = driver_slot_.driver().version();
    const int slot = cushim_find_version(base, version, is_per_thread(flags));
    const Function own = cushim_own_function(&driver_slot_.driver(), slot);
    const Function replacement = driver_slot_.function(slot);
    if (replacement != nullptr && std::memcmp(function, &own, sizeof own) == 0) store(function, replacement);
    return result;
  }

 private:
  DriverSlot &driver_slot_;
  const int slot_;
};

template <Entry entry>
void answer_below(DriverSlot &driver_slot) {
  const int slot = static_cast<int>(entry);
  driver_slot.cover(slot, [&](AnyReceiver *) {
    return std::make_unique<LookupBelow<Signature<entry>>>(driver_slot, slot);
  });
}

}  // namespace

CUresult look_up(const DriverSlot &driver_slot, const char *base, void **function, int version,
                 cuuint64_t flags) noexcept {
  int status = kFound;
  const CUresult result = look_up(driver_slot, base, function, version, flags, status);
  return result == CUDA_SUCCESS && status != kFound ? CUDA_ERROR_NOT_FOUND : result;
}

#if CUDA_VERSION >= 12000
CUresult look_up(const DriverSlot &driver_slot, const char *base, void **function, int version,
                 cuuint64_t flags, CUdriverProcAddressQueryResult *status) noexcept {
  int found = kFound;
  const CUresult result = look_up(driver_slot, base, function, version, flags, found);
  if (result == CUDA_SUCCESS && status != nullptr)
    *status = static_cast<CUdriverProcAddressQueryResult>(found);
  return result;
}
#endif

void answer_lookups_below(DriverSlot &driver_slot) {
  answer_below<Entry::cuGetProcAddress_v11030>(driver_slot);
#if CUDA_VERSION >= 12000
  answer_below<Entry::cuGetProcAddress_v12000>(driver_slot);
#endif
}

}  // namespace cushim::mock
