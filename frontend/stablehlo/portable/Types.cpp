//===- Types.cpp - the types of a portable artifact -----------------------===//

#include "frontend/stablehlo/UnreadTypes.h"
#include "frontend/stablehlo/narrow/NarrowTypes.h"
#include "frontend/stablehlo/portable/Pool.h"

#include "mlir/IR/TypeRange.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace spmdc::stablehlo::portable {

Type makeTensor(ElementReader &reader, ArrayRef<int64_t> sizes, Type elementType) {
  bool isGood = elementType && TensorType::isValidElementType(elementType) &&
                llvm::all_of(sizes, [](int64_t size) { return size >= 0 || ShapedType::isDynamic(size); });
  if (!isGood) {
    reader.fail();
    return {};
  }
  auto type = RankedTensorType::get(sizes, elementType);
  if (!type.hasStaticShape()) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    reader.failure.set("it has dynamic shapes such as " + text + "; " + kStaticShapes);
    return {};
  }
  return type;
}

static Type makeComplex(ElementReader &reader, Type part) {
  return part && part.isIntOrFloat() ? Type(ComplexType::get(part)) : (reader.fail(), Type());
}

static Type makeInteger(ElementReader &reader, uint64_t width, uint64_t signedness) {
  // Wider ones are no elements of StableHLO.
  if (width == 0 || width > 64 || signedness > 2) {
    reader.fail();
    return {};
  }
  return IntegerType::get(reader.pool.context, static_cast<unsigned>(width),
                          static_cast<IntegerType::SignednessSemantics>(signedness));
}

static Type makeFunction(ElementReader &reader) {
  SmallVector<Type> inputs = reader.types(), results = reader.types();
  return reader.hasFailed() ? Type() : FunctionType::get(reader.pool.context, inputs, results);
}

static Type makeTuple(ElementReader &reader) {
  SmallVector<Type> parts = reader.types();
  return reader.hasFailed() ? Type() : TupleType::get(reader.pool.context, parts);
}

/// The element types of both dialects that MLIR 19 has.
enum class Number { BF16, F16, F32, F64, F8E4M3, F8E4M3FN, F8E5M2, F8E4M3FNUZ, F8E5M2FNUZ, F8E4M3B11FNUZ, TF32 };

static Type makeFloat(MLIRContext *context, Number number) {
  switch (number) {
  case Number::BF16:
    return BFloat16Type::get(context);
  case Number::F16:
    return Float16Type::get(context);
  case Number::F32:
    return Float32Type::get(context);
  case Number::F64:
    return Float64Type::get(context);
  case Number::F8E4M3:
    return Float8E4M3Type::get(context);
  case Number::F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case Number::F8E5M2:
    return Float8E5M2Type::get(context);
  case Number::F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case Number::F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case Number::F8E4M3B11FNUZ:
    return Float8E4M3B11FNUZType::get(context);
  case Number::TF32:
    return FloatTF32Type::get(context);
  }
  llvm_unreachable("every number is above");
}

Type readBuiltinType(ElementReader &reader) {
  MLIRContext *context = reader.pool.context;
  switch (uint64_t code = reader.number()) {
  case 0: {
    uint64_t widthAndSign = reader.number();
    return makeInteger(reader, widthAndSign >> 2, widthAndSign & 3);
  }
  case 1:
    return IndexType::get(context);
  case 2:
    return makeFunction(reader);
  case 3:
    return makeFloat(context, Number::BF16);
  case 4:
    return makeFloat(context, Number::F16);
  case 5:
    return makeFloat(context, Number::F32);
  case 6:
    return makeFloat(context, Number::F64);
  case 9:
    return makeComplex(reader, reader.type());
  case 12:
    return NoneType::get(context);
  case 13: {
    SmallVector<int64_t> sizes = reader.signedNumbers();
    return makeTensor(reader, sizes, reader.type());
  }
  case 15:
    return makeTuple(reader);
  default:
    reader.refuseCode("builtin", code);
    return {};
  }
}

/// A type of VHLO that no value of a program here can have.
static Type refuseType(ElementReader &reader, uint64_t code) {
  StringRef name = code == 22 || code == 42   ? "a token, the order of effects such as callbacks"
                   : code == 24 || code == 30 ? "quantized numbers"
                   : code == 25               ? "a tensor of unknown rank"
                   : code == 38 || code == 39 ? "floats of 6 bits"
                                              : "";
  if (name.empty())
    reader.refuseCode("vhlo", code);
  else if (name.starts_with("a token"))
    reader.failure.set("it has a type that is not supported: " + name + "; " + kUnorderedEffects);
  else
    reader.failure.set("it has a type that is not supported: " + name);
  return {};
}

Type readVhloType(ElementReader &reader) {
  MLIRContext *context = reader.pool.context;
  auto integer = [&](unsigned width, bool isSigned = true) {
    return makeInteger(reader, width, isSigned ? IntegerType::Signless : IntegerType::Unsigned);
  };
  switch (uint64_t code = reader.number()) {
  case 0:
    return integer(1);
  case 1:
    return makeComplex(reader, reader.type());
  case 2:
    return makeFloat(context, Number::BF16);
  case 3:
    return makeFloat(context, Number::F16);
  case 4:
    return makeFloat(context, Number::F32);
  case 5:
    return makeFloat(context, Number::F64);
  case 6:
    return makeFloat(context, Number::F8E4M3FN);
  case 7:
    return makeFloat(context, Number::F8E5M2);
  case 8:
    return makeFunction(reader);
  case 9:
    return IndexType::get(context);
  case 31:
    return integer(2);
  case 10:
  case 11:
  case 12:
  case 13:
  case 14:
    return integer(4u << (code - 10));
  case 32:
    return integer(2, /*isSigned=*/false);
  case 15:
  case 16:
  case 17:
  case 18:
  case 19:
    return integer(4u << (code - 15), /*isSigned=*/false);
  case 20: {
    SmallVector<int64_t> sizes = reader.signedNumbers();
    return makeTensor(reader, sizes, reader.type());
  }
  case 21: {
    reader.attribute(); // Bounds of dynamic sizes, which are refused where the operations are.
    SmallVector<int64_t> sizes = reader.signedNumbers();
    return makeTensor(reader, sizes, reader.type());
  }
  case 23:
    return makeTuple(reader);
  case 27:
    return makeFloat(context, Number::F8E4M3FNUZ);
  case 28:
    return makeFloat(context, Number::F8E5M2FNUZ);
  case 29:
    return makeFloat(context, Number::F8E4M3B11FNUZ);
  case 33:
    return NoneType::get(context);
  case 34:
    return makeFloat(context, Number::TF32);
  case 35:
    return makeFloat(context, Number::F8E4M3);
  // Types that MLIR 19 has no name for.
  case 36:
    return narrowElement(context, spmd::ElementFormat::F8E3M4);
  case 37:
    return narrowElement(context, spmd::ElementFormat::F4E2M1FN);
  case 40:
    return narrowElement(context, spmd::ElementFormat::F8E8M0FNU);
  default:
    return refuseType(reader, code);
  }
}

} // namespace spmdc::stablehlo::portable
