//===- Assembly.cpp - parts of StableHLO's assembly -----------------------===//

#include "frontend/stablehlo/dialect/Assembly.h"

using namespace mlir;

namespace spmdc::stablehlo {

//===- Types --------------------------------------------------------------===//

ParseResult parseAllTypes(OpAsmParser &parser, ArrayRef<Type *> types) {
  Type type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(type))
    return failure();
  auto function = llvm::dyn_cast<FunctionType>(type);
  if (!function) {
    for (Type *each : types)
      *each = type;
    return success();
  }
  if (function.getNumInputs() + 1 != types.size() || function.getNumResults() != 1)
    return parser.emitError(loc, "the type has ")
           << function.getNumInputs() << " operands and " << function.getNumResults() << " results; expected "
           << types.size() - 1 << " and 1";
  for (auto [each, input] : llvm::zip(types, function.getInputs()))
    *each = input;
  *types.back() = function.getResult(0);
  return success();
}

void printAllTypes(OpAsmPrinter &printer, ArrayRef<Type> types) {
  if (llvm::all_equal(types))
    printer << types.front();
  else
    printer.printFunctionalType(types.drop_back(), types.take_back());
}

ParseResult parseSelectTypes(OpAsmParser &parser, Type &predicate, Type &onTrue, Type &onFalse, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(predicate))
    return failure();
  if (auto function = llvm::dyn_cast<FunctionType>(predicate)) {
    if (function.getNumInputs() != 3 || function.getNumResults() != 1)
      return parser.emitError(loc, "select has three operands and one result");
    predicate = function.getInput(0);
    onTrue = function.getInput(1);
    onFalse = function.getInput(2);
    result = function.getResult(0);
    return success();
  }
  if (parser.parseComma() || parser.parseType(result))
    return failure();
  onTrue = onFalse = result;
  return success();
}

void printSelectTypes(OpAsmPrinter &printer, Operation *, Type predicate, Type onTrue, Type onFalse, Type result) {
  if (onTrue == result && onFalse == result)
    printer << predicate << ", " << result;
  else
    printer.printFunctionalType(TypeRange{predicate, onTrue, onFalse}, TypeRange{result});
}

ParseResult parseComplexTypes(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(result))
    return failure();
  auto tensor = llvm::dyn_cast<RankedTensorType>(result);
  auto complex = tensor ? llvm::dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  if (!complex)
    return parser.emitError(loc, "the result is a tensor of complex numbers");
  lhs = rhs = RankedTensorType::get(tensor.getShape(), complex.getElementType());
  return success();
}

void printComplexTypes(OpAsmPrinter &printer, Operation *, Type, Type, Type result) { printer << result; }

ParseResult parsePairwiseTypes(OpAsmParser &parser, SmallVectorImpl<Type> &operands, SmallVectorImpl<Type> &results) {
  if (parser.parseTypeList(operands))
    return failure();
  results.assign(operands.begin(), operands.end());
  return success();
}

void printPairwiseTypes(OpAsmPrinter &printer, Operation *, TypeRange operands, TypeRange) {
  llvm::interleaveComma(operands, printer);
}

//===- Attributes ---------------------------------------------------------===//

ParseResult parseExponentMantissa(OpAsmParser &parser, IntegerAttr &exponent, IntegerAttr &mantissa) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  auto [bits, rest] = word.split('m');
  int32_t exponentBits = 0, mantissaBits = 0;
  if (!bits.consume_front("e") || bits.getAsInteger(10, exponentBits) || rest.getAsInteger(10, mantissaBits))
    return parser.emitError(loc, "a format is written e8m7");
  exponent = parser.getBuilder().getI32IntegerAttr(exponentBits);
  mantissa = parser.getBuilder().getI32IntegerAttr(mantissaBits);
  return success();
}

void printExponentMantissa(OpAsmPrinter &printer, Operation *, IntegerAttr exponent, IntegerAttr mantissa) {
  printer << "e" << exponent.getInt() << "m" << mantissa.getInt();
}

ParseResult parseSliceRanges(OpAsmParser &parser, DenseI64ArrayAttr &starts, DenseI64ArrayAttr &limits,
                             DenseI64ArrayAttr &strides) {
  SmallVector<int64_t> start, limit, stride;
  auto parseRange = [&]() -> ParseResult {
    stride.push_back(1);
    if (parser.parseInteger(start.emplace_back()) || parser.parseColon() || parser.parseInteger(limit.emplace_back()))
      return failure();
    return succeeded(parser.parseOptionalColon()) ? parser.parseInteger(stride.back()) : success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRange))
    return failure();
  Builder &builder = parser.getBuilder();
  starts = builder.getDenseI64ArrayAttr(start);
  limits = builder.getDenseI64ArrayAttr(limit);
  strides = builder.getDenseI64ArrayAttr(stride);
  return success();
}

void printSliceRanges(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr starts, DenseI64ArrayAttr limits,
                      DenseI64ArrayAttr strides) {
  printer << "[";
  llvm::interleaveComma(llvm::seq<size_t>(0, starts.size()), printer, [&](size_t dim) {
    printer << starts[dim] << ":" << limits[dim];
    if (strides[dim] != 1)
      printer << ":" << strides[dim];
  });
  printer << "]";
}

static ParseResult parseLayout(OpAsmParser &parser, StringAttr &layout) {
  std::string letters;
  auto parseLetter = [&]() -> ParseResult {
    int64_t position = 0;
    SMLoc loc = parser.getCurrentLocation();
    if (OptionalParseResult parsed = parser.parseOptionalInteger(position); parsed.has_value()) {
      if (failed(*parsed) || position < 0 || position > 9)
        return parser.emitError(loc, "a position is 0 to 9");
      letters += static_cast<char>('0' + position);
      return success();
    }
    StringRef word;
    if (parser.parseKeyword(&word))
      return failure();
    if (word.size() != 1 || !StringRef("bfio").contains(word[0]))
      return parser.emitError(loc, "a dimension is b, f, i, o or a number");
    letters += word[0];
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseLetter))
    return failure();
  layout = parser.getBuilder().getStringAttr(letters);
  return success();
}

ParseResult parseLayouts(OpAsmParser &parser, StringAttr &lhs, StringAttr &rhs, StringAttr &result) {
  return failure(parseLayout(parser, lhs) || parser.parseKeyword("x") || parseLayout(parser, rhs) ||
                 parser.parseArrow() || parseLayout(parser, result));
}

static void printLayout(OpAsmPrinter &printer, StringAttr layout) {
  printer << "[";
  llvm::interleaveComma(layout.getValue(), printer);
  printer << "]";
}

void printLayouts(OpAsmPrinter &printer, Operation *, StringAttr lhs, StringAttr rhs, StringAttr result) {
  printLayout(printer, lhs);
  printer << "x";
  printLayout(printer, rhs);
  printer << "->";
  printLayout(printer, result);
}

ParseResult parseConvWindow(OpAsmParser &parser, StringAttr layout, DenseI64ArrayAttr &strides,
                            DenseI64ArrayAttr &padding, DenseI64ArrayAttr &lhsDilation, DenseI64ArrayAttr &rhsDilation,
                            DenseBoolArrayAttr &reversal) {
  SmallVector<int64_t> stride, pad, lhsDilate, rhsDilate;
  SmallVector<bool> reversed;
  auto parseNumbers = [&](SmallVectorImpl<int64_t> &numbers) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                          [&] { return parser.parseInteger(numbers.emplace_back()); });
  };
  auto parseEntry = [&]() -> ParseResult {
    StringRef word;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word) || parser.parseEqual())
      return failure();
    if (word == "stride")
      return parseNumbers(stride);
    if (word == "lhs_dilate")
      return parseNumbers(lhsDilate);
    if (word == "rhs_dilate")
      return parseNumbers(rhsDilate);
    if (word == "pad")
      return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return parseNumbers(pad); });
    if (word != "reverse")
      return parser.emitError(loc, "unknown entry '") << word << "' of a window";
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
      StringRef value;
      SMLoc at = parser.getCurrentLocation();
      if (OptionalParseResult number = parser.parseOptionalInteger(stride.emplace_back()); number.has_value()) {
        reversed.push_back(stride.pop_back_val() != 0);
        return *number;
      }
      stride.pop_back();
      if (parser.parseKeyword(&value))
        return failure();
      if (value != "true" && value != "false")
        return parser.emitError(at, "'true' or 'false' is expected here");
      reversed.push_back(value == "true");
      return success();
    });
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseEntry))
    return failure();
  size_t positions = layout.size() > 2 ? layout.size() - 2 : 0;
  Builder &builder = parser.getBuilder();
  auto orDefault = [&](SmallVectorImpl<int64_t> &numbers, size_t count, int64_t value) {
    if (numbers.empty())
      numbers.assign(count, value);
    return builder.getDenseI64ArrayAttr(numbers);
  };
  strides = orDefault(stride, positions, 1);
  padding = orDefault(pad, 2 * positions, 0);
  lhsDilation = orDefault(lhsDilate, positions, 1);
  rhsDilation = orDefault(rhsDilate, positions, 1);
  if (reversed.empty())
    reversed.assign(positions, false);
  reversal = builder.getDenseBoolArrayAttr(reversed);
  return success();
}

void printConvWindow(OpAsmPrinter &printer, Operation *, StringAttr, DenseI64ArrayAttr strides,
                     DenseI64ArrayAttr padding, DenseI64ArrayAttr lhsDilation, DenseI64ArrayAttr rhsDilation,
                     DenseBoolArrayAttr reversal) {
  auto list = [&](StringRef name, auto values) {
    printer << name << " = [";
    llvm::interleaveComma(values, printer);
    printer << "], ";
  };
  printer << "{";
  list("stride", strides.asArrayRef());
  printer << "pad = [";
  llvm::interleaveComma(llvm::seq<size_t>(0, padding.size() / 2), printer, [&](size_t position) {
    printer << "[" << padding[2 * position] << ", " << padding[2 * position + 1] << "]";
  });
  printer << "], ";
  list("lhs_dilate", lhsDilation.asArrayRef());
  list("rhs_dilate", rhsDilation.asArrayRef());
  printer << "reverse = [";
  llvm::interleaveComma(reversal.asArrayRef(), printer, [&](bool value) { printer << (value ? "true" : "false"); });
  printer << "]}";
}

ParseResult parseCommaOperands(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands) {
  while (true) {
    OpAsmParser::UnresolvedOperand operand;
    OptionalParseResult parsed = parser.parseOptionalOperand(operand);
    if (!parsed.has_value())
      return success();
    if (failed(*parsed) || parser.parseComma())
      return failure();
    operands.push_back(operand);
  }
}

void printCommaOperands(OpAsmPrinter &printer, Operation *, OperandRange operands) {
  for (Value operand : operands)
    printer << operand << ", ";
}

ParseResult parseCallTarget(OpAsmParser &parser, StringAttr &target) {
  if (succeeded(parser.parseOptionalSymbolName(target)))
    return success();
  std::string name;
  if (parser.parseString(&name))
    return failure();
  target = parser.getBuilder().getStringAttr(name);
  return success();
}

void printCallTarget(OpAsmPrinter &printer, Operation *, StringAttr target) { printer.printSymbolName(target); }

} // namespace spmdc::stablehlo
