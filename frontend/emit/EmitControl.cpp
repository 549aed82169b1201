//===- EmitControl.cpp - loops and branches -------------------------------===//
//
// The body of a loop is emitted for the types that its carries start with. If a carry started as a literal (a weak
// value) and the body yields a stronger type, the carry takes that type and the body is emitted again. Types only grow,
// so this terminates, usually after the second time.
//
// Regions are emitted before their operation, whose result types follow from the yielded values.
//
//===----------------------------------------------------------------------===//

#include "frontend/emit/Emitter.h"
#include "frontend/emit/Leaves.h"
#include "frontend/emit/LoopCarries.h"
#include "frontend/emit/RegionScope.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

//===----------------------------------------------------------------------===//
// Carries
//===----------------------------------------------------------------------===//

LoopCarries Emitter::evaluateCarries(const std::vector<Carry> &carries) {
  LoopCarries result;
  std::map<std::string_view, Range> seen;
  bool isPoisoned = false;
  for (const Carry &carry : carries) {
    std::string quoted = "'" + std::string(carry.name.text) + "'";
    if (auto [first, isNew] = seen.emplace(carry.name.text, carry.name.range); !isNew) {
      report(carry.name.range, "carry " + quoted + " is named twice").note(first->second, "first here");
      isPoisoned = true;
    }
    Value initial = expr(*carry.initial);
    isPoisoned |= initial.isPoison();
    for (auto [leaf, name] : llvm::zip(getLeaves(initial), leafNames(initial, llvm::StringRef(carry.name.text)))) {
      if (!leaf.isPoison() && !leaf.isData()) {
        report(carry.initial->range,
               "a carry must be an array, or a tree of arrays; '" + name + "' is " + leaf.describe());
        isPoisoned = true;
      }
      if (leaf.isData())
        result.leaves.push_back({leaf, name, leaf.dtypeClass()});
    }
    result.initials.push_back(std::move(initial));
  }
  if (isPoisoned)
    throw Poisoned();
  return result;
}

void Emitter::bindCarries(const std::vector<Carry> &names, const LoopCarries &carries,
                          llvm::ArrayRef<mlir::BlockArgument> arguments) {
  std::vector<Value> leaves;
  for (auto [leaf, argument] : llvm::zip(carries.leaves, arguments))
    leaves.push_back(Value::ofSameKind(leaf.initial, argument, leaf.type.isWeak, leaf.initial.range));
  llvm::ArrayRef<Value> left = leaves;
  for (auto [carry, initial] : llvm::zip(names, carries.initials)) {
    size_t count = getLeaves(initial).size();
    Value value = withLeaves(initial, left.take_front(count));
    left = left.drop_front(count);
    value.range = value.origin = carry.name.range;
    note(carry.name.range, value);
    frame->bind(carry.name.text, value);
  }
}

/// Matches one yielded array with its carry: no change, a conversion, another type of the carry, or an error.
bool Emitter::settleCarry(CarriedLeaf &leaf, const Value &yielded, Range where) {
  auto mismatch = [&](const std::string &remedy) {
    report(yielded.range.source ? yielded.range : where, "carry '" + leaf.name + "' is " + describeType(leaf) +
                                                             ", but the body yields " + yielded.describe() + " for it" +
                                                             remedy)
        .note(leaf.initial.range, "'" + leaf.name + "' starts as " + describeType(leaf) + " here");
    throw Poisoned();
  };
  if (!yielded.isData() || yielded.isKey() != leaf.initial.isKey())
    mismatch("");
  if (yielded.shape() != leaf.initial.shape())
    mismatch("; an iteration must not change the shape");
  DTypeClass type = yielded.dtypeClass();
  std::optional<DTypeClass> joined = promote(leaf.type, type);
  if (type.dtype == leaf.type.dtype) {
    bool isSettled = !leaf.type.isWeak || type.isWeak;
    leaf.type.isWeak &= type.isWeak;
    return isSettled;
  }
  if (leaf.type.isWeak && joined && joined->dtype == type.dtype) {
    leaf.type = type;
    return false;
  }
  if (!(type.isWeak && joined && joined->dtype == leaf.type.dtype))
    mismatch("; convert one of them with cast(..., " + std::string(spmd::dtypeName(leaf.type.dtype)) + ")");
  return true;
}

std::string Emitter::describeType(const CarriedLeaf &leaf) {
  return arrayType(leaf.initial.shape(), leaf.type.dtype).str();
}

/// The statements of a loop's body, and its array.yield. False if a carry has got another type: then the body must be
/// emitted again.
bool Emitter::loopBody(const Block &body, const std::vector<Carry> &names, LoopCarries &carries) {
  Value yielded;
  Range where = body.range;
  for (const Stmt *stmt : body.statements) {
    if (stmt->kind == StmtKind::Let) {
      letStmt(*stmt);
      continue;
    }
    if (stmt->kind != StmtKind::Yield) {
      expressionStmt(*stmt);
      continue;
    }
    yielded = expr(*stmt->value);
    where = stmt->value->range;
  }
  if (body.isBroken || yielded.isPoison())
    throw Poisoned();
  currentRange = where;
  std::vector<Value> parts = {yielded};
  if (names.size() != 1) {
    if (yielded.kind != ValueKind::Tuple || yielded.elements.size() != names.size())
      fail(where, "the body yields " +
                      (yielded.kind == ValueKind::Tuple ? "a tuple of " + std::to_string(yielded.elements.size())
                                                        : yielded.describe()) +
                      ", but there are " + std::to_string(names.size()) + " carries: yield a tuple of them");
    parts = yielded.elements;
  }
  std::vector<Value> leaves;
  for (auto [carry, initial, part] : llvm::zip(names, carries.initials, parts)) {
    if (auto difference = structureDifference(initial, part)) {
      report(part.range.source ? part.range : where,
             "carry '" + std::string(carry.name.text) +
                 "' and the value that the body yields for it differ: " + *difference)
          .note(carry.initial->range, "'" + std::string(carry.name.text) + "' starts here");
      throw Poisoned();
    }
    llvm::append_range(leaves, getLeaves(part));
  }
  bool isSettled = true;
  for (auto [leaf, value] : llvm::zip(carries.leaves, leaves))
    isSettled &= settleCarry(leaf, value, where);
  if (!isSettled)
    return false;
  llvm::SmallVector<mlir::Value> values;
  for (auto [leaf, value] : llvm::zip(carries.leaves, leaves))
    values.push_back(materialize(value, leaf.type.dtype));
  builder.create<YieldOp>(loc(), values);
  return true;
}

/// A loop's block with its carries (after the counter, if there is one) as arguments.
template <typename Body>
auto Emitter::inLoopBlock(mlir::Region &region, const Identifier *counter, const std::vector<Carry> &names,
                          const LoopCarries &carries, Body body) {
  mlir::Block &block = region.emplaceBlock();
  RegionScope inside(*this, block);
  if (counter) {
    currentRange = counter->range;
    mlir::Value argument = block.addArgument(arrayType({}, spmd::DType::I32), loc());
    Value value = Value::ofArray(argument, /*isWeak=*/false, counter->range);
    value.origin = counter->range;
    note(counter->range, value);
    frame->bind(counter->text, value);
  }
  llvm::SmallVector<mlir::BlockArgument> arguments;
  for (const CarriedLeaf &leaf : carries.leaves) {
    currentRange = leaf.initial.range;
    ArrayType type = arrayType(leaf.initial.shape(), leaf.type.dtype);
    arguments.push_back(block.addArgument(leaf.initial.isKey() ? keyWords(type) : type, loc()));
  }
  bindCarries(names, carries, arguments);
  return body();
}

/// The initial values of the loop, and the types of its results.
void Emitter::startCarries(const LoopCarries &carries, llvm::SmallVectorImpl<mlir::Value> &inits,
                           llvm::SmallVectorImpl<mlir::Type> &types) {
  for (const CarriedLeaf &leaf : carries.leaves) {
    inits.push_back(materialize(leaf.initial, leaf.type.dtype));
    types.push_back(plainTypeOf(inits.back()));
  }
}

/// The value of a loop: its last carry, or a tuple of them.
Value Emitter::loopResult(const LoopCarries &carries, mlir::Operation *loop, Range range) {
  ++operationCount;
  Value tuple;
  tuple.kind = ValueKind::Tuple;
  tuple.range = range;
  tuple.elements = carries.initials;
  std::vector<Value> leaves;
  for (auto [leaf, result] : llvm::zip(carries.leaves, loop->getResults()))
    leaves.push_back(Value::ofSameKind(leaf.initial, result, leaf.type.isWeak, range));
  tuple = withLeaves(tuple, leaves);
  for (Value &element : tuple.elements) {
    element.range = range;
    element.origin = Range();
  }
  return carries.initials.size() == 1 ? tuple.elements.front() : tuple;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

int64_t Emitter::loopBound(const Expr &bound) {
  Value value = need(bound);
  if (!value.isInt())
    fail(bound.range, "a bound of 'for' must be an integer known while compiling, not " + value.describe() +
                          (value.isArray() ? "; 'while' takes a run-time condition" : ""));
  if (value.constant.i < INT32_MIN || value.constant.i > INT32_MAX)
    fail(bound.range, "a bound of 'for' must fit in 32 bits; this is " + value.constant.str());
  return value.constant.i;
}

Value Emitter::forExpr(const ForExpr &e) {
  int64_t low = loopBound(*e.low), high = loopBound(*e.high);
  LoopCarries carries = evaluateCarries(e.carries);
  mlir::Region body;
  bool isSettled = false;
  while (!isSettled) {
    body.getBlocks().clear();
    isSettled =
        inLoopBlock(body, &e.variable, e.carries, carries, [&] { return loopBody(e.body, e.carries, carries); });
  }
  currentRange = e.range;
  llvm::SmallVector<mlir::Value> inits;
  llvm::SmallVector<mlir::Type> types;
  startCarries(carries, inits, types);
  auto loop = builder.create<ForOp>(loc(), types, static_cast<uint64_t>(low), static_cast<uint64_t>(high), inits);
  loop.getBody().takeBody(body);
  return loopResult(carries, loop, e.range);
}

Value Emitter::whileExpr(const WhileExpr &e) {
  LoopCarries carries = evaluateCarries(e.carries);
  mlir::Region condition, body;
  bool isSettled = false;
  while (!isSettled) {
    condition.getBlocks().clear();
    body.getBlocks().clear();
    inLoopBlock(condition, nullptr, e.carries, carries, [&] {
      mlir::Value predicate = loopCondition(*e.condition, "while");
      builder.create<YieldOp>(loc(), predicate);
    });
    isSettled = inLoopBlock(body, nullptr, e.carries, carries, [&] { return loopBody(e.body, e.carries, carries); });
  }
  currentRange = e.range;
  llvm::SmallVector<mlir::Value> inits;
  llvm::SmallVector<mlir::Type> types;
  startCarries(carries, inits, types);
  auto loop = builder.create<WhileOp>(loc(), types, inits);
  loop.getCondition().takeBody(condition);
  loop.getBody().takeBody(body);
  if (isManual)
    manualRanges[loop] = e.condition->range;
  return loopResult(carries, loop, e.range);
}

mlir::Value Emitter::loopCondition(const Expr &condition, std::string_view keyword) {
  return predicate(need(condition), condition.range, keyword);
}

mlir::Value Emitter::predicate(const Value &value, Range range, std::string_view keyword) {
  std::string what = "the condition of '" + std::string(keyword) + "' must be one bool";
  if (!value.isNumeric() || value.dtype() != spmd::DType::Bool)
    fail(range, what + ", not " + value.describe() + (value.isNumeric() ? "; compare it with something" : ""));
  if (value.rank() != 0)
    fail(range, what + ", not " + value.describe() + "; reduce it with any or all" +
                    (keyword == "if" ? ", or select element by element with where" : ""));
  currentRange = range;
  return materialize(value);
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// Emits the statements and the value of one branch; poisoned if there is an error.
Value Emitter::emitBranch(const Block &block) {
  for (const Stmt *stmt : block.statements) {
    if (stmt->kind == StmtKind::Let)
      letStmt(*stmt);
    else
      expressionStmt(*stmt);
  }
  return block.value ? expr(*block.value) : Value();
}

/// A condition known while compiling selects one branch, and only that one is checked.
Value Emitter::ifExpr(const IfExpr &e) {
  Value condition = need(*e.condition);
  if (condition.isConstant() && condition.constant.kind == Constant::Kind::Bool) {
    Value value = emitBranch(condition.constant.isTrue() ? e.thenBlock : e.elseBlock);
    value.range = e.range;
    return value;
  }
  mlir::Value predicate = this->predicate(condition, e.condition->range, "if");
  mlir::Region regions[2];
  Value values[2];
  for (auto [region, value, block] : llvm::zip(regions, values, std::array{&e.thenBlock, &e.elseBlock})) {
    RegionScope inside(*this, region.emplaceBlock());
    value = emitBranch(*block);
  }
  if (values[0].isPoison() || values[1].isPoison())
    throw Poisoned();
  return mergeBranches(e, predicate, regions, values);
}

Value Emitter::mergeBranches(const IfExpr &e, mlir::Value predicate, llvm::MutableArrayRef<mlir::Region> regions,
                             llvm::ArrayRef<Value> values) {
  auto mismatch = [&](const std::string &message) {
    report(e.range, message)
        .note(values[0].range, "the first is " + values[0].describe())
        .note(values[1].range, "the second is " + values[1].describe());
    throw Poisoned();
  };
  if (auto difference = structureDifference(values[0], values[1]))
    mismatch("the branches of 'if' differ: " + *difference);
  bool isNothing = values[0].kind == ValueKind::None && values[1].kind == ValueKind::None;
  llvm::SmallVector<mlir::Value> yielded[2];
  llvm::SmallVector<mlir::Type> types;
  std::vector<Value> results;
  if (!isNothing)
    for (auto [first, second] : llvm::zip(getLeaves(values[0]), getLeaves(values[1]))) {
      for (const Value &leaf : {first, second})
        if (!leaf.isData())
          mismatch("the branches of 'if' must be arrays, not " + leaf.describe());
      if (first.isKey() || second.isKey()) {
        if (first.isKey() != second.isKey() || first.shape() != second.shape())
          mismatch("the branches of 'if' differ: " + first.describe() + " against " + second.describe());
        yielded[0].push_back(first.array);
        yielded[1].push_back(second.array);
        types.push_back(plainTypeOf(first.array).withoutSharding());
        results.push_back(Value::ofKey({}, e.range));
        continue;
      }
      DTypeClass type = commonClass({first, second}, "'if'");
      currentRange = e.range;
      llvm::SmallVector<int64_t> shape = commonShape({first, second}, e.range, "the branches of 'if'");
      const Value *leaves[] = {&first, &second};
      for (auto [index, leaf] : llvm::enumerate(leaves)) {
        mlir::OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToEnd(&regions[index].front());
        yielded[index].push_back(broadcastTo(materialize(*leaf, type.dtype), shape));
      }
      types.push_back(arrayType(shape, type.dtype));
      results.push_back(Value::ofArray({}, type.isWeak, e.range));
    }
  currentRange = e.range;
  for (auto [region, list] : llvm::zip(regions, yielded)) {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&region.front());
    builder.create<YieldOp>(loc(), list);
  }
  auto branch = builder.create<IfOp>(loc(), types, predicate);
  branch.getThenRegion().takeBody(regions[0]);
  branch.getElseRegion().takeBody(regions[1]);
  ++operationCount;
  if (isManual)
    manualRanges[branch] = e.condition->range;
  if (isNothing)
    return values[0];
  for (auto [value, result] : llvm::zip(results, branch.getOutputs()))
    value.array = result;
  Value whole = withLeaves(values[0], results);
  whole.range = e.range;
  whole.origin = Range();
  return whole;
}

} // namespace spmdc
