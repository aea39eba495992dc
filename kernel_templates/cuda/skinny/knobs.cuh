// The knobs of the skinny kernel. The host defines them; a compilation by hand has these values.
#pragma once

#ifndef WIDE_B
#define WIDE_B 1  // 1: B is the wide operand, and D has few rows; 0: A is, and D has few columns
#endif
#ifndef COLUMNS
#define COLUMNS 8  // the most rows of the narrow operand
#endif
#ifndef UNROLL
#define UNROLL 4  // units of a warp along K in a step
#endif
#ifndef WARPS_L
#define WARPS_L 1  // warps of a CTA along L
#endif
#ifndef WARPS_K
#define WARPS_K 8  // warps of a CTA along K
#endif
#ifndef SPLIT_K
#define SPLIT_K 1  // slices of K
#endif
