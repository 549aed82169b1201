//===- DnnlMatmul.cpp - products by oneDNN --------------------------------===//

#include "runtime/device/cpu/BlockedMatmul.h"
#include "runtime/device/cpu/CpuIsa.h"
#include "runtime/device/cpu/Dnnl.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace spmd {
namespace {

/// f32 with dnnl_sgemm: small products, and all products if the library is a later version.
class SgemmMatmul final : public BlockedMatmul {
public:
  SgemmMatmul(const MatmulShape &shape, std::shared_ptr<const Dnnl> library, int threads)
      : BlockedMatmul(shape, threads), library(std::move(library)) {
    Blocking sizes;
    sizes.rowBlock = std::min<int64_t>(std::max<int64_t>(shape.m, 1), 512);
    sizes.panelColumns = std::min<int64_t>(std::max<int64_t>(shape.n, 1), 1024);
    setBlocking(sizes);
  }
  std::string getMethod() const override { return "onednn-sgemm"; }

protected:
  void packPanel(const char *, int64_t, char *, int) override {}

  void multiplyBlock(const char *lhs, const char *rhs, const char *, char *result, int64_t row, int64_t rows,
                     int64_t panel, int, char *) override {
    library->useOneThread();
    int64_t column = panel * blocking.panelColumns, columns = std::min(blocking.panelColumns, shape.n - column);
    auto *a = reinterpret_cast<const float *>(lhs) + row * (shape.transposeLhs ? 1 : shape.k);
    auto *b = reinterpret_cast<const float *>(rhs) + column * (shape.transposeRhs ? shape.k : 1);
    auto *c = reinterpret_cast<float *>(result) + row * shape.n + column;
    if (library->sgemm(shape.transposeLhs ? 'T' : 'N', shape.transposeRhs ? 'T' : 'N', rows, columns, shape.k, 1.0f, a,
                       shape.transposeLhs ? shape.m : shape.k, b, shape.transposeRhs ? shape.k : shape.n, 0.0f, c,
                       shape.n) != dnnl_success)
      failed.store(true, std::memory_order_relaxed);
  }
  void checkErrors() override {
    if (failed.load())
      throw Error("matmul: oneDNN's sgemm failed");
  }

private:
  std::shared_ptr<const Dnnl> library;
  std::atomic<bool> failed{false};
};

/// Up to this number of columns the right side is one panel.
constexpr int64_t singlePanelColumns = 1536;
/// Rows of a block.
constexpr int64_t primitiveRows = 128;
/// From this number of columns on our own kernels multiply a transposed left side faster.
constexpr int64_t ownTransposedColumns = 768;

/// The matmul primitive on blocks, with the right side packed into the layout that the primitive requests.
class PrimitiveMatmul final : public BlockedMatmul {
public:
  PrimitiveMatmul(const MatmulShape &shape, std::shared_ptr<const Dnnl> library, int threads)
      : BlockedMatmul(shape, threads), library(std::move(library)) {}

  /// Returns false if oneDNN has only its reference implementation.
  bool prepare();
  ~PrimitiveMatmul() override;
  std::string getMethod() const override { return "onednn"; }

protected:
  void packPanel(const char *rhs, int64_t panel, char *packed, int thread) override;
  void multiplyBlock(const char *lhs, const char *rhs, const char *packed, char *result, int64_t row, int64_t rows,
                     int64_t panel, int thread, char *threadScratch) override;
  void checkErrors() override {
    if (failed.load())
      throw Error("matmul: oneDNN's matmul primitive failed");
  }

private:
  struct Primitive {
    dnnl_primitive_t primitive = nullptr;
    dnnl_memory_desc_t descs[4] = {};    ///< Source, weights, destination, scratch; for a reorder: from, to.
    std::vector<dnnl_memory_t> memories; ///< Four for each thread.
  };
  static constexpr int sourceArg = 0, weightsArg = 1, resultArg = 2, scratchArg = 3;

  dnnl_memory_desc_t matrix(DType dtype, int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride) const;
  bool createProduct(int64_t rows, int64_t columns, const dnnl_memory_desc_t &weights, Primitive &result);
  bool createReorder(int64_t columns, const dnnl_memory_desc_t &target, Primitive &result);
  void createMemories(Primitive &primitive);
  void execute(Primitive &primitive, int thread, std::initializer_list<std::pair<int, const void *>> handles,
               std::initializer_list<int> ids);

  std::shared_ptr<const Dnnl> library;
  bool isPacked = true;
  int64_t scratchBytes = 0;
  Primitive products[2][2]; ///< [last block of rows][last panel]
  Primitive reorders[2];    ///< [last panel]
  std::vector<dnnl_stream_t> streams;
  std::atomic<bool> failed{false};
};

dnnl_data_type_t dnnlType(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return dnnl_f32;
  case DType::BF16:
    return dnnl_bf16;
  default:
    return dnnl_data_type_undef;
  }
}

dnnl_memory_desc_t PrimitiveMatmul::matrix(DType dtype, int64_t rows, int64_t columns, int64_t rowStride,
                                           int64_t columnStride) const {
  dnnl_memory_desc_t desc{};
  dnnl_dims_t dims = {rows, columns}, strides = {rowStride, columnStride};
  library->memoryDescInitByStrides(&desc, 2, dims, dnnlType(dtype), strides);
  return desc;
}

bool PrimitiveMatmul::createProduct(int64_t rows, int64_t columns, const dnnl_memory_desc_t &weights,
                                    Primitive &result) {
  auto &lib = *library;
  dnnl_memory_desc_t source = shape.transposeLhs ? matrix(shape.operand, rows, shape.k, 1, shape.m)
                                                 : matrix(shape.operand, rows, shape.k, shape.k, 1);
  dnnl_memory_desc_t target = matrix(shape.result, rows, columns, shape.n, 1);
  dnnl_matmul_desc_t desc{};
  if (lib.matmulDescInit(&desc, &source, &weights, nullptr, &target) != dnnl_success)
    return false;
  dnnl_primitive_attr_t attributes = nullptr;
  lib.attrCreate(&attributes);
  lib.attrSetScratchpadMode(attributes, dnnl_scratchpad_mode_user);
  dnnl_primitive_desc_t primitiveDesc = nullptr;
  dnnl_status_t status = lib.primitiveDescCreate(&primitiveDesc, &desc, attributes, lib.getEngine(), nullptr);
  lib.attrDestroy(attributes);
  if (status != dnnl_success)
    return false;
  const char *implementation = "";
  lib.primitiveDescQuery(primitiveDesc, dnnl_query_impl_info_str, 0, &implementation);
  bool isFast = std::string_view(implementation).substr(0, 3) != "ref";
  if (isFast && lib.primitiveCreate(&result.primitive, primitiveDesc) != dnnl_success)
    isFast = false;
  if (isFast) {
    result.descs[sourceArg] = source;
    result.descs[weightsArg] = *lib.primitiveDescQueryMd(primitiveDesc, dnnl_query_weights_md, 0);
    result.descs[resultArg] = target;
    result.descs[scratchArg] = *lib.primitiveDescQueryMd(primitiveDesc, dnnl_query_scratchpad_md, 0);
    scratchBytes = std::max<int64_t>(scratchBytes, lib.memoryDescGetSize(&result.descs[scratchArg]));
    createMemories(result);
  }
  lib.primitiveDescDestroy(primitiveDesc);
  return isFast;
}

bool PrimitiveMatmul::createReorder(int64_t columns, const dnnl_memory_desc_t &target, Primitive &result) {
  auto &lib = *library;
  result.descs[0] = shape.transposeRhs ? matrix(shape.operand, shape.k, columns, 1, shape.k)
                                       : matrix(shape.operand, shape.k, columns, shape.n, 1);
  result.descs[1] = target;
  dnnl_primitive_attr_t attributes = nullptr;
  lib.attrCreate(&attributes);
  lib.attrSetScratchpadMode(attributes, dnnl_scratchpad_mode_user);
  dnnl_primitive_desc_t desc = nullptr;
  dnnl_status_t status =
      lib.reorderDescCreate(&desc, &result.descs[0], lib.getEngine(), &result.descs[1], lib.getEngine(), attributes);
  lib.attrDestroy(attributes);
  if (status != dnnl_success)
    return false;
  result.descs[scratchArg] = *lib.primitiveDescQueryMd(desc, dnnl_query_scratchpad_md, 0);
  // A reorder that needs scratch of its own is not a plain copy into another layout; it is not supported.
  bool isOk = lib.memoryDescGetSize(&result.descs[scratchArg]) == 0 &&
              lib.primitiveCreate(&result.primitive, desc) == dnnl_success;
  lib.primitiveDescDestroy(desc);
  if (isOk)
    createMemories(result);
  return isOk;
}

void PrimitiveMatmul::createMemories(Primitive &primitive) {
  primitive.memories.resize(4 * threads, nullptr);
  for (int thread = 0; thread < threads; ++thread)
    for (int i = 0; i < 4; ++i)
      library->memoryCreate(&primitive.memories[4 * thread + i], &primitive.descs[i], library->getEngine(),
                            DNNL_MEMORY_NONE);
}

bool PrimitiveMatmul::prepare() {
  auto &lib = *library;
  lib.useOneThread();
  streams.resize(threads, nullptr);
  for (dnnl_stream_t &stream : streams)
    if (lib.streamCreate(&stream, lib.getEngine(), dnnl_stream_default_flags) != dnnl_success)
      return false;
  // Packing costs a pass over the right side, which is not worth it for a few rows.
  isPacked = shape.m >= 16;
  int64_t rowBlock = std::min<int64_t>(shape.m, primitiveRows);
  // Packing a transposed side walks along its columns: with fewer columns at a time they stay in cache.
  int64_t panelColumns = shape.transposeRhs ? 512 : 1024;
  if (shape.n <= singlePanelColumns)
    panelColumns = shape.n;
  int64_t lastRows = shape.m % rowBlock, lastColumns = shape.n % panelColumns;
  auto weightsFor = [&](int64_t columns) {
    dnnl_memory_desc_t desc{};
    dnnl_dims_t dims = {shape.k, columns};
    if (isPacked)
      lib.memoryDescInitByTag(&desc, 2, dims, dnnlType(shape.operand), dnnl_format_tag_any);
    else
      desc = shape.transposeRhs ? matrix(shape.operand, shape.k, columns, 1, shape.k)
                                : matrix(shape.operand, shape.k, columns, shape.n, 1);
    return desc;
  };
  int64_t packedBytes = 0;
  for (int last = 0; last < 2; ++last) {
    int64_t columns = last ? lastColumns : panelColumns;
    if (columns == 0)
      continue;
    if (!createProduct(rowBlock, columns, weightsFor(columns), products[0][last]))
      return false;
    const dnnl_memory_desc_t &weights = products[0][last].descs[weightsArg];
    if (lastRows && !createProduct(lastRows, columns, weights, products[1][last]))
      return false;
    if (isPacked) {
      packedBytes = std::max<int64_t>(packedBytes, lib.memoryDescGetSize(&weights));
      if (!createReorder(columns, weights, reorders[last]))
        return false;
    }
  }
  setBlocking({rowBlock, panelColumns, packedBytes, scratchBytes});
  return true;
}

void PrimitiveMatmul::execute(Primitive &primitive, int thread,
                              std::initializer_list<std::pair<int, const void *>> handles,
                              std::initializer_list<int> ids) {
  library->useOneThread();
  dnnl_exec_arg_t arguments[4];
  int count = 0;
  auto id = ids.begin();
  for (auto [slot, data] : handles) {
    dnnl_memory_t memory = primitive.memories[4 * thread + slot];
    library->memorySetDataHandle(memory, const_cast<void *>(data));
    arguments[count++] = {*id++, memory};
  }
  if (library->primitiveExecute(primitive.primitive, streams[thread], count, arguments) != dnnl_success)
    failed.store(true, std::memory_order_relaxed);
}

void PrimitiveMatmul::packPanel(const char *rhs, int64_t panel, char *packed, int thread) {
  int64_t column = panel * blocking.panelColumns;
  bool isLast = column + blocking.panelColumns > shape.n;
  const char *data = rhs + column * (shape.transposeRhs ? shape.k : 1) * byteSize(shape.operand);
  execute(reorders[isLast], thread, {{0, data}, {1, packed}}, {DNNL_ARG_FROM, DNNL_ARG_TO});
}

void PrimitiveMatmul::multiplyBlock(const char *lhs, const char *rhs, const char *packed, char *result, int64_t row,
                                    int64_t rows, int64_t panel, int thread, char *threadScratch) {
  int64_t column = panel * blocking.panelColumns;
  bool isLastPanel = column + blocking.panelColumns > shape.n, isLastRows = rows < blocking.rowBlock;
  int64_t operandBytes = byteSize(shape.operand);
  const char *source = lhs + row * (shape.transposeLhs ? 1 : shape.k) * operandBytes;
  const char *weights = isPacked ? packed : rhs + column * (shape.transposeRhs ? shape.k : 1) * operandBytes;
  char *target = result + (row * shape.n + column) * byteSize(shape.result);
  execute(products[isLastRows][isLastPanel], thread,
          {{sourceArg, source}, {weightsArg, weights}, {resultArg, target}, {scratchArg, threadScratch}},
          {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD});
}

PrimitiveMatmul::~PrimitiveMatmul() {
  auto destroy = [&](Primitive &primitive) {
    for (dnnl_memory_t memory : primitive.memories)
      if (memory)
        library->memoryDestroy(memory);
    if (primitive.primitive)
      library->primitiveDestroy(primitive.primitive);
  };
  for (auto &row : products)
    for (Primitive &primitive : row)
      destroy(primitive);
  for (Primitive &primitive : reorders)
    destroy(primitive);
  for (dnnl_stream_t stream : streams)
    if (stream)
      library->streamDestroy(stream);
}

} // namespace

std::unique_ptr<Matmul> createDnnlMatmul(const MatmulShape &shape, std::shared_ptr<const Dnnl> library, int threads) {
  bool isF32 = shape.operand == DType::F32 && shape.result == DType::F32;
  // Our own kernels multiply bf16 and f16 at the rate of f32, which is faster on most CPUs.
  bool isBf16 = shape.operand == DType::BF16 && (shape.result == DType::BF16 || shape.result == DType::F32) &&
                hasFastBf16Products();
  if (!isF32 && !isBf16)
    return nullptr;
  // oneDNN computes all of a symmetric result.
  if (isF32 && isComputedByHalf(shape))
    return nullptr;
  // On AVX2 without AVX-512 our own kernels are faster in nearly all shapes: 1024^3 by two threads of a Zen 4 runs at
  // 151 GFLOP/s, oneDNN's at 76 (benchmarks/RESULTS.md).
  if (isF32 && detectIsa() == CpuIsa::Avx2)
    return nullptr;
  if (shape.batch == 0 || shape.m == 0 || shape.n == 0 || shape.k == 0 || shape.hasViews())
    return nullptr;
  // Small products are as fast in our own kernels (64^3: 5.9 us and 5.3), which avoid the 30 ms that sgemm needs to
  // generate code at its first call.
  if (shape.m * shape.n * shape.k <= 128 * 128 * 128)
    return nullptr;
  // Our own kernels read the other side of a few rows or columns in place, on all threads (8 x 768 x 768 by two: 46 us
  // against 84; 2304 x 4 x 768: 123 against 274).
  if (isThin(shape))
    return nullptr;
  // For 17 to 47 rows packing the full right side first does not pay: sgemm works without (16 x 2048 x 2048 took 2.4 ms
  // against 7).
  if (isF32 && (shape.m < 48 || !library->hasPrimitives()))
    return std::make_unique<SgemmMatmul>(shape, library, threads);
  // Few rows are one block, which one thread multiplies (128 x 1024 x 1024 by two threads: 2.2 ms, our own 1.2).
  if (isF32 && shape.m < 2 * primitiveRows)
    return nullptr;
  // Beyond one panel our own kernels are faster, because they pack no more at a time than the L2 cache holds (256 x
  // 2048 x 2048: 99 GFLOP/s against 77 to 89; 512 x 512 x 4096: 105 against 96).
  if (isF32 && shape.n > singlePanelColumns)
    return nullptr;
  // So they are for a transposed left side, which they pack in full lines (1024^3 on an Intel server CPU: 7.5 ms
  // against 8.1; 256 x 1024 x 4096: 13.3 against 16.1), but for 512 columns.
  if (isF32 && shape.transposeLhs && shape.n >= ownTransposedColumns)
    return nullptr;
  if (!library->hasPrimitives())
    return nullptr;
  auto matmul = std::make_unique<PrimitiveMatmul>(shape, library, threads);
  if (matmul->prepare())
    return matmul;
  if (isF32)
    return std::make_unique<SgemmMatmul>(shape, library, threads);
  return nullptr;
}

} // namespace spmd
