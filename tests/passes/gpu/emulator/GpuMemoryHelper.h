//===- GpuMemoryHelper.h - memory that emulated kernels may access -*- C++ -*-===//
//
// The window of shared memory of the running block, and the buffers of a launch. Each instruction that accesses memory
// is a site, of which errors name the line.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/passes/gpu/emulator/GpuRacesHelper.h"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace spmdc {

/// Global memory that a kernel may access.
struct GpuBuffer {
  const void *begin = nullptr;
  uint64_t bytes = 0;
};

class GpuMemory {
public:
  /// More than any GPU gives a block. Matrix descriptors hold addresses of 18 bits.
  static constexpr uint64_t kWindowBytes = 256 * 1024;
  /// Shared memory that a kernel may declare, and that a block of sm_90 may have with what the launch requests.
  static constexpr uint64_t kMostDeclared = 48 * 1024, kMostOfBlock = 227 * 1024;

  char *window() const { return memory.get(); }
  /// The bytes of the window that the running kernel may access.
  uint64_t windowBytes = 0;
  /// Those that code may access without a call of accessShared: none while races are looked for.
  uint64_t directBytes = 0;
  /// Set if the running launch looks for races. Then code calls findBuffer or accessShared for each access.
  std::unique_ptr<GpuRaces> races;

  /// Receives what the running launch sets by cudaGraphSetConditional; empty: it may not call that.
  std::function<void(uint64_t condition, uint32_t value)> conditionSetter;
  /// Code calls it for cudaGraphSetConditional.
  static void setCondition(GpuMemory *memory, uint64_t condition, uint32_t value);

  /// The buffer that an access at a site used last, and the number of bytes at which an access may begin there. Code
  /// compares with it before it calls findBuffer.
  struct Recent {
    uint64_t begin = 0, count = 0;
  };
  struct Site {
    std::string kernel, text;
    int line = 0;
    unsigned bytes = 0;    ///< 0: not an access.
    bool isOffset = false; ///< Addresses are those of shared memory.
    GpuAccess how = {};
    std::unique_ptr<Recent> recent = std::make_unique<Recent>();
    Recent found = {}; ///< The same while races are looked for, when `recent` is empty.
  };
  uint32_t addSite(Site site) {
    sites.push_back(std::move(site));
    return static_cast<uint32_t>(sites.size() - 1);
  }
  Recent *recentOf(uint32_t site) { return sites[site].recent.get(); }
  void setAccess(uint32_t site, unsigned bytes, bool isOffset, const GpuAccess &how) {
    sites[site].bytes = bytes;
    sites[site].isOffset = isOffset;
    sites[site].how = how;
  }

  /// Memory for a variable of the module.
  char *addVariable(uint64_t bytes, uint64_t alignment, const std::vector<uint8_t> &content);

  /// Sets what the next launch may access beside variables; without buffers, any address.
  void setBuffers(const std::vector<GpuBuffer> &launchBuffers);

  /// Code calls it for an access that is not aligned, which ends the thread, or beyond the recent buffer of its site,
  /// which ends it if there is no other buffer.
  static void findBuffer(GpuMemory *memory, uint64_t address, uint32_t site);
  /// Code calls it for an access to shared memory that is not aligned or beyond `directBytes`. Ends the thread if it is
  /// not aligned or out of bounds.
  static void accessShared(GpuMemory *memory, uint64_t offset, uint32_t site);
  /// Code calls it for an access of a number of bytes that only the running thread knows.
  static void checkBytes(GpuMemory *memory, uint64_t address, uint32_t bytes, uint32_t site);
  /// Code calls it for other accesses that are not aligned or out of bounds, and for `trap`. Ends the thread.
  static void fail(GpuMemory *memory, uint64_t address, uint32_t site);
  /// `line 12: ld.global.f32 %f1, [%rd1]`
  std::string describeSite(uint32_t site) const;
  /// `byte 12 of buffer 0`, or the address.
  std::string describePlace(uint64_t address) const;
  /// A pointer to bytes in the window for instructions on matrices; ends the thread if they are not in it.
  const char *checkWindow(uint64_t offset, uint64_t bytes) const;

private:
  bool find(uint64_t address, uint64_t bytes, Recent *recent) const;
  void report(uint64_t address, uint32_t site) const;
  std::string describe(const Site &site, uint64_t address) const;

  std::unique_ptr<char, decltype(&std::free)> memory{
      static_cast<char *>(std::aligned_alloc(kWindowBytes, kWindowBytes)), &std::free};
  std::vector<std::unique_ptr<char, decltype(&std::free)>> variableMemory;
  std::vector<GpuBuffer> variables, buffers;
  bool hasBuffers = false;
  std::vector<Site> sites;
};

} // namespace spmdc
