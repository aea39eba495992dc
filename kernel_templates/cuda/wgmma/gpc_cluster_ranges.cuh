// The cluster ids of a launch, divided into a range for each GPC, so that clusters that run on the
// same GPC get neighbouring ids (claim_cluster_id.cuh). The host code that fills this includes this
// very file, so it is plain C++ without includes.
#pragma once

constexpr int kMostGpcs = 8, kMostSms = 160;
constexpr int kClaimCounterBytes = kMostGpcs;  // the last of a workspace's counters

struct GpcClusterRanges {
  int gpcs;  // 0: clusters keep the ids of their launch, and the counters are not touched
  // The ids of GPC g are first[g] to first[g + 1] - 1, none from `gpcs` on; together they are as
  // many as clusters.
  unsigned char first[kMostGpcs + 1];
  unsigned char gpc_of_sm[kMostSms];  // by %smid
};
