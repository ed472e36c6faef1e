// SPDX-License-Identifier: Apache-2.0
// Follows the calls of a driver with a model of what they do.
#pragma once

#include <cushim/mock/mutex.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "effects.hpp"

namespace cushim::check {

class Follower : public Watcher, public std::enable_shared_from_this<Follower> {
 public:
  Follower(Driver &driver, HazardModel::Report report) : driver(driver), model(std::move(report)) {}

  // Puts the hooks on. Host functions may end after the checker, so they keep no more than a weak pointer.
  void follow();
  // Takes them off.
  void leave() { hooks_.clear(); }

  void before(WatchedCall &call) override;
  void after(WatchedCall &call, CUresult result) override;
  // The model has been told of a call; under the mutex.
  virtual void model_changed() {}
  // A call that may wait begins and ends; under the mutex. Not told of those for what is known to be done.
  virtual void wait_begins(const WatchedCall &) {}
  virtual void wait_ends(CUresult) {}
  // On the thread of the driver that runs the program's host functions.
  virtual void host_function_begins() {}
  virtual void host_function_ends() {}

  Driver &driver;
  mock::Mutex mutex;  // over the model
  HazardModel model;

 private:
  std::vector<hook::Hook> hooks_;
};

}  // namespace cushim::check
