// SPDX-License-Identifier: Apache-2.0
#include "observer.hpp"

#include <cushim/mock/signature.hpp>

#include <array>
#include <cstring>
#include <memory>

#include <cushim/detail/layers.hpp>
#include <cushim/detail/receivers.hpp>
#include "trace_format.hpp"

namespace cushim::trace {
namespace {

// The observers whose call runs on this thread, as a list on the call stack.
class Inside {
 public:
  explicit Inside(const CallObserver &observer) : observer_(observer), outer_(innermost_) {
    innermost_ = this;
  }
  ~Inside() { innermost_ = outer_; }
  Inside(const Inside &) = delete;
  Inside &operator=(const Inside &) = delete;

  static bool is_observed_by(const CallObserver &observer) {
    for (const Inside *at = innermost_; at != nullptr; at = at->outer_)
      if (&at->observer_ == &observer) return true;
    return false;
  }

 private:
  static inline thread_local const Inside *innermost_ = nullptr;
  const CallObserver &observer_;
  const Inside *const outer_;
};

struct ObserverRunner {
  template <class... Arguments>
  CUresult run(int slot, const mock::Next<CUresult(Arguments...)> &next, Arguments... arguments) const {
    if (Inside::is_observed_by(observer)) return next(arguments...);
    const Inside inside(observer);
    std::array<std::uint64_t, (0 + ... + words_for(sizeof(Arguments)))> words{};
    std::uint64_t *at = words.data();
    static_cast<void>(at);
    ((std::memcpy(at, &arguments, sizeof arguments), at += words_for(sizeof arguments)), ...);
    const std::uint64_t begin = observer.begin(slot, words);
    const CUresult result = next(arguments...);
    observer.end(begin, slot, words, result);
    return result;
  }

  CallObserver &observer;
};

}  // namespace

std::vector<hook::Hook> observe(Driver &driver, CallObserver &observer) {
  std::vector<hook::Hook> hooks;
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot)
    if (const auto make = hook::detail::kMakeLayer<ObserverRunner>[slot])
      hooks.emplace_back(driver, slot, std::shared_ptr<mock::AnyLayer>(make(slot, {observer})),
                         hook::detail::make_receiver_of(slot));
  return hooks;
}

}  // namespace cushim::trace
