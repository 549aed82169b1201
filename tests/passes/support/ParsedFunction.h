//===- ParsedFunction.h - tests on one parsed function ----------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "ir/spmd/SpmdOps.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <string>

namespace spmdc {

/// Parses functions and types, and finds operations in the function that was parsed last.
class ParsedFunction : public ::testing::Test {
protected:
  ParsedFunction() { context.loadDialect<mlir::func::FuncDialect, ArrayDialect, SpmdDialect>(); }

  /// The type of an array: `f32[8@a, 4@_]`.
  ArrayType type(const std::string &text) {
    return llvm::cast<ArrayType>(mlir::parseType("!spmd.array<" + text + ">", &context));
  }

  /// Parses a function on the mesh `axes` (`a=4, b=2`). Its arguments are %x0, %x1, ... of the types `arguments`. It
  /// returns %y of the type `result`, or nothing if that is empty.
  mlir::func::FuncOp parse(const std::string &axes, const std::vector<std::string> &arguments, const std::string &body,
                           const std::string &result = "") {
    std::string text = "module attributes {spmd.mesh = #spmd.mesh<m, " + axes + ">} {\nfunc.func @main(";
    for (size_t i = 0; i < arguments.size(); ++i)
      text += (i ? ", %x" : "%x") + std::to_string(i) + ": !spmd.array<" + arguments[i] + ">";
    std::string type = "!spmd.array<" + result + ">";
    text += (result.empty() ? ") {\n" : ") -> " + type + " {\n") + body + "\nreturn ";
    text += (result.empty() ? "" : "%y : " + type) + "\n}\n}\n";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) {
      ADD_FAILURE() << text;
      std::abort(); // Every use of the function would dereference null.
    }
    return function();
  }

  mlir::func::FuncOp function() { return *module->getOps<mlir::func::FuncOp>().begin(); }
  mlir::Value argument(unsigned index) { return function().getArgument(index); }
  spmd::MeshShape mesh() { return getMesh(*module).toValue(); }

  /// The operation of this kind with this number, in the order of the program.
  template <typename Op> Op get(unsigned index = 0) {
    Op found;
    module->walk<mlir::WalkOrder::PreOrder>([&](Op op) {
      if (index-- == 0)
        found = op;
    });
    EXPECT_TRUE(found);
    return found;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace spmdc
