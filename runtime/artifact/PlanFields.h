//===- PlanFields.h - the fields of plan structures -------------*- C++ -*-===//
//
// describe(archive, value) names every field of a plan structure in the order in which it is written. The JSON writer
// and the JSON reader both use this description, so they agree on the format; a field that is added to Plan.h is added
// here and nowhere else.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <array>
#include <string_view>

namespace spmd::plan_fields {

// Names of the enumerators, in the order of their values.
inline constexpr std::array<std::string_view, 4> spaceNames = {"argument", "result", "arena", "constant"};
inline constexpr std::array<std::string_view, 7> collectiveNames = {
    "all_reduce",         "all_gather", "reduce_scatter",      "all_to_all",
    "collective_permute", "exchange",   "collective_broadcast"};
inline constexpr std::array<std::string_view, 6> reductionNames = {"sum", "prod", "max", "min", "and", "or"};
inline constexpr std::array<std::string_view, 21> libraryNames = {"scatter_add",        "scatter_add_along",
                                                                  "scatter_replace",    "scatter_replace_along",
                                                                  "scatter_prod",       "scatter_prod_along",
                                                                  "scatter_max",        "scatter_max_along",
                                                                  "scatter_min",        "scatter_min_along",
                                                                  "scatter_and",        "scatter_and_along",
                                                                  "scatter_or",         "scatter_or_along",
                                                                  "update_slice",       "argsort",
                                                                  "argsort_descending", "sort",
                                                                  "sort_descending",    "fft",
                                                                  "inverse_fft"};
inline constexpr std::array<std::string_view, 4> epilogueNames = {"none", "identity", "gelu", "gelu_gradient"};
/// In the order of Step::op's alternatives.
inline constexpr std::array<std::string_view, 10> stepNames = {
    "launch", "matmul", "collective_start", "collective_done", "copy", "if", "while", "print", "for", "library"};

template <typename Archive> void describe(Archive &archive, SourceLocation &value) {
  archive.field("file", value.file);
  archive.field("line", value.line);
  archive.field("column", value.column);
}

template <typename Archive> void describe(Archive &archive, MeshAxis &value) {
  archive.field("name", value.name);
  archive.field("size", value.size);
}

template <typename Archive> void describe(Archive &archive, MeshShape &value) { archive.field("axes", value.axes); }

template <typename Archive> void describe(Archive &archive, AxisRef &value) {
  archive.field("name", value.name);
  archive.field("pre_size", value.preSize);
  archive.field("size", value.size);
}

template <typename Archive> void describe(Archive &archive, Sharding &value) {
  archive.field("dims", value.dims);
  archive.field("unreduced", value.unreduced);
}

template <typename Archive> void describe(Archive &archive, ValueInfo &value) {
  archive.field("name", value.name);
  archive.field("dtype", value.dtype);
  archive.field("shape", value.shape);
  archive.field("sharding", value.sharding);
  archive.field("local_shape", value.localShape);
  archive.field("format", value.format, elementFormatNames);
}

template <typename Archive> void describe(Archive &archive, BufferInfo &value) {
  archive.field("space", value.space, spaceNames);
  archive.field("index", value.index);
  archive.field("offset", value.offset);
  archive.field("dtype", value.dtype);
  archive.field("shape", value.shape);
}

template <typename Archive> void describe(Archive &archive, LaunchStep &value) {
  archive.field("kernel", value.kernel);
  archive.field("operands", value.operands);
  archive.field("extent", value.extent);
  archive.field("grain", value.grain);
  archive.field("outputs", value.outputs);
}

template <typename Archive> void describe(Archive &archive, ViewDigit &value) {
  archive.field("size", value.size);
  archive.field("stride", value.stride);
}

template <typename Archive> void describe(Archive &archive, OperandView &value) {
  archive.field("offset", value.offset);
  archive.field("batch", value.batch);
  archive.field("rows", value.rows);
  archive.field("columns", value.columns);
}

template <typename Archive> void describe(Archive &archive, LibraryEpilogue &value) {
  archive.field("function", value.function, epilogueNames);
  archive.field("factor", value.factor);
  archive.field("array_factor", value.arrayFactor);
  archive.field("array", value.array);
  archive.field("bias", value.bias);
}

template <typename Archive> void describe(Archive &archive, MatmulStep &value) {
  archive.field("lhs", value.lhs);
  archive.field("rhs", value.rhs);
  archive.field("result", value.result);
  archive.field("batch", value.batch);
  archive.field("m", value.m);
  archive.field("n", value.n);
  archive.field("k", value.k);
  archive.field("transpose_lhs", value.transposeLhs);
  archive.field("transpose_rhs", value.transposeRhs);
  archive.field("epilogue_kernel", value.epilogueKernel);
  archive.field("epilogue_operands", value.epilogueOperands);
  archive.field("library_epilogue", value.libraryEpilogue);
  archive.field("lhs_view", value.lhsView);
  archive.field("rhs_view", value.rhsView);
  archive.field("allow_tf32", value.allowTf32);
}

template <typename Archive> void describe(Archive &archive, DimMove &value) {
  archive.field("shift", value.shift);
  archive.field("stride", value.stride);
  archive.field("begin", value.begin);
  archive.field("end", value.end);
  archive.field("length", value.length);
  archive.field("step", value.step);
  archive.field("base", value.base);
  archive.field("block", value.block);
  archive.field("wraps", value.wraps);
  archive.field("dilation", value.dilation);
}

template <typename Archive> void describe(Archive &archive, CollectiveDesc &value) {
  archive.field("kind", value.kind, collectiveNames);
  archive.field("reduction", value.reduction, reductionNames);
  archive.field("dtype", value.dtype);
  archive.field("axes", value.axes);
  archive.field("operand_shape", value.operandShape);
  archive.field("result_shape", value.resultShape);
  archive.field("split_dim", value.splitDim);
  archive.field("concat_dim", value.concatDim);
  archive.field("pairs", value.pairs);
  archive.field("global_shape", value.globalShape);
  archive.field("source", value.source);
  archive.field("target", value.target);
  archive.field("target_shape", value.targetShape);
  archive.field("moves", value.moves);
}

template <typename Archive> void describe(Archive &archive, CollectiveStartStep &value) {
  archive.field("id", value.id);
  archive.field("desc", value.desc);
  archive.field("operand", value.operand);
  archive.field("result", value.result);
  archive.field("root", value.root);
}

template <typename Archive> void describe(Archive &archive, CollectiveDoneStep &value) {
  archive.field("id", value.id);
}

template <typename Archive> void describe(Archive &archive, CopyStep &value) {
  archive.field("source", value.source);
  archive.field("target", value.target);
}

template <typename Archive> void describe(Archive &archive, IfStep &value) {
  archive.field("predicate", value.predicate);
  archive.field("then", value.thenSteps);
  archive.field("else", value.elseSteps);
}

template <typename Archive> void describe(Archive &archive, WhileStep &value) {
  archive.field("predicate", value.predicate);
  archive.field("condition", value.condition);
  archive.field("body", value.body);
}

template <typename Archive> void describe(Archive &archive, PrintStep &value) {
  archive.field("texts", value.texts);
  archive.field("values", value.values);
  archive.field("infos", value.infos);
}

template <typename Archive> void describe(Archive &archive, ForStep &value) {
  archive.field("lower", value.lower);
  archive.field("upper", value.upper);
  archive.field("counter", value.counter);
  archive.field("body", value.body);
}

template <typename Archive> void describe(Archive &archive, LibraryStep &value) {
  archive.field("function", value.function, libraryNames);
  archive.field("inputs", value.inputs);
  archive.field("result", value.result);
  archive.field("sizes", value.sizes);
}

template <typename Archive> void describe(Archive &archive, KernelInfo &value) {
  archive.field("symbol", value.symbol);
  archive.field("block_threads", value.blockThreads);
  archive.field("shared_bytes", value.sharedBytes);
  archive.field("grid_blocks", value.gridBlocks);
  archive.field("state_bytes", value.stateBytes);
}

template <typename Archive> void describe(Archive &archive, TargetInfo &value) {
  archive.field("backend", value.backend);
  archive.field("cpu", value.cpu);
  archive.field("features", value.features);
}

template <typename Archive> void describe(Archive &archive, Plan &value) {
  archive.field("name", value.name);
  archive.field("target", value.target);
  archive.field("mesh", value.mesh);
  archive.field("params", value.params);
  archive.field("results", value.results);
  archive.field("aliases", value.aliases);
  archive.field("arena_bytes", value.arenaBytes);
  archive.field("buffers", value.buffers);
  archive.field("kernels", value.kernels);
  archive.field("steps", value.steps);
}

} // namespace spmd::plan_fields
