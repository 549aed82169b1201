//===- SymbolResolver.h - resolves the names of one tree --------*- C++ -*-===//
//
// Walks the tree of the program or of the prelude, and records what each name refers to, in the NameResolution for the
// Emitter and in the SymbolTable for editors. After `@`, in P(...) and for parameters of axes, a name is a mesh axis;
// the Emitter finds axes by name, since `--mesh` may declare others.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/sema/NameResolution.h"
#include "frontend/sema/NameScopes.h"

#include <set>

namespace spmdc {

class SymbolResolver {
public:
  /// `tree` is the program or the prelude.
  SymbolResolver(const Ast &tree, const Ast &prelude, SymbolTable &table, NameResolution &resolution)
      : tree(tree), prelude(prelude), table(table), resolution(resolution), scopes(resolution.locals) {}

  void run();

private:
  using Names = std::map<std::string_view, size_t>;

  void declare();
  void declareParameters(const FnDecl &fn);
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

  /// Resolves the name at this place in the current scope.
  const NameUse &resolve(std::string_view name);
  TextSpan placeOf(std::string_view name) const;
  void addUse(std::string_view name, size_t symbol);
  bool use(const Names &names, std::string_view name);
  void useValue(std::string_view name);
  /// Adds the use of a function, or of a parameter that may be one. False if there is none of that name.
  bool useFunction(std::string_view name);
  void useStruct(std::string_view name);
  /// Resolves names of axes: `a` or `(a, b)`.
  void axes(const Expr &e);
  /// Resolves an argument that is a function's name, or grad(f) of one.
  void functionArgument(const Expr &e);
  /// True for grad, value_and_grad, checkpoint and shard_map, whose argument is a function.
  bool takesFunction(std::string_view name);
  /// The function whose parameters a call may name: f in `f(x)` and in `grad(f)(x)`. Null if it is not a name.
  const NameUse *calledFunction(const CallExpr &e);

  const Ast &tree;
  const Ast &prelude;
  SymbolTable &table;
  NameResolution &resolution;

  // Names of the tree; the first of several declarations.
  std::map<std::string_view, const ConstDecl *> consts;
  std::map<std::string_view, const StructDecl *> structs;
  std::map<std::string_view, const FnDecl *> functions;
  std::set<std::string_view> brokenNames;
  // Their symbols.
  struct FunctionSymbols {
    size_t symbol;
    std::vector<size_t> parameters;
    Names byName; ///< Parameters.
  };
  Names meshAxes;
  std::map<const ConstDecl *, size_t> constSymbols;
  std::map<const StructDecl *, size_t> structSymbols;
  std::map<const FnDecl *, FunctionSymbols> functionSymbols;
  std::map<const StructDecl *, Names> fields;

  NameScopes scopes;
  std::optional<size_t> currentFunction;
};

} // namespace spmdc
