//===- IrPch.h - precompiled header of tests with MLIR ----------*- C++ -*-===//
#pragma once

#include "ir/IrPch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
