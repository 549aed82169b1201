//===- Assembly.h - parts of StableHLO's assembly ---------------*- C++ -*-===//
//
// The custom directives of StablehloOps.td. Defined in Assembly.cpp, but for templates.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/dialect/Dialects.h"

namespace spmdc::stablehlo {

using mlir::OpAsmParser;
using mlir::OpAsmPrinter;
using mlir::Operation;
using mlir::ParseResult;
using mlir::Type;

/// Types of an operation: one for all operands and the result, or `(operands) -> result`. The result is last.
ParseResult parseAllTypes(OpAsmParser &parser, llvm::ArrayRef<Type *> types);
void printAllTypes(OpAsmPrinter &printer, llvm::ArrayRef<Type> types);

template <typename... Types> ParseResult parseSameTypes(OpAsmParser &parser, Types &...types) {
  return parseAllTypes(parser, {static_cast<Type *>(&types)...});
}
template <typename... Types> void printSameTypes(OpAsmPrinter &printer, Operation *, Types... types) {
  printAllTypes(printer, {static_cast<Type>(types)...});
}

/// `tensor<i1>, tensor<4xf32>`: the predicate's type, and that of both values and the result; or a function type.
ParseResult parseSelectTypes(OpAsmParser &parser, Type &predicate, Type &onTrue, Type &onFalse, Type &result);
void printSelectTypes(OpAsmPrinter &printer, Operation *op, Type predicate, Type onTrue, Type onFalse, Type result);

/// The type of a result of complex numbers, whose parts are the operands.
ParseResult parseComplexTypes(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result);
void printComplexTypes(OpAsmPrinter &printer, Operation *op, Type lhs, Type rhs, Type result);

/// One type for each operand and the result of its number.
ParseResult parsePairwiseTypes(OpAsmParser &parser, llvm::SmallVectorImpl<Type> &operands,
                               llvm::SmallVectorImpl<Type> &results);
void printPairwiseTypes(OpAsmPrinter &printer, Operation *op, mlir::TypeRange operands, mlir::TypeRange results);

/// An attribute of one word, as that word.
template <typename Attr> ParseResult parseKeyword(OpAsmParser &parser, Attr &attribute) {
  llvm::StringRef word;
  if (parser.parseKeyword(&word))
    return mlir::failure();
  attribute = Attr::get(parser.getContext(), word);
  return mlir::success();
}
template <typename Attr> void printKeyword(OpAsmPrinter &printer, Operation *, Attr attribute) {
  printer << attribute.getValue();
}

/// `e8m7`.
ParseResult parseExponentMantissa(OpAsmParser &parser, mlir::IntegerAttr &exponent, mlir::IntegerAttr &mantissa);
void printExponentMantissa(OpAsmPrinter &printer, Operation *op, mlir::IntegerAttr exponent,
                           mlir::IntegerAttr mantissa);

/// `[0:4, 1:8:2]`.
ParseResult parseSliceRanges(OpAsmParser &parser, mlir::DenseI64ArrayAttr &starts, mlir::DenseI64ArrayAttr &limits,
                             mlir::DenseI64ArrayAttr &strides);
void printSliceRanges(OpAsmPrinter &printer, Operation *op, mlir::DenseI64ArrayAttr starts,
                      mlir::DenseI64ArrayAttr limits, mlir::DenseI64ArrayAttr strides);

/// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
ParseResult parseLayouts(OpAsmParser &parser, mlir::StringAttr &lhs, mlir::StringAttr &rhs, mlir::StringAttr &result);
void printLayouts(OpAsmPrinter &printer, Operation *op, mlir::StringAttr lhs, mlir::StringAttr rhs,
                  mlir::StringAttr result);

/// `{stride = [2, 1], pad = [[0, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]}`;
/// each entry may be absent. The layout has two letters more than there are positions.
ParseResult parseConvWindow(OpAsmParser &parser, mlir::StringAttr layout, mlir::DenseI64ArrayAttr &strides,
                            mlir::DenseI64ArrayAttr &padding, mlir::DenseI64ArrayAttr &lhsDilation,
                            mlir::DenseI64ArrayAttr &rhsDilation, mlir::DenseBoolArrayAttr &reversal);
void printConvWindow(OpAsmPrinter &printer, Operation *op, mlir::StringAttr layout, mlir::DenseI64ArrayAttr strides,
                     mlir::DenseI64ArrayAttr padding, mlir::DenseI64ArrayAttr lhsDilation,
                     mlir::DenseI64ArrayAttr rhsDilation, mlir::DenseBoolArrayAttr reversal);

/// Operands with a comma behind each.
ParseResult parseCommaOperands(OpAsmParser &parser, llvm::SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands);
void printCommaOperands(OpAsmPrinter &printer, Operation *op, mlir::OperandRange operands);

/// `@name` or `"name"`.
ParseResult parseCallTarget(OpAsmParser &parser, mlir::StringAttr &target);
void printCallTarget(OpAsmPrinter &printer, Operation *op, mlir::StringAttr target);

} // namespace spmdc::stablehlo
