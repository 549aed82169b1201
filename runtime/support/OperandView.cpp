//===- OperandView.cpp - where a product's operand is in an array ---------===//

#include "runtime/support/OperandView.h"

namespace spmd {

int64_t countOf(const ViewDigits &digits) {
  int64_t count = 1;
  for (const ViewDigit &digit : digits)
    count *= digit.size;
  return count;
}

int64_t positionOf(const ViewDigits &digits, int64_t number) {
  int64_t position = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    position += number % digit->size * digit->stride;
    number /= digit->size;
  }
  return position;
}

bool OperandView::fits(const std::vector<int64_t> &shape, int64_t elements) const {
  const ViewDigits *parts[] = {&batch, &rows, &columns};
  int64_t last = offset;
  bool isInside = offset >= 0;
  for (size_t part = 0; part < 3 && isInside; ++part) {
    int64_t count = 1;
    for (const ViewDigit &digit : *parts[part]) {
      int64_t length = 0;
      if (digit.size < 1 || digit.stride < 0 || __builtin_mul_overflow(count, digit.size, &count) ||
          __builtin_mul_overflow(digit.size - 1, digit.stride, &length) || __builtin_add_overflow(last, length, &last))
        return false;
    }
    isInside = count == shape[part];
  }
  return isInside && last < elements;
}

std::string OperandView::str() const {
  std::string text = "[" + std::to_string(offset);
  for (const ViewDigits *digits : {&batch, &rows, &columns}) {
    text += "; ";
    for (const ViewDigit &digit : *digits)
      text += (&digit == digits->data() ? "" : ", ") + std::to_string(digit.size) + ":" + std::to_string(digit.stride);
  }
  return text + "]";
}

} // namespace spmd
