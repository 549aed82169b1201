//===- Bytes.cpp - reading bytes that may be damaged ----------------------===//

#include "frontend/stablehlo/portable/Bytes.h"

#include "llvm/Support/MathExtras.h"

namespace spmdc::stablehlo::portable {

llvm::StringRef Cursor::take(uint64_t size) {
  if (size > rest.size() || failure.has()) {
    fail();
    rest = {};
    return {};
  }
  llvm::StringRef taken = rest.take_front(size);
  rest = rest.drop_front(size);
  return taken;
}

uint8_t Cursor::byte() {
  llvm::StringRef taken = take(1);
  return taken.empty() ? 0 : static_cast<uint8_t>(taken[0]);
}

llvm::StringRef Cursor::takeTerminated() {
  llvm::StringRef taken = take(std::min(rest.find('\0'), rest.size()));
  byte();
  return taken;
}

uint64_t Cursor::number() {
  uint8_t first = byte();
  auto more = static_cast<unsigned>(first ? llvm::countr_zero(first) : 8);
  uint64_t value = more >= 8 ? 0 : first >> (more + 1);
  unsigned shift = more >= 8 ? 0 : 7 - more;
  for (char part : take(more)) {
    value |= uint64_t(static_cast<uint8_t>(part)) << shift;
    shift += 8;
  }
  return failure.has() ? 0 : value;
}

uint64_t Cursor::numberWithFlag(bool &flag) {
  uint64_t value = number();
  flag = value & 1;
  return value >> 1;
}

int64_t Cursor::signedNumber() {
  uint64_t value = number();
  return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

uint64_t Cursor::count() {
  uint64_t value = number();
  if (value <= rest.size())
    return value;
  fail();
  return 0;
}

Cursor::Section Cursor::section() {
  uint8_t kind = byte();
  uint64_t length = number();
  if (kind & 0x80) {
    uint64_t alignment = number();
    if (!llvm::isPowerOf2_64(alignment))
      fail();
    else
      take(llvm::alignTo(static_cast<uint64_t>(rest.data() - file), alignment) -
           static_cast<uint64_t>(rest.data() - file));
  }
  return {kind & 0x7fu, take(length)};
}

} // namespace spmdc::stablehlo::portable
