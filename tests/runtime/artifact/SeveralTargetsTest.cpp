//===- SeveralTargetsTest.cpp - files with several targets ----------------===//

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/artifact/ArtifactReader.h"
#include "runtime/artifact/PlanJson.h"
#include "runtime/artifact/TargetAgreement.h"
#include "runtime/support/Error.h"
#include "tests/runtime/artifact/DamagedArtifact.h"
#include "tests/runtime/artifact/ExampleArtifact.h"
#include "tests/support/Messages.h"

#include <gmock/gmock.h>

#include <cstring>
#include <functional>

using namespace spmd;
using namespace spmd::test;
using testing::HasSubstr;

namespace {

Artifact exampleFor(const std::string &backend, const std::string &cpu) {
  Artifact artifact = exampleArtifact();
  artifact.plan.target = {backend, cpu, {}};
  artifact.code = "code of " + cpu;
  return artifact;
}

/// For a CPU and two GPUs. The last one has constants of its own, and another plan.
std::vector<Artifact> three() {
  std::vector<Artifact> artifacts = {exampleFor("cpu", "znver4"), exampleFor("cuda", "sm_80"),
                                     exampleFor("cuda", "sm_90a")};
  artifacts[2].constants = std::string(100, '\7');
  artifacts[2].plan.arenaBytes = 8192;
  return artifacts;
}

/// The offset of a section, from the table.
uint64_t offsetOf(const std::string &bytes, size_t section) {
  uint64_t offset = 0;
  std::memcpy(&offset, &bytes[64 + 32 * section + 16], 8);
  return offset;
}

TEST(SeveralTargets, each_is_read_as_it_was_written) {
  std::vector<Artifact> artifacts = three();
  std::string bytes = encodeArtifacts(artifacts);
  EXPECT_EQ(encodeArtifacts(artifacts), bytes);
  for (size_t i = 0; i < artifacts.size(); ++i) {
    Artifact again = decodeArtifact(bytes, "a.spmdx", chooseNumber(i));
    EXPECT_EQ(writePlanJson(again), writePlanJson(artifacts[i]));
    EXPECT_EQ(again.constants, artifacts[i].constants);
    EXPECT_EQ(again.code, artifacts[i].code);
    EXPECT_EQ(fingerprint(again), fingerprint(artifacts[i]));
  }
  EXPECT_EQ(encodeArtifacts({artifacts[0]}), encodeArtifact(artifacts[0]));
}

TEST(SeveralTargets, the_choice_gets_the_targets_in_order) {
  std::vector<std::string> names;
  std::string file;
  decodeArtifact(encodeArtifacts(three()), "a.spmdx", [&](const ArtifactReader &reader, const std::string &name) {
    for (const TargetInfo &target : reader.getTargets())
      names.push_back(target.str());
    file = name;
    return size_t{1};
  });
  EXPECT_THAT(names, testing::ElementsAre("cpu:znver4", "cuda:sm_80", "cuda:sm_90a"));
  EXPECT_EQ(file, "a.spmdx");
  EXPECT_EQ(messageOf([] { decodeArtifact(encodeArtifacts(three()), "a.spmdx"); }),
            "'a.spmdx' is compiled for cpu:znver4, cuda:sm_80 and cuda:sm_90a, and one target is needed here");
}

TEST(SeveralTargets, equal_constants_are_stored_once) {
  std::string bytes = encodeArtifacts(three());
  EXPECT_EQ(offsetOf(bytes, 1), offsetOf(bytes, 4));
  EXPECT_NE(offsetOf(bytes, 1), offsetOf(bytes, 7));
  EXPECT_NE(offsetOf(bytes, 2), offsetOf(bytes, 5));
  std::vector<Artifact> large = three();
  for (Artifact &artifact : large)
    artifact.constants = std::string(1 << 20, 'c');
  EXPECT_LT(encodeArtifacts(large).size(), size_t(1.1 * (1 << 20)));
}

TEST(SeveralTargets, the_reader_knows_sizes_without_the_contents) {
  std::string bytes = encodeArtifacts(three());
  ArtifactReader reader(bytes, "a.spmdx");
  EXPECT_EQ(reader.getConstantBytes(2), 100);
  EXPECT_EQ(reader.getCodeBytes(1), int64_t(std::strlen("code of sm_80")));
  EXPECT_EQ(reader.getProgram(2).plan.arenaBytes, 8192);
  EXPECT_EQ(reader.getProgram(2).constants, "");
}

/// Both the writer and the reader must refuse a second target with this change.
void expectDisagreement(const std::function<void(Plan &)> &change, const std::string &expected) {
  std::vector<Artifact> artifacts = {exampleFor("cpu", "znver4"), exampleFor("cuda", "sm_80")};
  change(artifacts[1].plan);
  EXPECT_EQ(findDisagreement(artifacts[0].plan, artifacts[1].plan), expected);
  EXPECT_EQ(messageOf([&] { encodeArtifacts(artifacts); }),
            "the targets of one artifact have the same parameters and results, but " + expected +
                "; annotate it, or compile an artifact for each target");
}

// Kernels, buffers and steps are each target's own.
TEST(SeveralTargets, plans_may_differ_below_the_surface) {
  std::vector<Artifact> artifacts = three();
  artifacts[1].plan.kernels[0].gridBlocks = 7;
  artifacts[1].plan.aliases = {0, -1};
  artifacts[1].plan.steps.pop_back();
  EXPECT_EQ(findDisagreement(artifacts[0].plan, artifacts[1].plan), "");
}

TEST(SeveralTargets, differences_are_named) {
  expectDisagreement([](Plan &plan) { plan.name = "f"; },
                     "the entry function is 'main' for cpu:znver4 and 'f' for cuda:sm_80");
  expectDisagreement([](Plan &plan) { plan.mesh.axes[1].size = 4; },
                     "the mesh is (a=4, b=2) for cpu:znver4 and (a=4, b=4) for cuda:sm_80");
  expectDisagreement([](Plan &plan) { plan.params.pop_back(); },
                     "the number of parameters is 2 for cpu:znver4 and 1 for cuda:sm_80");
  expectDisagreement(
      [](Plan &plan) { plan.params[1].name = "p.v"; },
      "parameter 1 is 'p.w' bf16[8, 2] @ P(a:(2)2, _) unreduced(b) for cpu:znver4 and 'p.v' bf16[8, 2] @ "
      "P(a:(2)2, _) unreduced(b) for cuda:sm_80");
  expectDisagreement([](Plan &plan) { plan.results[0].sharding = {}; },
                     "result 0 is 'z' f32[7, 6] @ P(a, _) for cpu:znver4 and 'z' f32[7, 6] @ P() for cuda:sm_80");
  expectDisagreement([](Plan &plan) { plan.results[0].shape = {7, 5}; },
                     "result 0 is 'z' f32[7, 6] @ P(a, _) for cpu:znver4 and 'z' f32[7, 5] @ P(a, _) for cuda:sm_80");
}

TEST(SeveralTargets, equal_targets_are_refused) {
  std::vector<Artifact> artifacts = {exampleFor("cpu", "znver4"), exampleFor("cpu", "znver4")};
  EXPECT_EQ(messageOf([&] { encodeArtifacts(artifacts); }), "two targets are cpu:znver4; name each once");
  EXPECT_EQ(messageOf([] { encodeArtifacts({}); }), "an artifact has 1 to 32 targets, not 0");
  std::vector<Artifact> many;
  for (size_t i = 0; i <= kMaxTargets; ++i)
    many.push_back(exampleFor("cuda", "sm_" + std::to_string(i)));
  EXPECT_EQ(messageOf([&] { encodeArtifacts(many); }), "an artifact has 1 to 32 targets, not 33");
  many.pop_back();
  EXPECT_EQ(decodeArtifact(encodeArtifacts(many), "a.spmdx", chooseNumber(31)).plan.target.cpu, "sm_31");
}

// Files that no writer makes: the table of one file refers to sections of another target.
TEST(SeveralTargets, the_reader_checks_agreement_itself) {
  const std::string bytes = encodeArtifacts(three());
  std::string twice = bytes;
  std::memcpy(&twice[64 + 32 * 3], &twice[64], 32);
  seal(twice);
  EXPECT_THAT(decodeMessage(twice), HasSubstr("is not a valid artifact: two of its targets are cpu:znver4"));
  std::string other = bytes;
  size_t place = other.find("\"name\":\"main\"", offsetOf(bytes, 3));
  other.replace(place, 13, "\"name\":\"mean\"");
  seal(other);
  EXPECT_THAT(
      decodeMessage(other),
      HasSubstr("is not a valid artifact: the entry function is 'main' for cpu:znver4 and 'mean' for cuda:sm_80"));
}

TEST(SeveralTargets, the_number_of_sections_is_checked) {
  const std::string bytes = encodeArtifacts(three());
  for (uint32_t count : {0u, 1u, 2u, 4u, 8u, 99u, 3u << 20, ~0u}) {
    std::string damaged = bytes;
    std::memcpy(&damaged[12], &count, 4);
    seal(damaged);
    EXPECT_THAT(decodeMessage(damaged), HasSubstr("it has " + std::to_string(count) +
                                                  " sections where this format has 3 for each of 1 to 32 targets"));
  }
  std::string fewer = bytes; // The first two targets are a valid file of their own.
  fewer[12] = 6;
  seal(fewer);
  EXPECT_EQ(decodeMessage(fewer, 1), "no error");
}

TEST(SeveralTargets, sections_outside_of_the_file_are_refused) {
  expectSectionsAreChecked(encodeArtifacts(three()), 9);
}

// A constant section of another size must still hold all constants of its plan.
TEST(SeveralTargets, constants_are_checked_for_each_plan) {
  std::string bytes = encodeArtifacts(three());
  uint64_t size = 4;
  std::memcpy(&bytes[64 + 32 * 4 + 24], &size, 8);
  seal(bytes);
  EXPECT_THAT(decodeMessage(bytes), HasSubstr("buffer 4 has 4 bytes at offset 4 of a space of 4"));
}

TEST(SeveralTargets, every_flipped_byte_is_refused) {
  const std::string bytes = encodeArtifacts({exampleFor("cpu", "znver4"), exampleFor("cuda", "sm_80")});
  for (size_t i = 0; i < bytes.size(); i += 3) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    ASSERT_THAT(decodeMessage(damaged, 1), HasSubstr("a.spmdx")) << "byte " << i;
  }
}

// Damage below the checksum, in the table and in the plans: none may crash or hang.
TEST(SeveralTargets, resealed_damage_never_crashes) {
  const std::string bytes = encodeArtifacts(three());
  const std::string replacements("\"]}9-,0\xff", 8);
  size_t refused = 0, tried = 0;
  for (size_t i = 12; i < bytes.size(); i += i < 352 ? 1 : 11, ++tried) {
    if (i >= 24 && i < 56)
      continue;
    std::string damaged = bytes;
    damaged[i] = replacements[i % replacements.size()];
    seal(damaged);
    if (decodeMessage(damaged, 2) != "no error")
      ++refused;
  }
  EXPECT_GT(refused, tried / 3);
}

} // namespace
