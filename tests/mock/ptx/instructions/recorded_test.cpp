// SPDX-License-Identifier: Apache-2.0
// Compares each instruction form with the results of a GPU, which record.py wrote to data/.
#include <fstream>
#include <map>
#include <sstream>

#include "../execute.hpp"

namespace cushim::ptx {
namespace {

using testing::Loaded;

constexpr std::size_t count = 512;
constexpr std::string_view kinds[] = {"i16", "i32",  "i64",   "n32",    "b5",  "s5", "p",
                                      "f16", "bf16", "f16x2", "bf16x2", "f32", "f64"};

struct Form {
  std::string body;
  std::vector<std::string> inputs;
  std::string output;
  std::string opcode() const {
    for (const std::string_view atomic : {"atom", "red"})
      if (body.find(std::string{atomic} + ".global") != body.npos ||
          body.find(std::string{atomic} + ".shared") != body.npos)
        return std::string{atomic};
    std::string_view text = body;
    for (const std::string_view skipped : {"{.reg .pred q; ", "and.b32 %b, %b, 63; "})
      if (text.substr(0, skipped.size()) == skipped) text.remove_prefix(skipped.size());
    return std::string{text.substr(0, text.find_first_of(". "))};
  }
};

std::string contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

unsigned bits_of(std::string_view type) {
  return type.find("16x2") != type.npos || type.find("32") != type.npos || type == "b5" || type == "s5" ||
                 type == "p"
             ? 32
         : type.find("64") != type.npos ? 64
                                        : 16;
}

std::string kernel(const Form &form) {
  std::ostringstream text;
  const unsigned bits = bits_of(form.output);
  text << testing::header
       << ".visible .entry form(.param .u64 to, .param .u64 from0, .param .u64 from1, .param .u64 from2) {\n"
       << ".reg .u32 %i, %a2; .reg .u64 %at, %base, %wide; .reg .pred %pa, %pb, %pc; .reg .b" << bits
       << " %d; mov.u32 %i, %tid.x;\n";
  for (std::size_t place = 0; place < form.inputs.size(); ++place) {
    const char letter = "abc"[place];
    const unsigned width = bits_of(form.inputs[place]);
    text << ".reg .b" << width << " %" << letter << "; ld.param.u64 %base, [from" << place
         << "]; mad.wide.u32 %at, %i, 8, %base; ld.global.u64 %wide, [%at];\n";
    if (width < 64)
      text << "cvt.u" << width << ".u64 %" << letter << ", %wide;\n";
    else
      text << "mov.b64 %" << letter << ", %wide;\n";
    if (form.inputs[place] == "p") text << "setp.ne.u32 %p" << letter << ", %" << letter << ", 0;\n";
  }
  text << "mov.b" << bits << " %d, 0;\n"
       << form.body << "\nld.param.u64 %base, [to]; mad.wide.u32 %at, %i, " << bits / 8
       << ", %base; st.global.b" << bits << " [%at], %d; ret; }\n";
  return text.str();
}

std::vector<Form> forms() {
  std::istringstream lines(contents(CUSHIM_PTX_FORMS));
  std::vector<Form> all;
  for (std::string line; std::getline(lines, line);) {
    Form form;
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    form.body = line.substr(0, first);
    std::istringstream inputs(line.substr(first + 1, second - first - 1));
    for (std::string one; std::getline(inputs, one, ',');) form.inputs.push_back(one);
    form.output = line.substr(second + 1);
    all.push_back(form);
  }
  return all;
}

// Upper bounds on the number of forms, by opcode, that give other bits than the GPU. ptxas compiles sums of
// pairs in shared memory wrongly: it takes the upper half of the operand from another register.
const std::map<std::string_view, int> outstanding{{"atom", 2}, {"red", 2}};

TEST(RecordedInstructions, GiveTheBitsOfTheGpu) {
  const std::string inputs = contents(CUSHIM_PTX_DATA "/inputs.bin"),
                    results = contents(CUSHIM_PTX_DATA "/results.bin");
  ASSERT_FALSE(inputs.empty());
  ASSERT_FALSE(results.empty());
  std::map<std::string, std::size_t> place_of_kind;
  for (std::size_t i = 0; i < std::size(kinds); ++i) place_of_kind[std::string{kinds[i]}] = i * 6 * count * 8;
  std::size_t at = 0, same = 0, refused = 0;
  std::map<std::string, std::string> different;
  std::map<std::string, int> numbers;
  for (const Form &form : forms()) {
    const unsigned bytes = bits_of(form.output) / 8;
    const std::size_t expected_at = at;
    at += count * bytes;
    Loaded loaded(kernel(form));
    if (!loaded.program) {
      ++refused;
      if (++numbers[form.opcode()] < 6) different[form.opcode()] += "  refused: " + loaded.refused;
      continue;
    }
    std::uint64_t from[3] = {0, 0, 0};
    const std::size_t arity = form.inputs.size(), before = arity == 1 ? 0 : arity == 2 ? 1 : 3;
    for (std::size_t i = 0; i < arity; ++i) {
      from[i] = loaded.memory.add(count * 8);
      std::memcpy(loaded.memory.host(from[i]),
                  inputs.data() + place_of_kind.at(form.inputs[i]) + (before + i) * count * 8, count * 8);
    }
    const std::uint64_t to = loaded.memory.add(count * bytes);
    LaunchShape shape;
    shape.block.x = count;
    loaded.limits.workers = 1;
    const LaunchResult result = loaded.run("form", shape, to, from[0], from[1], from[2]);
    ASSERT_TRUE(result) << form.body;
    const std::byte *const given = loaded.memory.host(to);
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = count; i-- != 0;)
      if (std::memcmp(given + i * bytes, results.data() + expected_at + i * bytes, bytes) != 0) {
        ++wrong;
        first = i;
      }
    if (wrong == 0) {
      ++same;
      continue;
    }
    if (++numbers[form.opcode()] > 40) continue;
    std::ostringstream text;
    text << "  " << form.body << ": " << wrong << " wrong, at " << first << std::hex;
    for (std::size_t i = 0; i < arity; ++i) {
      std::uint64_t value;
      std::memcpy(&value,
                  inputs.data() + place_of_kind.at(form.inputs[i]) + (before + i) * count * 8 + first * 8, 8);
      text << " " << value;
    }
    std::uint64_t ours = 0, theirs = 0;
    std::memcpy(&ours, given + first * bytes, bytes);
    std::memcpy(&theirs, results.data() + expected_at + first * bytes, bytes);
    text << ": " << ours << ", on the GPU " << theirs << "\n";
    different[form.opcode()] += text.str();
  }
  EXPECT_EQ(at, results.size());
  for (const auto &[opcode, text] : different) {
    const auto known = outstanding.find(opcode);
    const int allowed = known == outstanding.end() ? 0 : known->second;
    EXPECT_LE(numbers[opcode], allowed) << opcode << "\n" << text;
  }
  RecordProperty("same", static_cast<int>(same));
  RecordProperty("refused", static_cast<int>(refused));
}

}  // namespace
}  // namespace cushim::ptx
