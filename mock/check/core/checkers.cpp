// SPDX-License-Identifier: Apache-2.0
#include <cushim/check/checkers.hpp>
#include <cushim/check/deadlock.hpp>
#include <cushim/check/hazards.hpp>
#include <cushim/check/kernel_checks.hpp>
#include <cushim/check/leaks.hpp>
#include <cushim/check/misuse.hpp>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>

#include <cushim/detail/nearest.hpp>

namespace cushim::check {
namespace {

template <class T>
std::unique_ptr<Checker> make(Driver &driver) {
  return std::make_unique<T>(driver);
}

std::unique_ptr<Checker> make_without_kernels(Driver &driver) {
  return std::make_unique<Hazards>(driver, HazardOptions{.checks_kernels = false});
}

template <KernelCheck check>
std::unique_ptr<Checker> make_for_kernels(Driver &driver) {
  return std::make_unique<KernelChecks>(driver, check);
}

struct Known {
  std::string_view name;
  std::unique_ptr<Checker> (*make)(Driver &driver);
};
constexpr Known kKnown[] = {
    {"leaks", make<Leaks>},
    {"misuse", make<Misuse>},
    {"hazards", make<Hazards>},
    {"hazards-without-kernels", make_without_kernels},
    {"deadlock", make<Deadlock>},
    {"memory", make_for_kernels<KernelCheck::memory>},
    {"races", make_for_kernels<KernelCheck::races>},
    {"init", make_for_kernels<KernelCheck::init>},
    {"barriers", make_for_kernels<KernelCheck::barriers>},
};

const Known &known(std::string_view name) {
  const auto found = std::ranges::find(kKnown, name, &Known::name);
  if (found != std::end(kKnown)) return *found;
  std::vector<std::string> names;
  for (const std::string_view one : checker_names()) names.emplace_back(one);
  throw std::invalid_argument("there is no checker \"" + std::string(name) + "\"; did you mean \"" +
                              mock::nearest(name, names) + "\"?");
}

}  // namespace

std::vector<std::string_view> checker_names() {
  std::vector<std::string_view> names;
  for (const Known &one : kKnown) names.push_back(one.name);
  return names;
}

Checkers::Checkers(Driver &driver, std::string_view names) {
  while (!names.empty()) {
    const std::size_t length = std::min(names.find(','), names.size());
    const Known &wanted = known(names.substr(0, length));
    const bool is_there = std::ranges::any_of(
        checkers_, [&](const std::unique_ptr<Checker> &checker) { return checker->name() == wanted.name; });
    if (!is_there) checkers_.push_back(wanted.make(driver));
    names.remove_prefix(std::min(names.size(), length + 1));
  }
}

std::vector<Finding> Checkers::findings() const {
  std::vector<Finding> all;
  for (const std::unique_ptr<Checker> &checker : checkers_)
    std::ranges::move(checker->findings(), std::back_inserter(all));
  return all;
}

std::vector<Finding> Checkers::finish() {
  for (const std::unique_ptr<Checker> &checker : checkers_) checker->finish();
  return findings();
}

}  // namespace cushim::check
