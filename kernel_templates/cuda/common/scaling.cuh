// The scales of A and B, as the problem's defines tell them, for GPU and CPU kernels.
#pragma once

#include "../../problem/scaling.h"

using namespace tunedgemm::internal;

#ifndef SCALING_A
#define SCALING_A 0  // a number of problem/scaling.h
#endif
#ifndef SCALING_B
#define SCALING_B 0
#endif
constexpr Scaling kScalingA = static_cast<Scaling>(SCALING_A);
constexpr Scaling kScalingB = static_cast<Scaling>(SCALING_B);
