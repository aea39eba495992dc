// Parameters of the kernels beside Arguments and the tensor maps. The host code that fills them
// includes this file as well, so it is plain C++ without includes.
#pragma once

constexpr int kMostGpcs = 8, kMostSms = 160;
constexpr int kClaimCounterBytes = kMostGpcs;  // the last of a workspace's counters

// The cluster ids of a launch, divided into a range for each GPC, so that clusters that run on the
// same GPC get neighbouring ids (claim_cluster_id.cuh).
struct GpcClusterRanges {
  int gpcs;  // 0: clusters keep the ids of their launch, and the counters are not touched
  // The ids of GPC g are first[g] to first[g + 1] - 1, none from `gpcs` on; together they are as
  // many as clusters.
  unsigned char first[kMostGpcs + 1];
  unsigned char gpc_of_sm[kMostSms];  // by %smid
  unsigned char padding[3];           // host code compares whole structs
};

constexpr int kPaddingThreads = 256, kPaddingBlocksOfSm = 4;  // of that kernel

// Operands whose rows TMA cannot copy, since they are not aligned to 16 bytes: a kernel that goes
// before the other (pad.cuh) copies them to the workspace, each row padded.
struct OperandPadding {
  // Of the copies of A and B in the workspace, and of their rows (columns, where they are
  // column-major), in bytes; a pitch of 0: the operand is not copied.
  long long offset_a, offset_b;
  long long pitch_a, pitch_b;
};
