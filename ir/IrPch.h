//===- IrPch.h - precompiled header of code that uses the IR ----*- C++ -*-===//
#pragma once

#include "ir/Pch.h"
#include "ir/array/ArrayOps.h"
#include "ir/plan/PlanOps.h"
#include "ir/spmd/SpmdOps.h"
