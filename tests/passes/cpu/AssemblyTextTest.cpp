//===- AssemblyTextTest.cpp - labels of several modules in one file -------===//

#include "passes/cpu/AssemblyText.h"

#include <gtest/gtest.h>

using namespace spmdc;

namespace {

TEST(AssemblyText, LabelsOfTheFileGetAnotherName) {
  EXPECT_EQ(renameLocalLabels(".LBB0_1:\n\tjne\t.LBB0_1\n\tmovss\t.LCPI0_0(%rip), %xmm0\n\tmovq\t$.LX, %rax\n"
                              "\t.size\tk, .Lfunc_end0-k\n\t.long\t.LA-.LB",
                              ".L1."),
            ".L1.BB0_1:\n\tjne\t.L1.BB0_1\n\tmovss\t.L1.CPI0_0(%rip), %xmm0\n\tmovq\t$.L1.X, %rax\n"
            "\t.size\tk, .L1.func_end0-k\n\t.long\t.L1.A-.L1.B");
}

TEST(AssemblyText, OtherNamesStayAsTheyAre) {
  for (const char *text :
       {"", "k.Lane:", "\tcall\tlog.L@PLT", "\t.section\t.text.Lion,\"ax\",@progbits", ".l .list", "."})
    EXPECT_EQ(renameLocalLabels(text, ".L1."), text);
}

TEST(AssemblyText, SoDoStringsAndComments) {
  for (const char *text :
       {"\t.file\t\".Lfile\"", "\t.ascii\t\"a\\\" .L b\"", "\tnop # .LBB0_1 \" here", "\"open .L", "\"ends in \\"})
    EXPECT_EQ(renameLocalLabels(text, ".L1."), text);
  EXPECT_EQ(renameLocalLabels("\tnop # .LA\n.LA:\n\t.asciz\t\"\"\n.LB:", ".L1."),
            "\tnop # .LA\n.L1.A:\n\t.asciz\t\"\"\n.L1.B:");
}

} // namespace
