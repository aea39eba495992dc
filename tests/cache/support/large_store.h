#pragma once

// A cache as large as after years of tuning, to test the cost of its size.

#include <filesystem>

#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal::large_store {

constexpr int kTrialsOfAWinner = 20;

/// The problem with this number: 2 types, 100 layers and 250 values of M.
CanonicalProblem problem(int number);

/// Adds this many winners, with their trials, for sample::device() and sample::toolchain(). Their
/// problems are numbered from 0. Precondition: a store has created the file, which has no winners.
void fill(const std::filesystem::path& path, int winners);

/// What add_garbage() has added or changed.
struct Garbage {
  int void_winners = 0, replaced_winners = 0, kernels = 0;
};
/// Adds an old driver to a file from fill(). Of ten problems, one has only a winner of that driver;
/// one has a void winner of that driver, too, and eight a usable one, with as many trials as the
/// others. There are binaries of a compiler that no winner and no device has.
Garbage add_garbage(const std::filesystem::path& path, int winners);

}  // namespace tunedgemm::internal::large_store
