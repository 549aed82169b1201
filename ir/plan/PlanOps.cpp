//===- PlanOps.cpp - kernels and the steps of a device --------------------===//

#include "ir/plan/PlanOps.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "ir/plan/PlanOpsDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/plan/PlanOpsAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/plan/PlanOpsTypes.cpp.inc"

namespace spmdc::plan {

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/plan/PlanOpsAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/plan/PlanOpsTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/plan/PlanOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// ViewAttr
//===----------------------------------------------------------------------===//

LogicalResult ViewAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t offset, DenseI64ArrayAttr batch,
                               DenseI64ArrayAttr rows, DenseI64ArrayAttr columns) {
  for (DenseI64ArrayAttr digits : {batch, rows, columns}) {
    ArrayRef<int64_t> numbers = digits.asArrayRef();
    bool isValid = numbers.size() % 2 == 0 && offset >= 0;
    for (size_t i = 0; isValid && i < numbers.size(); i += 2)
      isValid = numbers[i] >= 1 && numbers[i + 1] >= 0;
    if (!isValid)
      return emitError() << "a view has an offset from 0, and pairs of a size from 1 and a stride from 0";
  }
  return success();
}

ViewAttr ViewAttr::get(MLIRContext *context, const spmd::OperandView &view) {
  auto listOf = [&](const spmd::ViewDigits &digits) {
    SmallVector<int64_t> numbers;
    for (const spmd::ViewDigit &digit : digits)
      numbers.append({digit.size, digit.stride});
    return DenseI64ArrayAttr::get(context, numbers);
  };
  return get(context, view.offset, listOf(view.batch), listOf(view.rows), listOf(view.columns));
}

spmd::OperandView ViewAttr::toView() const {
  auto digitsOf = [](DenseI64ArrayAttr list) {
    spmd::ViewDigits digits;
    for (int64_t i = 0; i < list.size(); i += 2)
      digits.push_back({list[i], list[i + 1]});
    return digits;
  };
  return {getOffset(), digitsOf(getBatch()), digitsOf(getRows()), digitsOf(getColumns())};
}

LogicalResult LibraryEpilogueAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef function,
                                          FloatAttr factor, FloatAttr arrayFactor, int32_t array, int32_t bias) {
  if (!llvm::is_contained({"identity", "gelu", "gelu_gradient"}, function))
    return emitError() << "'" << function << "' is none of the functions identity, gelu and gelu_gradient";
  for (FloatAttr each : {factor, arrayFactor})
    if (!each.getType().isF64() || !each.getValue().isFinite())
      return emitError() << "the factors of an epilogue are finite numbers of f64";
  if (function == "gelu_gradient" && (array < 0 || bias >= 0))
    return emitError() << "the gradient of a gelu has an array, and no bias";
  return success();
}

//===----------------------------------------------------------------------===//
// KernelOp: plan.kernel @name(%x: type, ...) attributes {...} { ... }
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(), result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printSymbolName(getSymName());
  printer << "(";
  llvm::interleaveComma(getBlock().getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {SymbolTable::getSymbolAttrName()});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

/// True if every assembler accepts this name for a function: a letter, then letters, digits and underscores. PTX
/// accepts no name that begins with a digit.
static bool isAssemblerName(StringRef name) {
  return !name.empty() && llvm::isAlpha(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

LogicalResult KernelOp::verify() {
  if (!isAssemblerName(getSymName()))
    return emitOpError() << "the name '" << getSymName()
                         << "' is not a letter followed by letters, digits and underscores";
  for (BlockArgument argument : getBlock().getArguments())
    if (!isa<ArrayType>(argument.getType()))
      return emitOpError() << "inputs must be arrays, got " << argument.getType();
  if (!isa<ReturnOp>(getBlock().getTerminator()))
    return emitOpError("must end in plan.return");
  return success();
}

} // namespace spmdc::plan

#define GET_OP_CLASSES
#include "ir/plan/PlanOps.cpp.inc"
