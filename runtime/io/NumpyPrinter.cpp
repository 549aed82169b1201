//===- NumpyPrinter.cpp - arrays in NumPy's print format ------------------===//
//
// Follows numpy/_core/arrayprint.py (FloatingFormat, IntegerFormat, _formatArray); comments refer to its names.
//
//===----------------------------------------------------------------------===//

#include "runtime/io/NumpyPrinter.h"

#include "runtime/io/BoxCopy.h"
#include "runtime/io/FloatText.h"
#include "runtime/support/Elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace spmd {
namespace {

constexpr int kPrecision = 8;
constexpr size_t kLineWidth = 75;
constexpr int64_t kThreshold = 1000;
constexpr int64_t kEdgeItems = 3;

/// Element `index` as a number of type T.
template <typename T> T numberAt(DType dtype, const void *data, int64_t index) {
  return visitElement(dtype, [&](auto element) {
    typename decltype(element)::Stored stored;
    std::memcpy(&stored, static_cast<const char *>(data) + index * static_cast<int64_t>(sizeof stored), sizeof stored);
    return static_cast<T>(element.load(stored));
  });
}

std::string leftPadded(const std::string &text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// Largest value printed without an exponent: 10^min(8, decimal digits of the type).
double exponentCutoff(DType dtype) { return dtype == DType::F64 ? 1e8 : dtype == DType::F32 ? 1e6 : 1e3; }

/// FloatingFormat: all shown values together determine the width and whether numbers have an exponent.
class FloatFormat {
public:
  FloatFormat(DType dtype, const std::vector<double> &values) : dtype(dtype) {
    double largest = 0, smallest = INFINITY;
    bool anyFinite = false, anyOther = false, negativeInfinity = false;
    for (double value : values) {
      if (!std::isfinite(value)) {
        anyOther = true;
        negativeInfinity |= std::isinf(value) && value < 0;
        continue;
      }
      anyFinite = true;
      if (value != 0) {
        largest = std::max(largest, std::fabs(value));
        smallest = std::min(smallest, std::fabs(value));
      }
    }
    if (largest != 0)
      exponent = largest >= exponentCutoff(dtype) || smallest < 1e-4 || ratioIsLarge(largest, smallest);
    if (anyFinite)
      measure(values);
    if (anyOther) {
      auto widen = [&](size_t length) {
        size_t offset = padRight + 1;
        padLeft = std::max(padLeft, length > offset ? length - offset : 0);
      };
      widen(3);
      widen(3 + negativeInfinity);
    }
  }

  std::string operator()(double value) const {
    if (!std::isfinite(value))
      return leftPadded(std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf", padLeft + padRight + 1);
    if (exponent) {
      std::string text = exactScientificText(value, static_cast<int>(fractionDigits));
      size_t point = text.find('.'), e = text.find('e');
      std::string power = text.substr(e + 2);
      text = text.substr(0, e + 2) + std::string(exponentDigits - power.size(), '0') + power;
      return std::string(padLeft - point, ' ') + text;
    }
    std::string text = positionalText(value, dtype, kPrecision);
    size_t point = text.find('.');
    return std::string(padLeft - point, ' ') + text + std::string(padRight - (text.size() - point - 1), ' ');
  }

private:
  /// NumPy divides in the array's own type: an f16 or f32 quotient is rounded before it is compared.
  bool ratioIsLarge(double largest, double smallest) const {
    double ratio = largest / smallest;
    if (dtype == DType::F32)
      ratio = static_cast<float>(ratio);
    else if (dtype == DType::F16)
      ratio = f16ToFloat(floatToF16(static_cast<float>(ratio)));
    else if (dtype == DType::BF16)
      ratio = bf16ToFloat(floatToBf16(static_cast<float>(ratio)));
    return ratio > 1000;
  }

  void measure(const std::vector<double> &values) {
    for (double value : values) {
      if (!std::isfinite(value))
        continue;
      std::string text = exponent ? scientificText(value, dtype, kPrecision) : positionalText(value, dtype, kPrecision);
      size_t point = text.find('.'), e = std::min(text.find('e'), text.size());
      padLeft = std::max(padLeft, point);
      fractionDigits = std::max(fractionDigits, e - point - 1);
      if (exponent)
        exponentDigits = std::max(exponentDigits, text.size() - e - 2);
    }
    padRight = exponent ? fractionDigits + exponentDigits + 2 : fractionDigits;
  }

  DType dtype;
  bool exponent = false;
  size_t padLeft = 0, padRight = 0, fractionDigits = 0, exponentDigits = 0;
};

class ArrayText {
public:
  ArrayText(DType dtype, std::vector<int64_t> shapeOf, const void *data)
      : dtype(dtype), shape(std::move(shapeOf)), data(data) {
    if (dtype == DType::Key) {
      this->dtype = DType::U32;
      shape.push_back(2);
    }
  }

  std::string print() {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    if (count == 0)
      return "[]";
    if (shape.empty())
      return scalar();
    summarise = count > kThreshold;
    std::vector<int64_t> shown;
    collect(0, 0, shown);
    makeWords(shown);
    next = 0;
    return format(0, " ", kLineWidth);
  }

private:
  std::string integerText(int64_t index) const {
    return isUnsigned(dtype) ? std::to_string(numberAt<uint64_t>(dtype, data, index))
                             : std::to_string(numberAt<int64_t>(dtype, data, index));
  }

  std::string scalar() const {
    if (isFloat(dtype))
      return scalarText(numberAt<double>(dtype, data, 0), dtype);
    if (dtype == DType::Bool)
      return numberAt<bool>(dtype, data, 0) ? "True" : "False";
    return integerText(0);
  }

  bool isSummarized(size_t dim) const { return summarise && shape[dim] > 2 * kEdgeItems; }

  /// Row-major indices of the elements that are shown.
  void collect(size_t dim, int64_t index, std::vector<int64_t> &shown) const {
    if (dim == shape.size()) {
      shown.push_back(index);
      return;
    }
    for (int64_t i = 0; i < shape[dim]; ++i) {
      if (isSummarized(dim) && i == kEdgeItems)
        i = shape[dim] - kEdgeItems;
      collect(dim + 1, index * shape[dim] + i, shown);
    }
  }

  void makeWords(const std::vector<int64_t> &shown) {
    if (isFloat(dtype)) {
      std::vector<double> values;
      for (int64_t index : shown)
        values.push_back(numberAt<double>(dtype, data, index));
      FloatFormat format(dtype, values);
      for (double value : values)
        words.push_back(format(value));
      return;
    }
    size_t width = 0;
    for (int64_t index : shown) {
      if (dtype == DType::Bool)
        words.push_back(numberAt<bool>(dtype, data, index) ? " True" : "False");
      else
        words.push_back(integerText(index));
      width = std::max(width, words.back().size());
    }
    if (dtype != DType::Bool)
      for (std::string &word : words)
        word = leftPadded(word, width);
  }

  /// _formatArray's recurser. Consumes words in order, which is the order in which it visits the elements.
  std::string format(size_t dim, const std::string &indent, size_t width) {
    bool isSummary = isSummarized(dim);
    int64_t leading = isSummary ? kEdgeItems : 0, trailing = isSummary ? kEdgeItems : shape[dim];
    std::string text;
    if (dim + 1 == shape.size()) {
      size_t limit = width - 1;
      std::string line = indent;
      for (int64_t i = 0; i < leading; ++i)
        extend(text, line, words[next++], limit, indent), line += ' ';
      if (isSummary)
        extend(text, line, "...", limit, indent), line += ' ';
      for (int64_t i = trailing; i > 1; --i)
        extend(text, line, words[next++], limit, indent), line += ' ';
      extend(text, line, words[next++], limit, indent);
      text += line;
    } else {
      std::string separator(shape.size() - dim - 1, '\n');
      for (int64_t i = 0; i < leading; ++i)
        text += indent + format(dim + 1, indent + " ", width - 1) + separator;
      if (isSummary)
        text += indent + "..." + separator;
      for (int64_t i = trailing; i > 1; --i)
        text += indent + format(dim + 1, indent + " ", width - 1) + separator;
      text += indent + format(dim + 1, indent + " ", width - 1);
    }
    return "[" + text.substr(indent.size()) + "]";
  }

  /// _extendLine: breaks the line before a word that would not fit, unless the line is empty.
  static void extend(std::string &text, std::string &line, const std::string &word, size_t limit,
                     const std::string &indent) {
    if (line.size() + word.size() > limit && line.size() > indent.size()) {
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
      line = indent;
    }
    line += word;
  }

  DType dtype;
  std::vector<int64_t> shape;
  const void *data;
  bool summarise = false;
  std::vector<std::string> words;
  size_t next = 0;
};

} // namespace

std::string numpyText(DType dtype, const std::vector<int64_t> &shape, const void *data, ElementFormat format) {
  const NarrowFormat *narrow = findNarrow(format);
  if (!narrow)
    return ArrayText(dtype, shape, data).print();
  const auto *codes = static_cast<const uint8_t *>(data);
  auto count = static_cast<size_t>(elementCount(shape));
  if (!narrow->isFloat()) {
    std::vector<uint8_t> values(count);
    for (size_t i = 0; i < count; ++i)
      values[i] = wrapNarrow(*narrow, codes[i]);
    return ArrayText(dtype, shape, values.data()).print();
  }
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i)
    numbers[i] = decodeNarrow(*narrow, codes[i]);
  return ArrayText(DType::F32, shape, numbers.data()).print();
}

} // namespace spmd
