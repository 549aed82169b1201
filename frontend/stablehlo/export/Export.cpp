//===- Export.cpp - array operations as StableHLO -------------------------===//

#include "frontend/stablehlo/export/Export.h"

#include "frontend/stablehlo/Formula.h"
#include "frontend/stablehlo/export/Exporter.h"
#include "frontend/stablehlo/narrow/NarrowText.h"
#include "frontend/stablehlo/narrow/NarrowTypes.h"

#include "ir/spmd/ElementFormats.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace spmdc {
namespace stablehlo {
namespace {

/// A name as a path of JAX, which the importer turns into the name again: `p.0.w` is `p[0]['w']`. Without a first part
/// of its own, the path begins with a bracket: `[0]['w']`.
std::string pathOf(StringRef name, bool hasRoot) {
  std::string path;
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  for (auto [index, part] : llvm::enumerate(parts)) {
    bool isNumber = !part.empty() && llvm::all_of(part, llvm::isDigit);
    if (index == 0 && hasRoot)
      path += part;
    else
      path += isNumber ? ("[" + part + "]").str() : ("['" + part + "']").str();
  }
  return path;
}

/// Declares the mesh, and how many devices XLA partitions the program over, as JAX does.
void writeMesh(Exporter &e, ModuleOp module) {
  int64_t devices = 1;
  if (e.mesh) {
    SmallVector<StringAttr> axes;
    SmallVector<int64_t> sizes;
    for (const spmd::MeshAxis &axis : e.mesh.toValue().axes) {
      axes.push_back(e.b.getStringAttr(axis.name));
      sizes.push_back(axis.size);
      devices *= axis.size;
    }
    e.create<sdy::MeshOp>(kExportedMesh, sdy::MeshAttr::get(e.b.getContext(), axes, sizes, {}));
  }
  module->setAttr("mhlo.num_partitions", e.b.getI32IntegerAttr(static_cast<int32_t>(devices)));
  module->setAttr("mhlo.num_replicas", e.b.getI32IntegerAttr(1));
}

/// The sharding of an argument or result, if its type has one.
void setSharding(Exporter &e, Type type, llvm::function_ref<void(StringAttr, Attribute)> set) {
  auto array = llvm::cast<ArrayType>(type);
  if (e.mesh && array.getSharding())
    set(e.b.getStringAttr("sdy.sharding"), e.shardingOf(array));
}

/// The tensor of an argument or result with this attribute of its format: one of narrow numbers has their type again.
Type withFormat(Type tensor, Attribute format) {
  Type element = narrowElement(tensor.getContext(), formatOf(format));
  Type numbers = element ? Type(withElement(tensor, element)) : tensor;
  return storageOf(numbers) == tensor ? numbers : tensor; // Of IR that a user wrote.
}

/// Narrow numbers as bytes, or the reverse: the bits of floats, the values of integers.
Value retype(Exporter &e, Value value, Type type) {
  if (value.getType() == type)
    return value;
  const spmd::NarrowFormat *narrow = findNarrow(value.getType());
  const spmd::NarrowFormat *format = narrow ? narrow : findNarrow(type);
  if (format->isFloat() && format->bits < 8) { // The bits are an unsigned number, and its value is the byte's.
    Type bits = withElement(type, e.b.getIntegerType(static_cast<unsigned>(format->bits), /*isSigned=*/false));
    return narrow ? e.create<ConvertOp>(type, e.create<BitcastConvertOp>(bits, value)).getResult()
                  : e.create<BitcastConvertOp>(type, e.create<ConvertOp>(bits, value)).getResult();
  }
  bool isFloat = format->isFloat();
  return isFloat ? e.create<BitcastConvertOp>(type, value).getResult() : e.create<ConvertOp>(type, value).getResult();
}

LogicalResult writeFunction(Exporter &e, func::FuncOp function) {
  auto tensorsOf = [](TypeRange types) {
    return llvm::map_to_vector(types, [](Type type) -> Type { return Exporter::typeOf(type); });
  };
  e.loc = toPlainLoc(function.getLoc());
  SmallVector<Type> arguments = tensorsOf(function.getArgumentTypes()), results = tensorsOf(function.getResultTypes());
  for (auto [i, type] : llvm::enumerate(arguments))
    type = withFormat(type, function.getArgAttr(static_cast<unsigned>(i), kFormatAttrName));
  for (auto [i, type] : llvm::enumerate(results))
    type = withFormat(type, function.getResultAttr(static_cast<unsigned>(i), kFormatAttrName));
  auto made = e.create<func::FuncOp>(function.getName(), e.b.getFunctionType(arguments, results));
  made.setPublic();
  Block &block = *made.addEntryBlock();
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(&block);
  for (auto [number, argument] : llvm::enumerate(function.getArguments())) {
    auto index = static_cast<unsigned>(number);
    BlockArgument parameter = block.getArgument(index);
    parameter.setLoc(toPlainLoc(argument.getLoc()));
    if (auto name = function.getArgAttrOfType<StringAttr>(index, kNameAttrName))
      parameter.setLoc(NameLoc::get(e.b.getStringAttr(pathOf(name.getValue(), /*hasRoot=*/true))));
    setSharding(e, argument.getType(), [&](StringAttr name, Attribute value) { made.setArgAttr(index, name, value); });
    e.set(argument, retype(e, parameter, Exporter::typeOf(argument.getType())));
  }
  for (auto [number, type] : llvm::enumerate(function.getResultTypes())) {
    auto index = static_cast<unsigned>(number);
    if (auto name = function.getResultAttrOfType<StringAttr>(index, kNameAttrName))
      made.setResultAttr(index, "jax.result_info",
                         e.b.getStringAttr("result" + pathOf(name.getValue(), /*hasRoot=*/false)));
    setSharding(e, type, [&](StringAttr name, Attribute value) { made.setResultAttr(index, name, value); });
  }
  Block &body = function.getBody().front();
  if (failed(e.write(body)))
    return failure();
  e.loc = toPlainLoc(body.getTerminator()->getLoc());
  SmallVector<Value> values = e.get(body.getTerminator()->getOperands());
  for (auto [value, type] : llvm::zip_equal(values, results))
    value = retype(e, value, type);
  e.create<func::ReturnOp>(values);
  return success();
}

} // namespace
} // namespace stablehlo

FailureOr<std::string> exportStablehlo(ModuleOp module) {
  MLIRContext *context = module.getContext();
  context->loadDialect<stablehlo::StablehloDialect, chlo::ChloDialect, sdy::SdyDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> target = ModuleOp::create(stablehlo::toPlainLoc(module.getLoc()), "main");
  OpBuilder builder = OpBuilder::atBlockEnd(target->getBody());
  auto mesh = module->getAttrOfType<MeshAttr>(kMeshAttrName);
  stablehlo::Exporter exporter(*target, builder, mesh && !mesh.getAxes().empty() ? mesh : MeshAttr());
  stablehlo::writeMesh(exporter, *target);
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(stablehlo::writeFunction(exporter, function)))
      return failure();
  if (failed(verify(*target)))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  target->print(os, OpPrintingFlags().enableDebugInfo(/*enable=*/true, /*prettyForm=*/false));
  os << "\n";
  return stablehlo::withNarrowNames(text);
}

} // namespace spmdc
