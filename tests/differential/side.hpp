// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "chosen_driver.hpp"
#include "partner.hpp"
#include "walk.hpp"

namespace differential {

// A driver, and the objects that exist for all walks on it.
class Side {
 public:
  // Starts the other process if the subject needs one. The driver is loaded in begin(), because it would not
  // survive the fork for another side.
  Side(std::string name, std::uint64_t settle, bool is_traced, Subject subject);

  void begin();
  std::vector<Step> walk(std::uint64_t seed, Kind kind,
                         const std::function<bool(unsigned)> &wanted = {}) const;
  const std::string &about() const { return about_; }
  // Returns true if no context has an error that stays.
  bool is_usable() const;
  void watch(std::function<void(const Step &)> watcher) { shared_->watcher = std::move(watcher); }

 private:
  std::string name_;
  std::uint64_t settle_;
  bool is_traced_;
  std::unique_ptr<ChosenDriver> chosen_;
  cushim::Driver *driver_ = nullptr;
  std::unique_ptr<Partner> partner_;
  std::unique_ptr<SharedObjects> shared_;
  std::string about_;
};

}  // namespace differential
