// SPDX-License-Identifier: Apache-2.0
#include <cushim/replay/driver.hpp>

#include <cushim/mock/driver_slot.hpp>
#include <cushim/mock/text.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <cushim/detail/lookup.hpp>
#include "answers.hpp"
#include "driver_receivers.hpp"

namespace cushim::replay {
namespace {

void abort_program(const Deviation &deviation) {
  std::fprintf(stderr, "%s\n", deviation.text().c_str());
  std::abort();
}

std::atomic<void (*)(const Deviation &)> default_action{abort_program};

DriverOptions with_action(DriverOptions options) {
  if (!options.on_deviation)
    options.on_deviation = [](const Deviation &deviation) { default_action.load()(deviation); };
  return options;
}

}  // namespace

std::string Deviation::text() const {
  std::string text = "The program deviates from the recording";
  if (!recorded_call.empty()) text += " at call " + std::to_string(call);
  if (thread != 0) text += ", thread " + std::to_string(thread);
  text += ": " + what + ": ";
  if (given.empty())
    text += recorded;
  else
    text += "recorded " + recorded + ", given " + given;
  if (!recorded_call.empty()) text += "\n  recorded: " + recorded_call;
  if (!given_call.empty()) text += "\n  given:    " + given_call;
  return text;
}

class Driver::State final : public mock::Owner {
 public:
  State(Recording recording, DriverOptions options)
      : answers_(std::move(recording), with_action(std::move(options))),
        slot_(mock::DriverSlot::take(*this, "driver of a recording", answers_.version())) {}
  ~State() override {
    answers_.finish();
    slot_.retire();
  }

  std::unique_ptr<mock::AnyReceiver> make_receiver(int slot) override {
    return make_answering_receiver(answers_, slot_, slot);
  }
  cushim::Driver &driver() const noexcept { return slot_.driver(); }
  const Answers &answers() const noexcept { return answers_; }

 private:
  Answers answers_;
  mock::DriverSlot &slot_;  // last member: calls may arrive as soon as it is taken
};

Driver::Driver(Recording recording, DriverOptions options)
    : state_(std::make_unique<State>(std::move(recording), std::move(options))) {}
Driver::~Driver() = default;
cushim::Driver &Driver::driver() const noexcept { return state_->driver(); }
std::size_t Driver::calls_left() const { return state_->answers().calls_left(); }
std::optional<Deviation> Driver::deviation() const { return state_->answers().deviation(); }

void Driver::on_deviation_by_default(void (*action)(const Deviation &)) noexcept {
  default_action = action != nullptr ? action : abort_program;
}

}  // namespace cushim::replay
