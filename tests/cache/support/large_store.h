#pragma once

// A cache as large as years of tuning make it, to test the cost of its size.

#include <filesystem>

#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal::large_store {

constexpr int kTrialsOfAWinner = 20;

/// The problem with this number: 2 types, 100 layers and 250 values of M.
Problem problem(int number);

/// Adds the winners of the problems from 0 on, with their trials, for sample::device() and
/// sample::toolchain(). Precondition: a store made the file, and it is empty.
void fill(const std::filesystem::path& path, int winners);

}  // namespace tunedgemm::internal::large_store
