//===- CollectiveBroadcast.h - a broadcast from a run-time root -*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdOps.h"

#define GET_OP_CLASSES
#include "ir/spmd/CollectiveBroadcast.h.inc"
