//===- EmitProgram.cpp - mesh, consts, and the entry ----------------------===//

#include "frontend/MeshOverride.h"
#include "frontend/emit/Emitter.h"
#include "frontend/emit/FrameScope.h"
#include "frontend/emit/Leaves.h"
#include "frontend/sema/NameChecks.h"
#include "frontend/sema/Suggest.h"
#include "ir/spmd/BudgetAttr.h"
#include "ir/spmd/Location.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

#include <charconv>

namespace spmdc {

Emitter::Emitter(mlir::MLIRContext &context, const Ast &program, const Ast &prelude, const NameResolution &resolution,
                 const FrontendOptions &options, Diagnostics &diagnostics)
    : builder(&context), program(program), prelude(prelude), resolution(resolution), options(options),
      diagnostics(diagnostics) {}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

Diagnostic &Emitter::report(Range where, std::string message) {
  Frame *at = frame;
  std::optional<DiagnosticNote> inPrelude;
  while (at && at->isPrelude && at->callRange.source) {
    if (!inPrelude && where.source == prelude.source)
      inPrelude = {where, "in the prelude's '" + std::string(at->fn->name.text) + "', here"};
    where = at->callRange;
    at = at->caller;
  }
  Diagnostic &error = diagnostics.error(where, std::move(message));
  if (inPrelude)
    error.note(inPrelude->where, inPrelude->message);
  constexpr int shownCalls = 5;
  if (!currentLeaf.empty())
    error.note(currentRange, "in the leaf '" + currentLeaf + "'");
  for (int i = 0; i < shownCalls && at && at->callRange.source; ++i, at = at->caller)
    error.note(at->callRange, at->fn ? "in the call of '" + std::string(at->fn->name.text) + "' here"
                                     : "in the type '" + std::string(at->structDecl->name.text) + "' here");
  return error;
}

void Emitter::warn(Range where, std::string message) {
  if (options.warnings && where.source == program.source)
    options.warnings->error(where, std::move(message));
}

void Emitter::fail(Range where, std::string message) {
  report(where, std::move(message));
  throw Poisoned();
}

void Emitter::failAbout(Range where, std::string message, llvm::ArrayRef<Value> values) {
  Diagnostic &error = report(where, std::move(message));
  for (const Value &value : values) {
    bool isNamed = value.origin.source != nullptr;
    Range place = isNamed ? value.origin : value.range;
    bool isNoted = llvm::any_of(error.notes, [&](const DiagnosticNote &note) { return note.where == place; });
    // Values from the prelude have no place in the user's text, and numbers have no shape.
    if (!value.isArray() || !place.source || place.source == prelude.source || isNoted)
      continue;
    std::string who = isNamed ? "'" + std::string(value.origin.text()) + "'" : "this side";
    error.note(place, who + " is " + value.describe());
  }
  throw Poisoned();
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

void Emitter::declare() {
  reportDuplicateNames(program, diagnostics);
  applySets();
  evaluateMesh(); // First, since types name its axes; it evaluates the consts that it needs.
  for (const ConstDecl &decl : program.consts)
    note(decl.name.range, constant(decl));
  checkStructs();
}

/// `--set NAME=VALUE`. Errors point into a source that is named like the option.
void Emitter::applySets() {
  std::map<std::string_view, Range> seen;
  for (const auto &[name, text] : options.sets) {
    const Source &source = diagnostics.addSource(options.setOption, name + "=" + text);
    Range nameRange{&source, 0, static_cast<uint32_t>(name.size())};
    Range valueRange{&source, nameRange.end + 1, static_cast<uint32_t>(source.getText().size())};
    if (auto [first, isNew] = seen.emplace(name, nameRange); !isNew) {
      diagnostics.error(nameRange, "const '" + name + "' is set twice").note(first->second, "first here");
      continue;
    }
    auto decl = resolution.getConsts().find(name);
    if (decl == resolution.getConsts().end()) {
      std::vector<std::string_view> known;
      std::string list;
      for (const auto &[other, unused] : resolution.getConsts()) {
        known.push_back(other);
        list += (list.empty() ? "; it has " : ", ") + std::string(other);
      }
      std::string hint = didYouMean(name, known);
      diagnostics.error(nameRange, "the program has no const '" + name + "'" + (hint.empty() ? list : hint));
      continue;
    }
    int64_t integer = 0;
    double number = 0;
    const char *begin = text.data(), *end = begin + text.size();
    if (auto [rest, error] = std::from_chars(begin, end, integer); error == std::errc() && rest == end)
      consts[decl->first] = Value::ofConstant(Constant::ofInt(integer), valueRange);
    else if (auto [rest, error] = std::from_chars(begin, end, number); error == std::errc() && rest == end)
      consts[decl->first] = Value::ofConstant(Constant::ofFloat(number), valueRange);
    else
      diagnostics.error(valueRange, "a const must be an integer or a float");
  }
}

/// The const's value, evaluated when it is first needed: consts may name one another in any order.
Value Emitter::constant(const ConstDecl &decl) {
  if (auto known = consts.find(decl.name.text); known != consts.end())
    return known->second;
  if (!openConsts.insert(decl.name.text).second) {
    diagnostics.error(decl.name.range, "const '" + std::string(decl.name.text) + "' is defined in terms of itself");
    return consts[decl.name.text] = Value();
  }
  // Consts see no local names.
  Frame *saved = std::exchange(frame, nullptr);
  Value value = expr(*decl.value);
  frame = saved;
  if (!value.isPoison() && !value.isConstant()) {
    diagnostics.error(decl.value->range, "a const must be a number known while compiling, not " + value.describe());
    value = Value();
  }
  openConsts.erase(decl.name.text);
  return consts[decl.name.text] = value;
}

/// Records the limits that the program sets as an attribute; later stages check them.
void Emitter::noteBudget() {
  llvm::SmallVector<mlir::Attribute> limits;
  for (const BudgetItem &item : program.budget) {
    int64_t limit = 0;
    std::string mistake = parseBudgetLimit(item.name.text, item.value.text(), limit);
    if (!mistake.empty()) {
      bool isName = mistake.starts_with("unknown");
      diagnostics.error(isName ? item.name.range : item.value, mistake);
      continue;
    }
    limits.push_back(
        builder.getDictionaryAttr({builder.getNamedAttr("what", builder.getStringAttr(llvm::StringRef(item.name.text))),
                                   builder.getNamedAttr("limit", builder.getI64IntegerAttr(limit)),
                                   builder.getNamedAttr("place", builder.getStringAttr(item.name.range.str()))}));
  }
  if (!limits.empty())
    (*module)->setAttr(kBudgetAttrName, builder.getArrayAttr(limits));
}

void Emitter::evaluateMesh() {
  constexpr int64_t maxDevices = int64_t(1) << 20;
  if (!program.meshes.empty()) {
    hasMesh = true;
    const MeshDecl &mesh = program.meshes.front();
    for (const MeshAxisSyntax &axis : mesh.axes) {
      Value size = expr(*axis.size);
      if (!size.isPoison() && (!size.isInt() || size.constant.i < 1))
        diagnostics.error(axis.size->range, "the size of axis '" + std::string(axis.name.text) +
                                                "' must be a positive integer, not " + size.describe());
      bool isGood = size.isInt() && size.constant.i >= 1;
      if (llvm::none_of(meshAxes, [&](auto &known) { return known.name == axis.name.text; }))
        meshAxes.push_back({std::string(axis.name.text), isGood ? size.constant.i : 1});
    }
  }
  if (!options.meshOverride.empty()) {
    overrideMesh(options, meshAxes, hasMesh ? program.meshes.front().range : Range(), diagnostics);
    hasMesh = true;
  }
  if (!program.meshes.empty())
    for (auto [axis, size] : llvm::zip(program.meshes.front().axes, meshAxes))
      note(axis.name.range, Value::ofConstant(Constant::ofInt(size.size), axis.name.range));
  int64_t devices = 1;
  for (const spmd::MeshAxis &axis : meshAxes)
    if (llvm::MulOverflow(devices, axis.size, devices) || devices > maxDevices) {
      Range where = program.meshes.empty() ? Range{program.source, 0, 0} : program.meshes.front().range;
      diagnostics.error(where, "the mesh has more than 1048576 devices");
      return;
    }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// True if the type is complete: no struct in it takes its sizes from a value.
bool Emitter::isComplete(const TypeSyntax &type) const {
  if (type.kind == TypeKind::Named)
    if (const StructDecl *decl = resolution.at(type.name.text).structDecl)
      return decl->generics.empty() || !type.sizes.empty();
  return llvm::all_of(type.elements, [&](const TypeSyntax *element) { return isComplete(*element); });
}

bool Emitter::hasAllTypes(const FnDecl &fn) const {
  return fn.generics.empty() &&
         llvm::all_of(fn.params, [&](const ParamDecl &param) { return param.type && isComplete(*param.type); });
}

mlir::func::FuncOp Emitter::createFunction(const FnDecl &fn) {
  builder.setInsertionPointToEnd(module->getBody());
  currentRange = fn.range;
  auto func = builder.create<mlir::func::FuncOp>(loc(), llvm::StringRef(fn.name.text), builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(func.addEntryBlock());
  return func;
}

/// One argument for each leaf of a parameter, by the name of the leaf: `x`, `p.w`, `p.layers.0.w`.
void Emitter::bindParameters(const FnDecl &fn, mlir::func::FuncOp func) {
  llvm::SmallVector<mlir::Type> types;
  std::vector<std::string> names;
  for (const ParamDecl &param : fn.params) {
    Value value; // Poisoned if its type is wrong.
    try {
      if (!param.type)
        fail(param.name.range,
             "a parameter of the entry needs a type: '" + std::string(param.name.text) + "' has none");
      Value tree = typeTree(*param.type);
      currentRange = param.name.range;
      std::vector<Value> leaves = getLeaves(tree);
      for (Value &leaf : leaves) {
        bool isKey = leaf.type.getDType() == spmd::DType::Key;
        types.push_back(isKey ? keyWords(leaf.type) : leaf.type);
        mlir::Location marked = getAnnotatedLoc(loc(), locAt(leaf.range));
        mlir::BlockArgument argument = func.getBody().front().addArgument(types.back(), marked);
        leaf = isKey ? Value::ofKey(argument, param.name.range) : Value::ofArray(argument, false, param.name.range);
        leaf.origin = param.name.range;
      }
      llvm::append_range(names, leafNames(tree, llvm::StringRef(param.name.text)));
      value = withLeaves(tree, leaves);
      value.range = value.origin = param.name.range;
    } catch (const Poisoned &) {
    }
    note(param.name.range, value);
    frame->bind(param.name.text, value);
  }
  func.setFunctionType(builder.getFunctionType(types, {}));
  for (auto [i, name] : llvm::enumerate(names))
    func.setArgAttr(i, kNameAttrName, builder.getStringAttr(name));
}

/// The leaves of a result as the entry returns them, each with its name: the name that was returned, else empty.
void Emitter::flattenResult(const Value &value, const Expr *expr, std::vector<std::pair<Value, std::string>> &results) {
  if (value.kind == ValueKind::Tuple) {
    const auto *tuple = expr ? dynAs<TupleExpr>(*expr) : nullptr;
    for (auto [i, element] : llvm::enumerate(value.elements))
      flattenResult(element, tuple ? tuple->elements[i] : nullptr, results);
    return;
  }
  const auto *name = expr ? dynAs<NameExpr>(*expr) : nullptr;
  results.emplace_back(value, name ? std::string(name->name) : "");
}

void Emitter::finishFunction(mlir::func::FuncOp func, const FnDecl &fn, const Value &result) {
  const Stmt *last = fn.body.statements.empty() ? nullptr : fn.body.statements.back();
  const Expr *returned = last && last->kind == StmtKind::Return ? last->value : nullptr;
  std::vector<std::pair<Value, std::string>> parts;
  currentRange = returned ? returned->range : fn.name.range;
  if (returned)
    flattenResult(fn.result ? declaredAs(result, *fn.result, "the result") : result, returned, parts);
  else if (fn.result)
    fail(fn.name.range, "function '" + std::string(fn.name.text) + "' declares a result but returns nothing");

  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::Type> types;
  std::vector<std::string> names;
  std::vector<EntryResult> results;
  std::set<std::string> taken;
  for (auto [i, part] : llvm::enumerate(parts)) {
    auto &[value, name] = part;
    bool isFree = !name.empty() && taken.insert(name).second;
    llvm::append_range(names, leafNames(value, isFree ? name : std::to_string(i)));
    for (const Value &leaf : getLeaves(value)) {
      if (!leaf.isNumeric() && !leaf.isKey())
        // The leaves of a type are located at the struct's declaration.
        fail(leaf.kind == ValueKind::Type ? value.range : leaf.range,
             "a result must be an array, not " + leaf.describe());
      values.push_back(leaf.isConstant() ? materialize(leaf) : leaf.array);
      types.push_back(values.back().getType());
      spmd::DType dtype = leaf.isKey() ? spmd::DType::Key : plainTypeOf(values.back()).getDType();
      llvm::ArrayRef<int64_t> shape = plainTypeOf(values.back()).getShape();
      results.push_back({dtype, (leaf.isKey() ? shape.drop_back() : shape).vec()});
    }
  }
  if (fn.name.text == options.function)
    entryResults = std::move(results);
  builder.create<mlir::func::ReturnOp>(loc(), values);
  func.setFunctionType(builder.getFunctionType(func.getFunctionType().getInputs(), types));
  for (auto [i, name] : llvm::enumerate(names))
    func.setResultAttr(i, kNameAttrName, builder.getStringAttr(name));
}

void Emitter::emitEntry(const FnDecl &fn) {
  visited.insert(&fn);
  mlir::func::FuncOp func = createFunction(fn);
  FrameScope scope(*this, fn, /*isPrelude=*/false, Range());
  try {
    for (const Identifier &generic : fn.generics)
      report(generic.range,
             "the entry cannot have generic sizes: declare '" + std::string(generic.text) + "' as a const");
    bindParameters(fn, func);
    Value result = functionBody(fn);
    finishFunction(func, fn, result);
  } catch (const Poisoned &) {
  }
}

/// Checks the functions that the entry does not call, if their parameters have types.
void Emitter::checkUncalled() {
  for (const FnDecl &fn : program.functions) {
    if (visited.count(&fn) || !hasAllTypes(fn))
      continue;
    emitEntry(fn);
    mlir::Operation *last = &module->getBody()->back();
    last->erase();
  }
}

/// Reports that the program has no function with the entry's name.
void Emitter::reportMissingEntry() {
  const std::string &name = options.function;
  bool isDefault = name == FrontendOptions().function;
  std::vector<std::string_view> names;
  std::string list;
  for (const FnDecl &fn : program.functions) {
    names.push_back(fn.name.text);
    list += (list.empty() ? "; it has " : ", ") + std::string(fn.name.text);
  }
  std::string hint = didYouMean(name, names);
  if (hint.empty() && isDefault)
    hint = "; the entry is 'main' or what " + options.functionOption + " names";
  // Points at the option's name, or at the first function.
  Range where = names.empty() ? Range{program.source, 0, 0} : program.functions.front().name.range;
  if (!isDefault) {
    const Source &source = diagnostics.addSource(options.functionOption, name);
    where = {&source, 0, static_cast<uint32_t>(name.size())};
  }
  diagnostics.error(where, "the program has no function '" + name + "'" + list + hint);
}

mlir::OwningOpRef<mlir::ModuleOp> Emitter::run() {
  module = mlir::ModuleOp::create(mlir::FileLineColLoc::get(builder.getContext(), program.source->getName(), 1, 1));
  declare();
  noteBudget();
  if (hasMesh) {
    spmd::MeshShape shape{meshAxes};
    llvm::StringRef name = program.meshes.empty() ? "mesh" : llvm::StringRef(program.meshes.front().name.text);
    (*module)->setAttr(kMeshAttrName, MeshAttr::fromValue(builder.getContext(), name, shape));
  }
  const FnDecl *entry = findFunction(program, options.function);
  if (entry) {
    emitEntry(*entry);
  } else if (!options.function.empty() && !llvm::is_contained(program.brokenNames, options.function)) {
    reportMissingEntry();
  }
  checkUncalled();
  if (diagnostics.hasErrors())
    return {};
  return std::move(module);
}

} // namespace spmdc
