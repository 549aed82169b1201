//===- BesideOneDnn.cpp - one matrix product beside oneDNN 3, in turn -----===//
//
//     products-beside-onednn TYPE RESULT BATCH M N K [NN|NT|TN|TT] [ROUNDS]
//
// Our product, without a library, and oneDNN's of the same plain layouts, on one thread. A round takes about 2 ms of
// each. Prints the median and the quartiles, over rounds, of oneDNN's time divided by ours, and the medians and minima
// of both times.
//
// Built if CMake is given -DSPMDC_ONEDNN3=FOLDER, which has include/ and lib/ of oneDNN 3: a virtual environment with
// `onednn-devel` of PyPI. To run it, set LD_LIBRARY_PATH=FOLDER/lib and OCL_ICD_FILENAMES=FOLDER/lib/libintelocl.so,
// and start it with `taskset -c 0`: oneDNN takes one thread for each core.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Matmul.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>
#include <vector>

namespace {

struct Type {
  const char *name;
  spmd::DType ours;
  dnnl::memory::data_type theirs;
};

const Type types[] = {
    {"f32", spmd::DType::F32, dnnl::memory::data_type::f32}, {"bf16", spmd::DType::BF16, dnnl::memory::data_type::bf16},
    {"f16", spmd::DType::F16, dnnl::memory::data_type::f16}, {"i8", spmd::DType::I8, dnnl::memory::data_type::s8},
    {"u8", spmd::DType::U8, dnnl::memory::data_type::u8},    {"i32", spmd::DType::I32, dnnl::memory::data_type::s32}};

const Type &parse(std::string_view name) {
  for (const Type &type : types)
    if (name == type.name)
      return type;
  std::fprintf(stderr, "unknown type\n");
  std::exit(1);
}

double now() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The quarter q of sorted values.
double quarter(const std::vector<double> &sorted, int q) { return sorted[(sorted.size() - 1) * q / 4]; }

} // namespace

int main(int argc, char **argv) {
  if (argc < 7)
    return std::fprintf(stderr, "usage: products-beside-onednn TYPE RESULT BATCH M N K [NN|NT|TN|TT] [ROUNDS]\n"), 1;
  const Type &operand = parse(argv[1]), &sum = parse(argv[2]);
  spmd::MatmulShape shape;
  shape.operand = operand.ours, shape.result = sum.ours;
  shape.batch = std::atoll(argv[3]), shape.m = std::atoll(argv[4]), shape.n = std::atoll(argv[5]);
  shape.k = std::atoll(argv[6]);
  shape.transposeLhs = argc > 7 && argv[7][0] == 'T';
  shape.transposeRhs = argc > 7 && argv[7][1] == 'T';
  size_t rounds = argc > 8 ? std::max(1, std::atoi(argv[8])) : 100;

  using Tag = dnnl::memory::format_tag;
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  dnnl::memory::desc left({shape.batch, shape.m, shape.k}, operand.theirs, shape.transposeLhs ? Tag::acb : Tag::abc);
  dnnl::memory::desc right({shape.batch, shape.k, shape.n}, operand.theirs, shape.transposeRhs ? Tag::acb : Tag::abc);
  dnnl::memory::desc target({shape.batch, shape.m, shape.n}, sum.theirs, Tag::abc);
  dnnl::matmul::primitive_desc description(engine, left, right, target);
  dnnl::matmul primitive(description);
  dnnl::memory lhs(left, engine), rhs(right, engine), result(target, engine);
  std::memset(lhs.get_data_handle(), 1, left.get_size());
  std::memset(rhs.get_data_handle(), 1, right.get_size());

  auto matmul = spmd::Matmul::create(shape, nullptr, 1);
  std::vector<char> memory(static_cast<size_t>(matmul->getScratchBytes()) + 64);
  char *scratch = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  spmd::ParallelFor loop(1, std::chrono::nanoseconds(0));
  auto runOurs = [&](int calls) {
    double begin = now();
    for (int i = 0; i < calls; ++i)
      matmul->run(loop, lhs.get_data_handle(), rhs.get_data_handle(), result.get_data_handle(), scratch);
    return (now() - begin) / calls;
  };
  auto runTheirs = [&](int calls) {
    double begin = now();
    for (int i = 0; i < calls; ++i)
      primitive.execute(stream, {{DNNL_ARG_SRC, lhs}, {DNNL_ARG_WEIGHTS, rhs}, {DNNL_ARG_DST, result}});
    stream.wait();
    return (now() - begin) / calls;
  };
  runTheirs(1);
  runOurs(1);
  int calls = std::max(1, static_cast<int>(2000 / std::max(runTheirs(1), runOurs(1))));
  std::vector<double> theirs, ours, ratios;
  for (size_t round = 0; round < rounds; ++round) {
    theirs.push_back(runTheirs(calls));
    ours.push_back(runOurs(calls));
    ratios.push_back(theirs.back() / ours.back());
  }
  for (auto *values : {&theirs, &ours, &ratios})
    std::sort(values->begin(), values->end());
  std::printf("oneDNN / ours %.2f (%.2f to %.2f); oneDNN (%s) %.1f us, least %.1f; ours (%s) %.1f us, least %.1f\n",
              quarter(ratios, 2), quarter(ratios, 1), quarter(ratios, 3), description.impl_info_str(),
              quarter(theirs, 2), theirs.front(), matmul->getMethod().c_str(), quarter(ours, 2), ours.front());
}
