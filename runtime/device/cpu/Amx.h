//===- Amx.h - tiles of products on a CPU's matrix unit ---------*- C++ -*-===//
//
// Intel's Advanced Matrix Extensions (Intel 64 Architectures Software Developer's Manual, volume 1, chapter 18): eight
// registers of 16 rows of 64 bytes, and instructions that add the product of two of them to a third one. Floats are
// multiplied in f32 with subnormal operands and sums as zeros; the sum over 32 elements of k is two sums, of the even
// and of the odd ones. Integers are exact.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cpu/Gemm.h"

namespace spmd {

/// Rows of a left side: 64 bytes of row i and step s are at data + i * rowStride + s * stepStride, in bytes.
struct AmxRows {
  const char *data = nullptr;
  int64_t rowStride = 0, stepStride = 0;
};

/// Rows of the result, with sums between blocks of k: sumsBytes of memory for each tile, aligned to 64 bytes; unused if
/// there is one block.
struct AmxTarget {
  void *result = nullptr;
  int64_t stride = 0; ///< Elements between rows.
  char *sums = nullptr;
  bool isFirst = true, isLast = true; ///< Whether this block of k is the first or last one.
};

/// The functions of one combination of element types. A *step* is 64 bytes of each row of the left side and of each
/// column of the right side, packed such that a register is filled from adjacent lines of a cache. Elements that are
/// missing in the last step are zero on both sides.
struct AmxKernel {
  /// Rows and columns of a tile of the result: two registers of each side and four of sums.
  static constexpr int64_t tileRows = 32, tileColumns = 32;
  /// Columns of a panel of the right side: those of a register.
  static constexpr int64_t panelColumns = 16;
  static constexpr int64_t stepBytes = 64;                 ///< Of a row or a column.
  static constexpr int64_t registerBytes = 16 * stepBytes; ///< Of 16 rows or columns.
  static constexpr int64_t sumsBytes = 4 * registerBytes;  ///< Of the sums of a tile, which have four bytes each.

  int64_t stepElements = 0;
  /// Packs at most tileRows rows as [step][tileRows][stepBytes]; missing rows are undefined.
  void (*packLhs)(MatrixView lhs, int64_t rows, int64_t k, char *packed) = nullptr;
  void (*packLhsLines)(const Lines &lines, char *packed) = nullptr;
  /// Packs k rows x `columns` of a right side as panels [panel][step][16][column][4 bytes]; missing columns
  /// are zero.
  void (*packRhs)(MatrixView rhs, int64_t k, int64_t columns, char *packed) = nullptr;
  /// The same for at most panelColumns columns: one panel.
  void (*packRhsLines)(const Lines &lines, char *packed) = nullptr;
  /// Multiplies at most tileRows rows with all columns. Panels of the right side are panelBytes apart. Between enter
  /// and leave.
  void (*multiplyRows)(AmxRows lhs, int64_t rows, const char *rhs, int64_t panelBytes, int64_t steps, int64_t columns,
                       const AmxTarget &target) = nullptr;
  /// Shapes this thread's registers, and releases them: a thread that holds them takes longer to be switched.
  void (*enter)() = nullptr;
  void (*leave)() = nullptr;

  int64_t countSteps(int64_t k) const { return (k + stepElements - 1) / stepElements; }
};

/// Whether this process can use the kernels: a matrix unit, and vector instructions that round to bf16.
bool canUseAmx();

/// Returns the kernel for these types, or one with null functions if there is none; only where canUseAmx(), for this
/// function has the same instructions. Supported: bf16, and i8, u8 and
/// bool to themselves, bf16 to f32, i8 to i32, u8 to i32 and u32.
AmxKernel findAmxKernel(DType operand, DType result);

} // namespace spmd
