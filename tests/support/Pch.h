//===- Pch.h - precompiled header of tests without MLIR ---------*- C++ -*-===//
#pragma once

#include "cmake/Pch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
