// SPDX-License-Identifier: Apache-2.0
// Ratios and medians of benchmarks measured side by side in one run. The ratio of a pair is that of the
// medians over its repetitions, which are interleaved at random so that a slow moment of the machine affects
// both. A named comparison of several pairs is the median over its pairs.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace cushim::bench {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

class Summary {
 public:
  // Adds a pair of benchmarks to the named comparison.
  void compare(const std::string &name, const std::string &ours, const std::string &theirs) {
    if (pairs_.find(name) == pairs_.end()) order_.push_back(name);
    pairs_[name].emplace_back(ours, theirs);
  }

  // Prints by how much one benchmark's median exceeds the other's, in the unit of both.
  void difference(const std::string &name, const std::string &ours, const std::string &theirs,
                  const std::string &unit) {
    differences_.push_back({name, ours, theirs, unit});
  }

  // Prints one benchmark's median times a factor, in this unit.
  void value(const std::string &name, const std::string &benchmark, double factor, const std::string &unit) {
    values_.push_back({name, benchmark, factor, unit});
  }

  // Runs the benchmarks selected by the command line (default: 9 repetitions, interleaved) and prints the
  // comparisons.
  int run(int argc, char **argv) {
    std::vector<std::string> defaults = {"--benchmark_repetitions=9", "--benchmark_min_time=0.02",
                                         "--benchmark_enable_random_interleaving=true"};
    std::vector<char *> arguments(argv, argv + 1);
    for (std::string &one : defaults) arguments.push_back(one.data());
    arguments.insert(arguments.end(), argv + 1, argv + argc);
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    Collector collector(times_);
    benchmark::RunSpecifiedBenchmarks(&collector);
    std::printf("\nmedians, measured side by side in this run\n");
    for (const std::string &name : order_) print(name);
    for (const Difference &one : differences_) print(one);
    for (const Value &one : values_) print(one);
    return 0;
  }

 private:
  class Collector : public benchmark::ConsoleReporter {
   public:
    explicit Collector(std::map<std::string, std::vector<double>> &times)
        : ConsoleReporter(OO_Tabular), times_(times) {}
    void ReportRuns(const std::vector<Run> &runs) override {
      std::vector<Run> medians;
      for (const Run &run : runs) {
        if (run.run_type == Run::RT_Iteration)
          times_[run.run_name.function_name].push_back(run.GetAdjustedRealTime());
        else if (run.aggregate_name == "median")
          medians.push_back(run);
      }
      if (!medians.empty()) ConsoleReporter::ReportRuns(medians);
    }

   private:
    std::map<std::string, std::vector<double>> &times_;
  };

  struct Value {
    std::string name, benchmark;
    double factor;
    std::string unit;
  };

  struct Difference {
    std::string name, ours, theirs, unit;
  };

  void print(const Difference &one) const {
    const auto ours = times_.find(one.ours), theirs = times_.find(one.theirs);
    if (ours == times_.end() || theirs == times_.end()) return;
    const double more = median(ours->second), less = median(theirs->second);
    std::printf("  %-50s %.2f %s more (%.2f against %.2f)\n", one.name.c_str(), more - less, one.unit.c_str(),
                more, less);
  }

  void print(const Value &one) const {
    const auto found = times_.find(one.benchmark);
    if (found == times_.end()) return;
    std::printf("  %-50s %.1f %s\n", one.name.c_str(), median(found->second) * one.factor, one.unit.c_str());
  }

  void print(const std::string &name) const {
    std::vector<double> ratios;
    for (const auto &[ours, theirs] : pairs_.at(name)) {
      const auto a = times_.find(ours);
      const auto b = times_.find(theirs);
      if (a != times_.end() && b != times_.end()) ratios.push_back(median(a->second) / median(b->second));
    }
    if (ratios.empty()) return;
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    std::printf("  %-50s %.3f", name.c_str(), median(ratios));
    if (ratios.size() > 1) std::printf("  (%zu placements, %.3f to %.3f)", ratios.size(), *least, *most);
    std::printf("\n");
  }

  std::map<std::string, std::vector<std::pair<std::string, std::string>>> pairs_;
  std::vector<std::string> order_;
  std::vector<Difference> differences_;
  std::vector<Value> values_;
  std::map<std::string, std::vector<double>> times_;
};

}  // namespace cushim::bench
