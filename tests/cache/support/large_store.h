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

/// The rows that add_garbage() has added or changed.
struct Garbage {
  int void_winners = 0, replaced_winners = 0, kernels = 0;
};
/// Gives a file from fill() winners of an old driver. One problem in ten has only such a winner,
/// another has a void one besides its own, and the other eight a usable one, with as many trials.
/// Also adds binaries of a compiler that no winner and no device has.
Garbage add_garbage(const std::filesystem::path& path, int winners);

}  // namespace tunedgemm::internal::large_store
