#pragma once

// Every family by name. registry.cpp lists them in teaching order, the simplest first.

#include "kernel_templates/family.h"

namespace tunedgemm {}  // namespace tunedgemm
