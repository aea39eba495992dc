// The works of a launch, dealt out in shares, one to each cluster of blocks, so that clusters that
// run on the same GPC take shares that follow each other (take_share.cuh). The host code that fills
// this includes this very file, so it is plain C++ without includes.
#pragma once

constexpr int kMostGpcs = 8, kMostSms = 160;
constexpr int kShareCounterBytes = kMostGpcs;  // the last of a workspace's counters

struct GpcShares {
  int gpcs;  // 0: shares go to clusters by their numbers, and the counter is not touched
  // Those of GPC g are first[g] to first[g + 1] - 1, none from `gpcs` on; together they are as many
  // as clusters.
  unsigned char first[kMostGpcs + 1];
  unsigned char gpc_of_sm[kMostSms];  // by %smid
};
