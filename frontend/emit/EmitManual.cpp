//===- EmitManual.cpp - shard_map: functions on local arrays --------------===//
//
// `shard_map(f, in=(P(a, _), P()), out=P(a))(x, y)` runs f on each device's shards. The arguments are constrained to
// the shardings of `in`, f is inlined into the body of a manual region, and it returns the shards of results with the
// shardings of `out`. One P stands for all arrays of a tree, as in JAX.
//
// With `axis_names=a`, f runs on shards along `a` alone: along the other axes its arrays are global, and annotations
// and propagation shard them.
//
//===----------------------------------------------------------------------===//

#include "frontend/builtins/Builtins.h"
#include "frontend/emit/FunctionValue.h"
#include "frontend/emit/Leaves.h"
#include "frontend/emit/Parameters.h"
#include "frontend/emit/RegionScope.h"
#include "ir/spmd/VaryingAxes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace spmdc {

static std::string quotedAxes(const VaryingAxes::Axes &axes) {
  std::string text;
  for (const std::string &axis : axes)
    text += (text.empty() ? "'" : ", '") + axis + "'";
  return text;
}

Value Emitter::axisNames(const Expr &e) {
  DimShardingSyntax syntax;
  syntax.range = e.range;
  syntax.isOpen = false;
  auto add = [&](const Expr &axis) {
    const auto *name = dynAs<NameExpr>(axis);
    if (!name)
      fail(axis.range, "expected the name of a mesh axis, without quotes, or several in parentheses" + listedAxes());
    syntax.axes.push_back({name->name, name->range});
  };
  try {
    if (const auto *tuple = dynAs<TupleExpr>(e))
      for (const Expr *element : tuple->elements)
        add(*element);
    else
      add(e);
    Value value;
    value.kind = ValueKind::Partition;
    value.range = e.range;
    value.partition = {dimSharding(syntax)};
    for (auto [i, axis] : llvm::enumerate(syntax.axes))
      for (const Identifier &other : llvm::ArrayRef(syntax.axes).take_front(i))
        if (other.text == axis.text)
          fail(axis.range, "axis '" + std::string(axis.text) + "' is named twice");
    return value;
  } catch (const Poisoned &) {
    return Value();
  }
}

void Emitter::needManual(Range where, std::string_view operation) {
  if (!isManual)
    fail(where,
         "'" + std::string(operation) + "' is a collective: it is only allowed in a function that shard_map runs");
}

void Emitter::needManualAxes(const Value &axes, std::string_view operation) {
  for (AxisRefAttr axis : axes.partition.front().getAxes())
    if (!manualAxes.count(axis.getName().str()))
      fail(axes.range, "'" + std::string(operation) + "' over '" + axis.getName().str() +
                           "', which 'axis_names' of 'shard_map' leaves out (it has " + quotedAxes(manualAxes) +
                           "): along it arrays are global here, and the compiler inserts the collectives");
}

bool Emitter::hasAutomaticAxes() const {
  return llvm::any_of(meshAxes, [&](const spmd::MeshAxis &axis) { return !manualAxes.count(axis.name); });
}

void Emitter::checkAnnotationInside(ShardingAttr sharding) {
  if (!hasAutomaticAxes())
    fail(currentRange, "inside of shard_map arrays are local to a device and cannot have a sharding");
  for (DimShardingAttr dim : sharding.getDims())
    for (AxisRefAttr axis : dim.getAxes())
      if (manualAxes.count(axis.getName().str()))
        fail(currentRange, "inside of shard_map arrays are local along '" + axis.getName().str() +
                               "', so no dimension can be sharded over it");
}

/// The axes that a shard_map makes manual: those that are named, or all that are not manual around it.
std::set<std::string> Emitter::namedManualAxes(llvm::ArrayRef<const Argument *> axisNames, Range where) {
  std::set<std::string> names, around = isManual ? manualAxes : std::set<std::string>();
  if (around.size() == meshAxes.size())
    fail(where, "'shard_map' inside of a function that shard_map runs: all axes are manual there already");
  if (!axisNames.empty()) {
    Value value = this->axisNames(*axisNames.front()->value);
    if (value.kind != ValueKind::Partition)
      throw Poisoned();
    for (AxisRefAttr axis : value.partition.front().getAxes())
      if (std::string name = axis.getName().str(); !names.insert(name).second || around.count(name))
        fail(value.range, "'axis_names' of 'shard_map' has '" + name +
                              "', along which arrays are local here already: name other axes");
  }
  if (names.empty())
    for (const spmd::MeshAxis &axis : meshAxes)
      if (!around.count(axis.name))
        names.insert(axis.name);
  return names;
}

/// One P for each of `count` values.
std::vector<Value> Emitter::manualSpecs(const Value &spec, std::string_view parameter, size_t count,
                                        std::string_view what) {
  std::string quoted = "'" + std::string(parameter) + "=' of 'shard_map'";
  if (spec.kind == ValueKind::Partition)
    return std::vector<Value>(count, spec);
  if (spec.kind != ValueKind::Tuple)
    fail(spec.range,
         quoted + " must be P(...), or a tuple with one for each " + std::string(what) + ", not " + spec.describe());
  if (spec.elements.size() != count)
    fail(spec.range, quoted + " has " + std::to_string(spec.elements.size()) + " entries for " + std::to_string(count) +
                         " " + std::string(what) + (count == 1 ? "" : "s"));
  for (const Value &element : spec.elements)
    if (element.kind != ValueKind::Partition)
      fail(element.range, quoted + " must have a P(...) for each " + std::string(what) + ", not " + element.describe());
  return spec.elements;
}

/// The sharding of a global array that enters the region (or of a shard that leaves it), closed and without priorities.
/// `axes` are those that may be named; propagation decides along automatic axes.
ShardingAttr Emitter::manualSharding(const Value &spec, const Value &leaf, const std::set<std::string> &axes,
                                     bool hasAutomatic, const std::string &what, Range where) {
  if (static_cast<int64_t>(spec.partition.size()) > leaf.rank()) {
    bool isConstant = leaf.isConstant();
    report(spec.range, "P(...) has " + std::to_string(spec.partition.size()) + " entries, but " + what + " is " +
                           (isConstant ? arrayType({}, leaf.dtype()).str() : leaf.describe()))
        .note(where, what + " is given here");
    throw Poisoned();
  }
  ShardingAttr sharding = shardingFrom(spec, leaf.rank());
  for (DimShardingAttr dim : sharding.getDims()) {
    if (!dim.getIsClosed() || dim.getPriority() >= 0)
      fail(spec.range, "P(...) of 'shard_map' must be exact: no '?' and no priority");
    for (AxisRefAttr axis : dim.getAxes())
      if (std::string name = axis.getName().str(); isManual && manualAxes.count(name) && !axes.count(name))
        fail(spec.range, "P(...) names '" + name + "', along which arrays are local here already");
      else if (!axes.count(name))
        fail(spec.range, "P(...) names '" + name + "', which 'axis_names' of 'shard_map' leaves out (it has " +
                             quotedAxes(axes) + "): shard the array over it by an annotation of its own");
  }
  sharding = leaf.isKey() ? keyWords(sharding) : sharding;
  if (!hasAutomatic)
    return sharding;
  llvm::SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : sharding.getDims())
    dims.push_back(DimShardingAttr::get(builder.getContext(), dim.getAxes(), /*isClosed=*/false));
  return ShardingAttr::get(builder.getContext(), dims, {});
}

/// Checks that all devices of a group reach its collectives, or none of them.
void Emitter::checkConditions(mlir::Block &block, const VaryingAxes &varying) {
  std::optional<DividedCollective> divided = findDividedCollective(block, varying);
  if (!divided)
    return;
  std::string kind = mlir::isa<IfOp>(divided->control) ? "'if'" : "'while'", axes = quotedAxes(divided->axes);
  Range where = manualRanges.lookup(divided->collective);
  std::string_view text = where.text();
  std::string name = "'" + std::string(text.substr(0, text.find('('))) + "'";
  report(where, name + " is reached only if the condition of " + kind + " allows it, which varies over " + axes +
                    ": some devices would wait for others forever; move " + name + " out of it, or make the " +
                    "condition the same for all, with pmax or pmin of it as an integer")
      .note(manualRanges.lookup(divided->control), "the condition of " + kind + " is here");
  throw Poisoned();
}

Value Emitter::shardMap(const CallExpr &outer, const CallExpr &call) {
  const std::vector<Parameter> parameters = {{"f"}, {"in"}, {"out"}, {"axis_names", /*isOptional=*/true}};
  auto matched = matchArguments(*this, "shard_map", parameters, outer);
  if (!hasMesh)
    fail(outer.range, "'shard_map' needs a mesh: declare one with 'mesh m(a=...)' or --mesh");

  const Expr &function = *matched[0].front()->value;
  const auto *name = dynAs<NameExpr>(function);
  const NameUse *use = name ? &resolution.at(name->name) : nullptr;
  const FnDecl *fn = use ? use->fn : nullptr;
  bool isPrelude = use && use->isPrelude;
  if (const Value *local = use ? localValue(*use) : nullptr; local && local->isFunction() && local->function->fn) {
    fn = local->function->fn;
    isPrelude = local->function->isPrelude;
  }
  if (!fn && use && use->builtin)
    fail(function.range, "'shard_map' takes a function of the program: 'fn g(x) { return " + std::string(name->name) +
                             "(x); }' is one");
  if (!fn && name)
    failUnknownFunction(name->name, name->range);
  if (!fn)
    fail(function.range, "'shard_map' takes the name of a function");
  std::string quoted = "'" + std::string(fn->name.text) + "'";

  Value in = need(*matched[1].front()->value), out = need(*matched[2].front()->value);
  const std::set<std::string> own = namedManualAxes(matched[3], outer.range);
  std::set<std::string> allManual = own;
  if (isManual)
    allManual.insert(manualAxes.begin(), manualAxes.end());
  bool hasAutomatic = allManual.size() != meshAxes.size();
  std::vector<Value> arguments;
  for (const Argument &argument : call.arguments) {
    if (!argument.name.text.empty())
      fail(argument.name.range, "the result of shard_map takes its arguments in order, without names");
    arguments.push_back(need(*argument.value));
  }
  if (arguments.size() > fn->params.size())
    fail(call.range, quoted + " takes " + std::to_string(fn->params.size()) +
                         (fn->params.size() == 1 ? " argument, not " : " arguments, not ") +
                         std::to_string(arguments.size()));
  for (const ParamDecl &param : llvm::ArrayRef(fn->params).drop_front(arguments.size()))
    if (!param.defaultValue)
      fail(call.range, quoted + " needs an argument for '" + std::string(param.name.text) + "'");
  std::vector<Value> inSpecs = manualSpecs(in, "in", arguments.size(), "argument");

  MeshAttr mesh = this->mesh();
  mlir::Region body;
  mlir::Block &block = body.emplaceBlock();
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<VaryingAxes::Axes> cutting;
  std::vector<std::optional<Value>> given;
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    currentRange = argument.range;
    std::vector<Value> shards;
    for (const Value &leaf : getLeaves(argument)) {
      std::string what = "argument " + std::to_string(index + 1) + " of " + quoted;
      if (!leaf.isData())
        fail(argument.range, what + " must be an array, not " + leaf.describe());
      mlir::Value array = materialize(leaf);
      ShardingAttr sharding = manualSharding(inSpecs[index], leaf, own, hasAutomatic, what, argument.range);
      ArrayType type = plainTypeOf(array).withSharding(sharding);
      for (auto [dim, axes] : llvm::enumerate(sharding.toValue().dims)) {
        int64_t shardCount = 1;
        for (const spmd::AxisRef &axis : axes)
          shardCount *= axis.sizeIn(mesh.toValue());
        int64_t size = type.getDimSize(dim);
        if (size % shardCount)
          fail(argument.range, "dimension " + std::to_string(dim) + " of " + what + " has " + std::to_string(size) +
                                   " elements, which " + std::to_string(shardCount) +
                                   " devices do not divide; pad it to " +
                                   std::to_string((size + shardCount - 1) / shardCount * shardCount));
      }
      // The constraint makes a value of its own along automatic axes: other users of the array may be sharded over
      // manual ones.
      if (type.getRank() > 0)
        array = hasAutomatic ? createConstraint(type, array, inSpecs[index].range)
                             : constrain(array, sharding, inSpecs[index].range);
      inputs.push_back(array);
      cutting.push_back(VaryingAxes::getShardingAxes(type));
      mlir::Value shard = block.addArgument(type.getLocal(mesh), loc());
      shards.push_back(Value::ofSameKind(leaf, shard, leaf.dtypeClass().isWeak, leaf.range));
    }
    given.push_back(withLeaves(argument, shards));
  }
  given.resize(fn->params.size());

  currentRange = call.range;
  llvm::SmallVector<mlir::Value> yielded;
  llvm::SmallVector<mlir::Type> types;
  Value result;
  {
    RegionScope inside(*this, block);
    llvm::SaveAndRestore<bool> manual(isManual, true);
    llvm::SaveAndRestore<std::set<std::string>> axes(manualAxes, allManual);
    result = applyFunction(*fn, isPrelude, given, call.range);
    if (result.kind == ValueKind::None)
      fail(call.range, quoted + " returns nothing");
    VaryingAxes varying(block, cutting);
    checkConditions(block, varying);
    bool isTuple = result.kind == ValueKind::Tuple;
    std::vector<Value> parts = isTuple ? result.elements : std::vector<Value>{result};
    std::vector<Value> outSpecs = manualSpecs(out, "out", parts.size(), "result");
    for (auto [index, part] : llvm::enumerate(parts))
      for (const Value &leaf : getLeaves(part)) {
        std::string what = "result " + std::to_string(index) + " of " + quoted;
        if (!leaf.isData())
          fail(call.range, what + " must be an array, not " + leaf.describe());
        mlir::Value array = materialize(leaf);
        ShardingAttr sharding = manualSharding(outSpecs[index], leaf, own, hasAutomatic, what, fn->name.range);
        llvm::SmallVector<int64_t> shape(plainTypeOf(array).getShape());
        for (auto [dim, axes] : llvm::enumerate(sharding.toValue().dims))
          for (const spmd::AxisRef &axis : axes)
            shape[dim] *= axis.sizeIn(mesh.toValue());
        ArrayType type = plainTypeOf(array).withShape(shape).withSharding(sharding);
        VaryingAxes::Axes differing, cut = VaryingAxes::getShardingAxes(type);
        for (const std::string &axis : varying.of(array))
          if (own.count(axis) && !cut.count(axis))
            differing.insert(axis);
        if (!differing.empty())
          fail(outSpecs[index].range, what + " varies over " + quotedAxes(differing) +
                                          ", which 'out=' does not name: reduce it with psum or pmean, or name the " +
                                          (differing.size() == 1 ? "axis" : "axes") + " in P(...)");
        yielded.push_back(array);
        types.push_back(type);
      }
    builder.create<ManualYieldOp>(loc(), yielded);
  }
  AxesAttr named;
  if (own.size() != meshAxes.size()) {
    llvm::SmallVector<AxisRefAttr> refs;
    for (const spmd::MeshAxis &axis : meshAxes)
      if (own.count(axis.name))
        refs.push_back(AxisRefAttr::get(builder.getContext(), axis.name));
    named = AxesAttr::get(builder.getContext(), refs);
  }
  auto manual = builder.create<ManualOp>(loc(), types, inputs, named);
  manual.getBody().takeBody(body);
  ++operationCount;

  std::vector<Value> leaves;
  for (auto [leaf, array] : llvm::zip(getLeaves(result), manual.getOutputs()))
    leaves.push_back(Value::ofSameKind(leaf, array, leaf.isArray() && leaf.isWeak, call.range));
  return withLeaves(result, leaves);
}

} // namespace spmdc
