//===- PortableRefusalsTest.cpp - messages about exports in bytes ---------===//

#include "tests/frontend/stablehlo/portable/ArtifactHelper.h"
#include "tests/frontend/stablehlo/portable/PortableHelper.h"

#include "frontend/stablehlo/portable/Flatbuffer.h"
#include "frontend/stablehlo/portable/Portable.h"

#include "gtest/gtest.h"

#include <set>

using namespace spmdc;

namespace {

/// The cause behind the part that all messages have.
std::string causeOf(const std::string &bytes) {
  std::string text = textOrCause(bytes);
  std::string begin = "error: is a portable artifact of StableHLO that cannot be read: ";
  EXPECT_TRUE(text.starts_with(begin)) << text;
  return text.substr(std::min(begin.size(), text.size()));
}

constexpr uint8_t kAttributes = 1, kResults = 2, kOperands = 4, kSuccessors = 8, kRegions = 16;

TEST(PortableRefusals, AnEmptyModuleIsRead) {
  EXPECT_EQ(textOrCause(Artifact().str({})).find("error"), std::string::npos);
}

TEST(PortableRefusals, Hlo) {
  EXPECT_EQ(importedIr("HloModule jit_f, entry_computation_layout={(f32[4]{0})->f32[4]{0}}"),
            "error: this is HLO, which is not read; export StableHLO: "
            "jax.jit(f).lower(...).as_text(debug_info=True)\n");
}

TEST(PortableRefusals, Version) {
  Artifact artifact;
  artifact.version = 7;
  EXPECT_EQ(causeOf(artifact.str({})), "its bytecode has version 7, and the newest that is read is 6; export text: "
                                       "jax.jit(f).lower(...).as_text(debug_info=True)");
}

std::string artifactOf(const std::string &name) {
  return stablehlo::portable::readSerializedExport(readBytes(portableFolder() + name + ".bin"))->artifact.str();
}

/// A truncated export is refused, and one with a wrong byte; the message names the part.
TEST(PortableRefusals, DamagedBytes) {
  std::string artifact = artifactOf("two_axes");
  std::set<std::string> causes;
  for (size_t size = 4; size < artifact.size(); size += 11)
    causes.insert(causeOf(artifact.substr(0, size)));
  for (size_t at = 4; at < artifact.size(); at += 3) {
    std::string changed = artifact;
    changed[at] = '\xff';
    causes.insert(textOrCause(changed).substr(64));
  }
  for (const char *part : {"header", "strings", "dialects", "attributes", "operations", "properties"})
    EXPECT_TRUE(causes.count("its bytes are damaged (" + std::string(part) + ")")) << part;
}

TEST(PortableRefusals, TruncatedFlatbuffer) {
  std::string bytes = readBytes(portableFolder() + "two_axes.bin");
  size_t begin = *stablehlo::portable::findArtifact(bytes);
  EXPECT_FALSE(stablehlo::isPortable(bytes.substr(0, begin)));
  EXPECT_EQ(causeOf(bytes.substr(0, begin + 100)), "its bytes are damaged (flatbuffer)");
}

TEST(PortableRefusals, DamagedOperations) {
  for (uint8_t part : {kAttributes, kResults, kOperands, kRegions}) {
    Artifact artifact;
    EXPECT_EQ(causeOf(artifact.str({artifact.bytesOf("vhlo", "add_v1", part, number(100))})),
              part == kAttributes ? "its bytes are damaged (attributes)" : "its bytes are damaged (operations)");
  }
}

TEST(PortableRefusals, Cycle) {
  Artifact artifact;
  EXPECT_EQ(artifact.attribute("builtin", numbers({0, 1, 3})), 2u);
  artifact.attribute("builtin", numbers({0, 1, 2}));
  EXPECT_EQ(causeOf(artifact.str({artifact.bytesOf("vhlo", "add_v1", kAttributes, number(2))})),
            "its bytes are damaged (attributes)");
}

TEST(PortableRefusals, Codes) {
  for (const char *dialect : {"builtin", "vhlo", "sdy"}) {
    Artifact artifact;
    uint64_t unknown = artifact.attribute(dialect, number(99));
    EXPECT_EQ(causeOf(artifact.str({artifact.bytesOf("vhlo", "add_v1", kAttributes, number(unknown))})),
              "it has an attribute or type that is not read: code 99 of the dialect '" + std::string(dialect) + "'");
  }
}

TEST(PortableRefusals, Types) {
  auto causeOfType = [](uint64_t code) {
    Artifact artifact;
    artifact.type("vhlo", number(code));
    return causeOf(artifact.str({artifact.bytesOf("vhlo", "iota_v1", kResults, numbers({1, 0}))}, 1));
  };
  EXPECT_EQ(causeOfType(22), "it has a type that is not supported: a token, the order of effects such as callbacks; "
                             "export it without ordered effects: jax.debug.print without ordered=True");
  EXPECT_EQ(causeOfType(24), "it has a type that is not supported: quantized numbers");
  EXPECT_EQ(causeOfType(25), "it has a type that is not supported: a tensor of unknown rank");
  EXPECT_EQ(causeOfType(38), "it has a type that is not supported: floats of 6 bits");
  EXPECT_EQ(causeOfType(41), "it has an attribute or type that is not read: code 41 of the dialect 'vhlo'");
}

TEST(PortableRefusals, DynamicShapes) {
  Artifact artifact;
  uint64_t element = artifact.type("vhlo", number(4));
  uint64_t dynamic = artifact.type("vhlo", numbers({20, 1, UINT64_MAX, element})); // The least integer, in zigzag.
  EXPECT_EQ(causeOf(artifact.str({artifact.bytesOf("vhlo", "iota_v1", kResults, numbers({1, dynamic}))}, 2)),
            "it has dynamic shapes such as tensor<?xf32>; export it with concrete shapes: "
            "jax.export.export(f)(jax.ShapeDtypeStruct((8, 4), x.dtype)), without jax.export.symbolic_shape");
}

TEST(PortableRefusals, Operations) {
  auto causeOfOperation = [](const char *dialect, const char *name, uint8_t parts = 0, const std::string &rest = "") {
    Artifact artifact;
    return causeOf(artifact.str({artifact.bytesOf(dialect, name, parts, rest)}));
  };
  EXPECT_EQ(causeOfOperation("vhlo", "rng_v1"), "it has the operation 'stablehlo.rng', which is not supported");
  EXPECT_EQ(causeOfOperation("stablehlo", "add"),
            "it is bytecode of the dialect 'stablehlo', not of a portable artifact; export it with jax.export");
  EXPECT_EQ(causeOfOperation("vhlo", "add_v1", kSuccessors, number(0)),
            "it has branches between blocks (vhlo.add_v1), and StableHLO has none");
  EXPECT_EQ(causeOfOperation("vhlo", "if_v1", kRegions, number(1 << 1) + numbers({2, 0, 0, 0})),
            "it has a region of 2 blocks, and StableHLO's have one");
  EXPECT_EQ(causeOfOperation("vhlo", "iota_v1"), "it is not valid: 'stablehlo.iota' op requires one result");
}

/// Properties are read by the names of an operation's attributes.
TEST(PortableRefusals, UnknownVersionOfAnOperation) {
  std::string artifact = artifactOf("mlp_step_sharded");
  size_t at = artifact.find("dot_general_v2");
  ASSERT_NE(at, std::string::npos);
  artifact[at + 13] = '9';
  EXPECT_EQ(causeOf(artifact), "it has the operation 'vhlo.dot_general_v9', whose attributes are not known");
}

TEST(PortableRefusals, MeshOfAShardingItself) {
  Artifact artifact;
  uint64_t mesh = artifact.attribute("sdy", numbers({2, 0, 0}));
  uint64_t sharding = artifact.attribute("sdy", numbers({6, mesh, 0, 0}));
  uint64_t list = artifact.attribute("builtin", numbers({0, 1, sharding}));
  EXPECT_EQ(causeOf(artifact.str({artifact.bytesOf("vhlo", "add_v1", kAttributes, number(list))})),
            "it has a sharding with a mesh of its own instead of the name of the program's mesh");
}

/// Forty types, each of which names the one before twice, are a text of a terabyte.
TEST(PortableRefusals, TextWithoutEnd) {
  Artifact artifact;
  uint64_t type = artifact.type("builtin", number(5));
  for (int i = 0; i < 40; ++i)
    type = artifact.type("builtin", numbers({15, 2, type, type}));
  EXPECT_EQ(causeOf(artifact.str({artifact.bytesOf("vhlo", "iota_v1", kResults, numbers({1, type}))}, 1)),
            "its text is longer than 64 MiB, the limit of a program's size");
}

} // namespace
