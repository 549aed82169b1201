//===- Pch.h - precompiled header of the commands ---------------*- C++ -*-===//
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
