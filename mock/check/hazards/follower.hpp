// SPDX-License-Identifier: Apache-2.0
// Hooks a driver and feeds its calls to a hazard model.
#pragma once

#include <cushim/mock/mutex.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "hazards/entry_point_effects.hpp"

namespace cushim::check {

class Follower : public Watcher, public std::enable_shared_from_this<Follower> {
 public:
  Follower(Driver &driver, HazardModel::Report report, HazardOptions options = {})
      : driver(driver), model(std::move(report)), kernels(driver, std::move(options)) {}

  // Installs the hooks. Host functions may outlive the checker, so they hold only a weak pointer.
  void follow();
  // Removes the hooks.
  void leave() { hooks_.clear(); }

  void before(WatchedCall &call) override;
  void after(WatchedCall &call, CUresult result) override;
  // Called after the model has been updated by a call; the mutex is held.
  virtual void model_changed() {}
  // Called when a call that may block begins and ends; the mutex is held. Not called if the host knows the
  // awaited work to be done.
  virtual void wait_begins(const WatchedCall &) {}
  virtual void wait_ends(CUresult) {}
  // Called on the driver's thread that runs the program's host functions.
  virtual void host_function_begins() {}
  virtual void host_function_ends() {}

  Driver &driver;
  mock::Mutex mutex;  // guards the next three
  HazardModel model;
  KernelKnowledge kernels;
  Graphs graphs;

 private:
  // Returns whether the driver is to tell which kernels a call enqueues, and to record what they access.
  bool watches_launches() const noexcept { return model.reports() && kernels.are_checked(); }
  void note_captured(CallView &call);

  std::vector<hook::Hook> hooks_;
};

// Returns a new State, which derives from Follower, after it has installed its hooks.
template <class State, class... Arguments>
std::shared_ptr<State> following(Arguments &&...arguments) {
  auto state = std::make_shared<State>(std::forward<Arguments>(arguments)...);
  state->follow();
  return state;
}

}  // namespace cushim::check
