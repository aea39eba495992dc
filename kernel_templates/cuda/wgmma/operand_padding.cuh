// Operands whose rows TMA cannot copy, since they are not aligned to 16 bytes: a kernel that goes
// before the other (pad.cuh) copies them to the workspace, each row padded. The host code that fills
// this includes this very file, so it is plain C++ without includes.
#pragma once

constexpr int kPaddingThreads = 256, kPaddingBlocksOfSm = 4;  // of that kernel

struct OperandPadding {
  // Of the copies of A and B in the workspace, and of their rows (columns, where they are
  // column-major), in bytes; a pitch of 0: the operand is not copied.
  long long offset_a, offset_b;
  long long pitch_a, pitch_b;
  unsigned blocks;  // of the kernel that copies; 0: there is none
};
