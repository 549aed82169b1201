//===- TlsStream.cpp - encrypted bytes over one connection ----------------===//

#include "runtime/collective/net/TlsStream.h"

namespace spmd::net {

template <typename Step> static auto translated(const Step &step) {
  try {
    return step();
  } catch (const TlsEnded &ended) {
    throw StreamEnded{ended.why, ended.isFinal};
  }
}

size_t TlsStream::read(char *data, size_t bytes) {
  return translated([&] { return session->read(data, bytes); });
}

size_t TlsStream::write(const iovec *pieces, int count) {
  return translated([&] { return session->write(pieces, count); });
}

bool TlsStream::open() {
  return isOpen = isOpen || translated([&] { return session->handshake(); });
}

short TlsStream::eventsFor(bool reading, bool writing) const {
  if (!isOpen)
    return Stream::eventsFor(!session->waitsToWrite(), session->waitsToWrite());
  return Stream::eventsFor(reading, writing || (reading && session->waitsToWrite()));
}

} // namespace spmd::net
