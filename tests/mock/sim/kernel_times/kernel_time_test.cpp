// SPDX-License-Identifier: Apache-2.0
// Compares the model of a kernel's time with times measured on an H200. With CUSHIM_TEST_TABLE set, prints
// all.
#include "kernels/kernel_time.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace cushim::sim {
namespace {

// The buffers a, b and c of the kernels. Pages that no kernel touches take no memory.
class Buffers final : public ptx::Memory {
 public:
  static constexpr std::uint64_t bytes = 256 << 20;

  Buffers() {
    for (std::byte *&buffer : buffers_) {
      void *const made =
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      buffer = made != MAP_FAILED ? static_cast<std::byte *>(made) : nullptr;
    }
    if (buffers_[0] != nullptr) std::fill_n(reinterpret_cast<float *>(buffers_[0]), bytes / 8, 1.0F);
  }
  ~Buffers() override {
    for (std::byte *const buffer : buffers_) munmap(buffer, bytes);
  }
  Buffers(const Buffers &) = delete;
  Buffers &operator=(const Buffers &) = delete;

  bool is_complete() const { return std::ranges::find(buffers_, nullptr) == buffers_.end(); }
  void clear_results() const {
    for (const std::size_t i : {1, 2}) madvise(buffers_[i], bytes, MADV_DONTNEED);
  }
  static std::uint64_t address(std::size_t buffer) { return 0x7f0000000000 + buffer * 2 * bytes; }
  ptx::Resolved resolve(std::uint64_t at, std::uint64_t size, ptx::Access) override {
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      if (const std::uint64_t offset = at - address(i); offset < bytes && size <= bytes - offset)
        return {buffers_[i] + offset, bytes - offset, offset};
    return {};
  }

 private:
  std::array<std::byte *, 3> buffers_{};
};

struct Case {
  std::string module, name, kernel, contents;
  ptx::LaunchShape shape;
  int n = 0, p = 0;
  double warm = 0, cold = 0;  // measured, in nanoseconds
};

std::vector<Case> cases(const std::string &module) {
  std::ifstream file(CUSHIM_KERNEL_TIMES "/h200.tsv");
  std::vector<Case> list;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    Case one;
    words >> one.module >> one.name >> one.kernel >> one.shape.grid.x >> one.shape.grid.y >>
        one.shape.block.x >> one.shape.block.y >> one.n >> one.p >> one.contents >> one.warm >> one.cold;
    EXPECT_TRUE(words) << line;
    if (one.module == module) list.push_back(one);
  }
  return list;
}

class KernelTime : public ::testing::Test {
 protected:
  void load(const std::string &name) {
    std::ifstream file(CUSHIM_KERNEL_TIMES "/" + name + ".ptx");
    std::ostringstream text;
    text << file.rdbuf();
    ptx::ParseResult parsed = ptx::parse(text.str());
    ASSERT_TRUE(parsed.ok()) << parsed.log();
    module_ = std::move(parsed.module);
    std::vector<ptx::Diagnostic> diagnostics;
    plain_ = ptx::compile(module_, {}, diagnostics);
    sampled_ = ptx::compile(module_, {}, diagnostics, {.costs = true});
    ASSERT_TRUE(plain_ && sampled_);
  }

  static std::vector<std::byte> parameters(int n, int p) {
    std::vector<std::byte> bytes(32);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::uint64_t address = Buffers::address(i);
      std::memcpy(bytes.data() + 8 * i, &address, 8);
    }
    std::memcpy(bytes.data() + 24, &n, 4);
    std::memcpy(bytes.data() + 28, &p, 4);
    return bytes;
  }

  std::int64_t modelled(const Case &one) {
    buffers_.clear_results();
    const bool is_chain = one.contents.starts_with("chain:");
    if (one.contents == "hash" || is_chain) {
      const int step = is_chain ? std::atoi(one.contents.c_str() + 6) : 0;
      EXPECT_TRUE(ptx::run(plain_, is_chain ? "fill_chain" : "fill_hash", {{64}, {256}, {}},
                           parameters(one.n, step), buffers_));
    }
    ptx::Sample sample = sample_for_time(sampled_);
    sample.runs_alone = true;
    const ptx::LaunchResult result =
        ptx::run(plain_, one.kernel, one.shape, parameters(one.n, one.p), buffers_, {.sample = &sample});
    EXPECT_TRUE(result && result.costs) << one.name;
    if (!result.costs) return 0;
    const ptx::Function *const entry = module_.find_function(one.kernel);
    return kernel_time(*result.costs, one.shape, entry->body.shared_size, machine("h200").devices[0]);
  }

  struct Errors {
    double median = 0, of_nine_in_ten = 0, largest = 0;
  };
  // Returns the relative errors of all kernels of a module, without signs.
  Errors errors(const std::string &module) {
    std::vector<double> list;
    for (const Case &one : cases(module)) {
      const double time = static_cast<double>(modelled(one)), error = time / one.warm - 1;
      list.push_back(std::abs(error));
      if (std::getenv("CUSHIM_TEST_TABLE") != nullptr)
        std::printf("%-28s measured %9.0f ns, model %9.0f ns, %+6.1f %%\n", one.name.c_str(), one.warm, time,
                    100 * error);
    }
    std::ranges::sort(list);
    if (list.empty()) return {1, 1, 1};
    const Errors errors{list[list.size() / 2], list[list.size() * 9 / 10], list.back()};
    std::printf("%s: %zu kernels, error: median %.1f %%, 9 in 10 at most %.1f %%, largest %.1f %%\n",
                module.c_str(), list.size(), 100 * errors.median, 100 * errors.of_nine_in_ten,
                100 * errors.largest);
    return errors;
  }
  void expect_errors_below(const std::string &module, const Errors &limits) {
    ASSERT_TRUE(buffers_.is_complete());
    load(module);
    const Errors found = errors(module);
    EXPECT_LT(found.median, limits.median);
    EXPECT_LT(found.of_nine_in_ten, limits.of_nine_in_ten);
  }

  Buffers buffers_;
  ptx::Module module_;
  ptx::Program plain_, sampled_;
};

TEST_F(KernelTime, Is_near_that_of_an_H200_for_kernels_that_the_model_was_fitted_to) {
  expect_errors_below("fitted", {.median = 0.05, .of_nine_in_ten = 0.25});
}

TEST_F(KernelTime, Is_near_that_of_an_H200_for_other_kernels) {
  expect_errors_below("held_out", {.median = 0.10, .of_nine_in_ten = 0.40});
}

TEST_F(KernelTime, Is_the_same_in_every_run) {
  ASSERT_TRUE(buffers_.is_complete());
  load("fitted");
  const std::vector<Case> all = cases("fitted");
  const auto reduce = std::ranges::find(all, "reduce_2^20", &Case::name);
  ASSERT_NE(reduce, all.end());
  EXPECT_EQ(modelled(*reduce), modelled(*reduce));
}

}  // namespace
}  // namespace cushim::sim
