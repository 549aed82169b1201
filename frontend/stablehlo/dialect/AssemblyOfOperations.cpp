//===- AssemblyOfOperations.cpp - operations with a form of their own -----===//

#include "frontend/stablehlo/dialect/Assembly.h"

using namespace mlir;

namespace spmdc::stablehlo {

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  ElementsAttr value;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseAttribute(value, "value", result.attributes))
    return failure();
  result.addTypes(value.getType());
  return success();
}

void ConstantOp::print(OpAsmPrinter &printer) {
  printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  printer << " " << getValue();
}

/// `[0, 1] x [1, 2]`.
static ParseResult parseDimPairs(OpAsmParser &parser, DenseI64ArrayAttr &lhs, DenseI64ArrayAttr &rhs) {
  auto parseDims = [&](DenseI64ArrayAttr &dims) -> ParseResult {
    SmallVector<int64_t> numbers;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       [&] { return parser.parseInteger(numbers.emplace_back()); }))
      return failure();
    dims = parser.getBuilder().getDenseI64ArrayAttr(numbers);
    return success();
  };
  return failure(parseDims(lhs) || parser.parseKeyword("x") || parseDims(rhs));
}

/// `[HIGHEST, HIGHEST]`. The importer does not read it: products of f32 are exact to f32 here.
static ParseResult parsePrecision(OpAsmParser &parser, OperationState &result) {
  SmallVector<Attribute> words;
  auto parseWord = [&]() -> ParseResult {
    StringRef word;
    if (parser.parseKeyword(&word))
      return failure();
    words.push_back(PrecisionAttr::get(parser.getContext(), word));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseWord))
    return failure();
  result.addAttribute("precision_config", parser.getBuilder().getArrayAttr(words));
  return success();
}

/// The algorithm of a product has no effect.
static ParseResult skipAlgorithm(OpAsmParser &parser) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
    StringRef name, value;
    int64_t number = 0;
    Type type;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (OptionalParseResult parsed = parser.parseOptionalInteger(number); parsed.has_value())
      return *parsed;
    if (OptionalParseResult parsed = parser.parseOptionalType(type); parsed.has_value())
      return *parsed;
    return parser.parseKeyword(&value);
  });
}

ParseResult DotGeneralOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand lhs, rhs;
  DenseI64ArrayAttr none = parser.getBuilder().getDenseI64ArrayAttr({});
  DenseI64ArrayAttr lhsBatch = none, rhsBatch = none, lhsContract = none, rhsContract = none;
  if (parser.parseOperand(lhs) || parser.parseComma() || parser.parseOperand(rhs))
    return failure();
  while (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word) || parser.parseEqual())
      return failure();
    if (word == "batching_dims" || word == "contracting_dims") {
      bool isBatch = word == "batching_dims";
      if (parseDimPairs(parser, isBatch ? lhsBatch : lhsContract, isBatch ? rhsBatch : rhsContract))
        return failure();
    } else if (word == "precision" || word == "algorithm") {
      if (word == "precision" ? parsePrecision(parser, result) : skipAlgorithm(parser))
        return failure();
    } else {
      return parser.emitError(loc, "unknown entry '") << word << "' of dot_general";
    }
  }
  FunctionType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type))
    return failure();
  result.addAttribute("lhs_batching_dimensions", lhsBatch);
  result.addAttribute("rhs_batching_dimensions", rhsBatch);
  result.addAttribute("lhs_contracting_dimensions", lhsContract);
  result.addAttribute("rhs_contracting_dimensions", rhsContract);
  result.addTypes(type.getResults());
  return parser.resolveOperands({lhs, rhs}, type.getInputs(), loc, result.operands);
}

void DotGeneralOp::print(OpAsmPrinter &printer) {
  auto pair = [&](StringRef name, ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
    printer << ", " << name << " = [";
    llvm::interleaveComma(lhs, printer);
    printer << "] x [";
    llvm::interleaveComma(rhs, printer);
    printer << "]";
  };
  printer << " " << getLhs() << ", " << getRhs();
  if (!getLhsBatchingDimensions().empty())
    pair("batching_dims", getLhsBatchingDimensions(), getRhsBatchingDimensions());
  pair("contracting_dims", getLhsContractingDimensions(), getRhsContractingDimensions());
  if (std::optional<ArrayAttr> precision = getPrecisionConfig()) {
    printer << ", precision = [";
    llvm::interleaveComma(precision->getAsRange<PrecisionAttr>(), printer,
                          [&](PrecisionAttr word) { printer << word.getValue(); });
    printer << "]";
  }
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
                                 "rhs_contracting_dimensions", "precision_config"});
  printer << " : ";
  printer.printFunctionalType(*this);
}

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> initials;
  auto parseCarry = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(initials.emplace_back()));
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseCarry))
    return failure();
  SmallVector<Type> types;
  if (!initials.empty() && parser.parseColonTypeList(types))
    return failure();
  if (types.size() != initials.size())
    return parser.emitError(loc, "the loop carries ")
           << initials.size() << " values, but names " << types.size() << " types";
  for (auto [argument, type] : llvm::zip(arguments, types))
    argument.type = type;
  result.addTypes(types);
  if (parser.resolveOperands(initials, types, loc, result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseKeyword("cond") ||
      parser.parseRegion(*result.addRegion(), arguments) || parser.parseKeyword("do") ||
      parser.parseRegion(*result.addRegion(), arguments))
    return failure();
  return success();
}

void WhileOp::print(OpAsmPrinter &printer) {
  // The condition's arguments name the carries in both regions.
  printer.shadowRegionArgs(getBody(), getCond().getArguments());
  printer << "(";
  llvm::interleaveComma(llvm::zip(getCond().getArguments(), getInitials()), printer,
                        [&](auto carry) { printer << std::get<0>(carry) << " = " << std::get<1>(carry); });
  printer << ")";
  if (getNumOperands()) {
    printer << " : ";
    llvm::interleaveComma(getOperandTypes(), printer);
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << " cond ";
  printer.printRegion(getCond(), /*printEntryBlockArgs=*/false);
  printer << " do ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

} // namespace spmdc::stablehlo
