// SPDX-License-Identifier: Apache-2.0
// Runs the same programs of calls on two drivers, or programs with recorded answers on one driver, and prints
// the first differing answer of each program.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cushim/sim/machine.hpp>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "as_test.hpp"
#include "partner.hpp"
#include "recording.hpp"
#include "walk.hpp"

namespace {

using namespace differential;

// A driver, and the objects that exist for all walks on it.
class Side {
 public:
  // Starts the other process if the subject needs one. The driver is loaded in begin(), because it would not
  // survive the fork for another side.
  Side(std::string name, std::uint64_t settle, bool is_traced, Subject subject)
      : name_(std::move(name)), settle_(settle), is_traced_(is_traced) {
    if (subject == Subject::processes)
      partner_ = std::make_unique<Partner>([this](Partner &partner) {
        begin();
        const cushim::ScopedDriver scope(*driver_);
        partner.serve(*bench_);
      });
  }

  void begin() {
    std::function<std::size_t()> settle = time_to_settle(settle_);
    if (name_ == "sim") {
      machine_ = std::make_unique<cushim::sim::Machine>(cushim::sim::options_from_environment());
      driver_ = &machine_->driver();
      settle = [this] {
        machine_->run();
        return machine_->unfinished();
      };
    } else {
      const cushim::Loaded loaded =
          name_ == "real" ? cushim::Driver::load() : cushim::Driver::load({.library = name_.c_str()});
      if (!loaded) throw std::runtime_error(loaded.diagnosis.text());
      driver_ = &*loaded;
    }
    const cushim::ScopedDriver scope(*driver_);
    bench_ = std::make_unique<Bench>(std::move(settle));
    bench_->is_traced = is_traced_;
    char device[256] = "";
    driver_->cuDeviceGetName(device, sizeof device, bench_->device);
    about_ = fmt::format("version {}, {}", driver_->version(), device);
  }

  std::vector<Step> walk(std::uint64_t seed, Kind kind,
                         const std::function<bool(unsigned)> &wanted = {}) const {
    const cushim::ScopedDriver scope(*driver_);
    Walk walk(seed, kind.subject, *bench_, 0, partner_.get());
    if (partner_ != nullptr) partner_->begin(seed, walk);
    return walk.run(kind, wanted);
  }
  const std::string &about() const { return about_; }

 private:
  std::string name_;
  std::uint64_t settle_;
  bool is_traced_;
  std::unique_ptr<cushim::sim::Machine> machine_;
  cushim::Driver *driver_ = nullptr;
  std::unique_ptr<Partner> partner_;
  std::unique_ptr<Bench> bench_;
  std::string about_;
};

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
  std::string driver = "sim", against, recorded, write, calls;
  std::uint64_t first = 0, count = 100, settle = 300;
  unsigned shown = 10, runs = 4, every = 1;
  Kind kind;
  double at_least = 100;
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

void write_calls(const std::string &name, const std::map<std::string, Count> &counts) {
  std::ofstream file(name);
  for (const auto &[symbol, count] : counts)
    file << symbol << ' ' << count.alike << ' ' << count.different << "\n";
  file.close();
  if (!file) throw std::runtime_error("cannot write " + name);
}

int compare_with_recording(const Options &options, const Recording &recording, const Side &side) {
  std::map<std::string, Count> counts;
  std::size_t different = 0, calls = 0, walked = 0;
  for (std::size_t number = 0; const auto &[seed, line] : recording.walks) {
    if (number++ % options.every != 0) continue;
    ++walked;
    const std::vector<Step> steps = side.walk(seed, recording.kind);
    const Recording::Line now = line_of(steps);
    const auto at =
        static_cast<std::size_t>(std::ranges::mismatch(now.answers, line.answers).in1 - now.answers.begin());
    calls += at;
    for (std::size_t i = 0; i < at; ++i) ++counts[steps[i].symbol].alike;
    if (at < steps.size()) ++counts[steps[at].symbol].different;
    if (at == now.answers.size() && at == line.answers.size()) {
      if (now.fingerprint == line.fingerprint) continue;
      throw std::runtime_error("the calls are not those that were recorded: record them again");
    }
    if (++different > options.shown) continue;
    std::cout << fmt::format("// seed {}, call {}\n", seed, at + 1);
    print(steps, at < 12 ? 0 : at - 12, at + 1);
    std::cout << fmt::format("  // recorded: {}\n",
                             at < line.answers.size() ? line.answers[at] : "(no more)");
  }
  std::cout << fmt::format("{} of {} walks are answered to the end as recorded ({} calls)\n",
                           walked - different, walked, calls);
  counts.erase("");  // steps that are not driver calls
  if (!options.calls.empty()) write_calls(options.calls, counts);
  const std::size_t alike = walked - different;
  const auto all = static_cast<double>(walked);
  return all != 0 && 100 * static_cast<double>(alike) >= options.at_least * all ? 0 : 1;
}

int record(const Options &options, const Side &side) {
  Recording recording{.about = side.about(), .kind = options.kind, .dropped = 0, .walks = {}};
  for (std::uint64_t seed = options.first; seed < options.first + options.count; ++seed)
    recording.walks[seed] = line_of(side.walk(seed, options.kind));
  // Repeats the walks forwards and backwards, so that each follows different ones. Drops walks that this
  // driver does not always answer alike, as they cannot test another driver.
  for (unsigned run = 1; run < options.runs; ++run) {
    for (std::uint64_t i = 0; i < options.count; ++i) {
      const std::uint64_t seed = options.first + (run % 2 == 0 ? i : options.count - 1 - i);
      const auto before = recording.walks.find(seed);
      if (before == recording.walks.end()) continue;
      if (line_of(side.walk(seed, options.kind)).answers == before->second.answers) continue;
      recording.walks.erase(before);
      ++recording.dropped;
    }
  }
  write(options.write, recording);
  std::cout << fmt::format("{} walks recorded, {} dropped\n", recording.walks.size(), recording.dropped);
  return 0;
}

int show(const Options &options, const Side &side) {
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
  app.add_option("--write-calls", options.calls,
                 "write a line an entry point: how many calls were answered alike, and how many otherwise")
      ->needs(recorded);
  app.add_option("--every", options.every, "of the recorded walks, only each n-th")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->needs(recorded);
  app.add_option("--runs", options.runs,
                 "how often each is recorded, to be dropped unless always answered alike")
      ->capture_default_str()
      ->needs(written);
  app.add_option("--first", options.first, "the first seed")->capture_default_str();
  app.add_option("--count", options.count, "how many seeds")->capture_default_str();
  app.add_option("--calls", options.kind.calls, "how long a walk is")->capture_default_str();
  app.add_option("--choices", options.kind.choices,
                 "how often it chooses at most; not all choices make a call")
      ->capture_default_str();
  app.add_option("--subject", options.kind.subject,
                 "work, in contexts that last; contexts: these come and go, too; kinds: memory is of all "
                 "kinds; processes: work in two processes")
      ->transform(CLI::CheckedTransformer(subjects()))
      ->default_str("work");
  app.add_option("--shown", options.shown, "how many differences are shown")->capture_default_str();
  app.add_option("--at-least", options.at_least,
                 "percentage of walks that are as recorded, or it is a failure")
      ->capture_default_str();
  app.add_option("--settle", options.settle, "microseconds after which a real device has done what it can")
      ->capture_default_str();
  app.add_flag("--trace", options.is_traced, "say each call before it is made, on stderr");
  CLI11_PARSE(app, argc, argv);
  std::optional<Recording> recording;
  if (!options.recorded.empty()) options.kind = recording.emplace(read(options.recorded)).kind;
  Side side(options.driver, options.settle, options.is_traced, options.kind.subject);
  if (!options.against.empty()) {
    Side other(options.against, options.settle, options.is_traced, options.kind.subject);
    side.begin();
    other.begin();
    return compare_drivers(options, side, other);
  }
  side.begin();
  if (recording) return compare_with_recording(options, *recording, side);
  if (!options.write.empty()) return record(options, side);
  return show(options, side);
} catch (const std::exception &error) {
  std::cerr << "cushim_differential: " << error.what() << "\n";
  return 2;
}
