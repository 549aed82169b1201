#include "runtime/artifact/ArtifactFile.h"

#include "runtime/artifact/PlanJson.h"
#include "runtime/artifact/PlanPrinter.h"
#include "runtime/support/Error.h"
#include "tests/runtime/artifact/DamagedArtifact.h"
#include "tests/runtime/artifact/ExampleArtifact.h"
#include "tests/support/Messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

using namespace spmd;
using namespace spmd::test;
using testing::HasSubstr;

namespace {

// Every field survives: the plan is compared as text, which names all fields, the binary parts byte by byte.
TEST(ArtifactFile, round_trip_is_exact) {
  Artifact artifact = exampleArtifact();
  std::string bytes = encodeArtifact(artifact);
  Artifact again = decodeArtifact(bytes, "a.spmdx");
  EXPECT_EQ(writePlanJson(again), writePlanJson(artifact));
  EXPECT_EQ(again.constants, artifact.constants);
  EXPECT_EQ(again.code, artifact.code);
  EXPECT_EQ(again.sourceLines, artifact.sourceLines);
  EXPECT_EQ(again.compilerVersion, artifact.compilerVersion);
  EXPECT_EQ(encodeArtifact(again), bytes);
}

// Only plans for GPUs have TF32, so the example has none.
TEST(ArtifactFile, tf32_is_kept_and_changes_the_fingerprint) {
  Artifact artifact = exampleArtifact();
  artifact.plan.target = {"cuda", "sm_90", {}};
  std::string exact = fingerprint(artifact);
  std::get<MatmulStep>(artifact.plan.steps[1].op).allowTf32 = true;
  Artifact again = decodeArtifact(encodeArtifact(artifact), "a.spmdx");
  EXPECT_TRUE(std::get<MatmulStep>(again.plan.steps[1].op).allowTf32);
  EXPECT_NE(fingerprint(again), exact);
  EXPECT_THAT(printPlan(again.plan), HasSubstr("matmul %2 = %3 x %6.T [1 x 2, 6, k 3] in tf32 then fused_bias"));
}

TEST(ArtifactFile, epilogues_of_libraries_are_kept) {
  Artifact artifact = exampleArtifact();
  artifact.plan.target = {"cuda", "sm_90", {}};
  auto &product = std::get<MatmulStep>(artifact.plan.steps[1].op);
  product.epilogueOperands = {2, 3, 2};
  auto print = [&](const LibraryEpilogue &epilogue) {
    std::get<MatmulStep>(artifact.plan.steps[1].op).libraryEpilogue = epilogue;
    Artifact again;
    readPlanJson(writePlanJson(artifact), again);
    EXPECT_EQ(std::get<MatmulStep>(again.plan.steps[1].op).libraryEpilogue, epilogue);
    std::string text = printPlan(again.plan), start = ", by cuBLASLt ";
    size_t begin = text.find(start);
    return begin == std::string::npos
               ? ""
               : text.substr(begin + start.size(), text.find(" //", begin) - begin - start.size());
  };
  using enum LibraryEpilogue::Function;
  EXPECT_EQ(print({None}), "");
  EXPECT_EQ(print({Gelu, 1, 0, -1, 1}), "gelu(product + %3)");
  EXPECT_EQ(print({Gelu, 0.1, 0, -1, -1}), "gelu(0.1 * product)");
  EXPECT_EQ(print({Identity, -0.5, 2, 1, -1}), "-0.5 * product + 2 * %3");
  EXPECT_EQ(print({GeluGradient, 1, 0, 1, -1}), "product * gelu'(%3)");
}

// The text is compared with a literal, not only with itself: the order of keys is part of the format.
TEST(ArtifactFile, json_has_fixed_order_and_names) {
  std::string text = writePlanJson(exampleArtifact());
  EXPECT_THAT(
      text,
      HasSubstr(R"({"compiler":"0.1.0-test","plan":{"name":"main","target":{"backend":"cpu","cpu":"x86-64-v4",)"
                R"("features":["avx512f","amx-bf16"]},"mesh":{"axes":[{"name":"a","size":4},{"name":"b","size":2}]})"));
  EXPECT_THAT(text, HasSubstr(R"({"op":"launch","kernel":0,"operands":[0,3],"extent":6,"grain":2,"outputs":1,)"
                              R"("loc":{"file":"mlp.spmd","line":3,"column":7}})"));
  EXPECT_THAT(text, HasSubstr(R"("kind":"all_reduce","reduction":"max","dtype":"f32")"));
}

// If any single byte is changed, the file is refused with a one-sentence error and without a crash.
TEST(ArtifactFile, every_flipped_byte_is_refused) {
  const std::string bytes = encodeArtifact(exampleArtifact());
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    std::string message = decodeMessage(damaged);
    ASSERT_THAT(message, HasSubstr("a.spmdx")) << "byte " << i;
  }
}

TEST(ArtifactFile, every_truncation_is_refused) {
  const std::string bytes = encodeArtifact(exampleArtifact());
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::string message = decodeMessage(bytes.substr(0, size));
    ASSERT_THAT(message, HasSubstr(size < 8 ? "not an artifact" : "truncated")) << size << " bytes";
  }
  EXPECT_THAT(decodeMessage(bytes + '\0'), HasSubstr("damaged: it has"));
}

TEST(ArtifactFile, other_formats_name_both_versions) {
  std::string bytes = encodeArtifact(exampleArtifact());
  std::string own = " and this spmdc " SPMDC_VERSION " reads format " + std::to_string(kArtifactFormatVersion);
  bytes[8] = kArtifactFormatVersion + 1;
  EXPECT_EQ(decodeMessage(bytes), "'a.spmdx' has artifact format " + std::to_string(kArtifactFormatVersion + 1) + own +
                                      "; use a newer spmdc or compile the program with this one");
  bytes[8] = 1;
  EXPECT_EQ(decodeMessage(bytes), "'a.spmdx' has artifact format 1" + own + "; compile the program again");
}

TEST(ArtifactFile, other_files_are_no_artifacts) {
  EXPECT_EQ(decodeMessage("fn main() -> f32 { return 1.0; }"),
            "'a.spmdx' is not an artifact (a .spmdx file written by `spmdc compile`)");
  EXPECT_EQ(decodeMessage(""), "'a.spmdx' is not an artifact (a .spmdx file written by `spmdc compile`)");
}

TEST(ArtifactFile, sections_outside_of_the_file_are_refused) {
  expectSectionsAreChecked(encodeArtifact(exampleArtifact()), 3);
}

// Damage below the checksum (as of a program that writes artifacts itself): replaces every fifth byte of the plan and
// recomputes the checksum. Many of the results are still valid plans; none may crash or hang.
TEST(ArtifactFile, resealed_damage_to_the_plan_never_crashes) {
  const std::string bytes = encodeArtifact(exampleArtifact());
  size_t refused = 0, tried = 0;
  const std::string replacements("\"]}9-,0\xff", 8);
  size_t end = bytes.size() - 128;
  for (size_t i = 192; i < end; i += 5, ++tried) {
    std::string damaged = bytes;
    damaged[i] = replacements[i % replacements.size()];
    seal(damaged);
    if (decodeMessage(damaged) != "no error")
      ++refused;
  }
  EXPECT_GT(refused, tried / 2);
}

TEST(ArtifactFile, deep_nesting_is_refused_and_not_a_stack_overflow) {
  Artifact artifact = exampleArtifact();
  Step step{CopyStep{3, 3}, {}};
  for (int i = 0; i < kMaxStepNesting + 5; ++i) {
    IfStep outer{5, {}, {}};
    outer.thenSteps.push_back(std::move(step));
    step = Step{std::move(outer), {}};
  }
  artifact.plan.steps = {step};
  EXPECT_THAT(decodeMessage(encodeArtifact(artifact)), HasSubstr("nested deeper than"));
  std::string brackets = encodeArtifact(exampleArtifact());
  std::fill(brackets.begin() + 192, brackets.end() - 128, '[');
  seal(brackets);
  EXPECT_THAT(decodeMessage(brackets), HasSubstr("not JSON"));
}

TEST(ArtifactFile, a_missing_or_unknown_key_is_named) {
  Artifact artifact;
  EXPECT_THAT(messageOf([&] { readPlanJson(R"({"compiler":"x","plan":{"name":7}})", artifact); }),
              HasSubstr("`artifact.plan.name` is not a string"));
  std::string text = writePlanJson(exampleArtifact());
  std::string missing = text;
  missing.replace(missing.find("\"grain\""), 7, "\"grawn\"");
  EXPECT_THAT(messageOf([&] { readPlanJson(missing, artifact); }),
              HasSubstr("`artifact.plan.steps[0].grain` is missing"));
  std::string extra = text;
  extra.insert(extra.find("\"grain\""), "\"new\":1,");
  EXPECT_THAT(messageOf([&] { readPlanJson(extra, artifact); }),
              HasSubstr("`artifact.plan.steps[0]` has keys that this version does not know"));
  std::string large = text;
  large.replace(large.find("\"kernel\":0"), 10, "\"kernel\":4294967296");
  EXPECT_THAT(messageOf([&] { readPlanJson(large, artifact); }), HasSubstr("steps[0].kernel` is out of range"));
}

TEST(ArtifactFile, files_are_written_whole_and_read_back) {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / ("spmd-artifact-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::string path = folder / "x.spmdx";
  writeArtifact(exampleArtifact(), path);
  EXPECT_EQ(fingerprint(readArtifact(path)), fingerprint(exampleArtifact()));
  size_t files = std::distance(std::filesystem::directory_iterator(folder), {});
  EXPECT_EQ(files, 1u);
  EXPECT_THAT(messageOf([&] { readArtifact(folder / "none.spmdx"); }), HasSubstr("No such file or directory"));
  EXPECT_THAT(messageOf([&] { readArtifact(folder); }), HasSubstr("it is a directory"));
  EXPECT_THAT(messageOf([&] { writeArtifact(exampleArtifact(), folder / "no" / "x.spmdx"); }),
              HasSubstr("cannot create"));
  std::filesystem::remove_all(folder);
}

// The same program from another folder has the same fingerprint; another constant, kernel or step changes it.
TEST(ArtifactFile, fingerprint_is_of_what_is_executed) {
  Artifact artifact = exampleArtifact();
  std::string print = fingerprint(artifact);
  EXPECT_EQ(print.size(), 64u);
  Artifact moved = artifact;
  moved.plan.steps[0].location.file = "/elsewhere/mlp.spmd";
  moved.sourceLines.clear();
  EXPECT_EQ(fingerprint(moved), print);
  Artifact constant = artifact;
  constant.constants[7] = 'x';
  EXPECT_NE(fingerprint(constant), print);
  Artifact step = artifact;
  std::get<LaunchStep>(step.plan.steps[0].op).grain = 3;
  EXPECT_NE(fingerprint(step), print);
  Artifact border = artifact;
  border.code = artifact.constants.substr(7) + artifact.code;
  border.constants.pop_back();
  EXPECT_NE(fingerprint(border), print);
}

} // namespace
