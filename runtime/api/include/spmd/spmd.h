//===- spmd.h - the public C++ interface ------------------------*- C++ -*-===//
//
// Multi-controller programming as JAX has it: every process runs the same program and calls the same functions in the
// same order; an Array may span the devices of all processes. Public names are JAX's, in its snake_case.
//
//     spmd::initialize({.coordinator_address = "10.0.0.1:4711", .num_processes = 4, .process_id = id});
//     spmd::Mesh mesh = spmd::make_mesh({4, 2}, {"i", "j"});
//     spmd::Array x = spmd::device_put(spmd::view(values, {4, 8}), spmd::NamedSharding(mesh, spmd::P("i", "j")));
//     spmd::Function f = spmd::jit("mesh m(i=4, j=2) fn main(x: f32[4@i, 8@j]) -> f32 { return sum(sin(x)); }");
//     float total = f(x)[0].item<float>();
//     auto g = spmd::jit([](spmd::Array x) { return spmd::sum(spmd::sin(x)); });  // The same, traced.
//     total = g(x).item<float>();
//     spmd::shutdown();
//
// Every error is an spmd::Error whose message is one sentence: what is wrong, where, and what to do. Functions may be
// called from one thread at a time, unless said otherwise.
//
//===----------------------------------------------------------------------===//
#pragma once

// IWYU pragma: begin_exports
#include "array.h"
#include "batches.h"
#include "checkpoint.h"
#include "dlpack.h"
#include "function.h"
#include "host_values.h"
#include "job.h"
#include "lowered.h"
#include "numpy.h"
#include "operand.h"
#include "random.h"
#include "runtime/support/DType.h"
#include "runtime/support/Error.h"
#include "sharding.h"
#include "trace.h"
#include "transform.h"
#include "tree.h"
// IWYU pragma: end_exports
