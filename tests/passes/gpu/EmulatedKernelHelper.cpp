//===- EmulatedKernelHelper.cpp - PTX written by hand for tests -----------===//

#include "tests/passes/gpu/EmulatedKernelHelper.h"

namespace spmdc {

std::string emulatedKernel(const std::string &body, const std::string &directives) {
  return R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry f(.param .u64 f_param_0)
)" + directives +
         R"(
{
.reg .pred %first, %q<10>;
.reg .b16 %h<10>;
.reg .b32 %t, %b, %n, %other, %r<10>;
.reg .f32 %f<10>;
.reg .f64 %fd<10>;
.reg .b64 %p, %mine, %slot, %barrier, %rd<10>;
.shared .align 16 .b8 shared[1024];
.local .align 16 .b8 local[16];
// The begin of every kernel.
ld.param.u64 %p, [f_param_0];
mov.u32 %t, %tid.x;
mul.wide.u32 %rd0, %t, 4;
add.s64 %mine, %p, %rd0;
mov.u64 %slot, shared;
add.s64 %slot, %slot, %rd0;
setp.eq.s32 %first, %t, 0;
mov.u64 %rd0, 0;
// The body.
)" + body +
         "\nret;\n}\n";
}

} // namespace spmdc
