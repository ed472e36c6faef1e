// SPDX-License-Identifier: Apache-2.0
// The parser: one pass over the tokens, one token of look-ahead. Blocks, initializers and vectors use
// explicit stacks; only constant expressions recurse, up to a limit.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cushim/ptx/module.hpp>

#include "constant.hpp"
#include "forms.hpp"
#include "lexer.hpp"
#include "names.hpp"

namespace cushim::ptx {

// The owner of the text that the module's string_views point into.
struct Text {
  std::string source;
  std::vector<std::unique_ptr<std::string>> joined;  // mnemonics whose parts were separated by white space
};

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions &options, ParseResult &result);
  void parse();

 private:
  struct Abort {};  // thrown after a fatal diagnostic

  // Diagnostics.
  void report(Severity severity, Position position, std::string message);
  void error(Position position, std::string message) {
    report(Severity::error, position, std::move(message));
  }
  [[noreturn]] void fatal(Position position, std::string message);
  [[noreturn]] void syntax_error();
  static std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

  // Tokens.
  void advance() { token_ = lexer_.next(); }
  bool accept(char what);
  void expect(char what);
  bool accept_word(std::string_view what);
  std::string_view expect_identifier();
  std::uint64_t expect_unsigned();
  std::uint32_t expect_u32();
  std::string_view expect_string();

  // Constant expressions.
  Constant expression();
  Constant conditional();
  Constant continue_conditional(const Constant &condition);
  Constant continue_expression(const Constant &first);
  Constant continue_binary(Constant left, int weakest);
  Constant binary_expression(int weakest);
  Constant unary_expression();
  Constant primary_expression();
  std::string_view binary_operator() const;

  // Module scope.
  void module_header();
  void version();
  void target();
  void statement();
  void file();
  void section();
  void alias();
  void pragma(std::vector<std::string_view> &into);
  std::optional<Linkage> linkage();
  void function(Linkage linkage, bool is_entry);
  void function_header(Function &function);
  void check_parameter_space(const Variable &one, bool is_of_entry);
  bool performance_directive(Performance &performance);
  Dimensions dimensions();
  std::uint32_t enter_function(Function &&function);
  void check_redeclaration(const Function &old, const Function &now);

  // Declarations.
  struct Qualifiers {
    Variable variable;
    bool has_alignment = false;
  };
  void variables(Linkage linkage);
  Qualifiers qualifiers(Linkage linkage);
  bool qualifier(Qualifiers &made);
  void attribute(Variable &variable);
  void pointer(Variable &variable);
  Variable declarator(const Qualifiers &qualifiers);
  void array_dimensions(Variable &variable);
  void lay_out(Variable &variable);
  void initializer(Variable &variable);
  void reference_initializer(Variable &variable);
  void element(Variable &variable, std::uint64_t at, unsigned size);
  void symbol_element(Variable &variable, std::uint64_t at, unsigned size, std::optional<Constant> mask);
  void store_constant(Variable &variable, std::uint64_t at, unsigned size, const Constant &value);
  void make_room(Variable &variable, std::uint64_t size);
  void enter_variable(Variable &&variable);
  std::vector<Variable> parameter_list();
  void lay_out_parameters(Function &function);
  void bind_parameters(Function &function);

  // Bodies.
  void body();
  void body_statement();
  void body_directive();
  void registers();
  void register_declarator(Type type, std::uint8_t vector);
  std::uint32_t new_register(std::string_view name, Type type, std::uint8_t vector);
  void lay_out_local(Variable &variable);
  void location();
  void label(const Token &name);
  void branch_targets(std::string_view name, NameId id);
  void call_targets(std::string_view name, NameId id);
  void prototype(std::string_view name, NameId id);
  void bind_label(NameId id, LabelTarget target, Position position);
  void open_scope();
  void close_scope();
  void resolve_labels();

  // Instructions.
  void guard();
  void instruction(Token mnemonic);
  bool flushes_by_default(const Mnemonic &) const;
  std::uint32_t mnemonic_of(const Token &token);
  std::string_view join_modifiers(Token token);
  void operands();
  void call_operands();
  Operand operand();
  Operand simple_operand();
  Operand negated_operand();
  Operand name_operand();
  Operand special_operand(SpecialRegister special);
  Operand symbol_operand(const Binding &binding);
  Operand element_operand(Operand array, std::int64_t size);
  const Variable *find_variable(const Binding &binding) const;
  void component(Operand &operand);
  Operand bracket();
  Operand bracket_element();
  Operand group(char close, OperandKind kind);
  Operand constant_operand();
  static Operand of_constant(const Constant &value);
  std::int64_t offset();
  std::uint32_t keep(std::span<const Operand> operands);
  static Operand unresolved(NameId name, Position position);
  Binding find(NameId name);
  void check(Instruction &instruction);
  void check_target(const Instruction &instruction);
  std::string removed(const Instruction &instruction) const;

  Body &current_body() { return result_.module.functions[function_].body; }
  Function &current_function() { return result_.module.functions[function_]; }

  // A use of a name without a declaration so far: a label or an error.
  struct PendingLabel {
    std::uint32_t index;  // in Body::operands, or in the branch_targets table
    std::uint32_t table;  // no_index: the use is an operand
    NameId name;
    Opcode opcode;  // the instruction that uses the label; bra for a branch_targets table
    Position position;
  };
  struct KnownMnemonic {
    bool valid = false;
    bool target_checked = false;
    std::string reason;                // empty if valid
    std::vector<std::uint16_t> forms;  // the forms whose modifiers match
  };

  const ParseOptions &options_;
  ParseResult &result_;
  std::shared_ptr<Text> text_;
  Lexer lexer_;
  Token token_;
  Names names_;
  unsigned nesting_ = 0;  // depth of the current constant expression
  std::size_t errors_ = 0;

  std::uint32_t function_ = no_index;
  std::uint32_t location_ = no_index;
  Opcode opcode_ = Opcode::count;  // of the instruction being parsed
  bool operands_known_ = true;     // no error has been reported for its operands
  std::uint32_t guard_ = no_index;
  bool guard_negated_ = false;
  std::vector<std::size_t> scope_starts_;  // for each open block, its first entry in pending_
  std::vector<PendingLabel> pending_;
  std::vector<Operand> scratch_;  // operands of incomplete groups

  NameTable mnemonics_;
  std::vector<KnownMnemonic> known_;
};

// Sets the size of the static shared memory of each kernel.
void count_shared(Module &module);

}  // namespace cushim::ptx
