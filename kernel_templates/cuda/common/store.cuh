// The end of a tile of D: where K is split, the sums of all parts are added; a warp's sums are
// spread in shared memory; as many neighbours of a row as 16 bytes of sums are finished and stored
// together.
#pragma once

#include "epilogue.cuh"
#include "split_k.cuh"

constexpr int kRun = 16 / sizeof(Accumulator);
struct alignas(16) RunOfSums {
  Accumulator element[kRun];
};

constexpr bool kStoresRuns = kAlignD >= kRun * static_cast<int>(sizeof(TypeD));
struct alignas(kStoresRuns ? kRun * sizeof(TypeD) : sizeof(TypeD)) RunOfD {
  TypeD element[kRun];
};

// D[m, n] and its neighbours along n, as far as they exist. `n` is a multiple of the run.
__device__ __forceinline__ void store_run(const Arguments& arguments, const Epilogue& epilogue,
                                          long long entry, const RunOfSums& sums, long long m,
                                          long long n) {
  if (m >= arguments.m || n >= arguments.n) {
    return;
  }
  TypeD* const to = batch_entry_d(arguments, entry) + offset_d(arguments, m, n);
  if (kStoresRuns && n + kRun <= arguments.n) {
    RunOfD run;
#pragma unroll
    for (int i = 0; i < kRun; ++i) {
      run.element[i] = finish(epilogue, sums.element[i], m, n + i);
    }
    *reinterpret_cast<RunOfD*>(to) = run;
    return;
  }
#pragma unroll
  for (int i = 0; i < kRun; ++i) {
    if (n + i < arguments.n) {
      to[i] = finish(epilogue, sums.element[i], m, n + i);
    }
  }
}

// A warp's sums of 16 x 16 elements of D, in two fragments (mma.cuh), to rows in shared memory. Of
// the rows that a lane has, the second is 8 further than the first or, if they alternate, the next
// one; columns of the left and the right fragment likewise.
struct alignas(2 * sizeof(Accumulator)) PairOfSums {
  Accumulator x, y;
};

__device__ __forceinline__ void spread(const Accumulator (&left)[4], const Accumulator (&right)[4],
                                       bool rows_alternate, bool columns_alternate,
                                       Accumulator* rows, int pitch) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    Accumulator* const row = rows + (rows_alternate ? 2 * g + half : g + 8 * half) * pitch;
    const Accumulator left_0 = left[2 * half], left_1 = left[2 * half + 1];
    const Accumulator right_0 = right[2 * half], right_1 = right[2 * half + 1];
    auto* const pairs = reinterpret_cast<PairOfSums*>(row);
    if (columns_alternate) {
      pairs[2 * t] = {left_0, right_0};
      pairs[2 * t + 1] = {left_1, right_1};
    } else {
      pairs[t] = {left_0, left_1};
      pairs[4 + t] = {right_0, right_1};
    }
  }
}

// Hands in this team's part of the sums. In the team that comes last they become those of all
// parts, and true is returned. `sums` are all sums of a thread, `count` of them, a multiple of the
// run; the threads' runs lie side by side in a partial tile. `shared` is as for arrives_last.
__device__ __forceinline__ bool sum_parts(const Arguments& arguments, long long tile, int part,
                                          int split_k, const Team& team, Accumulator* sums,
                                          int count, int* shared) {
  const auto partial_run = [&](int of_part, int first) {
    Accumulator* const partial =
        partial_tile(arguments, tile, of_part, split_k, team.threads * count);
    return reinterpret_cast<RunOfSums*>(partial) + first / kRun * team.threads + team.thread;
  };
#pragma unroll
  for (int first = 0; first < count; first += kRun) {
    RunOfSums run;
#pragma unroll
    for (int i = 0; i < kRun; ++i) {
      run.element[i] = sums[first + i];
    }
    *partial_run(part, first) = run;
  }
  if (!arrives_last(arguments, tile, split_k, team, shared)) {
    return false;
  }
#pragma unroll
  for (int i = 0; i < count; ++i) {
    sums[i] = 0;
  }
#pragma unroll 1
  for (int of_part = 0; of_part < split_k; ++of_part) {
#pragma unroll
    for (int first = 0; first < count; first += kRun) {
      const RunOfSums run = *partial_run(of_part, first);
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        add(run.element[i], sums[first + i]);
      }
    }
  }
  meet(team);  // before `shared` is used for something else
  return true;
}
