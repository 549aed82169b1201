//===- IrPch.h - precompiled header of code that uses the IR ----*- C++ -*-===//
#pragma once

#include "cmake/Pch.h"
#include "ir/Pch.h"
#include "ir/array/ArrayOps.h"
#include "ir/array/LocalBuilder.h"
#include "ir/plan/PlanOps.h"
#include "ir/spmd/SpmdOps.h"
