//===- SymbolResolver.h - fills a SymbolTable -------------------*- C++ -*-===//
//
// Looks names up as the Emitter does: inner scopes first, then consts and structs. A called name is the program's
// function, then the prelude's, then an operation; after `@`, in P(...) and for parameters of axes, a name is a mesh
// axis.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/SymbolTable.h"

#include <map>
#include <set>

namespace spmdc {

class SymbolResolver {
public:
  SymbolResolver(const Ast &program, const Ast &prelude, SymbolTable &table)
      : program(program), prelude(prelude), table(table) {}

  void run();

private:
  using Names = std::map<std::string_view, size_t>;

  void declare();
  void declareFunction(const FnDecl &fn);
  size_t declare(SymbolKind kind, const Identifier &name, TextSpan declaration, TextSpan scope,
                 std::optional<size_t> parent = std::nullopt);
  /// Declares a name in the innermost scope, visible from `from` on.
  void bind(SymbolKind kind, const Identifier &name, TextSpan declaration, uint32_t from, std::optional<size_t> parent);
  void bindPattern(const Pattern &pattern, TextSpan declaration, uint32_t from);

  void function(const FnDecl &fn);
  void type(const TypeSyntax &type);
  void sharding(const DimShardingSyntax &sharding);
  void block(const Block &block);
  void resolveBranch(const Block &block);
  void loop(const Identifier *counter, const std::vector<Carry> &carries, const Expr *condition, const Block &body);
  void expr(const Expr &e);
  void exprs(const std::vector<Expr *> &list);
  void call(const CallExpr &e);
  void structLiteral(const StructExpr &e);

  TextSpan placeOf(std::string_view name) const;
  bool use(const Names &names, std::string_view name);
  bool useLocal(std::string_view name);
  void useValue(std::string_view name);
  /// Resolves a parameter without a type as a function.
  bool useFunctionParameter(std::string_view name);
  bool useFunction(std::string_view name);
  /// Resolves names of axes: `a` or `(a, b)`.
  void axes(const Expr &e);
  /// Resolves an argument that is a function's name, or grad(f) of one.
  void functionArgument(const Expr &e);
  /// The function whose parameters a call may name: f in `f(x)` and in `grad(f)(x)`.
  std::string_view calledFunction(const CallExpr &e) const;

  const Ast &program;
  const Ast &prelude;
  SymbolTable &table;
  Names consts, structs, functions, meshAxes;
  std::map<std::string_view, Names> fields, parameters;
  std::set<size_t> untypedParameters;
  struct Scope {
    Names names;
    uint32_t end;
  };
  std::vector<Scope> scopes; ///< Inner ones last.
  std::optional<size_t> currentFunction;
};

} // namespace spmdc
