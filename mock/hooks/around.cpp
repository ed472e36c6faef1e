// SPDX-License-Identifier: Apache-2.0
#include <cushim/mock/around.hpp>
#include <cushim/mock/signature.hpp>

#include <cushim/detail/layers.hpp>
#include <cushim/detail/receivers.hpp>

namespace cushim::hook {
namespace {

// One call through an Around. Not inline, since there is a layer for each signature.
class Passage {
 public:
  Passage(Around &around, int slot);
  ~Passage();
  Passage(const Passage &) = delete;
  Passage &operator=(const Passage &) = delete;

  // Returns true if the call continues to the next hook or the driver.
  bool goes_on() const { return !answer_; }
  CUresult answer() const { return *answer_; }
  CUresult after(CUresult result);

 private:
  static inline thread_local const Passage *innermost_ = nullptr;
  Around &around_;
  const int slot_;
  const Passage *const outer_;
  bool is_told_ = true;
  std::optional<CUresult> answer_;
};

Passage::Passage(Around &around, int slot) : around_(around), slot_(slot), outer_(innermost_) {
  for (const Passage *passage = outer_; passage != nullptr; passage = passage->outer_)
    if (&passage->around_ == &around) is_told_ = false;  // a nested call
  innermost_ = this;
  if (!is_told_) return;
  try {
    answer_ = around.before(slot);
  } catch (...) {
    innermost_ = outer_;
    throw;
  }
}

Passage::~Passage() { innermost_ = outer_; }

CUresult Passage::after(CUresult result) { return is_told_ ? around_.after(slot_, result) : result; }

struct AroundRunner {
  template <class... Arguments>
  CUresult run(int slot, const mock::Next<CUresult(Arguments...)> &next, Arguments... arguments) const {
    Passage passage(around, slot);
    return passage.goes_on() ? passage.after(next(arguments...)) : passage.answer();
  }

  Around &around;
};

}  // namespace

Hook around(Driver &driver, int slot, Around &around) {
  const auto make = detail::kMakeLayer<AroundRunner>[slot];
  if (make == nullptr) return {};
  return {driver, slot, std::shared_ptr<mock::AnyLayer>(make(slot, {around})),
          detail::make_receiver_of(slot)};
}

}  // namespace cushim::hook
