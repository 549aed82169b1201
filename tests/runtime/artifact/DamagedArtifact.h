//===- DamagedArtifact.h - artifacts that are changed on purpose *- C++ -*-===//
#pragma once

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/artifact/Sha256.h"
#include "tests/support/Messages.h"

#include <gmock/gmock.h>

#include <cstring>
#include <string>

namespace spmd::test {

/// Chooses the target of this number, whatever the file has.
inline TargetChooser chooseNumber(size_t target) {
  return [=](const ArtifactReader &, const std::string &) { return target; };
}

/// The error of reading a program of the file, which is called a.spmdx.
inline std::string decodeMessage(const std::string &bytes, size_t target = 0) {
  return messageOf([&] { decodeArtifact(bytes, "a.spmdx", chooseNumber(target)); });
}

/// Recomputes the checksum after the content was changed on purpose.
inline void seal(std::string &bytes) {
  std::string_view view = bytes;
  Sha256Digest digest = sha256({view.substr(0, 24), view.substr(56)});
  std::memcpy(&bytes[24], digest.data(), digest.size());
}

/// Offsets and sizes in the table that are wrong, with a right checksum, must not make the reader allocate or read
/// beyond the file.
inline void expectSectionsAreChecked(const std::string &bytes, size_t sections) {
  for (size_t section = 0; section < sections; ++section)
    for (size_t field : {16, 24})
      for (uint64_t value : {uint64_t(bytes.size() + 1), uint64_t(1) << 40, ~uint64_t(0)}) {
        std::string damaged = bytes;
        std::memcpy(&damaged[64 + 32 * section + field], &value, 8);
        seal(damaged);
        EXPECT_THAT(decodeMessage(damaged), testing::HasSubstr("is outside of the file")) << "section " << section;
      }
}

} // namespace spmd::test
