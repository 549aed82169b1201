//===- Nccl.cpp - NVIDIA's library for transfers between GPUs -------------===//

#include "runtime/collective/nccl/Nccl.h"

#include "runtime/support/Error.h"

#include <dlfcn.h>

namespace spmd::cuda {
namespace {

std::string describeVersion(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

} // namespace

std::shared_ptr<const Nccl> Nccl::load(std::string *whyNot) {
  // Never closed: the library has threads of its own.
  void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  std::shared_ptr<Nccl> nccl(new Nccl());
  auto refuse = [&](const std::string &why) {
    if (whyNot)
      *whyNot = why;
    return nullptr;
  };
  if (!library)
    return refuse(std::string("there is no NCCL here (") + dlerror() + ")");
  std::string missing;
  auto find = [&](const char *symbol, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    if (!function && missing.empty())
      missing = symbol;
  };
  find("ncclGetVersion", nccl->GetVersion);
  find("ncclGetUniqueId", nccl->GetUniqueId);
  find("ncclCommInitRankConfig", nccl->CommInitRankConfig);
  find("ncclCommGetAsyncError", nccl->CommGetAsyncError);
  find("ncclCommAbort", nccl->CommAbort);
  find("ncclGroupStart", nccl->GroupStart);
  find("ncclGroupEnd", nccl->GroupEnd);
  find("ncclSend", nccl->Send);
  find("ncclRecv", nccl->Recv);
  find("ncclGetErrorString", nccl->GetErrorString);
  constexpr const char *kNeeded = ": version 2.27 or newer is needed";
  if (!missing.empty())
    return refuse("NCCL lacks the function " + missing + kNeeded);
  int version = 0;
  if (nccl->GetVersion(&version) != kNcclSuccess || version < kNcclLeastVersion)
    return refuse("NCCL is " + describeVersion(version) + kNeeded);
  return nccl;
}

std::shared_ptr<const Nccl> Nccl::of(const NcclEntries &entries) {
  std::shared_ptr<Nccl> nccl(new Nccl());
  static_cast<NcclEntries &>(*nccl) = entries;
  return nccl;
}

std::string Nccl::getVersion() const {
  int version = 0;
  check(GetVersion(&version), "ncclGetVersion");
  return describeVersion(version);
}

void Nccl::check(NcclResult result, const char *what) const {
  if (result != kNcclSuccess && result != kNcclInProgress)
    throw Error(std::string(what) + ": " + GetErrorString(result));
}

} // namespace spmd::cuda
