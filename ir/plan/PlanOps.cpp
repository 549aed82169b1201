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
