//===- Import.cpp - programs exported from JAX ----------------------------===//

#include "frontend/stablehlo/Import.h"

#include "frontend/MeshOverride.h"
#include "frontend/stablehlo/Gspmd.h"
#include "frontend/stablehlo/Names.h"
#include "frontend/stablehlo/Platforms.h"
#include "frontend/stablehlo/RegionConstants.h"
#include "frontend/stablehlo/ShardingTexts.h"
#include "frontend/stablehlo/TextForm.h"
#include "frontend/stablehlo/Translation.h"
#include "frontend/stablehlo/UnreadTypes.h"
#include "frontend/stablehlo/complex/ExpandComplex.h"
#include "frontend/stablehlo/complex/Expander.h"
#include "frontend/stablehlo/narrow/ExpandNarrow.h"
#include "frontend/stablehlo/narrow/NarrowText.h"
#include "frontend/stablehlo/narrow/NarrowTypes.h"

#include "ir/spmd/ElementFormats.h"
#include "ir/spmd/Location.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <set>

using namespace mlir;

namespace spmdc {
namespace stablehlo {
namespace {

//===- Types --------------------------------------------------------------===//

/// Refuses a type that no array has.
LogicalResult checkType(Operation *op, Type type) {
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape()) // The text has no dynamic shapes (UnreadTypes.h).
    return refuse(op, "has a value of type ") << type << "; only arrays are supported";
  // A complex array becomes two real ones, a narrow one an array of bytes.
  Type element = tensor.getElementType(), part = llvm::cast<RankedTensorType>(partOf(type)).getElementType();
  bool isKnown =
      isComplex(type) ? part.isF32() || part.isF64() : findDType(element).has_value() || findNarrowElement(element);
  if (!isKnown)
    return refuse(op, "has elements of type ")
           << element << ", which is not supported; use one of " << spmd::listDTypes(/*withKey=*/false) << " "
           << listNarrowTypes() << " complex<f32> complex<f64>";
  if (!Translation::typeOf(storageOf(partOf(type))).hasAllowedSize())
    return refuse(op, "has an array that is too large: ") << type;
  return success();
}

/// Refuses operands and results of a manual region that are sums, if arrays of their type cannot be added.
LogicalResult checkUnreduced(sdy::ManualComputationOp op) {
  auto check = [&](sdy::TensorShardingsAttr shardings, TypeRange types) {
    for (auto [sharding, type] : llvm::zip(shardings.getShardings(), types))
      if (Type element = llvm::cast<RankedTensorType>(type).getElementType();
          !sharding.getSharding().getUnreduced().empty() && (element.isInteger(1) || findNarrowElement(element)))
        return failure();
    return success();
  };
  if (failed(check(op.getInShardings(), op->getOperandTypes())) ||
      failed(check(op.getOutShardings(), op->getResultTypes())))
    return refuse(op, "takes or returns partial sums ('unreduced') of bools, of floats of 8 bits or fewer, or of "
                      "integers of 4 bits or fewer, which is not supported; convert them to f32 or i32");
  return success();
}

/// Checks all types, so that no rule meets another one.
LogicalResult checkModule(ModuleOp module) {
  bool isGood = true;
  module.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      isGood &= succeeded(checkType(op, type));
    for (Region &region : op->getRegions())
      for (mlir::Block &block : region)
        for (BlockArgument argument : block.getArguments())
          isGood &= succeeded(checkType(op, argument.getType()));
  });
  if (isGood)
    module.walk([&](sdy::ManualComputationOp op) { isGood &= succeeded(checkUnreduced(op)); });
  return success(isGood);
}

//===- The mesh -----------------------------------------------------------===//

/// Whether the mesh has at most as many devices as a mesh of the language.
bool hasAllowedSize(const spmd::MeshShape &mesh) {
  constexpr int64_t kMaxDevices = 1 << 20;
  int64_t devices = 1;
  return llvm::none_of(mesh.axes, [&](const spmd::MeshAxis &axis) {
    return llvm::MulOverflow(devices, axis.size, devices) || devices > kMaxDevices;
  });
}

//===- Functions ----------------------------------------------------------===//

func::FuncOp findEntry(ModuleOp module, StringRef name) {
  if (auto function = module.lookupSymbol<func::FuncOp>(name))
    return function;
  module.emitError() << "the program has no function '" << name << "'; an export has one of the name 'main'";
  return {};
}

/// The name that a location gives to a value: `loc("p['w']")`; empty if it gives none.
std::string nameOf(Location loc) {
  if (auto named = llvm::dyn_cast<NameLoc>(loc))
    return nameOfPath(named.getName().getValue());
  return "";
}

/// Names that differ, in order; an empty name stays empty, and a second one of the same name gets none.
void setNames(ArrayRef<std::string> names, llvm::function_ref<void(unsigned, StringAttr)> set, MLIRContext *context) {
  std::set<std::string> seen;
  for (auto [index, name] : llvm::enumerate(names))
    if (!name.empty() && seen.insert(name).second)
      set(static_cast<unsigned>(index), StringAttr::get(context, name));
}

/// The path without its first part: `w1` of `p.w1`.
StringRef restOf(StringRef name) { return name.split('.').second; }

/// Gives a result that takes the place of a donated argument the argument's name, so that a loop can carry it:
/// `tf.aliasing_output` names the result; for `jax.buffer_donor` it is the first of the type with the same path behind
/// the first part.
void nameDonated(func::FuncOp entry, ArrayRef<std::string> names, MutableArrayRef<std::string> resultNames) {
  llvm::SmallDenseSet<unsigned> taken;
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (auto alias = entry.getArgAttrOfType<IntegerAttr>(i, "tf.aliasing_output");
        alias && alias.getValue().ult(entry.getNumResults()) && taken.insert(alias.getInt()).second)
      pairs.emplace_back(i, alias.getInt());
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    if (!entry.getArgAttr(i, "jax.buffer_donor"))
      continue;
    for (unsigned result = 0; result < entry.getNumResults(); ++result)
      if (entry.getArgumentTypes()[i] == entry.getResultTypes()[result] && !taken.count(result) &&
          restOf(names[i]) == restOf(resultNames[result])) {
        taken.insert(result);
        pairs.emplace_back(i, result);
        break;
      }
  }
  for (auto [argument, result] : pairs)
    if (!names[argument].empty())
      resultNames[result] = names[argument];
}

/// The types of arguments or results with the shardings of their attributes.
FailureOr<SmallVector<Type>> typesOf(Translation &t, func::FuncOp function, TypeRange tensors,
                                     llvm::function_ref<Attribute(unsigned, StringRef)> attributeOf) {
  SmallVector<Type> types;
  for (auto [index, tensor] : llvm::enumerate(tensors)) {
    ArrayType type = Translation::typeOf(tensor);
    auto number = static_cast<unsigned>(index);
    auto text = llvm::dyn_cast_or_null<StringAttr>(attributeOf(number, "mhlo.sharding"));
    if (text && t.source.getOps<sdy::MeshOp>().empty()) {
      FailureOr<ShardingAttr> sharding = shardingOfTiling(t, function, text.getValue(), type.getShape());
      if (failed(sharding))
        return failure();
      type = type.withSharding(*sharding);
    }
    if (auto annotation = llvm::dyn_cast_or_null<sdy::TensorShardingAttr>(attributeOf(number, "sdy.sharding"))) {
      FailureOr<ReadSharding> read = t.readSharding(function, annotation, type.getShape());
      if (failed(read))
        return failure();
      if (read->replicated)
        return refuse(function, "has an argument or result that keeps an axis from its open dimensions ('replicated'), "
                                "which is not supported; close the dimensions");
      type = type.withSharding(read->sharding);
    }
    types.push_back(type);
  }
  return types;
}

/// The place of a sharding in the exported text.
std::optional<Location> placeOf(MLIRContext *context, const std::optional<Annotation> &annotation) {
  if (!annotation)
    return std::nullopt;
  const Range &range = annotation->range;
  LineColumn first = range.start(), last = range.source->position(range.end - 1);
  return getRangeLoc(context, range.source->getName(), first.line, first.column, last.line, last.column);
}

/// The location of an argument or result, with the place of its sharding if the text has one.
Location annotated(Location loc, ArrayRef<std::optional<Annotation>> annotations, size_t index) {
  std::optional<Location> place =
      index < annotations.size() ? placeOf(loc.getContext(), annotations[index]) : std::nullopt;
  return place ? getAnnotatedLoc(loc, *place) : loc;
}

/// Constraints are in the order of the text.
void setShardingPlaces(Translation &t, ModuleOp source, const ShardingTexts &texts) {
  size_t number = 0;
  source.walk<WalkOrder::PreOrder>([&](sdy::ShardingConstraintOp op) {
    if (op->hasAttr(kSecondPartAttrName) && number > 0)
      --number;
    if (number < texts.constraints.size())
      if (std::optional<Location> place = placeOf(op.getContext(), texts.constraints[number]))
        t.shardingPlaces.try_emplace(op, *place);
    ++number;
  });
}

/// Removes the annotations of scalars, which say nothing. JAX writes them for axes of type Explicit, and they would
/// hide constants, counters of loops and kinds of reductions from the rules. The others have their places in the text
/// by now.
void dropAnnotationsOfScalars(Translation &t, ModuleOp source) {
  source.walk([&](sdy::ShardingConstraintOp op) {
    if (llvm::cast<RankedTensorType>(op.getInput().getType()).getRank() != 0)
      return;
    t.shardingPlaces.erase(op);
    op.replaceAllUsesWith(op.getInput());
    op.erase();
  });
}

LogicalResult translateEntry(Translation &t, func::FuncOp entry, ModuleOp module, const ShardingTexts &texts) {
  if (entry.isExternal() || !llvm::hasSingleElement(entry.getBody()))
    return refuse(entry, "has no body of one block");
  MLIRContext *context = module.getContext();
  auto arguments = typesOf(t, entry, entry.getArgumentTypes(),
                           [&](unsigned i, StringRef name) { return entry.getArgAttr(i, name); });
  auto results = typesOf(t, entry, entry.getResultTypes(),
                         [&](unsigned i, StringRef name) { return entry.getResultAttr(i, name); });
  for (Type type : entry.getFunctionType().getResults())
    if (failed(checkType(entry, type)))
      return failure();
  if (failed(arguments) || failed(results))
    return failure();
  auto function =
      t.b.create<func::FuncOp>(toArrayLoc(entry.getLoc()), "main", t.b.getFunctionType(*arguments, *results));
  SmallVector<std::string> names, resultNames;
  for (BlockArgument argument : entry.getArguments())
    names.push_back(nameOf(argument.getLoc()));
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    auto path = entry.getResultAttrOfType<StringAttr>(i, "jax.result_info");
    StringRef text = path ? path.getValue() : "";
    text.consume_front("result");
    resultNames.push_back(nameOfPath(text));
  }
  nameDonated(entry, names, resultNames);
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (Attribute format = entry.getArgAttr(i, kFormatAttrName))
      function.setArgAttr(i, kFormatAttrName, format);
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (Attribute format = entry.getResultAttr(i, kFormatAttrName))
      function.setResultAttr(i, kFormatAttrName, format);
  setNames(names, [&](unsigned i, StringAttr name) { function.setArgAttr(i, kNameAttrName, name); }, context);
  setNames(resultNames, [&](unsigned i, StringAttr name) { function.setResultAttr(i, kNameAttrName, name); }, context);

  mlir::Block &block = *function.addEntryBlock();
  t.b.setInsertionPointToStart(&block);
  for (auto [parameter, argument] : llvm::zip_equal(entry.getArguments(), block.getArguments())) {
    argument.setLoc(annotated(toArrayLoc(parameter.getLoc()), texts.arguments, argument.getArgNumber()));
    t.set(parameter, argument);
  }
  Results values = t.translate(entry.getBody().front());
  if (failed(values))
    return failure();
  for (auto [index, type] : llvm::enumerate(*results)) {
    Value &value = (*values)[index];
    if (spmdc::typeOf(value) != type)
      value = t.b.create<ConstraintOp>(annotated(value.getLoc(), texts.results, index), type, value, false);
  }
  t.b.create<func::ReturnOp>(toArrayLoc(entry.getBody().front().getTerminator()->getLoc()), *values);
  return success();
}

} // namespace
} // namespace stablehlo

bool isStablehlo(llvm::StringRef text) {
  return llvm::any_of(llvm::ArrayRef<StringRef>{"stablehlo.", "mhlo.", "chlo.", "sdy."},
                      [&](StringRef dialect) { return text.contains(dialect); });
}

OwningOpRef<ModuleOp> importStablehlo(llvm::StringRef text, llvm::StringRef fileName, const FrontendOptions &options,
                                      MLIRContext &context, Diagnostics &diagnostics) {
  if (text.starts_with(kHloBegin)) {
    emitError(FileLineColLoc::get(&context, fileName, 1, 1))
        << "this is HLO, which is not read; export StableHLO: jax.jit(f).lower(...).as_text(debug_info=True)";
    return {};
  }
  if (std::optional<stablehlo::UnreadType> unread = stablehlo::findUnreadType(text)) {
    StringRef before = text.take_front(unread->offset);
    auto line = static_cast<unsigned>(before.count('\n') + 1);
    auto column = static_cast<unsigned>(before.size() - (before.rfind('\n') + 1) + 1);
    emitError(FileLineColLoc::get(&context, fileName, line, column)) << unread->message;
    return {};
  }
  loadFrontendDialects(context);
  context.loadDialect<stablehlo::StablehloDialect, chlo::ChloDialect, sdy::SdyDialect>();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(
                                 stablehlo::toReadableText(stablehlo::withReadableNarrowTypes(text)), fileName),
                             llvm::SMLoc());
  OwningOpRef<ModuleOp> source = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!source || failed(stablehlo::checkModule(*source)))
    return {};
  FailureOr<stablehlo::Meshes> meshes = stablehlo::Meshes::read(*source);
  func::FuncOp entry = stablehlo::findEntry(*source, options.function);
  if (failed(meshes) || !entry || failed(stablehlo::bindPlatform(entry, options.platform)) ||
      failed(stablehlo::expandNarrow(*source, entry)) || failed(stablehlo::expandComplex(*source, entry)))
    return {};
  stablehlo::copyConstantsIntoRegions(*source);
  spmd::MeshShape &mesh = meshes->shape;
  if (!options.meshOverride.empty() && !meshes->others.empty()) {
    entry.emitError("has several meshes, so that --mesh has no axes to resize; export it with one mesh");
    return {};
  }
  if (!options.meshOverride.empty())
    overrideMesh(options, mesh.axes, Range(), diagnostics);
  if (diagnostics.hasErrors())
    return {};
  if (!stablehlo::hasAllowedSize(mesh)) {
    entry.emitError("the mesh has more than 1048576 devices");
    return {};
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(FileLineColLoc::get(&context, fileName, 1, 1));
  if (!mesh.axes.empty())
    (*module)->setAttr(kMeshAttrName, MeshAttr::fromValue(&context, "mesh", mesh));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  stablehlo::Translation translation(*source, builder, *meshes);
  const Source &shown = diagnostics.addSource(fileName.str(), text.str());
  stablehlo::ShardingTexts texts = stablehlo::findShardings(shown, options.function);
  stablehlo::setShardingPlaces(translation, *source, texts);
  stablehlo::dropAnnotationsOfScalars(translation, *source);
  if (failed(stablehlo::translateEntry(translation, entry, *module, texts)) || failed(verify(*module)))
    return {};
  return module;
}

} // namespace spmdc
