//===- EmitExprs.cpp - statements and expressions -------------------------===//

#include "frontend/builtins/Builtins.h"
#include "frontend/editor/ProgramIndex.h"
#include "frontend/emit/Emitter.h"
#include "frontend/emit/Leaves.h"
#include "frontend/sema/Suggest.h"

#include "frontend/syntax/Parser.h"
#include "ir/spmd/ValueNames.h"
#include "llvm/ADT/STLExtras.h"

namespace spmdc {

void Emitter::note(Range where, const Value &value) {
  if (!options.index || where.source != program.source)
    return;
  std::vector<uint32_t> calls;
  for (const Frame *at = frame; at; at = at->caller)
    if (at->callRange.source == program.source)
      calls.push_back(at->callRange.begin);
  options.index->note(spanOf(where), std::move(calls), value);
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

/// The returned value; poisoned if an error was reported, None for a function that returns nothing.
Value Emitter::functionBody(const FnDecl &fn) {
  Value result;
  result.kind = fn.body.isBroken ? ValueKind::Poison : ValueKind::None;
  result.range = fn.name.range;
  for (const Stmt *stmt : fn.body.statements) {
    switch (stmt->kind) {
    case StmtKind::Let:
      letStmt(*stmt);
      break;
    case StmtKind::Return:
      result = expr(*stmt->value);
      break;
    case StmtKind::Yield:
      expr(*stmt->value);
      break;
    case StmtKind::Expression:
      expressionStmt(*stmt);
      break;
    }
  }
  if (result.isPoison())
    throw Poisoned();
  return result;
}

/// `s` or `(m, v)`: the pattern that names the value of a loop by its carries.
static std::string carryNames(const std::vector<Carry> &carries) {
  std::string names;
  for (const Carry &carry : carries)
    names += (names.empty() ? "" : ", ") + std::string(carry.name.text);
  return carries.size() == 1 ? names : "(" + names + ")";
}

/// The statement that keeps the value of an expression: `let s = for ...`.
static std::string keptAs(const Expr &e) {
  if (const auto *loop = dynAs<ForExpr>(e))
    return "let " + carryNames(loop->carries) + " = for ...";
  if (const auto *loop = dynAs<WhileExpr>(e))
    return "let " + carryNames(loop->carries) + " = while ...";
  if (e.kind == ExprKind::If)
    return "let y = if ...";
  const auto *call = dynAs<CallExpr>(e);
  const auto *callee = call ? dynAs<NameExpr>(*call->callee) : nullptr;
  if (!callee)
    return "let y = ...";
  const auto *first = call->arguments.empty() ? nullptr : dynAs<NameExpr>(*call->arguments.front().value);
  std::string argument = first ? std::string(first->name) : "";
  return "let " + (first ? argument : "y") + " = " + std::string(callee->name) + "(" + (first ? argument + ", " : "") +
         "...)";
}

/// A statement for its effect: a print, or a call of a function that prints. The value is discarded, usually by
/// mistake: no statement changes the value of a name.
void Emitter::expressionStmt(const Stmt &stmt) {
  const Expr &e = *stmt.value;
  Value value = expr(e);
  if (value.isPoison() || value.kind == ValueKind::None)
    return;
  std::string what = e.kind == ExprKind::For     ? "this 'for'"
                     : e.kind == ExprKind::While ? "this 'while'"
                     : e.kind == ExprKind::If    ? "this 'if'"
                     : e.kind == ExprKind::Call  ? "this call"
                                                 : "this expression";
  warn(e.range, "the value of " + what + " is discarded, and no name changes; write '" + keptAs(e) +
                    "' to keep it ('let _ = ...' to drop it)");
}

void Emitter::letStmt(const Stmt &stmt) {
  try {
    if (!stmt.value)
      throw Poisoned();
    Value value = need(*stmt.value);
    currentRange = stmt.value->range;
    if (stmt.type)
      value = declaredAs(value, *stmt.type, "the value");
    bindPattern(stmt.pattern, value);
  } catch (const Poisoned &) {
    poisonPattern(stmt.pattern);
  }
}

void Emitter::poisonPattern(const Pattern &pattern) {
  if (!pattern.name.empty())
    frame->bind(pattern.name, Value());
  for (const Pattern &element : pattern.elements)
    poisonPattern(element);
}

void Emitter::bindPattern(const Pattern &pattern, const Value &value) {
  if (!pattern.name.empty()) {
    if (value.kind == ValueKind::None)
      fail(value.range, "there is no value to name '" + std::string(pattern.name) + "'");
    nameValue(value, pattern);
    frame->bind(pattern.name, value).origin = pattern.range;
    note(pattern.range, value);
    return;
  }
  if (value.isKey() && value.rank() > 0) {
    Value rows;
    rows.kind = ValueKind::Tuple;
    rows.range = value.range;
    for (int64_t i = 0; i < value.shape()[0]; ++i)
      rows.elements.push_back(keyRow(value, i));
    return bindPattern(pattern, rows);
  }
  if (!value.isSequence())
    fail(pattern.range, "a tuple of names requires a tuple, not " + value.describe());
  if (value.elements.size() != pattern.elements.size())
    fail(pattern.range,
         std::to_string(pattern.elements.size()) + " names for a tuple of " + std::to_string(value.elements.size()));
  for (auto [part, element] : llvm::zip(pattern.elements, value.elements))
    bindPattern(part, element);
}

/// Names the arrays of the value: `p`, or the fields `p.w`.
void Emitter::nameValue(const Value &value, const Pattern &pattern) {
  if (frame && frame->isPrelude)
    return;
  if (!isTree(value))
    return nameLeaf(value, llvm::StringRef(pattern.name), pattern.range);
  std::vector<Value> leaves = getLeaves(value);
  std::vector<std::string> names = leafNames(value, llvm::StringRef(pattern.name));
  for (auto [leaf, name] : llvm::zip(leaves, names))
    nameLeaf(leaf, name, pattern.range);
}

/// Adds the name to the location of the operation that defines the value, after the names that it has.
void Emitter::nameLeaf(const Value &value, llvm::StringRef name, Range place) {
  if (value.isArray())
    addValueName(value.array, {.name = name, .place = locAt(place)});
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

Value Emitter::expr(const Expr &e) {
  constexpr unsigned maxDepth = 20000; // Well below the stack size of the front end's thread.
  Range saved = currentRange;
  currentRange = e.range;
  ++depth;
  Value value;
  try {
    if (depth > maxDepth)
      fail(e.range, "calls and expressions nest deeper than 20000 levels");
    value = evaluate(e);
    note(e.range, value);
  } catch (const Poisoned &) {
    value = Value();
  }
  --depth;
  currentRange = saved;
  return value;
}

static Value sequence(ValueKind kind, Range range, std::vector<Value> elements) {
  Value value;
  value.kind = llvm::any_of(elements, [](const Value &v) { return v.isPoison(); }) ? ValueKind::Poison : kind;
  value.range = range;
  value.elements = std::move(elements);
  return value;
}

Value Emitter::evaluate(const Expr &e) {
  auto all = [&](const std::vector<Expr *> &parts) {
    std::vector<Value> values;
    for (const Expr *part : parts)
      values.push_back(expr(*part));
    return values;
  };
  bool isCompileTime = e.kind != ExprKind::Field && e.kind != ExprKind::Index && e.kind != ExprKind::If &&
                       e.kind != ExprKind::For && e.kind != ExprKind::While;
  if ((!frame || !frame->fn) && !isCompileTime)
    fail(e.range, "outside of functions there are only numbers and arithmetic on them");
  switch (e.kind) {
  case ExprKind::Integer:
    if (std::optional<int64_t> value = as<IntegerExpr>(e).value)
      return Value::ofConstant(Constant::ofInt(*value), e.range);
    throw Poisoned();
  case ExprKind::Float:
    return Value::ofConstant(Constant::ofFloat(as<FloatExpr>(e).value), e.range);
  case ExprKind::Bool:
    return Value::ofConstant(Constant::ofBool(as<BoolExpr>(e).value), e.range);
  case ExprKind::String: {
    Value value;
    value.kind = ValueKind::String;
    value.range = e.range;
    value.string = as<StringExpr>(e).value;
    return value;
  }
  case ExprKind::Name:
    return name(as<NameExpr>(e));
  case ExprKind::Unary: {
    Value operand = need(*as<UnaryExpr>(e).operand);
    return unary(as<UnaryExpr>(e).op, operand, e.range);
  }
  case ExprKind::Binary:
    return binaryChain(e);
  case ExprKind::Call:
    return call(as<CallExpr>(e));
  case ExprKind::Index:
    return index(as<SubscriptExpr>(e));
  case ExprKind::Field:
    return field(as<FieldExpr>(e));
  case ExprKind::Tuple:
    return sequence(ValueKind::Tuple, e.range, all(as<TupleExpr>(e).elements));
  case ExprKind::List:
    return sequence(ValueKind::List, e.range, all(as<ListExpr>(e).elements));
  case ExprKind::Type:
    return typeTree(*as<TypeExpr>(e).type);
  case ExprKind::Partition: {
    Value value;
    value.kind = ValueKind::Partition;
    value.range = e.range;
    for (const DimShardingSyntax &dim : as<PartitionExpr>(e).dims)
      value.partition.push_back(dimSharding(dim));
    return value;
  }
  case ExprKind::If:
    return ifExpr(as<IfExpr>(e));
  case ExprKind::For:
    return forExpr(as<ForExpr>(e));
  case ExprKind::While:
    return whileExpr(as<WhileExpr>(e));
  case ExprKind::StructLiteral:
    return structLiteral(as<StructExpr>(e));
  case ExprKind::None:
  case ExprKind::Ellipsis:
  case ExprKind::Slice:
    fail(e.range, "this is only allowed in an index");
  }
  llvm_unreachable("unknown expression");
}

/// Iterates along the left side: recursion over a long chain would overflow the stack.
Value Emitter::binaryChain(const Expr &chain) {
  std::vector<const BinaryExpr *> spine;
  const Expr *left = &chain;
  while (const auto *binary = dynAs<BinaryExpr>(*left)) {
    spine.push_back(binary);
    left = binary->left;
  }
  Value value = expr(*left);
  for (const BinaryExpr *binary : llvm::reverse(spine)) {
    Value right = expr(*binary->right);
    if (value.isPoison() || right.isPoison()) {
      value = Value();
      continue;
    }
    currentRange = binary->range;
    try {
      checkSize(binary->range);
      value = this->binary(binary->op, value, right, binary->range);
      note(binary->range, value);
    } catch (const Poisoned &) {
      value = Value();
    }
  }
  return value;
}

Value Emitter::field(const FieldExpr &e) {
  Value base = need(*e.base);
  if (base.isStruct()) {
    for (auto [field, value] : llvm::zip(base.structDecl->fields, base.elements))
      if (field.name.text == e.field.text) {
        Value result = value;
        result.range = result.origin = e.range;
        if (options.index && e.range.source == program.source)
          options.index->noteField(spanOf(e.field.range), spanOf(field.name.range));
        return result;
      }
    reportNoField(*base.structDecl, e.field);
    throw Poisoned();
  }
  if (!base.isData())
    fail(e.field.range, base.describe() + " has no field '" + std::string(e.field.text) + "'" + takeApart(base));
  if (e.field.text == "T") {
    llvm::SmallVector<int64_t> perm;
    for (int64_t i = base.rank() - 1; i >= 0; --i)
      perm.push_back(i);
    // The dimension of key words stays last.
    if (base.isKey())
      perm.push_back(base.rank());
    return Value::ofSameKind(base, transpose(elements(base), perm), base.dtypeClass().isWeak, e.range);
  }
  if (e.field.text == "ndim")
    return Value::ofConstant(Constant::ofInt(base.rank()), e.range);
  if (e.field.text == "shape") {
    std::vector<Value> sizes;
    for (int64_t size : base.shape())
      sizes.push_back(Value::ofConstant(Constant::ofInt(size), e.range));
    return sequence(ValueKind::Tuple, e.range, std::move(sizes));
  }
  std::string hint = e.field.text == "at" ? "; scatter_add(x, i, v) and update(x, v, start=[..]) return a changed x"
                                          : "; it has T, shape and ndim";
  fail(e.field.range, "an array has no field '" + std::string(e.field.text) + "'" + hint);
}

} // namespace spmdc
