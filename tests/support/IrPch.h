//===- IrPch.h - precompiled header of tests with MLIR ----------*- C++ -*-===//
#pragma once

#include "ir/IrPch.h"

#include <gtest/gtest.h>
