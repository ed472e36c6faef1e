// SPDX-License-Identifier: Apache-2.0
// Runs the same programs of calls on two drivers, or programs with recorded answers on one driver, and prints
// the first differing answer of each program.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cushim/sim/machine.hpp>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "known_differences.hpp"
#include "partner.hpp"
#include "recording.hpp"
#include "side.hpp"
#include "walk.hpp"
#include "walk_as_test.hpp"
#include "workers.hpp"

namespace {

using namespace differential;

// Returns the index of the first step whose answers differ; the number of steps if there is none.
std::size_t first_difference(const std::vector<Step> &a, const std::vector<Step> &b) {
  const auto are_alike = [](const Step &x, const Step &y) {
    return x.process == y.process && x.call == y.call && x.answer == y.answer;
  };
  return static_cast<std::size_t>(std::ranges::mismatch(a, b, are_alike).in1 - a.begin());
}
bool differ(const std::vector<Step> &a, const std::vector<Step> &b) {
  return first_difference(a, b) != std::max(a.size(), b.size());
}

void print(const std::vector<Step> &steps, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last && i < steps.size(); ++i)
    std::cout << fmt::format("  {}{};  // {}\n", steps[i].process == 0 ? "" : "[1] ", steps[i].call,
                             steps[i].answer);
}

// Walks about kinds of memory use functions of this program, which tests do not have.
bool is_printed(Subject subject) { return subject < Subject::blocks; }

// Removes choices as long as the two drivers still differ.
std::set<unsigned> shrink(const Side &a, const Side &b, std::uint64_t seed, Kind kind) {
  std::set<unsigned> kept;
  for (unsigned i = 0; i < kind.choices; ++i) kept.insert(i);
  const auto still_differ = [&](const std::set<unsigned> &some) {
    const auto wanted = [&](unsigned i) { return some.contains(i); };
    return differ(a.walk(seed, kind, wanted), b.walk(seed, kind, wanted));
  };
  for (std::size_t piece = kept.size() / 2; piece != 0; piece /= 2) {
    for (auto at = kept.begin(); at != kept.end();) {
      const unsigned from = *at;
      std::set<unsigned> fewer(kept.begin(), at);
      for (std::size_t i = 0; i < piece && at != kept.end(); ++i) ++at;
      fewer.insert(at, kept.end());
      if (still_differ(fewer)) kept = fewer;
      at = kept.upper_bound(from);
    }
  }
  return kept;
}

struct Options {
  std::string driver = "sim", against, recorded, known, known_calls, write, again, calls;
  std::uint64_t first = 0, count = 100, settle = 300;
  unsigned shown = 10, before = 12, runs = 4, every = 1;
  Kind kind;
  double at_least = 100, seconds = 0;
  unsigned processes = 0;
  bool is_traced = false;
};

int compare_drivers(const Options &options, const Side &side, const Side &other) {
  unsigned different = 0;
  for (std::uint64_t seed = options.first; seed < options.first + options.count; ++seed) {
    if (!differ(side.walk(seed, options.kind), other.walk(seed, options.kind))) continue;
    if (++different > options.shown) continue;
    const std::set<unsigned> kept = shrink(side, other, seed, options.kind);
    const auto wanted = [&](unsigned i) { return kept.contains(i); };
    const auto a = side.walk(seed, options.kind, wanted), b = other.walk(seed, options.kind, wanted);
    const std::size_t at = first_difference(a, b);
    const auto answered = [&](const std::vector<Step> &steps) {
      return at < steps.size() ? steps[at].call + ": " + steps[at].answer : "no call";
    };
    if (!is_printed(options.kind.subject)) {
      std::cout << fmt::format("// seed {}: at the last call, {} said {}; {}, {}\n", seed, options.driver,
                               answered(a), options.against, answered(b));
      print(a, 0, at + 1);
      continue;
    }
    // The test expects the answers of the other driver, which is the reference.
    std::cout << as_test(seed, std::span(b).first(std::min(at + 1, b.size())),
                         fmt::format("Shrunk to {} calls. At the last, {} said {}; {}, {}.", a.size(),
                                     options.driver, answered(a), options.against, answered(b)));
  }
  std::cout << fmt::format("{} of {} walks are answered alike\n", options.count - different, options.count);
  return different == 0 ? 0 : 1;
}

// The number of equal and different answers of an entry point. Each walk counts up to its first difference.
struct Count {
  std::size_t alike = 0, different = 0;
};

void write_calls(const std::string &name, const std::string &total,
                 const std::map<std::string, Count> &counts) {
  std::ofstream file(name);
  file << "# " << total << "\n";
  for (const auto &[symbol, count] : counts)
    file << symbol << ' ' << count.alike << ' ' << count.different << "\n";
  file.close();
  if (!file) throw std::runtime_error("cannot write " + name);
}

int compare_with_recording(const Options &options, const Recording &recording, Side &side) {
  std::map<std::string, Count> counts;
  std::map<std::string, std::size_t> kinds;  // of differences
  std::set<std::uint64_t> compared, different;
  std::size_t calls = 0;
  for (std::size_t number = 0; const auto &[seed, recorded] : recording.walks) {
    if (number++ % options.every != 0) continue;
    compared.insert(seed);
    std::vector<Step> steps = side.walk(seed, recording.kind);
    if (!side.is_usable()) side.begin();
    // The recorded driver crashed in the call after the last answer. The fingerprint is of another process.
    Recording::Line line = recorded;
    const bool has_crashed = !line.answers.empty() && line.answers.back() == "crash";
    if (has_crashed) {
      line.answers.pop_back();
      steps.resize(std::min(steps.size(), line.answers.size()));
    }
    const Recording::Line now = line_of(steps);
    const auto at =
        static_cast<std::size_t>(std::ranges::mismatch(now.answers, line.answers).in1 - now.answers.begin());
    calls += at;
    for (std::size_t i = 0; i < at; ++i) ++counts[steps[i].symbol].alike;
    if (at < steps.size()) ++counts[steps[at].symbol].different;
    if (at == now.answers.size() && at == line.answers.size()) {
      if (now.fingerprint == line.fingerprint || has_crashed) continue;
      // The arguments of calls about graphs depend on results that the answers do not have.
      if (!is_about_graphs(recording.kind.subject))
        throw std::runtime_error("the calls are not those that were recorded: record them again");
      ++kinds["other arguments, with equal answers"];
    }
    if (at < steps.size())
      ++kinds[fmt::format("{}: {}, recorded {}", steps[at].symbol.empty() ? "results" : steps[at].symbol,
                          steps[at].answer, at < line.answers.size() ? line.answers[at] : "(no more)")];
    different.insert(seed);
    if (different.size() > options.shown) continue;
    std::cout << fmt::format("// seed {}, call {}\n", seed, at + 1);
    print(steps, at < options.before ? 0 : at - options.before, at + 1);
    std::cout << fmt::format("  // recorded: {}\n",
                             at < line.answers.size() ? line.answers[at] : "(no more)");
  }
  for (const auto &[text, number] : kinds) std::cout << fmt::format("{} x {}\n", number, text);
  const std::size_t walked = compared.size(), alike = walked - different.size();
  const bool are_listed =
      options.known.empty() ||
      are_known(read_known_differences(options.known, recording.kind.subject), compared, different);
  DifferencesByCall by_call;
  for (const auto &[symbol, count] : counts)
    if (count.different != 0) by_call[symbol.empty() ? "results" : symbol] = count.different;
  std::string unknown;
  if (!options.known_calls.empty())
    unknown = unknown_differences(by_call, read_known_calls(options.known_calls));
  std::cout << unknown;
  const std::string total =
      fmt::format("{} of {} walks are answered to the end as recorded ({} calls)", alike, walked, calls);
  std::cout << total << "\n";
  counts.erase("");  // steps that are not driver calls
  if (!options.calls.empty()) write_calls(options.calls, total, counts);
  if (!options.known.empty()) return are_listed && walked != 0 ? 0 : 1;
  const auto all = static_cast<double>(walked);
  return unknown.empty() && all != 0 && 100 * static_cast<double>(alike) >= options.at_least * all ? 0 : 1;
}

// Records these walks. Repeats them forwards and backwards, so that each follows different ones. Drops walks
// that this driver does not always answer alike, as they cannot test another driver.
void record(const Options &options, const Side &side, std::uint64_t first, std::uint64_t count,
            Recording &recording) {
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    recording.walks[seed] = line_of(side.walk(seed, options.kind));
  for (unsigned run = 1; run < options.runs; ++run) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t seed = first + (run % 2 == 0 ? i : count - 1 - i);
      const auto before = recording.walks.find(seed);
      if (before == recording.walks.end()) continue;
      if (line_of(side.walk(seed, options.kind)).answers == before->second.answers) continue;
      recording.walks.erase(before);
      ++recording.dropped;
    }
  }
}

// Writes the file after each part, as a program may crash a real driver.
int record(const Options &options, const Side &side) {
  constexpr std::uint64_t part = 5;
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t end = options.first + options.count;
  Recording recording{.about = side.about(), .kind = options.kind, .dropped = 0, .walks = {}};
  for (std::uint64_t first = options.first; first < end; first += part) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (options.seconds != 0 && passed.count() > options.seconds) break;
    record(options, side, first, std::min(part, end - first), recording);
    write(options.write, recording);
  }
  std::cout << fmt::format("{} walks recorded, {} dropped\n", recording.walks.size(), recording.dropped);
  return 0;
}

int record_in_workers(const Options &options, const std::optional<Recording> &before, Side &side) {
  const WorkOfWorker work{
      .begin =
          [&] {
            side.begin();
            return side.about();
          },
      .walk = [&](std::uint64_t seed) { return side.walk(seed, options.kind); },
      .is_usable = [&] { return side.is_usable(); },
      .watch = [&](std::function<void(const Step &)> watcher) { side.watch(std::move(watcher)); }};
  const Recording recording = differential::record_in_workers(work,
                                                              {.first = options.first,
                                                               .count = options.count,
                                                               .runs = options.runs,
                                                               .processes = options.processes,
                                                               .seconds = options.seconds,
                                                               .before = before ? &*before : nullptr},
                                                              options.kind);
  write(options.write, recording);
  std::cout << fmt::format("{} walks recorded, {} dropped\n", recording.walks.size(), recording.dropped);
  return 0;
}

int show(const Options &options, const Side &side) {
  if (!is_printed(options.kind.subject))
    throw std::runtime_error("walks about this subject are not printed as tests: use --trace");
  std::cout << head_of_tests();
  for (std::uint64_t seed = options.first; seed < options.first + options.count; ++seed)
    std::cout << as_test(seed, side.walk(seed, options.kind), "As answered by: " + side.about());
  return 0;
}

}  // namespace

int main(int argc, char **argv) try {
  Options options;
  CLI::App app(
      "Walks drivers through random programs of calls and compares their answers.\n"
      "Without --against, --recorded or --write, prints the programs and the answers as tests in C++.");
  app.add_option("--driver", options.driver, "sim, real, or a library")->capture_default_str();
  auto *modes = app.add_option_group("compare");
  modes->add_option("--against", options.against,
                    "another driver, asked the same; differences are shrunk and printed as tests");
  auto *recorded = modes->add_option("--recorded", options.recorded, "a file of recorded answers");
  auto *written = modes->add_option("--write", options.write, "record the answers into this file");
  modes->require_option(0, 1);
  const auto of_recorded = [&](const char *name, auto &value, const char *about) {
    return app.add_option(name, value, about)->needs(recorded);
  };
  const auto of_written = [&](const char *name, auto &value, const char *about) {
    return app.add_option(name, value, about)->needs(written);
  };
  of_recorded("--known-calls", options.known_calls,
              "a file of entry points: in how many walks each may be the first difference, and why");
  of_recorded("--write-calls", options.calls,
              "write a line an entry point: how many calls were answered alike, and how many otherwise");
  of_recorded("--every", options.every, "of the recorded walks, only each n-th")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  of_written("--runs", options.runs, "how often each is recorded, to be dropped unless always answered alike")
      ->capture_default_str();
  auto *const processes = of_written(
      "--processes", options.processes,
      "record in this number of processes, which a walk may crash; not for walks in two processes");
  app.add_option("--again", options.again,
                 "record the walks of this recording again, and keep those that are always answered as in it")
      ->needs(processes);
  of_written("--seconds", options.seconds, "record no further walks after this time; 0: no limit")
      ->capture_default_str();
  of_recorded(
      "--known", options.known,
      "instead of --at-least, a file of known differences; it is a failure if another walk differs, or "
      "a listed walk does not");
  app.add_option("--first", options.first, "the first seed")->capture_default_str();
  app.add_option("--count", options.count, "how many seeds")->capture_default_str();
  app.add_option("--calls", options.kind.calls, "how long a walk is")->capture_default_str();
  app.add_option("--choices", options.kind.choices,
                 "how often it chooses at most; not all choices make a call")
      ->capture_default_str();
  app.add_option(
         "--subject", options.kind.subject,
         "work, in contexts that last; contexts: these come and go, too; kinds: memory is of all "
         "kinds; processes: work in two processes; blocks: these also open freed memory; mapped, pools, "
         "arrays, managed: memory of these kinds; mappings: calls that need a range, without one; usage: how "
         "much memory is free; kernels: modules and launches; captures: stream captures; graphs")
      ->transform(CLI::CheckedTransformer(subjects()))
      ->default_str("work");
  app.add_option("--shown", options.shown, "how many differences are shown")->capture_default_str();
  app.add_option("--before", options.before, "how many calls before a difference from a recording are shown")
      ->capture_default_str();
  app.add_option("--at-least", options.at_least,
                 "percentage of walks that are as recorded, or it is a failure")
      ->capture_default_str();
  app.add_option("--settle", options.settle, "microseconds after which a real device has done what it can")
      ->capture_default_str();
  app.add_flag("--trace", options.is_traced, "say each call before it is made, on stderr");
  CLI11_PARSE(app, argc, argv);
  std::optional<Recording> recording;
  if (const std::string name = options.recorded + options.again; !name.empty())  // one is empty
    options.kind = recording.emplace(read(name)).kind;
  Side side(options.driver, options.settle, options.is_traced, options.kind.subject);
  if (!options.against.empty()) {
    Side other(options.against, options.settle, options.is_traced, options.kind.subject);
    side.begin();
    other.begin();
    return compare_drivers(options, side, other);
  }
  if (!options.write.empty() && options.processes != 0) return record_in_workers(options, recording, side);
  side.begin();
  if (recording) return compare_with_recording(options, *recording, side);
  if (!options.write.empty()) return record(options, side);
  return show(options, side);
} catch (const std::exception &error) {
  std::cerr << "cushim_differential: " << error.what() << "\n";
  return 2;
}
