//===- DefinitionNotes.cpp - notes where values are defined ---------------===//

#include "ir/spmd/DefinitionNotes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;

namespace spmdc {

LogicalResult failWithDefinitions(InFlightDiagnostic error, std::initializer_list<MentionedValue> values) {
  SmallVector<Location> shown{error.getUnderlyingDiagnostic()->getLocation()};
  for (const MentionedValue &mentioned : values) {
    Location loc = mentioned.value.getLoc();
    if (isa<UnknownLoc>(loc) || llvm::is_contained(shown, loc))
      continue;
    shown.push_back(loc);
    error.attachNote(loc) << mentioned.what << " is defined here";
  }
  return error;
}

} // namespace spmdc
