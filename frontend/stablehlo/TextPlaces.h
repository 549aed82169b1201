//===- TextPlaces.h - where an exported text has its operations -*- C++ -*-===//
#pragma once

#include "ir/spmd/Location.h"

#include "llvm/ADT/StringRef.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace spmdc::stablehlo {

/// Finds the operations of an exported program by their places in Python: a message about a line of Python that is not
/// on this machine shows the line of the export instead.
class TextPlaces {
public:
  /// Reads the text again, since modules do not keep the places; a text with errors gives no places.
  TextPlaces(llvm::StringRef text, llvm::StringRef fileName);

  /// The first operation of this line of Python and these calls, of those that the message names, if it names one:
  /// `'stablehlo.custom_call' calls ...`. Nullopt if the text has none.
  std::optional<SourcePosition> find(mlir::Location loc, llvm::StringRef message) const;

private:
  struct Place {
    std::string operation;
    SourcePosition position;
  };
  /// By call stacks, innermost first: `f.py:3:4 g.py:7:1`.
  std::map<std::string, std::vector<Place>> places;
};

} // namespace spmdc::stablehlo
