// SPDX-License-Identifier: Apache-2.0
// Prints the first statement of each program whose result differs from the executor's: explain DIFFERENT...
// DIFFERENT are files that record.cpp wrote. A program whose traced form gives the executor's bytes is listed
// without a statement: tracing changed what the driver's compiler makes of it.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include "run.hpp"

namespace {

namespace random = cushim::ptx::random;

struct Difference {
  std::vector<std::byte> words, traced_words, trace;  // records of kinds 1, 2 and 3
};

std::uint64_t word_at(const std::vector<std::byte> &bytes, std::size_t index) {
  std::uint64_t word = 0;
  if (bytes.size() >= 8 * (index + 1)) std::memcpy(&word, bytes.data() + 8 * index, 8);
  return word;
}

void read(const char *path, std::map<std::uint32_t, Difference> &differences) {
  std::ifstream file(path, std::ios::binary);
  std::uint32_t head[3];
  while (file.read(reinterpret_cast<char *>(&head[0]), sizeof head)) {
    std::vector<std::byte> bytes(head[2]);
    file.read(reinterpret_cast<char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (head[0] == 1) differences[head[1]].words = bytes;
    if (head[0] == 2) differences[head[1]].traced_words = bytes;
    if (head[0] == 3) differences[head[1]].trace = bytes;
  }
}

// Returns the statement at a position of a traced program: the line before the first one that stores the
// position.
std::string statement(const std::string &text, std::uint64_t position) {
  const std::size_t at = text.find("st.global.b64 [%tr], " + std::to_string(position) + ";");
  if (at == text.npos) return "no statement";
  const std::size_t line = text.rfind('\n', at), before = text.rfind('\n', line - 1);
  return text.substr(before + 1, line - before - 1);
}

void explain(std::uint32_t seed, const Difference &one) {
  random::Batch batch = random::program(seed, true);
  random::Kernel &kernel = batch.kernels[0];
  kernel.outputs = 1;
  kernel.output_bytes = kernel.memory_bytes;
  const random::Outputs made = random::run(batch, {random::program_inputs_of(seed)});
  if (!made.refused.empty()) return void(std::printf("%u: %s", seed, made.refused.c_str()));
  const std::vector<std::byte> &out = made.kernels[0];
  const std::size_t thread = word_at(one.words, 0);
  const std::byte *const mine = out.data() + random::trace_offset() + thread * random::trace_length * 16;
  const std::vector<std::byte> trace(mine, mine + random::trace_length * 16);
  std::printf("%u, thread %zu:", seed, thread);
  std::vector<std::byte> words(8 * (random::program_outputs + 1));
  std::memcpy(words.data() + 8, out.data() + thread * random::program_outputs * 8,
              random::program_outputs * 8);
  for (std::size_t i = 1; i <= random::program_outputs; ++i)
    if (word_at(words, i) != word_at(one.words, i))
      std::printf(" word %zu %llx (%llx)", i - 1, static_cast<unsigned long long>(word_at(one.words, i)),
                  static_cast<unsigned long long>(word_at(words, i)));
  std::printf("\n");
  for (std::size_t i = 2; 8 * i + 16 <= one.trace.size(); i += 2) {
    const std::uint64_t position = word_at(one.trace, i), value = word_at(one.trace, i + 1);
    if (position == word_at(trace, i) && value == word_at(trace, i + 1)) continue;
    std::printf("  GPU: statement %llu -> %llx, executor: %llu -> %llx\n  %s\n",
                static_cast<unsigned long long>(position), static_cast<unsigned long long>(value),
                static_cast<unsigned long long>(word_at(trace, i)),
                static_cast<unsigned long long>(word_at(trace, i + 1)),
                statement(batch.text, position).c_str());
    return;
  }
  std::printf("  traces are equal%s\n", one.trace.empty() ? " (not recorded)" : "");
}

}  // namespace

int main(int count, char **arguments) {
  std::map<std::uint32_t, Difference> differences;
  for (int i = 1; i < count; ++i) read(arguments[i], differences);
  for (const auto &[seed, one] : differences) explain(seed, one);
  return 0;
}
