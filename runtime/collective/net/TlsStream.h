//===- TlsStream.h - encrypted bytes over one connection --------*- C++ -*-===//
#pragma once

#include "runtime/collective/net/Stream.h"
#include "runtime/support/tls/Tls.h"

namespace spmd::net {

class TlsStream final : public Stream {
public:
  /// `session` is that of this socket.
  TlsStream(UniqueFd fd, std::unique_ptr<TlsSession> session) : Stream(std::move(fd)), session(std::move(session)) {}
  ~TlsStream() override { session->close(); }

  size_t read(char *data, size_t bytes) override;
  size_t write(const iovec *pieces, int count) override;
  bool open() override;
  short eventsFor(bool reading, bool writing) const override;

private:
  std::unique_ptr<TlsSession> session;
  bool isOpen = false;
};

} // namespace spmd::net
