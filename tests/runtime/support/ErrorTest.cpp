//===- ErrorTest.cpp - errors and their contexts --------------------------===//

#include "runtime/support/Error.h"

#include <gtest/gtest.h>

using namespace spmd;

TEST(Error, ContextsArePrependedExceptToVerdicts) {
  Error failed = Error("no memory", Error::Kind::Usage).withContext("step 2").withContext("preparing 'main'");
  EXPECT_STREQ(failed.what(), "preparing 'main': step 2: no memory");
  EXPECT_EQ(failed.getKind(), Error::Kind::Usage);
  Error verdict = Error("process 2 was killed", Error::Kind::Verdict).withContext("preparing 'main'");
  EXPECT_STREQ(verdict.what(), "process 2 was killed");
  EXPECT_EQ(verdict.getKind(), Error::Kind::Verdict);
}
