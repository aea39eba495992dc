// Parameters of the kernels besides Arguments and the tensor maps. Host code includes this file,
// too, so it is plain C++ without includes.
#pragma once

constexpr int kMostGpcs = 8, kMostSms = 160;
constexpr int kClaimCounterBytes = kMostGpcs;  // the last of a workspace's counters

// The cluster ids of a launch, divided into a range for each GPC, so that clusters that run on the
// same GPC get neighbouring ids (claim_cluster_id.cuh).
struct GpcClusterRanges {
  int gpcs;  // 0: clusters keep the ids of their launch, and the counters are not touched
  // GPC g has the ids first[g] to first[g + 1] - 1. If g >= gpcs, it has none. There are as many
  // ids as clusters.
  unsigned char first[kMostGpcs + 1];
  unsigned char gpc_of_sm[kMostSms];  // by %smid
  unsigned char padding[3];           // no implicit padding: the host compares bytes
};

constexpr int kPaddingThreads = 256, kPaddingBlocksOfSm = 4;  // of the padding kernel

// TMA cannot copy operands whose rows are not aligned to 16 bytes. A kernel that runs before the
// GEMM (pad.cuh) copies them to the workspace with padded rows.
struct OperandPadding {
  // The offsets of the copies in the workspace, and the pitches of their rows (or columns), in
  // bytes. An operand with a pitch of 0 is not copied.
  long long offset_a, offset_b;
  long long pitch_a, pitch_b;
};
