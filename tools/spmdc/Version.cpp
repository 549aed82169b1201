//===- Version.cpp - the text of `spmdc --version` ------------------------===//

#include "tools/spmdc/Version.h"

#include "llvm/Config/llvm-config.h"

namespace spmdc {

std::string versionText() {
  return "spmdc " SPMDC_VERSION "\nLLVM " LLVM_VERSION_STRING
         "\nbackends: cpu (run), cuda (sm_70 to sm_90a, where there is an NVIDIA driver)"
         "\nTLS: 1.3, by OpenSSL's libssl.so.3 where --tls-cert asks for it";
}

} // namespace spmdc
