// SPDX-License-Identifier: Apache-2.0
// Calls the entry points of a driver with changed arguments and in several situations, and records the
// answers or compares them with recorded ones.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "cases.hpp"
#include "processes.hpp"
#include "recorded.hpp"

namespace {

using namespace arguments;

struct Options {
  ProcessOptions processes;
  std::string write, recorded, known, only;
  unsigned shown = 20, runs = 2, every = 1;
};

// Returns the indices of the cases that the options choose.
std::vector<std::size_t> chosen_cases(const Options &options) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < all_cases().size(); i += options.every)
    if (all_cases()[i].name.find(options.only) != std::string::npos) chosen.push_back(i);
  return chosen;
}

// Records each case that has not been recorded `runs` times, each time in another order, so that a case whose
// answer depends on earlier cases varies, and so that the cases that fit into limited time are of all calls.
int record(const Options &options) {
  std::vector<std::size_t> indices = chosen_cases(options);
  RecordedAnswers recorded;
  if (!options.recorded.empty()) recorded = read_answers(options.recorded);
  std::erase_if(indices, [&](std::size_t i) { return recorded.texts.contains(all_cases()[i].name); });
  std::size_t crashes = 0, varying = 0, shown = 0;
  std::mt19937_64 random;
  for (unsigned run = 0; run < options.runs; ++run) {
    std::ranges::shuffle(indices, random);
    const Answers answers = answers_of(indices, options.processes);
    recorded.about = answers.about;
    for (const std::size_t i : indices) {
      if (answers.texts[i].empty()) continue;
      const auto [found, is_new] = recorded.texts.emplace(all_cases()[i].name, answers.texts[i]);
      if (is_new || found->second == answers.texts[i] || found->second == kVaries) continue;
      if (++shown <= options.shown)
        std::cout << fmt::format("{}: {} or {}\n", found->first, found->second, answers.texts[i]);
      found->second = kVaries;
    }
  }
  for (const auto &[name, text] : recorded.texts) {
    if (text == kVaries)
      ++varying;
    else if (!is_compared(text))
      ++crashes;
  }
  write(options.write, recorded);
  std::cout << fmt::format("{} answers recorded; {} cases vary, {} crash or hang\n", recorded.texts.size(),
                           varying, crashes);
  return 0;
}

int compare(const Options &options) {
  const RecordedAnswers recorded = read_answers(options.recorded);
  std::map<std::string, std::string> known;
  if (!options.known.empty()) known = read_known_differences(options.known);
  std::vector<std::size_t> indices;
  std::size_t not_compared = 0, not_recorded = 0;
  for (const std::size_t i : chosen_cases(options)) {
    const auto found = recorded.texts.find(all_cases()[i].name);
    if (found == recorded.texts.end())
      ++not_recorded;
    else if (!is_compared(found->second))
      ++not_compared;
    else
      indices.push_back(i);
  }
  const Answers answers = answers_of(indices, options.processes);
  std::map<std::string, unsigned> by_cause;
  unsigned different = 0, shown = 0, unexpected = 0;
  const auto show = [&](const std::string &text) {
    ++unexpected;
    if (++shown <= options.shown) std::cout << text;
  };
  for (const std::size_t i : indices) {
    const std::string &name = all_cases()[i].name, &text = answers.texts[i],
                      &expected = recorded.texts.at(name);
    const auto found = known.find(name);
    if (text != expected) ++different;
    if (text != expected && found == known.end())
      show(fmt::format("{}: {}, recorded {}\n", name, text, expected));
    else if (text == expected && found != known.end())
      show(fmt::format("{}: listed as different, but equal\n", name));
    else if (found != known.end())
      ++by_cause[found->second];
  }
  for (const auto &[name, cause] : known)
    if (std::ranges::find(all_cases(), name, &Case::name) == all_cases().end())
      show(fmt::format("{}: listed as different, but not a case\n", name));
    else if (const auto found = recorded.texts.find(name);
             found != recorded.texts.end() && !is_compared(found->second))
      show(fmt::format("{}: listed as different, but not compared\n", name));
  for (const auto &[cause, count] : by_cause)
    std::cout << fmt::format("{} known differences: {}\n", count, cause);
  std::cout << fmt::format("{} of {} answers are as recorded ({}); {} more crash, hang or vary there\n",
                           indices.size() - different, indices.size(), recorded.about, not_compared);
  if (not_recorded != 0)
    std::cout << fmt::format("{} cases are not recorded: record them again\n", not_recorded);
  return unexpected == 0 && not_recorded == 0 && !indices.empty() ? 0 : 1;
}

int print(const Options &options) {
  const std::vector<std::size_t> indices = chosen_cases(options);
  const Answers answers = answers_of(indices, options.processes);
  for (const std::size_t i : indices) std::cout << all_cases()[i].name << ": " << answers.texts[i] << "\n";
  return 0;
}

constexpr const char *kAbout =
    "Calls the entry points of a driver with one or two changed arguments (null, other numbers, other "
    "kinds of\n"
    "memory, single fields of structures), and in other situations: without a current context, during\n"
    "captures, while work is pending, in a host function, after a fault.\n"
    "Without --write or --recorded, prints the answers.";

}  // namespace

int main(int argc, char **argv) try {
  Options options;
  CLI::App app(kAbout);
  app.add_option("--driver", options.processes.driver, "sim, real, or a library")->capture_default_str();
  auto *written = app.add_option("--write", options.write, "record the answers into this file");
  auto *recorded = app.add_option(
      "--recorded", options.recorded,
      "compare with the answers in this file; with --write, record what it lacks, and write both");
  app.add_option(
         "--known", options.known,
         "a file of known differences; it is a failure if another case differs, or a listed case does not")
      ->needs(recorded);
  app.add_option("--runs", options.runs,
                 "how often each case is recorded; a case with different answers is recorded as varying")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->needs(written);
  app.add_option("--seconds", options.processes.seconds,
                 "no cases begin after this time, and those that have not run are not recorded; per run")
      ->needs(written);
  app.add_option("--processes", options.processes.processes, "run the cases in this number of processes")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--longest", options.processes.longest,
                 "seconds after which the process of a case is killed, and the answer is \"hang\"")
      ->capture_default_str();
  app.add_option("--only", options.only, "only cases whose name contains this text");
  app.add_option("--every", options.every, "only each n-th case")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--shown", options.shown, "how many differences are shown")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (!options.write.empty()) return record(options);
  if (!options.recorded.empty()) return compare(options);
  return print(options);
} catch (const std::exception &error) {
  std::cerr << "cushim_changed_arguments: " << error.what() << "\n";
  return 2;
}
