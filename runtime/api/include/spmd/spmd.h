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
// Every error is an spmd::Error whose message is one sentence: what is wrong, where, and what to do.
//
// Threads. Function, Jitted, Lowered, Array and Shard may be used from any thread at any time, and so may eager
// operations (numpy.h, operand.h), device_put, the make_array_ functions, process_allgather, from_dlpack and to_dlpack.
// The first call of a function compiles it once; other threads that call it wait for that. Mesh, P, NamedSharding,
// DeviceInfo, Index, Operand and options are values: several threads may read one at once. initialize(), shutdown(), a
// BatchLoader, and the functions of checkpoints may be used by one thread at a time.
//
// The program must order its calls between processes: calls that several processes take part in (of a function on a
// mesh over them, of device_put to such a mesh, ...) must come in the same order on all of them, so two threads that
// make such calls must synchronize. Calls that use only the process's own devices need no order. If the order differs,
// all processes get an error that names the two calls: at once if both run programs, or if neither does and no other
// thread of the two processes makes such calls; otherwise after `collective_timeout`. If a process leaves the job
// without a call that the others make, they get an error at once that names the process and the call.
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
#include "runtime/support/NanError.h"
#include "sharding.h"
#include "trace.h"
#include "transform.h"
#include "tree.h"
// IWYU pragma: end_exports
