//===- TextForm.h - exported text that MLIR 19 can read ---------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace spmdc::stablehlo {

/// The text with what later versions of MLIR, and StableHLO's generic form, write as this dialect reads it:
///
///   loc("f.py":3:4 to :9)                a range of a source line is the fused location of Location.h
///   "stablehlo.dot_general"(%0, %1) <{dot_dimension_numbers = #stablehlo.dot<...>}>
///                                        the lists are attributes of their own; likewise a convolution's layouts
///   dense<"0x0001..."> : tensor<8xi1>    bools in hexadecimal, a byte each, are a bit each
///
/// Strings and everything else are unchanged, and so are the lines, so that messages name the places of the file.
std::string toReadableText(llvm::StringRef text);

} // namespace spmdc::stablehlo
