//===- LibraryPtx.cpp - the PTX of kernels/*.cu ---------------------------===//

#include "runtime/device/cuda/LibraryPtx.h"

#include "runtime/support/Error.h"

#include <zlib.h>

namespace spmd::cuda {

std::string findLibraryPtx(std::string_view module) {
  CompressedPtx found = findCompressedPtx(module);
  std::string text(found.textBytes, '\0');
  if (found.bytes.empty())
    return text;
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(found.bytes.data()));
  stream.avail_in = static_cast<uInt>(found.bytes.size());
  stream.next_out = reinterpret_cast<Bytef *>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  constexpr int kGzip = 16; // Added to the logarithm of the window: the bytes have gzip's header.
  bool isGood = inflateInit2(&stream, MAX_WBITS + kGzip) == Z_OK;
  isGood = isGood && inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!isGood)
    throw Error("the kernels of '" + std::string(module) + "' in this binary are damaged; install it again");
  return text;
}

} // namespace spmd::cuda
