//===- AssemblyOfReduce.cpp - stablehlo.reduce in text --------------------===//
//
// Two forms:
//
//   stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (...) -> ...
//   stablehlo.reduce(%x init: %a), (%i init: %b) across dimensions = [1] : (...) -> (...)
//     reducer(%x0: tensor<f32>, %x1: tensor<f32>) (%i0: tensor<i32>, %i1: tensor<i32>) { ... }
//
// The block of the second takes all left operands first, then all right ones.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/dialect/Assembly.h"

using namespace mlir;

namespace spmdc::stablehlo {

/// The body of the short form: one operation of two elements.
static ParseResult buildBody(OpAsmParser &parser, OperationState &result, OperationName name, Location nameLoc) {
  auto type = llvm::dyn_cast<RankedTensorType>(result.types.front());
  if (!type)
    return parser.emitError(parser.getNameLoc(), "the result of reduce must be a ranked tensor");
  Type element = RankedTensorType::get({}, type.getElementType());
  Block &block = result.regions.front()->emplaceBlock();
  block.addArguments({element, element}, {nameLoc, nameLoc});
  OpBuilder builder(parser.getContext());
  builder.setInsertionPointToStart(&block);
  Operation *combine = builder.create(nameLoc, name.getIdentifier(), block.getArguments(), element);
  builder.create<ReturnOp>(nameLoc, combine->getResults());
  return success();
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands, initials;
  SMLoc loc = parser.getCurrentLocation();
  do {
    if (parser.parseLParen() || parser.parseOperand(operands.emplace_back()) || parser.parseKeyword("init") ||
        parser.parseColon() || parser.parseOperand(initials.emplace_back()) || parser.parseRParen())
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  operands.append(initials);

  std::optional<OperationName> combine;
  Location combineLoc = parser.getEncodedSourceLoc(loc);
  if (succeeded(parser.parseOptionalKeyword("applies"))) {
    SMLoc at = parser.getCurrentLocation();
    FailureOr<OperationName> name = parser.parseCustomOperationName();
    if (failed(name))
      return failure();
    if (initials.size() != 1 || !name->isRegistered())
      return parser.emitError(at, "'applies' names an operation of two elements, for one reduced array");
    combine = *name;
    combineLoc = parser.getEncodedSourceLoc(at);
  }
  SmallVector<int64_t> dims;
  FunctionType type;
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(dims.emplace_back()); }) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type))
    return failure();
  result.addAttribute("dimensions", parser.getBuilder().getDenseI64ArrayAttr(dims));
  result.addTypes(type.getResults());
  if (parser.resolveOperands(operands, type.getInputs(), loc, result.operands))
    return failure();
  if (type.getNumResults() != initials.size())
    return parser.emitError(loc, "reduce has ")
           << initials.size() << " arrays, but " << type.getNumResults() << " results";
  Region &body = *result.addRegion();
  if (combine)
    return buildBody(parser, result, *combine, combineLoc);

  SmallVector<OpAsmParser::Argument> lhs, rhs;
  if (parser.parseKeyword("reducer"))
    return failure();
  for (size_t i = 0; i < initials.size(); ++i)
    if (parser.parseLParen() || parser.parseArgument(lhs.emplace_back(), /*allowType=*/true) || parser.parseComma() ||
        parser.parseArgument(rhs.emplace_back(), /*allowType=*/true) || parser.parseRParen())
      return failure();
  lhs.append(rhs);
  return parser.parseRegion(body, lhs);
}

void ReduceOp::print(OpAsmPrinter &printer) {
  auto pairs = [&](auto left, auto right, StringRef between, StringRef separator, auto printValue) {
    llvm::interleave(
        llvm::zip(left, right),
        [&](auto pair) {
          printer << "(";
          printValue(std::get<0>(pair));
          printer << between;
          printValue(std::get<1>(pair));
          printer << ")";
        },
        [&] { printer << separator; });
  };
  pairs(getInputs(), getInitValues(), " init: ", ", ", [&](Value value) { printer << value; });
  printer << " across dimensions = [";
  llvm::interleaveComma(getDimensions(), printer);
  printer << "]";
  printer.printOptionalAttrDict((*this)->getAttrs(), {"dimensions"});
  printer << " : ";
  printer.printFunctionalType(*this);
  printer.printNewline();
  printer << " reducer";
  auto arguments = getBody().getArguments();
  size_t half = arguments.size() / 2;
  pairs(arguments.take_front(half), arguments.drop_front(half), ", ", " ",
        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

} // namespace spmdc::stablehlo
