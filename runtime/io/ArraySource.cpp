//===- ArraySource.cpp - an array in a file -------------------------------===//

#include "runtime/io/ArraySource.h"

#include "runtime/artifact/PlanPrinter.h"
#include "runtime/io/BoxCopy.h"
#include "runtime/support/Error.h"
#include "runtime/support/NameList.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace spmd {
namespace {

/// Returns the bytes of the array; nothing if they overflow. Sizes that overflow count even if a size of 0 makes the
/// product 0: their strides do not fit either, and NumPy has no such array.
std::optional<int64_t> countBytes(const std::vector<int64_t> &shape, int64_t elementBytes) {
  int64_t bytes = elementBytes;
  bool isEmpty = false;
  for (int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes))
      return std::nullopt;
    isEmpty |= size == 0;
  }
  return isEmpty ? 0 : bytes;
}

/// The name of the dtype in NumPy's astype; of the numbers of this format that arrays of the dtype hold.
std::string numpyName(DType dtype, ElementFormat format) {
  if (const NarrowFormat *narrow = findNarrow(format))
    return "ml_dtypes." + std::string(narrow->numpyName);
  if (format == ElementFormat::Complex)
    return "'complex" + std::to_string(16 * byteSize(dtype)) + "'";
  if (dtype == DType::BF16)
    return "ml_dtypes.bfloat16";
  const DTypeInfo &info = infoOf(dtype);
  std::string bits = std::to_string(8 * info.bytes);
  switch (info.kind) {
  case DTypeKind::Float:
    return "'float" + bits + "'";
  case DTypeKind::Signed:
    return "'int" + bits + "'";
  case DTypeKind::Unsigned:
    return "'uint" + bits + "'";
  case DTypeKind::Bool:
    return "'bool'";
  case DTypeKind::Key: // Two words.
    return "'uint32'";
  }
  return "";
}

void swapBytes(unsigned char *data, int64_t count, int64_t elementBytes) {
  for (int64_t i = 0; i < count; ++i)
    std::reverse(data + i * elementBytes, data + (i + 1) * elementBytes);
}

/// Copies a box of a strided array in a file to a row-major array in memory, in the longest runs that are contiguous in
/// both.
class BoxReader {
public:
  BoxReader(ByteSource &bytes, int64_t elementBytes, const std::vector<ShardRange> &ranges,
            const std::vector<int64_t> &fileStrides, const std::vector<int64_t> &memoryStrides, Crc32Parts *parts,
            uint64_t headerBytes)
      : bytes(bytes), elementBytes(elementBytes), ranges(ranges), fileStrides(fileStrides),
        memoryStrides(memoryStrides), runDim(ranges.size()), runLength(1), parts(parts), headerBytes(headerBytes) {
    while (runDim > 0 && fileStrides[runDim - 1] == runLength && memoryStrides[runDim - 1] == runLength) {
      --runDim;
      runLength *= ranges[runDim].size;
    }
  }

  void copy(char *target) {
    for (const ShardRange &range : ranges)
      if (range.size == 0)
        return;
    int64_t start = 0;
    for (size_t d = 0; d < ranges.size(); ++d)
      start += ranges[d].start * fileStrides[d];
    copy(0, start, target);
  }

private:
  void copy(size_t dim, int64_t fileIndex, char *target) {
    if (dim == runDim) {
      auto offset = static_cast<uint64_t>(fileIndex * elementBytes);
      auto size = static_cast<uint64_t>(runLength * elementBytes);
      bytes.read(offset, size, target);
      if (parts)
        parts->add(headerBytes + offset, {target, size});
      return;
    }
    for (int64_t i = 0; i < ranges[dim].size; ++i)
      copy(dim + 1, fileIndex + i * fileStrides[dim], target + i * memoryStrides[dim] * elementBytes);
  }

  ByteSource &bytes;
  int64_t elementBytes;
  const std::vector<ShardRange> &ranges;
  const std::vector<int64_t> &fileStrides, &memoryStrides;
  size_t runDim;
  int64_t runLength;
  Crc32Parts *parts;
  uint64_t headerBytes;
};

std::vector<int64_t> rowMajorStrides(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    strides[d] = stride;
  return strides;
}

} // namespace

ArraySource::ArraySource(std::string name, ArrayLayout layout, std::unique_ptr<ByteSource> bytes, uint64_t available)
    : name(std::move(name)), layout(std::move(layout)), bytes(std::move(bytes)) {
  std::optional<int64_t> needed =
      countBytes(this->layout.shape, this->layout.dtype ? byteSize(*this->layout.dtype) : 1);
  if (!needed)
    throw Error("'" + this->name + "' is damaged: its shape has more elements than a file can hold");
  if (available < static_cast<uint64_t>(*needed))
    throw Error("'" + this->name + "' is truncated: it has " + std::to_string(available) +
                " bytes of data where its shape needs " + std::to_string(*needed) + "; save or copy it again");
  elementsEnd = static_cast<uint64_t>(*needed);
}

void ArraySource::check(const ValueInfo &parameter, bool byRows) const {
  std::vector<int64_t> expectedShape = parameter.shape;
  DType expectedDType = parameter.dtype;
  if (expectedDType == DType::Key) {
    expectedDType = DType::U32;
    expectedShape.push_back(2);
  }
  std::string expected = "parameter '" + parameter.name + "' is " + typeText(parameter);
  if (parameter.dtype == DType::Key)
    expected += ", stored as " + typeText(expectedDType, expectedShape);
  if (byRows) {
    expected += ", fed in batches of rows";
    expectedShape[0] = layout.shape[0];
  }
  std::string found = "elements of type `" + layout.dtypeText + "`, which the language does not have";
  if (layout.dtype && !layout.isUnnamed) {
    ValueInfo holds;
    holds.dtype = *layout.dtype;
    holds.format = layout.format;
    found = typeText(holds, layout.shape);
  }
  bool isComplex = layout.format == ElementFormat::Complex;
  if (isComplex && parameter.format != ElementFormat::Complex)
    throw Error("'" + name + "' holds " + found + " and " + expected +
                ", which has no imaginary part; save array.real or numpy.abs(array)");
  bool isNarrow = findNarrow(parameter.format) != nullptr;
  // A narrow parameter takes any bytes but those of another format; other parameters no bytes of narrow formats.
  bool hasElements = isNarrow ? layout.dtype && byteSize(*layout.dtype) == 1 && layout.dtype != DType::Bool &&
                                    (layout.format == parameter.format || layout.format == ElementFormat::Plain)
                              : (layout.dtype == expectedDType || isNarrowed(parameter.dtype)) && !layout.isUnnamed &&
                                    !findNarrow(layout.format);
  if (!hasElements)
    throw Error("'" + name + "' holds " + found + " and " + expected + "; save it with numpy as array.astype(" +
                numpyName(expectedDType, parameter.format) + ")");
  if (layout.shape != expectedShape)
    throw Error("'" + name + "' holds " + found + " and " + expected +
                "; give an array of that shape or change the parameter's type");
  if (parameter.dtype == DType::Key && layout.fortranOrder)
    throw Error("'" + name + "' holds random keys in Fortran order; save it with numpy.ascontiguousarray");
  if (isComplex && layout.fortranOrder && layout.shape.size() > 2)
    throw Error("'" + name + "' holds complex numbers in Fortran order; save it with numpy.ascontiguousarray");
}

void ArraySource::read(DType dtype, const std::vector<ShardRange> &ranges, const std::vector<int64_t> &paddedShape,
                       void *target, Crc32Parts *parts) const {
  if (isNarrowed(dtype)) {
    std::vector<int64_t> numbers(static_cast<size_t>(elementCount(paddedShape)));
    read(DType::I64, ranges, paddedShape, numbers.data(), parts);
    auto *narrow = static_cast<int32_t *>(target);
    for (int64_t number : numbers) {
      *narrow = static_cast<int32_t>(number);
      if (*narrow++ != number)
        throw Error("'" + name + "' holds the number " + std::to_string(number) + ", which does not fit in i32");
    }
    return;
  }
  int64_t elementBytes = byteSize(dtype);
  std::vector<int64_t> shape = layout.shape;
  shape.resize(ranges.size()); // The two words of a key are one element.
  std::vector<int64_t> fileStrides;
  if (layout.fortranOrder) {
    int64_t stride = 1;
    for (int64_t size : shape) {
      fileStrides.push_back(stride);
      stride *= size;
    }
  } else {
    fileStrides = rowMajorStrides(shape);
  }

  int64_t padded = elementCount(paddedShape), owned = 1;
  for (const ShardRange &range : ranges)
    owned *= range.size;
  if (owned < padded)
    std::memset(target, 0, static_cast<size_t>(padded * elementBytes));
  std::vector<int64_t> memoryStrides = rowMajorStrides(paddedShape);
  uint64_t headerBytes = checksum ? checksum->header.size() : 0;
  BoxReader(*bytes, elementBytes, ranges, fileStrides, memoryStrides, parts, headerBytes)
      .copy(static_cast<char *>(target));

  auto *data = static_cast<unsigned char *>(target);
  if (layout.byteSwapped) {
    int64_t word = dtype == DType::Key ? 4 : elementBytes;
    swapBytes(data, padded * (elementBytes / word), word);
  }
  if (dtype == DType::Bool) // Kernels rely on 0 and 1; a file may hold any byte.
    for (int64_t i = 0; i < padded; ++i)
      data[i] = data[i] != 0;
}

void ArraySource::addBytes(uint64_t begin, uint64_t end, Crc32Parts &parts) const {
  // Large enough that the cost of a call is negligible, small enough for an L2 cache.
  constexpr uint64_t block = uint64_t(1) << 20;
  std::vector<char> buffer(std::min(block, end - begin));
  for (; begin < end; begin += block) {
    uint64_t count = std::min(block, end - begin);
    bytes->read(begin, count, buffer.data());
    parts.add(checksum->header.size() + begin, {buffer.data(), count});
  }
}

void ArraySource::addRest(Crc32Parts &parts) const {
  parts.add(0, checksum->header);
  addBytes(elementsEnd, checksum->size - checksum->header.size(), parts);
}

void ArraySource::compareChecksum(uint32_t found) const {
  if (found != checksum->crc32)
    throw checksumError(name, found, checksum->crc32);
}

void ArraySource::verify() const {
  Crc32Parts parts(checksum->size);
  parts.add(0, checksum->header);
  addBytes(0, checksum->size - checksum->header.size(), parts);
  compareChecksum(Crc32Parts::finish(parts.getContribution(), checksum->size));
}

Error checksumError(const std::string &name, uint32_t found, uint32_t expected) {
  auto hex = [](uint32_t value) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%08x", value);
    return std::string(text);
  };
  return Error("'" + name + "' is damaged: its bytes have the CRC-32 " + hex(found) + " and the archive says " +
               hex(expected) + "; save or copy it again");
}

std::string missingKeyMessage(const std::string &file, const std::string &key, const std::vector<std::string> &names) {
  return "'" + file + "' has no array named '" + key + "'; it has " + quotedNames(names, 20);
}

} // namespace spmd
