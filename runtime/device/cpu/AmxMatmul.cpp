//===- AmxMatmul.cpp - products on a CPU's matrix unit --------------------===//

#include "runtime/device/cpu/Amx.h"
#include "runtime/device/cpu/BlockedMatmul.h"
#include "runtime/device/cpu/GemmOperand.h"

#include <algorithm>

namespace spmd {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Rows of a block of the result: few where that does not load columns more often, so that they are in a cache when
/// their epilogue runs.
constexpr int64_t blockRows = 512, blockRowsOfOnePanel = 128;
/// The columns of a block of k, of at most so many bytes, stay in the L2 cache (2 MiB on CPUs with AMX) while all rows
/// are multiplied with them.
constexpr int64_t blockColumnBytes = 1 << 20, mostColumns = 1024;
/// Steps of a block of k: sums are stored and loaded again between blocks, which takes as long as two steps.
constexpr int64_t mostBlockSteps = 64;
/// Columns for which copying a row takes longer than it saves.
constexpr int64_t fewColumns = 256;

/// The right side is packed once. Then each task packs tiles of rows and multiplies each with all columns of its panel.
class AmxMatmul final : public BlockedMatmul {
public:
  AmxMatmul(const MatmulShape &shape, int threads, const AmxKernel &kernel)
      : BlockedMatmul(shape, threads), kernel(kernel), lhs(GemmOperand::ofLhs(shape)), rhs(GemmOperand::ofRhs(shape)),
        steps(kernel.countSteps(shape.k)) {
    blockSteps = steps > 0 ? ceilDiv(steps, ceilDiv(steps, mostBlockSteps)) : 1;
    int64_t blockElements = blockSteps * kernel.stepElements;
    for (int64_t begin = 0; begin < shape.k; begin += blockElements)
      lhsRuns.push_back(lhs.runsOf(begin, std::min(blockElements, shape.k - begin)));
    rhsRuns = rhs.runsOf(0, shape.k);
    Blocking sizes;
    static_assert(AmxKernel::tileRows == AmxKernel::tileColumns);
    constexpr int64_t tile = AmxKernel::tileRows;
    auto wholeTiles = [](int64_t count) { return std::max<int64_t>(ceilDiv(count, tile), 1) * tile; };
    int64_t columns = std::min(blockColumnBytes / (blockSteps * AmxKernel::stepBytes), mostColumns);
    sizes.panelColumns = wholeTiles(std::min(shape.n, columns));
    sizes.rowBlock = wholeTiles(std::min(shape.m, sizes.panelColumns < shape.n ? blockRows : blockRowsOfOnePanel));
    // Smaller blocks give all threads tasks.
    auto isShort = [&] {
      return threads > 1 && ceilDiv(shape.m, sizes.rowBlock) * ceilDiv(shape.n, sizes.panelColumns) < 4 * threads;
    };
    while (isShort() && sizes.rowBlock > 2 * AmxKernel::tileRows)
      sizes.rowBlock = wholeTiles(sizes.rowBlock / 2);
    while (isShort() && sizes.panelColumns > 2 * AmxKernel::tileColumns)
      sizes.panelColumns = wholeTiles(sizes.panelColumns / 2);
    sizes.packedPanelBytes = ceilDiv(sizes.panelColumns, AmxKernel::panelColumns) * steps * AmxKernel::registerBytes;
    tileBytes = std::min(steps, blockSteps) * 2 * AmxKernel::registerBytes;
    // Rows half a page apart share two sets of the L1 cache: copies of them are faster, if enough columns read them.
    bool isSpread = lhs.getLineStride() * byteSize(shape.operand) % 2048 != 0 || sizes.panelColumns < fewColumns;
    isDirect = lhs.isMatrix() && lhs.isContiguous() && isSpread && shape.k % kernel.stepElements == 0;
    int64_t tiles = ceilDiv(sizes.rowBlock, AmxKernel::tileRows) * ceilDiv(sizes.panelColumns, AmxKernel::tileColumns);
    sizes.threadScratchBytes = tileBytes + (steps > blockSteps ? tiles * AmxKernel::sumsBytes : 0);
    setBlocking(sizes);
  }
  std::string getMethod() const override { return "own, amx"; }

protected:
  int64_t startOfLhs(int64_t element) const override { return lhs.startOfBatch(element); }
  int64_t startOfRhs(int64_t element) const override { return rhs.startOfBatch(element); }
  void enterThread() override { kernel.enter(); }
  void leaveThread() override { kernel.leave(); }

  void packPanel(const char *data, int64_t panel, char *packed, int) override {
    int64_t begin = panel * blocking.panelColumns, end = std::min(begin + blocking.panelColumns, shape.n);
    if (rhs.isMatrix()) {
      data += begin * rhs.getLineStride() * byteSize(shape.operand);
      return kernel.packRhs({data, rhs.getElementStride(), rhs.getLineStride()}, shape.k, end - begin, packed);
    }
    for (int64_t column = begin; column < end; column += AmxKernel::panelColumns) {
      TileLines lines(rhs, column, std::min(AmxKernel::panelColumns, end - column));
      kernel.packRhsLines(lines.at(data, rhsRuns), packed);
      packed += steps * AmxKernel::registerBytes;
    }
  }

  void multiplyBlock(const char *data, const char *, const char *packed, char *result, int64_t row, int64_t rows,
                     int64_t panel, int, char *threadScratch) override {
    int64_t column = panel * blocking.panelColumns, columns = std::min(blocking.panelColumns, shape.n - column);
    char *target = result + (row * shape.n + column) * byteSize(shape.result);
    for (size_t block = 0; block < lhsRuns.size(); ++block) {
      int64_t step = static_cast<int64_t>(block) * blockSteps, count = std::min(blockSteps, steps - step);
      char *sums = threadScratch + tileBytes;
      for (int64_t i = 0; i < rows; i += AmxKernel::tileRows) {
        int64_t tileRows = std::min(AmxKernel::tileRows, rows - i);
        kernel.multiplyRows(
            packRows(data, row + i, tileRows, block, threadScratch), tileRows, packed + step * AmxKernel::registerBytes,
            steps * AmxKernel::registerBytes, count, columns,
            {target + i * shape.n * byteSize(shape.result), shape.n, sums, block == 0, block + 1 == lhsRuns.size()});
        sums += ceilDiv(columns, AmxKernel::tileColumns) * AmxKernel::sumsBytes;
      }
    }
  }

private:
  /// Packs rows of one block of k.
  AmxRows packRows(const char *data, int64_t row, int64_t count, size_t block, char *packed) const {
    int64_t begin = static_cast<int64_t>(block) * blockSteps * kernel.stepElements;
    if (lhs.isMatrix()) {
      data += (row * lhs.getLineStride() + begin * lhs.getElementStride()) * byteSize(shape.operand);
      int64_t k = std::min(blockSteps * kernel.stepElements, shape.k - begin);
      if (isDirect && count == AmxKernel::tileRows)
        return {data, lhs.getLineStride() * byteSize(shape.operand), AmxKernel::stepBytes};
      kernel.packLhs({data, lhs.getLineStride(), lhs.getElementStride()}, count, k, packed);
    } else {
      kernel.packLhsLines(TileLines(lhs, row, count).at(data, lhsRuns[block]), packed);
    }
    return {packed, AmxKernel::stepBytes, 2 * AmxKernel::registerBytes};
  }

  const AmxKernel kernel;
  const GemmOperand lhs, rhs;
  const int64_t steps; ///< Of k.
  bool isDirect;
  int64_t blockSteps;
  int64_t tileBytes;                         ///< Of a packed tile of rows.
  std::vector<std::vector<LineRun>> lhsRuns; ///< By block of k: a run allocates nothing.
  std::vector<LineRun> rhsRuns;
};

} // namespace

std::unique_ptr<Matmul> createAmxMatmul(const MatmulShape &shape, int threads) {
  if (!canUseAmx())
    return nullptr;
  AmxKernel kernel = findAmxKernel(shape.operand, shape.result);
  if (!kernel.multiplyRows)
    return nullptr;
  // Few rows are multiplied with each element of the right side where it is; packing it takes longer.
  if (!shape.hasViews() && shape.m <= (shape.transposeRhs ? 2 : 4))
    return nullptr;
  return std::make_unique<AmxMatmul>(shape, threads, kernel);
}

} // namespace spmd
