//===- Pch.h - precompiled header of tests without MLIR ---------*- C++ -*-===//
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
