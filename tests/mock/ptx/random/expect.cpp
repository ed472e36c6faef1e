// SPDX-License-Identifier: Apache-2.0
// Writes the hashes of the executor that record.cpp compares with: expect FOLDER FIRST PROGRAMS.
// FIRST is the seed of the first program; tables.bin is written with program 0 only.
#include <cstdlib>
#include <fstream>

#include "run.hpp"

namespace {

namespace random = cushim::ptx::random;

void write(const std::string &path, const std::vector<std::uint32_t> &words) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(words.data()), static_cast<std::streamsize>(words.size() * 4));
}

std::vector<std::uint32_t> hashes_of_tables() {
  const std::vector<random::Form> all = random::forms();
  const auto inputs = random::table_inputs();
  std::vector<std::uint32_t> hashes;
  for (std::size_t first = 0, step = 128; first < all.size(); first += step) {
    const random::Batch batch =
        random::table(std::span(all).subspan(first, std::min(step, all.size() - first)));
    const random::Outputs made = random::run(batch, {inputs});
    for (std::size_t kernel = 0; kernel < made.kernels.size(); ++kernel) {
      const std::size_t bytes = batch.kernels[kernel].output_bytes;
      for (std::size_t i = 0; i < batch.kernels[kernel].outputs; ++i)
        hashes.push_back(random::hash(made.kernels[kernel].data() + i * bytes, bytes));
    }
  }
  return hashes;
}

}  // namespace

int main(int count, char **arguments) {
  if (count != 4) return 2;
  const std::string folder = arguments[1];
  const std::size_t first = std::strtoull(arguments[2], nullptr, 10),
                    number = std::strtoull(arguments[3], nullptr, 10);
  if (first == 0) write(folder + "/tables.bin", hashes_of_tables());
  std::vector<std::uint32_t> programs, threads;
  constexpr std::size_t bytes = random::program_outputs * 8;
  for (std::size_t seed = first; seed < first + number; ++seed) {
    const random::Outputs made = random::run(random::program(seed), {random::program_inputs_of(seed)});
    // A program that is refused or faults has hashes that no output has.
    const bool ended = made.refused.empty();
    if (!ended) std::printf("%zu: %s\n", seed, made.refused.c_str());
    programs.push_back(ended ? random::hash(made.kernels[0].data(), made.kernels[0].size()) : 0);
    for (std::size_t thread = 0; thread < random::program_threads; ++thread)
      threads.push_back(ended ? random::hash(made.kernels[0].data() + thread * bytes, bytes) : 0);
  }
  write(folder + "/programs.bin", programs);
  write(folder + "/threads.bin", threads);
  return 0;
}
