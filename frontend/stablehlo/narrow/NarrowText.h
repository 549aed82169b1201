//===- NarrowText.h - types that MLIR 19 has no name for --------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace spmdc::stablehlo {

/// The text with another type in the place of each narrow one that MLIR 19 cannot read, and with the codes of the
/// numbers of its constants. These integers occur nowhere else: StableHLO's signed integers have no sign in their
/// names.
///
///   tensor<4xf8E3M4>      tensor<4xsi8   >
///   tensor<4xf4E2M1FN>    tensor<4xsi4     >
///   tensor<4xf8E8M0FNU>   tensor<4xsi9      >     8 bits; a width that no other type has
///   dense<[1.5, 0x78]> : tensor<2xf8E3M4>     dense<[56, 120]> : tensor<2xsi8   >
///
/// Lines stay the same, and columns do outside of constants.
std::string withReadableNarrowTypes(llvm::StringRef text);

/// The text of a module with StableHLO's names of these types again.
std::string withNarrowNames(llvm::StringRef text);

} // namespace spmdc::stablehlo
