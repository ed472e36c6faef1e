// SPDX-License-Identifier: Apache-2.0
// The sums that ptxas contracts with products. Measured with ptxas 13.0 on pairs and triples of instructions:
// a product without a rounding mode is contracted if all its uses are sums without a rounding mode in its
// basic block, see ends_block(). Products with one use are contracted before those with several, in the order
// of the sums. If both operands of a sum are products, the first one is contracted. A copy of a product, its
// negation, and its product with 1 or -1 are the product itself, and a product of f32 constants is a
// constant.
#include "execute/contraction.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "execute/body_walk.hpp"

namespace cushim::ptx::execute {
namespace {

bool is_float(Type type) {
  return type == Type::f32 || type == Type::f64 || type == Type::f16 || type == Type::f16x2 ||
         type == Type::bf16 || type == Type::bf16x2;
}

// Returns whether ptxas computes the instruction without branches under a guard. It branches around others:
// accesses to memory, barriers, and instructions that exchange values within a warp.
bool is_predicable(Opcode opcode) {
  switch (opcode) {
    case Opcode::activemask:
    case Opcode::applypriority:
    case Opcode::atom:
    case Opcode::bar:
    case Opcode::barrier:
    case Opcode::clusterlaunchcontrol:
    case Opcode::cp:
    case Opcode::discard:
    case Opcode::elect:
    case Opcode::griddepcontrol:
    case Opcode::ld:
    case Opcode::ldmatrix:
    case Opcode::ldu:
    case Opcode::match:
    case Opcode::mbarrier:
    case Opcode::mma:
    case Opcode::movmatrix:
    case Opcode::multimem:
    case Opcode::nanosleep:
    case Opcode::prefetch:
    case Opcode::prefetchu:
    case Opcode::red:
    case Opcode::redux:
    case Opcode::shfl:
    case Opcode::st:
    case Opcode::stmatrix:
    case Opcode::suld:
    case Opcode::suq:
    case Opcode::sured:
    case Opcode::sust:
    case Opcode::tensormap:
    case Opcode::tex:
    case Opcode::tld4:
    case Opcode::txq:
    case Opcode::vote:
    case Opcode::wgmma:
    case Opcode::wmma:
      return false;
    default:
      return true;
  }
}

// Returns whether the instruction is the last one of a block in which ptxas contracts. Measured with
// ptxas 13.0 on the forms of tests/mock/ptx/instructions, each between a product and a sum: also an
// instruction that ptxas expands to code with branches ends a block.
bool ends_block(const Instruction &one, const Mnemonic &name) {
  const Type type = name.type();
  switch (one.opcode) {
    case Opcode::bra:
    case Opcode::brkpt:
    case Opcode::brx:
    case Opcode::call:
    case Opcode::exit:
    case Opcode::membar:
    case Opcode::pmevent:
    case Opcode::ret:
    case Opcode::setmaxnreg:
    case Opcode::trap:
      return true;
    case Opcode::fence:
      return name.has(Modifier::sc) || name.has(Modifier::acq_rel);
    case Opcode::bfind:
      return type == Type::u64 || type == Type::s64;
    case Opcode::div:
    case Opcode::rem:
      if (type != Type::f32 && type != Type::f64) return type != Type::u32;
      [[fallthrough]];
    case Opcode::rcp:
    case Opcode::sqrt:
      return !name.has(Modifier::approx) && !name.has(Modifier::full);
    case Opcode::rsqrt:
      return type == Type::f64 && !name.has(Modifier::ftz);
    case Opcode::mma:
      return name.has(Modifier::m8n8k4) && type != Type::f64;
    default:
      return one.guard != no_index && !is_predicable(one.opcode);
  }
}

struct Product {
  std::uint32_t at = 0;
  std::vector<std::uint32_t> sums;  // its uses
  bool is_open = true;              // may be contracted
  bool has_new_factors = false;     // an instruction before a sum writes one of its factors
};

class Contractor {
 public:
  Contractor(const Module &module, const Function &function, Literals &literals)
      : module_(module), body_(function.body), literals_(literals), result_(body_.instructions.size()) {}

  std::vector<Contraction> run() {
    const auto multiplies = [this](const Instruction &one) { return this->multiplies(one); };
    if (module_.target.debug ||
        std::none_of(body_.instructions.begin(), body_.instructions.end(), multiplies))
      return {};
    terms_.assign(result_.size(), {});
    find_leaders();
    find_exposed();
    for (std::size_t begin = 0; begin < result_.size();) {
      std::size_t end = begin + 1;
      while (end < result_.size() && !leader_[end]) ++end;
      contract_block(begin, end);
      begin = end;
    }
    return std::move(result_);
  }

 private:
  static constexpr std::uint32_t none = no_index;
  // A product, of the block, in a register or an operand.
  struct Term {
    std::uint32_t product = none;
    bool is_negated = false;
  };

  const Mnemonic &mnemonic(const Instruction &one) const { return module_.mnemonics[one.mnemonic]; }
  const Operand &operand(const Instruction &one, std::size_t index) const {
    return body_.operands[one.first_operand + index];
  }
  bool rounds_implicitly(const Instruction &one) const {
    const Mnemonic &name = mnemonic(one);
    for (const Modifier rounding : {Modifier::rn, Modifier::rz, Modifier::rm, Modifier::rp})
      if (name.has(rounding)) return false;
    return name.types.size() == 1 && is_float(name.type()) && one.operand_count == 3 &&
           operand(one, 0).kind == OperandKind::reg;
  }
  // An approximate quotient is the product of a dividend and a reciprocal.
  bool multiplies(const Instruction &one) const {
    const Mnemonic &name = mnemonic(one);
    const bool is_quotient = one.opcode == Opcode::div && name.type() == Type::f32 &&
                             (name.has(Modifier::approx) || name.has(Modifier::full));
    return (one.opcode == Opcode::mul || is_quotient) && one.guard == no_index && rounds_implicitly(one) &&
           !name.has(Modifier::sat);
  }
  bool is_constant(const Operand &one) { return literals_.of(one, true).has_value(); }
  bool is_product(const Instruction &one) {
    return multiplies(one) && !unchanged_by(one) &&
           !(mnemonic(one).type() == Type::f32 && is_constant(operand(one, 1)) &&
             is_constant(operand(one, 2)));
  }
  // Returns the operand whose value, or whose negated value, is the result of the instruction; 0: none.
  std::uint8_t unchanged_by(const Instruction &one) {
    const Mnemonic &name = mnemonic(one);
    if (one.guard != no_index || one.operand_count < 2 || name.types.size() != 1) return 0;
    if (operand(one, 0).kind != OperandKind::reg) return 0;
    if (one.opcode == Opcode::mov && one.operand_count == 2) return 1;
    if (one.opcode == Opcode::neg && is_float(name.type()) && name.type() != Type::bf16x2) return 1;
    const bool is_quotient =
        one.opcode == Opcode::div && (name.has(Modifier::approx) || name.has(Modifier::full));
    const bool has_units = name.type() == Type::f32 || name.type() == Type::f64;
    if ((one.opcode != Opcode::mul && !is_quotient) || !has_units || name.has(Modifier::sat)) return 0;
    for (const Modifier rounding : {Modifier::rz, Modifier::rm, Modifier::rp})
      if (name.has(rounding)) return 0;
    if (unit(operand(one, 2), name.type()) != 0) return 1;
    return !is_quotient && unit(operand(one, 1), name.type()) != 0 ? 2 : 0;
  }
  // Returns a factor that is 1 or -1, else 0.
  int unit(const Operand &one, Type type) {
    if (type == Type::f64 && one.kind != OperandKind::f64) return 0;
    const double value = type == Type::f64 ? std::bit_cast<double>(one.value)
                                           : std::bit_cast<float>(literals_.of(one, true).value_or(0));
    return value == 1 ? 1 : value == -1 ? -1 : 0;
  }
  bool negates(const Instruction &one, std::uint8_t unchanged) {
    if (one.opcode == Opcode::mov) return false;
    return one.opcode == Opcode::neg || unit(operand(one, 3u - unchanged), mnemonic(one).type()) < 0;
  }
  // Returns the product that the result of an instruction is a copy of.
  Term copied(const Instruction &one) {
    const std::uint8_t index = unchanged_by(one);
    if (index == 0 || operand(one, index).kind != OperandKind::reg) return {};
    Term made = holder_[operand(one, index).index];
    if (made.product == none) return {};
    const Mnemonic &ours = mnemonic(one), &theirs = mnemonic(body_.instructions[products_[made.product].at]);
    if (ours.has(Modifier::ftz) && !theirs.has(Modifier::ftz)) return {};
    if (one.opcode != Opcode::mov && ours.type() != theirs.type()) return {};
    made.is_negated = made.is_negated != negates(one, index);
    return made;
  }
  bool is_sum_of(const Instruction &sum, const Instruction &product) const {
    const Mnemonic &ours = mnemonic(sum), &theirs = mnemonic(product);
    return (sum.opcode == Opcode::add || sum.opcode == Opcode::sub) && rounds_implicitly(sum) &&
           ours.type() == theirs.type() && ours.has(Modifier::ftz) == theirs.has(Modifier::ftz);
  }

  template <class F>
  void each_read(const Instruction &one, F &&visit) const {
    for (std::size_t i = 0; i < one.operand_count; ++i)
      if (i != 0 || !is_written(operand(one, 0)) || one.opcode == Opcode::wgmma)
        each_register(body_, operand(one, i), visit);
  }
  void find_leaders() {
    leader_.assign(result_.size() + 1, false);
    mark_branch_targets(body_, leader_);
    for (std::size_t i = 0; i < result_.size(); ++i) {
      const Instruction &one = body_.instructions[i];
      if (ends_block(one, mnemonic(one))) leader_[i + 1] = true;
    }
  }

  // Finds the registers that a block reads before it writes them.
  void find_exposed() {
    exposed_.assign(body_.registers.size(), false);
    std::vector<std::size_t> written(body_.registers.size(),
                                     0);  // the number of the last block that writes it
    std::size_t block = 1;
    for (std::size_t i = 0; i < result_.size(); ++i) {
      if (leader_[i]) ++block;
      const Instruction &one = body_.instructions[i];
      each_read(one, [&](std::uint32_t r) {
        if (written[r] != block) exposed_[r] = true;
      });
      if (one.guard == no_index) each_write(body_, one, [&](std::uint32_t r) { written[r] = block; });
    }
  }

  void contract_block(std::size_t begin, std::size_t end) {
    products_.clear();
    if (holder_.empty()) {
      holder_.assign(body_.registers.size(), {});
      last_write_.assign(body_.registers.size(), none);
    }
    for (std::size_t i = begin; i < end; ++i) note(static_cast<std::uint32_t>(i));
    for (std::size_t i = begin; i < end; ++i)
      each_write(body_, body_.instructions[i], [this](std::uint32_t r) {
        if (holder_[r].product != none && exposed_[r]) products_[holder_[r].product].is_open = false;
        holder_[r] = {};
      });
    for (const bool several : {false, true})
      for (std::size_t i = begin; i < end && !products_.empty(); ++i)
        if (result_[i].product == none) contract(static_cast<std::uint32_t>(i), several);
  }

  // Notes the uses of products by an instruction, and its own product.
  void note(std::uint32_t i) {
    const Instruction &one = body_.instructions[i];
    const Term copy = copied(one);
    each_read(one, [&](std::uint32_t r) {
      if (holder_[r].product == none || copy.product != none) return;
      Product &product = products_[holder_[r].product];
      const bool is_second = !product.sums.empty() && product.sums.back() == i;
      if (is_second || !is_sum_of(one, body_.instructions[product.at])) product.is_open = false;
      product.has_new_factors |= has_new_factors(product);
      product.sums.push_back(i);
    });
    for (std::size_t k = 1; k < 3 && k < one.operand_count; ++k)
      if (operand(one, k).kind == OperandKind::reg) terms_[i][k - 1] = holder_[operand(one, k).index];
    each_write(body_, one, [&](std::uint32_t r) {
      if (holder_[r].product != none && one.guard != no_index) products_[holder_[r].product].is_open = false;
      holder_[r] = copy;
      last_write_[r] = i;
    });
    if (!is_product(one)) return;
    holder_[operand(one, 0).index].product = static_cast<std::uint32_t>(products_.size());
    products_.push_back({.at = i, .sums = {}, .is_open = true});
  }

  // Returns whether an instruction after the multiplication has written one of its operands.
  bool has_new_factors(const Product &product) const {
    const Instruction &one = body_.instructions[product.at];
    for (std::size_t k = 1; k < 3; ++k)
      if (const Operand &factor = operand(one, k); factor.kind == OperandKind::reg)
        if (const std::uint32_t at = last_write_[factor.index]; at != none && at >= product.at) return true;
    return false;
  }

  void contract(std::uint32_t i, bool several) {
    const Instruction &one = body_.instructions[i];
    if (one.opcode != Opcode::add && one.opcode != Opcode::sub) return;
    for (std::uint8_t k = 1; k < 3; ++k) {
      const std::uint32_t term = terms_[i][k - 1].product, other = terms_[i][2 - k].product;
      if (term == none || !products_[term].is_open || (!several && products_[term].sums.size() != 1))
        continue;
      result_[i].product = products_[term].at;
      result_[i].operand = k;
      result_[i].is_negated = terms_[i][k - 1].is_negated;
      result_[products_[term].at].is_factored = true;
      result_[products_[term].at].is_kept = products_[term].has_new_factors;
      if (other != none) products_[other].is_open = false;
      return;
    }
  }

  const Module &module_;
  const Body &body_;
  Literals &literals_;
  std::vector<Contraction> result_;
  std::vector<bool> leader_, exposed_;
  std::vector<Product> products_;           // of the block
  std::vector<std::array<Term, 2>> terms_;  // by instruction: the products that are its operands 1 and 2
  std::vector<Term> holder_;                // by register
  std::vector<std::uint32_t> last_write_;   // by register: an instruction of the function
};

}  // namespace

std::vector<Contraction> contractions(const Module &module, const Function &function, Literals &literals) {
  return Contractor(module, function, literals).run();
}

}  // namespace cushim::ptx::execute
