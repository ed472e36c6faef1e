// SPDX-License-Identifier: Apache-2.0
// Forwards every call to another libcuda.so.1. The exported functions jump through the table of that driver,
// so a call without a hook costs two loads and one jump.
#include <cushim/faults/faults.hpp>
#include <cushim/mock/around.hpp>

#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "chosen_driver.hpp"
#include "loaded_files.hpp"

namespace cushim::sim {
namespace {

// Counts the calls of each entry point.
class CallCounts final : public hook::Around {
 public:
  explicit CallCounts(Driver &driver) {
    for (int slot = 0; slot < cushim_entry_count(); ++slot)
      hooks_.push_back(hook::around(driver, slot, *this));
  }
  std::optional<CUresult> before(int slot) override {
    counts_[static_cast<std::size_t>(slot)].fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  CUresult after(int, CUresult result) override { return result; }

  std::map<std::string, unsigned long> by_symbol() const {
    std::map<std::string, unsigned long> calls;
    for (int slot = 0; slot < cushim_entry_count(); ++slot)
      if (const unsigned long count = counts_[static_cast<std::size_t>(slot)].load(); count != 0)
        calls.emplace(cushim_entry(slot)->symbol, count);
    return calls;
  }

 private:
  std::array<std::atomic<unsigned long>, CUSHIM_TABLE_CAPACITY> counts_{};
  std::vector<hook::Hook> hooks_;  // last member: removed before what they use
};

// Returns the entry point for which the driver has this library's own function; null if there is none. Calls
// of it would recurse endlessly. This happens if the driver resolves its own functions by name and the
// dynamic linker finds this library first.
const CushimEntryInfo *find_circle(Driver &driver) {
  const CushimEntryInfo *found = nullptr;
  for_each_loaded_file([&](const dl_phdr_info &file) {
    if (!contains(file, reinterpret_cast<const void *>(&find_circle))) return;
    for (int slot = 0; slot < cushim_entry_count() && found == nullptr; ++slot)
      if (contains(file, reinterpret_cast<const void *>(cushim_own_function(&driver, slot))))
        found = cushim_entry(slot);
  });
  return found;
}

class Interposed final : public ChosenDriver {
 public:
  Interposed(Driver &driver, const mock::FaultRules &rules) : driver_(driver) {
    if (!rules.empty()) faults_.emplace(driver, rules);
  }
  Driver &driver() const noexcept override { return driver_; }
  std::string path() const override { return std::string(driver_.name()); }
  bool has_faults() const noexcept override { return faults_.has_value(); }
  std::function<std::chrono::nanoseconds()> virtual_time() const override { return {}; }
  void count_calls() override { counts_.emplace(driver_); }
  Usage usage() const override {
    Usage usage;
    if (counts_) usage.calls = counts_->by_symbol();
    if (faults_) usage.faults = faults_->injected();
    return usage;
  }

 private:
  Driver &driver_;
  std::optional<mock::Faults> faults_;
  std::optional<CallCounts> counts_;
};

mock::FaultRules rules_from_environment() {
  const char *const faults = std::getenv("CUSHIM_FAULTS");
  if (faults == nullptr) return {};
  try {
    return mock::read_fault_rules(faults);
  } catch (const std::invalid_argument &error) {
    throw std::invalid_argument(std::string("CUSHIM_FAULTS: ") + error.what());
  }
}

}  // namespace

std::unique_ptr<ChosenDriver> make_interposed(const std::string &path) {
  const Loaded loaded = Driver::load({.library = path.c_str()});
  if (!loaded) throw std::runtime_error("CUSHIM_DRIVER: " + loaded.diagnosis.text());
  if (const CushimEntryInfo *const entry = find_circle(*loaded))
    throw std::runtime_error("CUSHIM_DRIVER: " + std::string(loaded->name()) +
                             " returned this library's own " + entry->symbol);
  return std::make_unique<Interposed>(*loaded, rules_from_environment());
}

}  // namespace cushim::sim
