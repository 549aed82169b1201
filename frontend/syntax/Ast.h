//===- Ast.h - the syntax tree of a program ---------------------*- C++ -*-===//
//
// Plain data. Nodes point to one another and are owned by the Ast, so that a tree of any depth is destroyed without
// recursion. Names are resolved later: an identifier may turn out to be a variable, a const, a mesh axis or a dtype.
//
// Chains of left-associative operators (`a + b + c ...`) are as deep as they are long; a traversal must iterate along
// the left side. All other nodes nest at most `maxNesting` deep, which the parser checks.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/syntax/Diagnostics.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spmdc {

/// A name and its range in the text.
struct Identifier {
  std::string_view text;
  Range range;
};

//===- Types and shardings ------------------------------------------------===//

struct Expr;

/// The text after `@` in a dimension, or one entry of `P(...)`.
struct DimShardingSyntax {
  Range range;
  std::vector<Identifier> axes; ///< Major to minor.
  bool isOpen = true;           ///< `?`, or nothing is written.
  int64_t priority = -1;        ///< `!1`; -1 if none is written.
};

struct DimSyntax {
  Expr *size = nullptr;
  DimShardingSyntax sharding;
};

enum class TypeKind : uint8_t {
  Array, ///< `f32[8@a, 4]`; a scalar has no dimensions.
  Named, ///< A struct: `Params`, `Linear<D, H>`.
  Fixed, ///< `[Block; 4]`.
  Tuple, ///< `(f32[], f32[8])`.
};

struct TypeSyntax {
  TypeKind kind;
  Range range;
  Identifier name;                    ///< The dtype of an array, the name of a struct.
  std::vector<DimSyntax> dims;        ///< Array.
  bool hasBrackets = false;           ///< Array: `f32[]` rather than `f32`.
  std::vector<TypeSyntax *> elements; ///< Tuple, and one for Fixed.
  std::vector<Expr *> sizes;          ///< Named: the generic sizes, `Linear<D, H>`; may be empty.
  Expr *count = nullptr;              ///< Fixed.
};

//===- Expressions --------------------------------------------------------===//

enum class ExprKind : uint8_t {
  Integer,
  Float,
  Bool,
  String,
  Name,
  None,
  Ellipsis,
  Unary,
  Binary,
  Call,
  Index,
  Field,
  Tuple,
  List,
  Slice,
  StructLiteral,
  Type,
  Partition,
  If,
  For,
  While,
};

enum class UnaryOp : uint8_t { Negate, Not };

enum class BinaryOp : uint8_t {
  LogicalOr,
  LogicalAnd,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  BitOr,
  BitXor,
  BitAnd,
  ShiftLeft,
  ShiftRight,
  Add,
  Subtract,
  Multiply,
  Divide,
  Remainder,
  MatMul,
  Power,
};

/// The text of the operator.
std::string_view spelling(BinaryOp op);
std::string_view spelling(UnaryOp op);

struct Expr {
  const ExprKind kind;
  Range range;

  explicit Expr(ExprKind kind, Range range) : kind(kind), range(range) {}
  virtual ~Expr() = default;
};

template <ExprKind K> struct ExprOf : Expr {
  static constexpr ExprKind classKind = K;
  explicit ExprOf(Range range) : Expr(K, range) {}
};

/// The expression as its own class. The kind must be right.
template <typename T> const T &as(const Expr &expr) { return static_cast<const T &>(expr); }
/// The expression as its own class, or null.
template <typename T> const T *dynAs(const Expr &expr) {
  return expr.kind == T::classKind ? static_cast<const T *>(&expr) : nullptr;
}

struct IntegerExpr : ExprOf<ExprKind::Integer> {
  std::optional<int64_t> value; ///< Nullopt if it does not fit, which is reported.
  using ExprOf::ExprOf;
};
struct FloatExpr : ExprOf<ExprKind::Float> {
  double value = 0;
  using ExprOf::ExprOf;
};
struct BoolExpr : ExprOf<ExprKind::Bool> {
  bool value = false;
  using ExprOf::ExprOf;
};
struct StringExpr : ExprOf<ExprKind::String> {
  std::string value;
  using ExprOf::ExprOf;
};
struct NameExpr : ExprOf<ExprKind::Name> {
  std::string_view name;
  using ExprOf::ExprOf;
};
/// `None` in an index.
struct NoneExpr : ExprOf<ExprKind::None> {
  using ExprOf::ExprOf;
};
/// `...` in an index.
struct EllipsisExpr : ExprOf<ExprKind::Ellipsis> {
  using ExprOf::ExprOf;
};
struct UnaryExpr : ExprOf<ExprKind::Unary> {
  UnaryOp op = UnaryOp::Negate;
  Expr *operand = nullptr;
  using ExprOf::ExprOf;
};
struct BinaryExpr : ExprOf<ExprKind::Binary> {
  BinaryOp op = BinaryOp::Add;
  Range opRange;
  Expr *left = nullptr;
  Expr *right = nullptr;
  using ExprOf::ExprOf;
};
struct Argument {
  Identifier name; ///< Empty for a positional argument.
  Expr *value = nullptr;
};
/// `f(x, axis=0)`, also `grad(f)(x)`.
struct CallExpr : ExprOf<ExprKind::Call> {
  Expr *callee = nullptr;
  std::vector<Argument> arguments;
  using ExprOf::ExprOf;
};
/// `x[...]`; the indices are expressions, slices, `None` and `...`.
struct SubscriptExpr : ExprOf<ExprKind::Index> {
  Expr *base = nullptr;
  std::vector<Expr *> indices;
  using ExprOf::ExprOf;
};
/// `x.name`.
struct FieldExpr : ExprOf<ExprKind::Field> {
  Expr *base = nullptr;
  Identifier field;
  using ExprOf::ExprOf;
};
/// `(a, b)`; `(a,)` has one element, `()` none.
struct TupleExpr : ExprOf<ExprKind::Tuple> {
  std::vector<Expr *> elements;
  using ExprOf::ExprOf;
};
struct ListExpr : ExprOf<ExprKind::List> {
  std::vector<Expr *> elements;
  using ExprOf::ExprOf;
};
/// `lo:hi:step` in an index; each may be null.
struct SliceExpr : ExprOf<ExprKind::Slice> {
  Expr *low = nullptr;
  Expr *high = nullptr;
  Expr *step = nullptr;
  using ExprOf::ExprOf;
};
struct StructExpr : ExprOf<ExprKind::StructLiteral> {
  Identifier name;
  std::vector<Argument> fields;
  using ExprOf::ExprOf;
};
/// A type used as a value: `zeros(f32[8@a])`.
struct TypeExpr : ExprOf<ExprKind::Type> {
  TypeSyntax *type = nullptr;
  using ExprOf::ExprOf;
};
/// `P(a, _, (b, c), ?)`.
struct PartitionExpr : ExprOf<ExprKind::Partition> {
  std::vector<DimShardingSyntax> dims;
  using ExprOf::ExprOf;
};

struct Stmt;
/// Statements, followed by a value in a branch of an `if`.
struct Block {
  Range range;
  std::vector<Stmt *> statements;
  Expr *value = nullptr;
  bool isBroken = false; ///< A statement in it has a syntax error.
};

struct IfExpr : ExprOf<ExprKind::If> {
  Expr *condition = nullptr;
  Block thenBlock;
  Block elseBlock; ///< `else if` is a block whose value is an `if`.
  using ExprOf::ExprOf;
};
struct Carry {
  Identifier name;
  Expr *initial = nullptr;
};
/// `for i in lo..hi carry (x = x0) { ... yield x1; }`.
struct ForExpr : ExprOf<ExprKind::For> {
  Identifier variable;
  Expr *low = nullptr;
  Expr *high = nullptr;
  std::vector<Carry> carries;
  Block body;
  using ExprOf::ExprOf;
};
struct WhileExpr : ExprOf<ExprKind::While> {
  Expr *condition = nullptr;
  std::vector<Carry> carries;
  Block body;
  using ExprOf::ExprOf;
};

//===- Statements ---------------------------------------------------------===//

/// `p` or `(p, (q, r))`.
struct Pattern {
  Range range;
  std::string_view name; ///< Empty for a tuple.
  std::vector<Pattern> elements;
};

enum class StmtKind : uint8_t { Let, Return, Yield, Expression };

struct Stmt {
  StmtKind kind;
  Range range;
  Pattern pattern;            ///< Let.
  TypeSyntax *type = nullptr; ///< Let: the written type, if any.
  Expr *value = nullptr;      ///< Null in a `let` whose value has a syntax error.
};

//===- Declarations -------------------------------------------------------===//

struct MeshAxisSyntax {
  Identifier name;
  Expr *size = nullptr;
};
struct MeshDecl {
  Range range;
  Identifier name;
  std::vector<MeshAxisSyntax> axes;
};
struct ConstDecl {
  Range range;
  Identifier name;
  Expr *value = nullptr;
};
/// `wire = 64MiB`.
struct BudgetItem {
  Identifier name;
  Range value; ///< An integer or a number of bytes.
};
struct FieldDecl {
  Identifier name;
  TypeSyntax *type = nullptr;
};
struct StructDecl {
  Range range;
  Identifier name;
  std::vector<Identifier> generics;
  std::vector<FieldDecl> fields;
};
struct ParamDecl {
  Identifier name;
  TypeSyntax *type = nullptr;   ///< Null: any dtype, rank or struct.
  Expr *defaultValue = nullptr; ///< May be null.
};
struct FnDecl {
  Range range;
  Identifier name;
  std::vector<Identifier> generics;
  std::vector<ParamDecl> params;
  TypeSyntax *result = nullptr; ///< Null: inferred.
  Block body;
};

/// One parsed file.
struct Ast {
  const Source *source = nullptr;
  /// Names of declarations with syntax errors; uses of them are not reported again.
  std::vector<std::string_view> brokenNames;
  bool hasBrokenMesh = false;
  std::vector<MeshDecl> meshes; ///< More than one is an error, reported by the parser.
  std::vector<ConstDecl> consts;
  std::vector<BudgetItem> budget; ///< Items of all `budget` lines.
  std::vector<StructDecl> structs;
  std::vector<FnDecl> functions;

  /// All nodes, in the order of their creation.
  const std::vector<std::unique_ptr<Expr>> &getExpressions() const { return expressions; }
  const std::vector<std::unique_ptr<TypeSyntax>> &getTypes() const { return types; }

  template <typename T> T *make(Range range) {
    auto node = std::make_unique<T>(range);
    T *result = node.get();
    expressions.push_back(std::move(node));
    return result;
  }
  TypeSyntax *makeType(TypeKind kind, Range range) {
    types.push_back(std::make_unique<TypeSyntax>());
    types.back()->kind = kind;
    types.back()->range = range;
    return types.back().get();
  }
  Stmt *makeStmt(StmtKind kind, Range range) {
    statements.push_back(std::make_unique<Stmt>());
    statements.back()->kind = kind;
    statements.back()->range = range;
    return statements.back().get();
  }

private:
  std::vector<std::unique_ptr<Expr>> expressions;
  std::vector<std::unique_ptr<TypeSyntax>> types;
  std::vector<std::unique_ptr<Stmt>> statements;
};

/// The function of that name, or null.
inline const FnDecl *findFunction(const Ast &ast, std::string_view name) {
  for (const FnDecl &fn : ast.functions)
    if (fn.name.text == name)
      return &fn;
  return nullptr;
}

} // namespace spmdc
