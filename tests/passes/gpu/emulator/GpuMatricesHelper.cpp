//===- GpuMatricesHelper.cpp - matrix instructions on this machine --------===//

#include "tests/passes/gpu/emulator/GpuMatricesHelper.h"

#include <bit>
#include <cstring>

namespace spmdc {
namespace {

constexpr int kLanes = 32, kRows = 16, kColumns = 8, kDepth = 16;

double toDouble(uint16_t bits, bool isBf16) {
  if (isBf16)
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  return static_cast<double>(std::bit_cast<_Float16>(bits));
}

uint16_t half(uint32_t word, int number) { return static_cast<uint16_t>(word >> (16 * number)); }

} // namespace

void loadMatrices(const std::vector<uint32_t *> &lanes, bool isTransposed) {
  uint16_t elements[4][8][8];
  for (int lane = 0; lane < kLanes; ++lane) {
    uint64_t address = 0;
    std::memcpy(&address, lanes[lane], sizeof(address));
    std::memcpy(elements[lane / 8][lane % 8], reinterpret_cast<const void *>(address), sizeof(elements[0][0]));
  }
  for (int lane = 0; lane < kLanes; ++lane)
    for (int m = 0; m < 4; ++m) {
      int row = lane / 4, column = lane % 4 * 2;
      uint32_t low = isTransposed ? elements[m][column][row] : elements[m][row][column];
      uint32_t high = isTransposed ? elements[m][column + 1][row] : elements[m][row][column + 1];
      lanes[lane][kMatrixAddressWords + m] = high << 16 | low;
    }
}

void multiplyMatrices(const std::vector<uint32_t *> &lanes, bool isBf16) {
  double a[kRows][kDepth], b[kDepth][kColumns], c[kRows][kColumns];
  // Where each register of a lane is, as in the tables of the PTX ISA.
  for (int lane = 0; lane < kLanes; ++lane) {
    int group = lane / 4, pair = lane % 4 * 2;
    for (int i = 0; i < 2; ++i) {
      for (int word = 0; word < 4; ++word)
        a[group + word % 2 * 8][pair + word / 2 * 8 + i] = toDouble(half(lanes[lane][word], i), isBf16);
      for (int word = 0; word < 2; ++word)
        b[pair + word * 8 + i][group] = toDouble(half(lanes[lane][4 + word], i), isBf16);
      for (int row = 0; row < 2; ++row)
        c[group + row * 8][pair + i] = std::bit_cast<float>(lanes[lane][6 + row * 2 + i]);
    }
  }
  for (auto &row : c)
    for (int column = 0; column < kColumns; ++column)
      for (int k = 0; k < kDepth; ++k)
        row[column] += a[&row - c][k] * b[k][column];
  for (int lane = 0; lane < kLanes; ++lane)
    for (int i = 0; i < 4; ++i)
      lanes[lane][kMatrixOperandWords + i] =
          std::bit_cast<uint32_t>(static_cast<float>(c[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]));
}

void multiplyBytes(const std::vector<uint32_t *> &lanes, bool isSigned) {
  auto byte = [&](uint32_t word, int i) {
    auto bits = static_cast<uint8_t>(word >> 8 * i);
    return isSigned ? static_cast<uint32_t>(static_cast<int8_t>(bits)) : bits;
  };
  uint32_t a[kRows][2 * kDepth], b[2 * kDepth][kColumns];
  for (int lane = 0; lane < kLanes; ++lane)
    for (int i = 0; i < 4; ++i) {
      int group = lane / 4, k = lane % 4 * 4 + i;
      for (int word = 0; word < 4; ++word)
        a[group + word % 2 * 8][k + word / 2 * 16] = byte(lanes[lane][word], i);
      for (int word = 0; word < 2; ++word)
        b[k + word * 16][group] = byte(lanes[lane][4 + word], i);
    }
  for (int lane = 0; lane < kLanes; ++lane)
    for (int i = 0; i < 4; ++i) {
      uint32_t sum = lanes[lane][6 + i];
      for (int k = 0; k < 2 * kDepth; ++k)
        sum += a[lane / 4 + i / 2 * 8][k] * b[k][lane % 4 * 2 + i % 2];
      lanes[lane][kMatrixOperandWords + i] = sum;
    }
}

namespace {

/// A factor in shared memory: fields of a descriptor with 128-byte swizzle.
class SharedFactor {
public:
  SharedFactor(const uint32_t *words, const GpuMemory &memory) : memory(memory) {
    uint64_t fields = static_cast<uint64_t>(words[1]) << 32 | words[0];
    start = (fields & 0x3fff) * 16;
    panelBytes = (fields >> 16 & 0x3fff) * 16;
    groupBytes = (fields >> 32 & 0x3fff) * 16;
  }
  /// Element `depth` of row `row`, where the contracted elements are adjacent.
  uint16_t alongRow(int row, int depth) { return at(positionAlong(row, depth)); }
  /// Element `column` of row `depth`, where the columns are adjacent.
  uint16_t acrossRows(int column, int depth) { return at(positionAcross(column, depth)); }
  /// Their positions. Those of 8 adjacent elements from a multiple of 8 on are adjacent.
  uint64_t positionAlong(int row, int depth) const { return swizzle(row / 8 * groupBytes + row % 8 * 128 + depth * 2); }
  uint64_t positionAcross(int column, int depth) const {
    return swizzle(column / 64 * panelBytes + column % 64 * 2 + depth / 8 * groupBytes + depth % 8 * 128);
  }

  bool isInside = true; ///< All elements so far.

private:
  uint64_t swizzle(uint64_t offset) const {
    uint64_t address = start + offset;
    return address ^ (address >> 7 & 7) << 4;
  }
  uint16_t at(uint64_t address) {
    uint16_t element = 0;
    if (const char *bytes = memory.checkWindow(address, sizeof(element)))
      std::memcpy(&element, bytes, sizeof(element));
    else
      isInside = false;
    return element;
  }

  const GpuMemory &memory;
  uint64_t start = 0, panelBytes = 0, groupBytes = 0;
};

} // namespace

const char *WarpgroupProduct::findProblem(uint64_t descriptor) {
  // PTX ISA, "Matrix Descriptor Format" of wgmma: the bits between the fields are 0, and 128-byte swizzle is 1 in the
  // last two. The base offset is that of a pattern of 8 rows of 128 bytes that does not begin at a multiple of 1024.
  constexpr uint64_t kFields = 0xc00e3fff3fff3fff, kBaseOffset = 0x000e000000000000, kSwizzle = 0xc000000000000000;
  if (descriptor & ~kFields)
    return "the descriptor of a factor has bits that no field has";
  if ((descriptor & kSwizzle) != uint64_t{1} << 62)
    return "the descriptor of a factor has another layout than 128-byte swizzle, the only one that this emulator knows";
  uint64_t firstRow = descriptor >> 3 & 7; // Of the 8 rows of the pattern.
  if ((descriptor & kBaseOffset) != 0 || firstRow != 0)
    return "the factor of a product does not begin with the first row of a pattern of 8 rows";
  return nullptr;
}

bool WarpgroupProduct::run(const std::vector<uint32_t *> &lanes, const GpuMemory &memory, int warp) const {
  double a[kRows][kDepth];
  bool isInside = true;
  for (int lane = 0; lane < kLanes; ++lane) {
    SharedFactor left(lanes[lane], memory);
    for (int word = 0; word < 4; ++word)
      for (int i = 0; i < 2; ++i) {
        int row = lane / 4 + word % 2 * 8, depth = lane % 4 * 2 + word / 2 * 8 + i;
        uint16_t bits = isLeftInRegisters ? half(lanes[lane][word], i) : left.alongRow(warp * kRows + row, depth);
        a[row][depth] = toDouble(bits, isBf16);
      }
    isInside &= left.isInside;
  }
  SharedFactor right(lanes[0] + kLeftWords, memory);
  for (int column = 0; column < columns; ++column) {
    double b[kDepth];
    for (int k = 0; k < kDepth; ++k)
      b[k] = toDouble(isRightTransposed ? right.acrossRows(column, k) : right.alongRow(column, k), isBf16);
    for (int row = 0; row < kRows; ++row) {
      uint32_t &word =
          lanes[row % 8 * 4 + column % 8 / 2][kLeftWords + kRightWords + column / 8 * 4 + row / 8 * 2 + column % 2];
      double sum = std::bit_cast<float>(word);
      for (int k = 0; k < kDepth; ++k)
        sum += a[row][k] * b[k];
      word = std::bit_cast<uint32_t>(static_cast<float>(sum));
    }
  }
  return isInside && right.isInside;
}

std::vector<uint64_t> WarpgroupProduct::findReads(const uint32_t *words, const GpuMemory &memory, int warp) const {
  std::vector<uint64_t> reads;
  constexpr int kAdjacent = kReadBytes / sizeof(uint16_t);
  SharedFactor left(words, memory), right(words + kLeftWords, memory);
  for (int row = 0; row < kRows && !isLeftInRegisters; ++row)
    for (int depth = 0; depth < kDepth; depth += kAdjacent)
      reads.push_back(left.positionAlong(warp * kRows + row, depth));
  for (int column = 0; column < columns; column += isRightTransposed ? kAdjacent : 1)
    for (int depth = 0; depth < kDepth; depth += isRightTransposed ? 1 : kAdjacent)
      reads.push_back(isRightTransposed ? right.positionAcross(column, depth) : right.positionAlong(column, depth));
  return reads;
}

GpuCopy GpuCopy::start(void *target, const void *source, uint32_t bytes) {
  std::memset(target, 0xff, kBytes);
  return {target, source, bytes};
}

void GpuCopy::finish() const {
  std::memset(target, 0, kBytes);
  std::memcpy(target, source, bytes);
}

} // namespace spmdc
