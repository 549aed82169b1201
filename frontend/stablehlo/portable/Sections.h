//===- Sections.h - the parts of a file of MLIR bytecode --------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/portable/Bytes.h"

#include <vector>

namespace spmdc::stablehlo::portable {

/// The tables of a file of bytecode (mlir/docs/BytecodeFormat.md); views of the file's bytes.
struct Sections {
  /// The name of an operation that the file uses: `vhlo` and `add_v1`.
  struct OperationName {
    llvm::StringRef dialect, name;
    /// Whether the writer knew it; its properties are then in the order of its definition.
    bool isRegistered = true;
  };
  /// An attribute or type. The dialect defines its bytes; without an encoding of its own it is MLIR's text.
  struct Element {
    llvm::StringRef dialect, bytes;
    bool hasEncoding = false;
  };

  llvm::StringRef file;
  llvm::StringRef producer; ///< `StableHLO_v1.15.0`
  uint64_t version = 0;
  std::vector<llvm::StringRef> strings;
  std::vector<OperationName> operations;
  std::vector<Element> attributes, types;
  std::vector<llvm::StringRef> properties;
  llvm::StringRef operationBytes;
};

/// Versions of the format that changed what this reader reads.
inline constexpr uint64_t kVersionOfDialects = 1, kVersionOfIsolatedRegions = 2, kVersionOfUseOrders = 3,
                          kVersionWithoutUnknownLocations = 4, kVersionOfProperties = 5, kNewestVersion = 6;

inline constexpr llvm::StringRef kBytecodeMagic = "ML\xefR";

Sections readSections(llvm::StringRef file, ReadFailure &failure);

} // namespace spmdc::stablehlo::portable
