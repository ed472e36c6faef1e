// SPDX-License-Identifier: Apache-2.0
// The kernels that apply one instruction to many operands.
#include "suite.hpp"

namespace cushim::ptx::random {
namespace {

constexpr std::size_t forms_in_kernel = 16;

std::string digits(std::size_t value) { return std::to_string(value); }

// Returns one line: reads the operands of a form, applies it and writes the result to its output.
std::string statement(const Form &form, std::size_t output) {
  const std::string w = digits(width_of_kind(form.result));
  std::string text = "{.reg .b" + w + " %d; ";
  for (std::size_t place = 0; place < form.inputs.size(); ++place) {
    const std::string &kind = form.inputs[place];
    const std::string letter(1, "abce"[place]), width = digits(width_of_kind(kind));
    const std::size_t at = (index_of_kind(kind) * places + place) * rows * 8;
    text += ".reg .b" + width + " %" + letter + "; ld.global.b64 %wide, [%in+" + digits(at) + "]; ";
    text += width == "64" ? "mov.b64 %" + letter + ", %wide; "
                          : "cvt.u" + width + ".u64 %" + letter + ", %wide; ";
    if (kind == "p")
      text += ".reg .pred %p" + letter + "; setp.ne.u32 %p" + letter + ", %" + letter + ", 0; ";
  }
  const std::string at = " [%out+" + digits(output * rows * 8) + "], ";
  if (form.body.find("%own") != form.body.npos)
    text += ".reg .b64 %own; mad.wide.u32 %own, %i, 8, %out; add.u64 %own, %own, " +
            digits(forms_in_kernel * rows * 8) + "; ";
  text += "mov.b" + w + " %d, 0; " + form.body + " ";
  text += w == "64" ? "mov.b64 %wide, %d;" : "cvt.u64.u" + w + " %wide, %d;";
  return text + " st.global.b64" + at + "%wide;}\n";
}

}  // namespace

Batch table(std::span<const Form> forms) {
  Batch made{std::string{header}, {}};
  made.text += ".shared .align 16 .b8 scratch[" + digits(16 * block) + "];\n";
  for (std::size_t begin = 0; begin < forms.size(); begin += forms_in_kernel) {
    const std::span part = forms.subspan(begin, std::min(forms_in_kernel, forms.size() - begin));
    const std::string name = "k" + digits(begin);
    // Every output area is followed by one of scratch memory: 16 bytes for each thread.
    made.text +=
        ".visible .entry " + name +
        "(.param .u64 from, .param .u64 to) {\n.reg .u32 %i, %c0, %t0; .reg .b64 %in, %out, %wide; mov.u32 "
        "%c0, %ctaid.x; mov.u32 %t0, %tid.x; mad.lo.u32 %i, %c0, " +
        digits(block) +
        ", %t0; ld.param.u64 %in, [from]; mad.wide.u32 %in, %i, 8, %in; ld.param.u64 %out, [to]; "
        "mad.wide.u32 %out, %i, 8, %out;\n";
    for (std::size_t i = 0; i < part.size(); ++i) made.text += statement(part[i], i);
    made.text += "ret; }\n";
    made.kernels.push_back(
        {name, rows / block, block, part.size(), rows * 8, (forms_in_kernel + 2) * rows * 8});
  }
  return made;
}

}  // namespace cushim::ptx::random
