//===- LocationTest.cpp - expressions that are differentiated -------------===//

#include "ir/spmd/Location.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace spmdc;

namespace {

// Nothing but isBackward changes, whatever the location has: a range, calls, a name, an annotation, several parts.
TEST(Location, OfADerivativeHasTheSamePlacesAndNames) {
  MLIRContext context;
  Location one = getRangeLoc(&context, "a.spmd", 3, 5, 3, 9), other = getRangeLoc(&context, "a.spmd", 7, 1, 7, 2);
  Location called = CallSiteLoc::get(one, other), fused = fuseLocs(&context, {called, other});
  Location marked = getAnnotatedLoc(one, other);
  for (Location loc : {one, called, fused, marked, getNamedLoc(called, {"x", other}), getNamedLoc(marked, {"y"}),
                       Location(UnknownLoc::get(&context))}) {
    Location backward = getBackwardLoc(loc);
    EXPECT_FALSE(isBackward(loc));
    EXPECT_TRUE(isBackward(backward));
    EXPECT_EQ(getBackwardLoc(backward), backward);
    EXPECT_EQ(getSourceRange(backward), getSourceRange(loc));
    EXPECT_EQ(getSourcePositions(backward), getSourcePositions(loc));
    EXPECT_EQ(getSourceCallStacks(backward), getSourceCallStacks(loc));
    EXPECT_EQ(getAnnotationRange(backward), getAnnotationRange(loc));
    EXPECT_EQ(getValueName(backward), getValueName(loc));
  }
}

// An operation that serves several expressions is called by the first one.
TEST(Location, IsBackwardIfItsFirstPartIs) {
  MLIRContext context;
  Location one = FileLineColLoc::get(&context, "a.spmd", 1, 1), other = FileLineColLoc::get(&context, "a.spmd", 2, 1);
  EXPECT_TRUE(isBackward(fuseLocs(&context, {getBackwardLoc(one), other})));
  EXPECT_FALSE(isBackward(fuseLocs(&context, {one, getBackwardLoc(other)})));
  // A call of a gradient's caller is not one of the gradient.
  EXPECT_FALSE(isBackward(CallSiteLoc::get(one, getBackwardLoc(other))));
}

} // namespace
