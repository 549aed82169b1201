//===- ExampleProgram.h - a program without kernels -------------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <memory>

namespace spmd::testing_api {

/// x: f32[8@i] -> (sum of the shards over i: f32[2], all of x: f32[8]). It has no kernels, so it needs no compiler.
inline std::shared_ptr<Artifact> sumAndGather() {
  auto artifact = std::make_shared<Artifact>();
  Plan &plan = artifact->plan;
  plan.name = "main";
  plan.mesh.axes = {{"i", 4}};
  Sharding cut{{{{"i"}}}, {}}, whole{{{}}, {}};
  plan.params = {{"x", DType::F32, {8}, cut, {2}}};
  plan.results = {{"sum", DType::F32, {2}, whole, {2}}, {"all", DType::F32, {8}, whole, {8}}};
  plan.aliases = {-1};
  using Space = BufferInfo::Space;
  plan.buffers = {{Space::Argument, 0, 0, DType::F32, {2}},
                  {Space::Result, 0, 0, DType::F32, {2}},
                  {Space::Result, 1, 0, DType::F32, {8}}};
  CollectiveDesc reduce;
  reduce.axes = {{"i"}};
  reduce.operandShape = reduce.resultShape = {2};
  CollectiveDesc gather = reduce;
  gather.kind = CollectiveKind::AllGather;
  gather.concatDim = 0;
  gather.resultShape = {8};
  plan.steps = {{CollectiveStartStep{0, reduce, 0, 1}, {"t.spmd", 2, 3}},
                {CollectiveDoneStep{0}, {"t.spmd", 2, 3}},
                {CollectiveStartStep{1, gather, 0, 2}, {"t.spmd", 3, 3}},
                {CollectiveDoneStep{1}, {"t.spmd", 3, 3}}};
  return artifact;
}

} // namespace spmd::testing_api
