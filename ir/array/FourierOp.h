//===- FourierOp.h - the discrete Fourier transform -------------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"

#define GET_OP_CLASSES
#include "ir/array/FourierOp.h.inc"
