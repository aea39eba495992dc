// What leaves the L2 cache first (evict_first). Rows of tiles that walk together keep their part of
// A there, and all of B passes by; columns that do, theirs of B. What passes is not read again
// before it has left, nor is D, where tensor copies store it. Expects kEvictFirst and
// kRasterAlongN as constants.
#pragma once

#include "../ptx/tensor_copy.cuh"

constexpr Eviction kEvictionD = kEvictFirst ? Eviction::kFirst : Eviction::kNormal;
constexpr Eviction kEvictionA = kRasterAlongN ? kEvictionD : Eviction::kNormal;
constexpr Eviction kEvictionB = kRasterAlongN ? Eviction::kNormal : kEvictionD;
