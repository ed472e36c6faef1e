// SPDX-License-Identifier: Apache-2.0
// Decodes the instructions of one function into operations. Each decode_*.cpp has the instructions of one
// class.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "execute/contraction.hpp"
#include "execute/convert.hpp"
#include "execute/literals.hpp"
#include "execute/machine.hpp"
#include "execute/matrix.hpp"

namespace cushim::ptx::execute {

// Returns the operations of all keys: those of the best instruction set of this machine, and the scalar ones.
const std::unordered_map<std::string_view, const LaneOperation *> &operations();
// Returns nullptr if there is no operation of this key.
const LaneOperation *find(std::string_view key);

// Thrown for an instruction that the executor does not support. `reason` continues the instruction's text.
struct UnsupportedInstruction {
  std::string reason;
};

// An opcode and its modifiers.
using Words = std::vector<std::string_view>;

Words split(std::string_view text);
// Removes a modifier. Returns false if it is absent.
bool take(Words &words, std::string_view word);
bool has(const Words &words, std::string_view word);
std::string joined(const Words &words);

// Returns the size in bytes of a register of this type.
unsigned width(Type type);
unsigned width_of(std::string_view type);
// Returns the size in bytes of a value of this type in memory.
unsigned bytes_of(std::string_view type);

// Returns the selector of the lanes with the metadata of a sparse product.
std::uint32_t selector_of(const MatrixProduct &product, const Operand &operand);

// Returns the operation of an atomic instruction or a reduction as a number of atomics.hpp.
std::uint32_t atomic_operation(const Words &words);

struct ImageAccess;

// Where control goes after an operation.
enum class Flow : std::uint8_t { next, branch, branch_if, indexed, stop };

struct FunctionDecoder {
  const Module &module;
  const Function &function;
  const SymbolAddresses &addresses;
  Code &code;
  FunctionCode &out;
  const std::unordered_map<std::string_view, std::uint32_t> &module_shared;
  std::vector<Diagnostic> &diagnostics;

  std::vector<std::uint32_t> registers{};
  std::vector<Slot> locals{};
  Literals literals{module, function};
  std::map<std::pair<unsigned, std::uint64_t>, std::uint32_t> constants{};
  std::vector<std::pair<std::uint32_t, std::pair<unsigned, std::uint64_t>>> constant_list{};
  std::uint32_t frame = 0;
  std::uint32_t zero_predicate = 0;
  std::vector<std::uint32_t> first_op{};  // index of the first operation of each instruction
  struct Target {
    std::size_t op;
    std::uint32_t instruction;
  };
  std::vector<Target> targets{};
  struct TableTarget {
    std::size_t op;
    std::vector<std::uint32_t> instructions;
  };
  std::vector<TableTarget> table_targets{};
  std::vector<Flow> flow{};
  std::uint32_t instruction_index = 0;
  const Instruction *instruction = nullptr;
  std::uint8_t next_cache = 0;

  std::uint32_t allocate(unsigned bytes);

  std::uint32_t constant(unsigned bytes, std::uint64_t value);

  const Mnemonic &mnemonic() const { return module.mnemonics[instruction->mnemonic]; }
  const Operand &operand(std::size_t index) const {
    if (index >= instruction->operand_count) throw UnsupportedInstruction{"has too few operands"};
    return function.body.operands[instruction->first_operand + index];
  }
  const Operand &element(const Operand &group, std::size_t index) const {
    return function.body.operands[group.index + index];
  }
  std::size_t count() const { return instruction->operand_count; }

  Op &emit(Handler run, Flow kind = Flow::next) {
    Op op;
    op.run = run;
    op.source = instruction_index;
    out.ops.push_back(op);
    flow.push_back(kind);
    return out.ops.back();
  }

  // Appends the operation of a key.
  Op &emit(std::string_view key, std::uint32_t d, std::uint32_t a = 0, std::uint32_t b = 0,
           std::uint32_t c = 0);
  // Returns the cached range of the next access to memory.
  std::uint8_t cache();

  Type register_type(const Operand &operand) const { return function.body.registers[operand.index].type; }

  // Returns the address of a symbol in its state space, and stores that space in `space`.
  std::uint64_t symbol(const Operand &operand, StateSpace &space, bool &frame_local);
  std::uint64_t global_address(const Variable &variable) const;

  // Returns the bits of an immediate operand for a register of `bytes` bytes.
  std::uint64_t immediate(const Operand &one, unsigned bytes, std::string_view type) const;

  // Returns the frame offset of a source operand in a register of `bytes` bytes per lane.
  std::uint32_t source(const Operand &one, unsigned bytes, std::string_view type = {});
  std::uint32_t narrowed(std::uint32_t at, unsigned from, unsigned to);

  std::uint32_t destination(const Operand &one, unsigned bytes);

  void special(const Operand &one, std::uint32_t d, unsigned bytes);

  // Binds the operands to an operation as its signature says, destination first.
  Op &bind(const LaneOperation &row, std::string_view type);

  // Emit what CompileOptions::counts needs; without it, nothing. The first counts an execution of the
  // instruction, the second the access of an operation, before which it is emitted.
  void count_execution();
  void count_access(CountedAccess access, std::uint32_t address, std::int64_t offset = 0);

  // ---- instructions

  void decode_one();

  // Decodes the video instructions: every v* except vote.
  void decode_video();

  // Decodes comparisons of packed pairs. setp writes both results to d|q; set writes all ones or 1.0 to each
  // half.
  void decode_compare_pairs(bool to_predicates);

  void decode_plain();

  // Decodes an approximation whose operands are constants as the constant that ptxas 13.0 replaces it by: the
  // function's value, rounded to nearest. Returns false for other instructions, and for a NaN.
  bool decode_folded();

  static void normalize_type(Words &words);

  // Decodes a sum that ptxas contracts with a product. Returns false for other instructions.
  bool decode_contracted();
  std::vector<Contraction> contracted{};  // by instruction; empty: none

  // Decodes an approximate division by a literal, or whose quotient is contracted, as the product that ptxas
  // makes of it. Returns false for other instructions.
  bool decode_division();
  // Decodes a reciprocal of a value whose reciprocal is known. Returns false for other instructions.
  bool decode_reciprocal();
  // Returns the reciprocal of a register as ptxas finds it with rcp.approx.ftz and div.approx.ftz, if the
  // block computes the register by rcp.approx.ftz, or by ex2.approx.ftz for one use: the operand of rcp, and
  // ex2 of the negated operand. Else returns no_index.
  std::uint32_t known_reciprocal(const Operand &one);
  // Where a register got its value. Copies and negations of f64 count as defined where their source is.
  struct Definition {
    std::uint32_t at = 0, block = 0;  // an instruction, and the first one of its block
    std::uint32_t writes = 0;         // instructions that write the register
    std::uint32_t reads = 0;          // operands that name the register and are not written
    bool is_guarded = false;
  };
  void prepare_definitions();
  void note_definitions();  // of the instruction
  // Returns a number that is smaller for a value that is defined before.
  std::uint32_t definition_of(const Operand &one) const;
  bool is_defined_before(const Operand &one, const Operand &other) const;
  // For an operand of selp.f32 that is the result of neg.f32 or abs.f32: emits an instruction that changes
  // only the sign bit, and returns its result. Else returns no_index.
  std::uint32_t sign_changed(const Operand &one);
  std::vector<Definition> definitions{};  // by register
  std::vector<bool> begins_block{};       // by instruction
  std::uint32_t block = 0;                // the first instruction of the block

  // Copies the factors of a product for the sums that are contracted with it, if they may be written before.
  void keep_factors();
  std::uint32_t copy(unsigned bytes, std::uint32_t from);
  struct Factors {
    std::uint32_t a = 0, b = 0;  // offsets in the frame
  };
  // The products that are contracted: quotients, and those whose factors are kept. By instruction.
  std::unordered_map<std::uint32_t, Factors> kept{};

  // Decodes arithmetic on pairs of f32 as arithmetic on each half.
  void decode_float_pairs();

  void decode_lop3();

  // Decodes alloca, stacksave and stackrestore.
  void decode_stack();

  void decode_mov();

  // Decodes mov.v2 and mov.v4.
  void decode_vector_mov(std::string_view type);

  // Decodes mov of 8-bit registers, which are 16 bits wide here, to or from one register of `bytes` bytes.
  void decode_bytes(unsigned bytes);

  void decode_setp();

  // Decodes set as a comparison into a predicate and a selection.
  void decode_set();
  // Returns what a set with a guard writes to d in lanes whose guard is false; 0 if it leaves d. ptxas 13.0
  // guards the comparison, whose result is an integer of the width of the sources (`bytes`), but not the
  // conversion of this integer to the type `to`.
  std::uint32_t kept_by_set(std::uint32_t d, std::string_view to, unsigned bytes);

  void decode_cvt();

  // Decodes cvt.pack to elements of a type.
  void decode_pack(std::string_view type);
  const void *keep(const Conversion &conversion);

  void decode_cvta();

  void decode_isspacep();

  struct Address {
    std::uint32_t at = 0;
    unsigned bytes = 8;
    std::int64_t offset = 0;
    StateSpace space = StateSpace::none;  // of the symbol
    const Slot *slot = nullptr;
    bool kernel_parameter = false;  // at a fixed offset
  };

  Address address(const Operand &one);
  Address element_address(const Operand &one);
  // Returns the frame offset of the address as 64 bits, without the constant offset.
  std::uint32_t widened(const Address &);
  // Returns the frame offset of an address operand as 64 bits. Refuses parameters.
  std::uint32_t full_address(const Operand &);

  static StateSpace space_of(const Words &words);

  void decode_memory(bool store);
  struct PartOffset {
    std::uint64_t *list;
    std::size_t index;
  };
  std::vector<PartOffset> part_lists{};  // may name constants, whose offsets are known at the end

  void decode_atomic(bool returns);
  void decode_multimem();

  // Decodes cp, which copies immediately; commit_group, wait_group, wait_all and prefetch need no operation.
  void decode_copy();
  void decode_bulk_copy();
  void decode_tensor_copy();
  void decode_tensor_map();
  void decode_mbarrier();
  void decode_cluster_barrier();
  void decode_cluster_launch_control();
  // Completes `bytes` bytes at the mbarrier that the operand names.
  void complete_bytes(const Operand &mbarrier, unsigned bytes);

  // Decodes tex and tld4; txq and suq; suld, sust and sured.
  void decode_fetch();
  void decode_image_query();
  void decode_surface();
  // Appends an operation on a texture or surface.
  void emit_image(std::string_view key, const Operand &handle, const ImageAccess &access);
  // Stores the coordinates of [handle, coordinates], and returns the handle.
  const Operand &image_coordinates(const Operand &bracket, ImageAccess &access);
  static Operand register_of(const Operand &address);

  static MatrixType matrix_type(std::string_view type);

  static MatrixShape matrix_shape(std::string_view word);

  // Returns the fragment of an operand. `matrix`: a, b, c or d
  FragmentOperand fragment(FragmentLayout, char matrix, const MatrixShape &, const MatrixType &,
                           const Operand &group, bool result);

  // Keeps the data of an operation that contains fragments.
  template <class Data>
  const void *keep_fragments(const Data &data, std::span<const FragmentOperand *const> operands) {
    auto &list = code.words.emplace_back((sizeof data + 7) / 8);
    std::memcpy(list.data(), &data, sizeof data);
    const auto *const begin = reinterpret_cast<const std::byte *>(&data);
    for (const FragmentOperand *const one : operands)
      for (const std::uint32_t &at : one->registers)
        part_lists.push_back(
            {list.data(), static_cast<std::size_t>(reinterpret_cast<const std::byte *>(&at) - begin) / 4});
    return list.data();
  }

  // Returns the elements of a fragment of `registers` registers.
  const Fragment *fragment_elements(FragmentLayout, char matrix, const MatrixShape &, const MatrixType &,
                                    unsigned registers);

  void decode_mma();

  void decode_wgmma();

  void decode_wmma();

  void decode_transpose();

  void decode_matrix_move(bool store);

  void decode_barrier();

  // Operands of the operation: b: the value that each lane contributes; a: the second operand; c: the third;
  // immediate: a second destination; guard: member mask.
  void decode_warp();

  // ---- control flow

  void decode_branch();

  void decode_indexed();

  void decode_return();
  void emit_branch(std::uint32_t target);
  static constexpr std::uint32_t epilogue = ~0u;

  void decode_exit();

  Slot call_slot(const Operand &one, bool result);

  void decode_call();

  bool guard_done = false, own_guard = false;

  static bool is_transfer(Handler run);

  // Applies the guard to the operations from `begin` on. If one of them changes paths, inserts a branch
  // around them.
  void guard(std::size_t begin);

  // ---- the whole function

  void run();

  std::size_t target_op(std::uint32_t target) const;

  // Inserts joins where divergent branches reconverge, and resolves branch targets.
  void connect();

  // Sets Op::length: the number of instructions since the last operation that counts them.
  void count_instructions(std::vector<Op> &ops) const;

  // Moves the constants in front of the registers, so that a frame begins with a copy of them, and shifts the
  // offsets of the registers accordingly.
  void place_constants();
  static Handler effective(const Op &op) { return op.run == execute::guarded ? op.inner : op.run; }
  static bool is_setp(const Op &op);
  static bool is_warp(const Op &op) { return op.run == execute::rendezvous; }
  static bool is_bfi(const Op &op);
};

}  // namespace cushim::ptx::execute
