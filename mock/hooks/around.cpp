// SPDX-License-Identifier: Apache-2.0
#include <cushim/mock/around.hpp>
#include <cushim/mock/signature.hpp>

namespace cushim {
inline namespace v1 {
namespace hook {
namespace {

// While it lives, this thread is inside a call that the Around knows of.
class Inside {
 public:
  explicit Inside(const Around &around) : around_(around), outer_(innermost_) { innermost_ = this; }
  ~Inside() { innermost_ = outer_; }
  Inside(const Inside &) = delete;
  Inside &operator=(const Inside &) = delete;

  static bool is_inside(const Around &around) noexcept {
    const Inside *inside = innermost_;
    while (inside != nullptr && &inside->around_ != &around) inside = inside->outer_;
    return inside != nullptr;
  }

 private:
  static inline thread_local const Inside *innermost_ = nullptr;
  const Around &around_;
  const Inside *const outer_;
};

template <class Signature>
class AroundLayer;

template <class... Arguments>
class AroundLayer<CUresult(Arguments...)> final : public mock::Layer<CUresult(Arguments...)> {
 public:
  AroundLayer(int slot, Around &around) : slot_(slot), around_(around) {}
  CUresult run(const mock::Next<CUresult(Arguments...)> &next, Arguments... arguments) override {
    if (Inside::is_inside(around_)) return next(arguments...);
    const Inside inside(around_);
    if (const std::optional<CUresult> answer = around_.before(slot_)) return *answer;
    return around_.after(slot_, next(arguments...));
  }

 private:
  const int slot_;
  Around &around_;
};

template <class Signature>
Hook make(Driver &driver, int slot, Around &around) {
  return {driver, slot, std::make_shared<AroundLayer<Signature>>(slot, around),
          &detail::make_receiver<Signature>};
}

constexpr Hook (*kMake[])(Driver &, int, Around &) = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) &make<CUresult parameters>,
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) nullptr,
#include <cushim/entry_points.inc>
    // clang-format on
};

}  // namespace

Hook around(Driver &driver, int slot, Around &around) {
  return kMake[slot] != nullptr ? kMake[slot](driver, slot, around) : Hook();
}

}  // namespace hook
}  // namespace v1
}  // namespace cushim
