//===- Pch.h - precompiled header of the importer ---------------*- C++ -*-===//
#pragma once

#include "ir/IrPch.h"

#include "frontend/stablehlo/Translation.h"
#include "frontend/stablehlo/dialect/Dialects.h"
