// SPDX-License-Identifier: Apache-2.0
// A PTX module as data: declarations with their layout, and function bodies as typed instructions in which
// each register, label and symbol is a number. Grammar and rules: PTX ISA 9.0.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cushim/ptx/vocabulary.hpp>

namespace cushim::ptx {

// A position in the text. Both count from 1, the column in bytes.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

inline constexpr std::uint32_t no_index = std::numeric_limits<std::uint32_t>::max();

// The visibility of a name of module scope: .extern, .visible, .weak, .common, or this module only.
enum class Linkage : std::uint8_t { internal, external, visible, weak, common };

// The kind of entity that a name refers to. The index of a SymbolReference counts within the container named
// here.
enum class SymbolKind : std::uint8_t {
  none,
  variable,   // Module::variables
  function,   // Module::functions
  parameter,  // Function::parameters of the function that the body belongs to
  result,     // Function::results of the function that the body belongs to
  local       // Body::locals
};

// The variable or function that a name refers to.
struct SymbolReference {
  SymbolKind kind = SymbolKind::none;
  std::uint32_t index = no_index;
};

// An address in an initializer, which is known when the module is loaded.
struct Relocation {
  std::uint64_t offset = 0;  // in bytes, from the start of the variable
  SymbolReference symbol;
  std::string_view name;
  std::int64_t addend = 0;
  std::uint8_t size = 8;   // bytes to write: of the variable's element type, or 1 with a mask
  std::uint8_t shift = 0;  // of the address, in bits, before its low `size` bytes are written: mask operators
  bool generic = false;    // generic(symbol): the address in the generic space, else in the symbol's space
};

// A field of a texture, sampler or surface reference's initializer: `channel_order = 4`.
struct ReferenceField {
  std::string_view name;
  std::string_view text;   // the value as written, an identifier or an integer
  std::int64_t value = 0;  // if the value is an integer
};

// A variable or a parameter in memory.
struct Variable {
  std::string_view name;
  StateSpace space = StateSpace::none;
  Type type = Type::none;
  std::uint8_t vector = 1;  // elements of .v2 and .v4
  Linkage linkage = Linkage::internal;
  bool managed = false;  // .attribute(.managed)
  bool unified = false;  // .attribute(.unified(...))
  bool unsized = false;  // the first dimension is empty: `extern .shared .b8 s[]`, the last parameter of a
                         // variadic function
  std::uint32_t alignment = 1;            // in bytes; the type's size unless the declaration names one
  std::vector<std::uint64_t> dimensions;  // empty for a scalar; an empty dimension is 0
  std::uint64_t size = 0;                 // in bytes; 0 if unsized
  // Parameters: from the start of the parameters. Locals: from the start of all locals of their space in this
  // body, except .param ones, each of which has offset 0. Shared variables at module scope: 0.
  std::uint64_t offset = 0;
  std::vector<std::uint8_t> initializer;  // the leading bytes, the rest is 0
  std::vector<Relocation> relocations;
  std::vector<ReferenceField> fields;  // of a texref, samplerref or surfref
  // Parameters of entries: .ptr, the space that the pointer points to (none: generic) and the alignment of
  // its target.
  bool pointer = false;
  StateSpace pointer_space = StateSpace::none;
  std::uint32_t pointer_alignment = 0;
  Position position;
};

// A declared register.
struct Register {
  std::string_view name;
  Type type = Type::none;
  std::uint8_t vector = 1;  // a vector register's components have the numbers that follow its own
};

// The kind of an operand, and the fields of Operand that hold it.
enum class OperandKind : std::uint8_t {
  sink,  // _
  reg,   // index: register number; with `component`, the register of the component itself. With count > 0 a
         // selector of a video instruction: `component` is 'b' or 'h', value its digits, four bits each, the
         // last digit lowest (.b7531: 0x7531)
  special,  // index: SpecialRegister; component
  integer,  // value
  f32,      // value: the bits of 0f........
  f64,     // value: the bits of 0d................ or of a decimal fraction, which converts to the type it is
           // used with
  symbol,  // symbol_kind and index: the address, plus value
  address,  // [base + value]: base is a register (index), a symbol (symbol_kind, index), or none (absolute)
  element,  // array[r + c]: operands index (an address) and index + 1 (the register); value: the size of an
            // element
  bracket,  // [a, b, ...]: operands index .. index + count - 1
  vector,   // {a, b, ...}: operands index .. index + count - 1
  list,     // (a, b, ...) of a call: operands index .. index + count - 1
  pair,     // d|p: operands index and index + 1
  label,    // index: of an instruction; Body::instructions.size() for one at the end
  branch_targets,  // index: in Body::branch_targets
  call_targets,    // index: in Body::call_targets
  prototype        // index: in Body::prototypes
};

// The base of an address operand.
enum class Base : std::uint8_t { none, reg, symbol };

// An operand of an instruction.
struct Operand {
  OperandKind kind = OperandKind::sink;
  bool negated = false;                       // !p, and -r where an instruction allows it
  Base base = Base::none;                     // of address
  SymbolKind symbol_kind = SymbolKind::none;  // of symbol and address
  std::uint8_t component = 0;                 // special, reg: 0..3 for .x .y .z .w (.r .g .b .a)
  bool has_component = false;                 // special, reg
  bool hexadecimal = false;                   // integer: not written in decimal
  bool is_unsigned = false;  // integer: ends in U, or exceeds the largest signed 64-bit number
  std::uint32_t index = 0;
  std::uint32_t count = 0;
  std::int64_t value = 0;  // integer; bits of f32, f64; offset in bytes of symbol and address
};

// One spelling of opcode and modifiers, shared by all instructions with that spelling.
struct Mnemonic {
  std::string_view text;     // as written: mad.lo.s32
  std::string_view ordered;  // with the modifiers in the order of the instruction table
  Opcode opcode = Opcode::count;
  std::vector<Modifier> modifiers;  // in the order written
  std::vector<Type> types;          // the modifiers that are types, in the order written

  // Returns whether the instruction has this modifier.
  bool has(Modifier modifier) const {
    for (const Modifier one : modifiers)
      if (one == modifier) return true;
    return false;
  }
  // Returns the type modifier at this index; Type::none if there are fewer.
  Type type(std::size_t index = 0) const { return index < types.size() ? types[index] : Type::none; }
};

// An instruction. Its operands are first_operand to first_operand + operand_count - 1 of Body::operands.
struct Instruction {
  Opcode opcode = Opcode::count;
  std::uint16_t form = 0;          // the entry of the instruction table that it matches: see forms.hpp
  std::uint32_t mnemonic = 0;      // Module::mnemonics
  std::uint32_t guard = no_index;  // register number of the predicate
  bool guard_negated = false;
  std::uint8_t operand_count = 0;
  std::uint32_t first_operand = 0;    // Body::operands
  std::uint32_t location = no_index;  // Body::locations
  Position position;
};

// .loc: the source line of the instructions that follow it.
struct SourceLocation {
  std::uint32_t file = 0;  // Module::files, by SourceFile::number
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string_view inlined_function;  // label in the debug strings; empty if not inlined
  std::uint64_t inlined_function_offset = 0;
  std::uint32_t inlined_file = 0;  // inlined_at; line 0 if not inlined
  std::uint32_t inlined_line = 0;
  std::uint32_t inlined_column = 0;
};

// .file: a source file that .loc refers to by its number.
struct SourceFile {
  std::uint32_t number = 0;
  std::string_view name;
  std::uint64_t timestamp = 0;
  std::uint64_t size = 0;
};

// A label, and the index of the instruction that follows it.
struct Label {
  std::string_view name;
  std::uint32_t instruction = 0;
};

// .branchtargets: the possible targets of an indirect branch.
struct BranchTargets {
  std::string_view name;
  std::vector<std::uint32_t> instructions;
};

// .calltargets: the possible callees of an indirect call.
struct CallTargets {
  std::string_view name;
  std::vector<std::uint32_t> functions;  // Module::functions
};

// .callprototype: the parameters and results of an indirect call.
struct Prototype {
  std::string_view name;
  std::vector<Variable> results;
  std::vector<Variable> parameters;
  bool no_return = false;
};

// A pragma in a body, which applies from an instruction on.
struct Pragma {
  std::string_view text;
  std::uint32_t instruction = 0;
};

// The body of a function: declarations and instructions.
struct Body {
  std::vector<Register> registers;
  std::vector<Variable> locals;  // .local, .shared, .param, .global, .const variables declared inside
  std::uint64_t local_size = 0;  // of the .local variables, in bytes
  std::uint32_t local_alignment = 1;
  std::uint64_t shared_size = 0;  // of the .shared variables, in bytes
  std::uint32_t shared_alignment = 1;
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;
  std::vector<Label> labels;
  std::vector<BranchTargets> branch_targets;
  std::vector<CallTargets> call_targets;
  std::vector<Prototype> prototypes;
  std::vector<SourceLocation> locations;
  std::vector<Pragma> pragmas;
};

// The x, y and z of a directive.
using Dimensions = std::array<std::uint32_t, 3>;

// Performance directives; absent ones are empty.
struct Performance {
  std::optional<Dimensions> maxntid;
  std::optional<Dimensions> reqntid;
  std::optional<Dimensions> reqnctapercluster;
  std::optional<std::uint32_t> minnctapersm;
  std::optional<std::uint32_t> maxnctapersm;
  std::optional<std::uint32_t> maxnreg;
  std::optional<std::uint32_t> maxclusterrank;
  std::optional<std::uint32_t> abi_preserve;
  std::optional<std::uint32_t> abi_preserve_control;
  bool explicitcluster = false;
  bool blocksareclusters = false;
  bool noreturn = false;
  bool unified = false;
  std::vector<std::string_view> pragmas;
};

// An entry or a device function.
struct Function {
  std::string_view name;
  bool is_entry = false;
  Linkage linkage = Linkage::internal;
  bool has_body = false;
  std::vector<Variable> results;  // .param or .reg
  std::vector<Variable>
      parameters;  // .param or .reg; those of a .reg space are also registers, see parameter_registers
  std::vector<std::uint32_t> result_registers;     // of .reg results: register number each, in the body
  std::vector<std::uint32_t> parameter_registers;  // of .reg parameters
  std::uint64_t parameter_size = 0;                // in bytes, without padding at the end
  std::uint32_t parameter_alignment = 1;
  Performance performance;
  Body body;
  Position position;
};

// .alias: a second name of a function.
struct Alias {
  std::string_view name;
  std::uint32_t function = no_index;  // the aliasee
};

// .target: the architecture that the text was written for.
struct Target {
  std::uint32_t sm = 0;          // 90 of sm_90a
  char suffix = 0;               // 'a', 'f' or 0
  bool unified_textures = true;  // texmode_unified, the default; false: texmode_independent
  bool debug = false;
  bool map_f64_to_f32 = false;
};

// A parsed PTX text.
struct Module {
  std::uint32_t version_major = 0;
  std::uint32_t version_minor = 0;
  Target target;
  std::uint32_t address_size = 32;  // in bits: 32 or 64
  std::vector<Variable> variables;  // of module scope, each name once
  std::vector<Function> functions;  // each name once; a declaration and its definition are one
  std::vector<Alias> aliases;
  std::vector<SourceFile> files;
  std::vector<Mnemonic> mnemonics;
  std::vector<std::string_view> pragmas;
  std::shared_ptr<const std::string> text;  // every string_view above points into it

  // Return null if not found. Linear in the number of functions or variables.
  const Function *find_function(std::string_view name) const;
  const Variable *find_variable(std::string_view name) const;
};

// The severity of a diagnostic.
enum class Severity : std::uint8_t { warning, error, fatal };

// A warning or an error of the parser or the compiler, with its line.
struct Diagnostic {
  Severity severity = Severity::error;
  Position position;
  std::string message;

  // Formats as ptxas does: "ptxas application ptx input, line 12; error   : Unknown symbol 'foo'".
  std::string text() const;
};

// Limits of parse().
struct ParseOptions {
  std::uint64_t largest_variable = std::uint64_t{1} << 32;  // in bytes; a larger one is an error
  std::uint32_t most_errors = 100;                          // parsing ends at this number of errors
};

// The result of parse().
struct ParseResult {
  Module module;  // usable only if ok()
  std::vector<Diagnostic> diagnostics;

  bool ok() const;          // no error, no fatal
  std::string log() const;  // all diagnostics, one per line
};

// Parses `text` up to its end or its first NUL. Throws only std::bad_alloc. Time and memory are linear in the
// size of the text.
ParseResult parse(std::string_view text, const ParseOptions &options = {});

}  // namespace cushim::ptx
