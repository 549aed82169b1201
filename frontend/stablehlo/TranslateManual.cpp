//===- TranslateManual.cpp - shard_map and annotations --------------------===//
//
// A manual computation is a region for one device (spmd.manual).
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Translation.h"

#include "ir/spmd/Location.h"
#include "ir/spmd/VaryingAxes.h"

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;

namespace {

int64_t sizeOf(const spmd::MeshShape &mesh, StringRef name) {
  auto axis = llvm::find_if(mesh.axes, [&](const spmd::MeshAxis &of) { return of.name == name; });
  return axis == mesh.axes.end() ? 1 : axis->size;
}

//===- Regions ------------------------------------------------------------===//

/// A sharding in a manual region's signature, and what is left of it in the region.
struct Signature {
  ArrayType global, local;
  AxesAttr replicated; ///< Axes that the open dimensions of the global array may not take; null without any.
  AxesAttr unreduced;  ///< The region's own axes along which its devices have partial sums; null without any.
};

/// The axes of `own` divide the shape, and the others shard the parts.
FailureOr<Signature> signatureOf(Translation &t, sdy::ManualComputationOp op, sdy::TensorShardingAttr annotation,
                                 ArrayType global, ArrayType local, ArrayRef<std::string> own, bool hasAutomatic) {
  FailureOr<ReadSharding> read = t.readSharding(op, annotation, global.getShape());
  if (failed(read))
    return failure();
  auto isOwn = [&](AxisRefAttr axis) { return llvm::is_contained(own, axis.getName()); };
  SmallVector<DimShardingAttr> dims, inner;
  for (auto [dim, part] : llvm::enumerate(read->sharding.getDims())) {
    SmallVector<AxisRefAttr> rest;
    int64_t shards = 1;
    for (AxisRefAttr axis : part.getAxes()) {
      if (!isOwn(axis)) {
        rest.push_back(axis);
        continue;
      }
      if (!rest.empty())
        return refuse(op, "shards a dimension over an axis of its own behind one that is not");
      shards *= axis.isFullAxis() ? sizeOf(t.mesh, axis.getName()) : axis.getSize();
    }
    if (global.getDimSize(dim) % shards || global.getDimSize(dim) / shards != local.getDimSize(dim))
      return refuse(op, "divides a dimension of " + Twine(global.getDimSize(dim)) + " elements over " + Twine(shards) +
                            " devices, but its region has " + Twine(local.getDimSize(dim)));
    dims.push_back(DimShardingAttr::get(t.b.getContext(), part.getAxes(), !hasAutomatic));
    inner.push_back(DimShardingAttr::get(t.b.getContext(), rest, false));
  }
  auto select = [&](ArrayRef<AxisRefAttr> axes, bool areOwn) {
    SmallVector<AxisRefAttr> selected;
    llvm::copy_if(axes, std::back_inserter(selected), [&](AxisRefAttr axis) { return isOwn(axis) == areOwn; });
    return selected.empty() ? AxesAttr() : AxesAttr::get(t.b.getContext(), selected);
  };
  ArrayRef<AxisRefAttr> replicated = read->replicated ? read->replicated.getAxes() : ArrayRef<AxisRefAttr>();
  return Signature{global.withSharding(ShardingAttr::get(t.b.getContext(), dims, {})),
                   local.withSharding(ShardingAttr::get(t.b.getContext(), inner, {})),
                   select(replicated, /*areOwn=*/false), select(read->unreduced, /*areOwn=*/true)};
}

/// The addend of this device, where the devices along some axes take addends of a global array: the first one takes the
/// array, the others zeros. A program cannot tell, since it only adds such values, and multiplies them by equal ones.
Value addendOf(Translation &t, Value array, AxesAttr axes) {
  Value position = t.create<AxisIndexOp>(ArrayType::get({}, t.b.getI32Type()), axes);
  Value isFirst = t.compare(position, ComparisonDirection::eq, t.splatLike(position, 0));
  return t.select(t.broadcast(isFirst, shapeOf(array)), array, t.splatLike(array, 0));
}

/// The names of the region's own axes. Another mesh than the module's must have the same devices along them.
FailureOr<SmallVector<std::string>> manualAxesOf(Translation &t, sdy::ManualComputationOp op) {
  ArrayRef<sdy::TensorShardingAttr> ins = op.getInShardings().getShardings(),
                                    shardings = ins.empty() ? op.getOutShardings().getShardings() : ins;
  StringRef mesh = shardings.empty() ? StringRef() : shardings.front().getMesh();
  SmallVector<std::string> own;
  for (StringAttr axis : op.getManualAxes().getAxes()) {
    auto parts = t.meshes.find(mesh, AxisRefAttr::get(t.b.getContext(), axis.getValue()));
    if (failed(parts) || llvm::any_of(*parts, [](AxisRefAttr part) { return !part.isFullAxis(); }))
      return refuse(op, "is over the axis '" + axis.getValue() + "' of '" + mesh +
                            "', a second mesh, which is not made of axes of the first one");
    for (AxisRefAttr part : *parts) {
      if (llvm::none_of(t.mesh.axes, [&](const spmd::MeshAxis &of) { return of.name == part.getName(); }) ||
          llvm::is_contained(t.manualAxes, part.getName()) || llvm::is_contained(own, part.getName()))
        return refuse(op,
                      "names the axis '" + axis.getValue() + "', which the mesh does not have or a region around has");
      own.push_back(part.getName().str());
    }
  }
  return own;
}

Results manualComputation(Translation &t, sdy::ManualComputationOp op) {
  FailureOr<SmallVector<std::string>> axes = manualAxesOf(t, op);
  if (failed(axes))
    return failure();
  ArrayRef<std::string> own = *axes;
  Block &body = op.getBody().front();
  ArrayRef<sdy::TensorShardingAttr> ins = op.getInShardings().getShardings(),
                                    outs = op.getOutShardings().getShardings();
  if (ins.size() != op.getNumOperands() || outs.size() != op.getNumResults() ||
      body.getNumArguments() != op.getNumOperands() || body.getTerminator()->getNumOperands() != op.getNumResults())
    return refuse(op, "has another number of shardings than operands and results");
  bool hasAutomatic = own.size() + t.manualAxes.size() != t.mesh.axes.size();
  SmallVector<Value> inputs;
  SmallVector<VaryingAxes::Axes> shardingAxes;
  SmallVector<Type> locals;
  SmallVector<AxesAttr> addends, kept;
  for (auto [operand, annotation, argument] : llvm::zip_equal(op.getOperands(), ins, body.getArguments())) {
    auto local = llvm::dyn_cast<RankedTensorType>(argument.getType());
    Value array = t.get(operand);
    if (!local || local.getRank() != static_cast<int64_t>(shapeOf(array).size()))
      return refuse(op, "has an operand of another rank than its region");
    FailureOr<Signature> signature =
        signatureOf(t, op, annotation, plainTypeOf(array), Translation::typeOf(local), own, hasAutomatic);
    if (failed(signature))
      return failure();
    // The shard follows from the operand's type, which may have another sharding: that of an argument.
    bool isAlike = spmdc::typeOf(array) == signature->global && !signature->global.getSharding();
    inputs.push_back(isAlike && !signature->replicated ? array
                                                       : t.constrain(array, signature->global, signature->replicated));
    locals.push_back(signature->local);
    addends.push_back(signature->unreduced);
    shardingAxes.push_back(VaryingAxes::getShardingAxes(signature->global));
  }

  Location loc = t.loc;
  Region region;
  Block &block = region.emplaceBlock();
  block.addArguments(locals, SmallVector<Location>(locals.size(), loc));
  SmallVector<Type> types;
  {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(&block);
    size_t around = t.manualAxes.size();
    t.manualAxes.append(own.begin(), own.end());
    for (auto [parameter, argument, axes] : llvm::zip_equal(body.getArguments(), block.getArguments(), addends))
      t.set(parameter, axes ? addendOf(t, argument, axes) : argument);
    Results results = t.translate(body);
    t.manualAxes.truncate(around);
    if (failed(results))
      return failure();
    t.loc = loc;
    SmallVector<Signature> signatures;
    for (auto [result, value, annotation] : llvm::zip_equal(op.getResults(), *results, outs)) {
      if (Translation::typeOf(result.getType()).getRank() != spmdc::typeOf(value).getRank())
        return refuse(op, "has a result of another rank than its region");
      FailureOr<Signature> signature =
          signatureOf(t, op, annotation, Translation::typeOf(result.getType()), plainTypeOf(value), own, hasAutomatic);
      if (failed(signature))
        return failure();
      if (signature->unreduced)
        value = t.create<spmdc::AllReduceOp>(plainTypeOf(value), value, ReductionKind::sum, signature->unreduced,
                                             t.b.getStringAttr("out_specs name its axes in 'unreduced'"));
      signatures.push_back(*signature);
    }
    VaryingAxes varying(block, shardingAxes);
    if (std::optional<DividedCollective> divided = findDividedCollective(block, varying))
      return refuse(op,
                    "reaches a collective only where a condition holds that differs between the devices of its group: "
                    "some would wait for others forever; move the collective out of the branch or loop, or make the "
                    "condition the same for all, with pmax or pmin of it as an integer");
    for (auto [value, signature] : llvm::zip_equal(*results, signatures)) {
      VaryingAxes::Axes named = VaryingAxes::getShardingAxes(signature.global);
      std::vector<std::string> single;
      for (const std::string &axis : varying.of(value)) {
        if (!llvm::is_contained(own, axis) || named.count(axis))
          continue;
        if (sizeOf(t.mesh, axis) == 1) {
          single.push_back(axis);
          continue;
        }
        return refuse(op, "has a result that differs along the axis '" + axis +
                              "', which its out_specs leave out; reduce "
                              "it with psum or pmean, or name the axis in out_specs");
      }
      // A collective over an axis of one device is lost in the groups of device numbers; it changes no value.
      if (!single.empty())
        value =
            t.create<spmdc::AllReduceOp>(plainTypeOf(value), value, ReductionKind::max, t.axesOf(single), StringAttr());
      types.push_back(signature.global);
      kept.push_back(signature.replicated);
    }
    t.create<ManualYieldOp>(*results);
  }
  AxesAttr named = own.size() == t.mesh.axes.size() ? AxesAttr() : t.axesOf(own);
  auto manual = t.create<ManualOp>(types, inputs, named);
  manual.getBody().takeBody(region);
  return llvm::map_to_vector(llvm::zip_equal(manual.getOutputs(), kept), [&](auto output) -> Value {
    auto [value, replicated] = output;
    return replicated ? t.constrain(value, spmdc::typeOf(value), replicated) : value;
  });
}

//===- Annotations --------------------------------------------------------===//

template <typename Op> One constraint(Translation &t, Op op) {
  Value array = t.get(op.getInput());
  FailureOr<ReadSharding> read = t.readSharding(op, op.getSharding(), shapeOf(array));
  if (failed(read))
    return failure();
  if (auto place = t.shardingPlaces.find(op); place != t.shardingPlaces.end())
    t.loc = getAnnotatedLoc(t.loc, place->second);
  return t.constrain(array, read->sharding, read->replicated);
}

Results shardingGroup(Translation &t, sdy::ShardingGroupOp op) {
  t.create<spmdc::ShardingGroupOp>(t.get(op.getInput()), op.getGroupId());
  return SmallVector<Value>();
}

} // namespace

void addManualRules(Rules &rules) {
  rules.addMany<sdy::ManualComputationOp>(manualComputation);
  rules.add<sdy::ShardingConstraintOp>(constraint<sdy::ShardingConstraintOp>);
  rules.add<sdy::ReshardOp>(constraint<sdy::ReshardOp>);
  rules.addMany<sdy::ShardingGroupOp>(shardingGroup);
}

} // namespace spmdc::stablehlo
