//===- Pch.h - precompiled header of the commands ---------------*- C++ -*-===//
#pragma once

#include "cmake/Pch.h"

#include <CLI/CLI.hpp>
