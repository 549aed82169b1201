//===- IrPch.h - precompiled header of everything behind the IR -*- C++ -*-===//
#pragma once

#include "ir/Pch.h"
#include "ir/array/ArrayOps.h"
#include "ir/plan/PlanOps.h"
#include "ir/spmd/SpmdOps.h"
