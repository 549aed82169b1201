//===- ExampleArtifact.h - an artifact with every kind of step --*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

namespace spmd {

/// A plan over the mesh (a=4, b=2) that no compiler would write. Every field has a value of its own, so that a test
/// notices when a round trip loses a field. The plan passes the verifier.
inline Artifact exampleArtifact() {
  Artifact artifact;
  artifact.compilerVersion = "0.1.0-test";
  artifact.constants = std::string("\0\1\2\3\4\5\6\7", 8);
  artifact.code = "\x7f"
                  "ELF not really";
  artifact.sourceLines = {{"mlp.spmd:5:7", "  return relu(x @ y);"}, {"mlp.spmd:6:1", "}"}};

  Plan &plan = artifact.plan;
  plan.name = "main";
  plan.mesh.axes = {{"a", 4}, {"b", 2}};
  plan.target = {"cpu", "x86-64-v4", {"avx512f", "amx-bf16"}};
  Sharding onA{{{{"a"}}, {}}, {}}, onAB{{{{"a"}}, {{"b"}}}, {}}, partial{{{{"a", 2, 2}}, {}}, {{"b"}}};
  plan.params = {{"x", DType::F32, {7, 6}, onAB, {2, 3}}, {"p.w", DType::BF16, {8, 2}, partial, {4, 2}}};
  plan.results = {{"z", DType::F32, {7, 6}, onA, {2, 6}}, {"1", DType::F32, {8}, {{{{"a"}, {"b"}}}, {}}, {1}}};
  plan.aliases = {-1, -1};
  plan.arenaBytes = 4096;
  using Space = BufferInfo::Space;
  plan.buffers = {
      {Space::Argument, 0, 0, DType::F32, {2, 3}},  // 0
      {Space::Argument, 1, 0, DType::BF16, {4, 2}}, // 1
      {Space::Result, 0, 0, DType::F32, {2, 6}},    // 2
      {Space::Arena, 0, 64, DType::F32, {2, 3}},    // 3
      {Space::Constant, 0, 4, DType::F32, {}},      // 4
      {Space::Arena, 0, 128, DType::Bool, {}},      // 5
      {Space::Arena, 0, 256, DType::F32, {3, 6}},   // 6
      {Space::Arena, 0, 512, DType::F32, {1, 3}},   // 7
      {Space::Result, 1, 0, DType::F32, {1}},       // 8
      {Space::Arena, 0, 1024, DType::F32, {4, 3}},  // 9
  };
  plan.kernels = {{"fused_relu", 0, 0, 0}, {"fused_bias", 128, 1024, 12}};

  auto at = [](auto op, int line) { return Step{std::move(op), {"mlp.spmd", line, 7}}; };
  auto collective = [](CollectiveKind kind, std::vector<AxisRef> axes, std::vector<int64_t> from,
                       std::vector<int64_t> to, int32_t split, int32_t concat) {
    CollectiveDesc desc;
    desc.kind = kind;
    desc.axes = std::move(axes);
    desc.operandShape = std::move(from);
    desc.resultShape = std::move(to);
    desc.splitDim = split;
    desc.concatDim = concat;
    return desc;
  };
  CollectiveDesc reduce = collective(CollectiveKind::AllReduce, {{"b"}}, {2, 3}, {2, 3}, -1, -1);
  reduce.reduction = ReductionKind::Max;
  CollectiveDesc gather = collective(CollectiveKind::AllGather, {{"b"}}, {2, 3}, {2, 6}, -1, 1);
  CollectiveDesc scatter = collective(CollectiveKind::ReduceScatter, {{"a", 2, 2}}, {2, 3}, {1, 3}, 0, -1);
  CollectiveDesc allToAll = collective(CollectiveKind::AllToAll, {{"b"}}, {2, 6}, {4, 3}, 1, 0);
  CollectiveDesc permute = collective(CollectiveKind::CollectivePermute, {{"a"}}, {2, 3}, {2, 3}, -1, -1);
  permute.pairs = {{0, 1}, {1, 0}, {3, 2}};
  CollectiveDesc exchange = collective(CollectiveKind::Exchange, {}, {2, 6}, {2, 3}, -1, -1);
  exchange.globalShape = {7, 6};
  exchange.source = onA;
  exchange.target = onAB;

  WhileStep loop{5, {at(LaunchStep{1, {4, 5}, 1, 1}, 11)}, {at(CopyStep{0, 3}, 12)}};
  IfStep branch{5, {at(CollectiveStartStep{4, permute, 0, 3}, 8), at(CollectiveDoneStep{4}, 8), at(loop, 10)}, {}};
  branch.elseSteps = {at(CopyStep{3, 3}, 13)};
  PrintStep print{{"loss ", "\n"}, {2}, {plan.results[0]}};

  plan.steps = {
      at(LaunchStep{0, {0, 3}, 6, 2}, 3),
      at(MatmulStep{3, 6, 2, 1, 2, 6, 3, false, true, 1, {2, 4}}, 4),
      at(CollectiveStartStep{0, reduce, 0, 3}, 5),
      at(CollectiveStartStep{1, gather, 0, 2}, 5),
      at(CollectiveDoneStep{0}, 5),
      at(CollectiveDoneStep{1}, 5),
      at(CollectiveStartStep{2, scatter, 3, 7}, 6),
      at(CollectiveDoneStep{2}, 6),
      at(CollectiveStartStep{3, allToAll, 2, 9}, 6),
      at(CollectiveDoneStep{3}, 6),
      at(branch, 7),
      at(CollectiveStartStep{5, exchange, 2, 3}, 14),
      at(CollectiveDoneStep{5}, 14),
      at(print, 15),
      {CopyStep{4, 8}, {}},
  };
  return artifact;
}

} // namespace spmd
