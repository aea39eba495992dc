#pragma once

// A cache as years of tuning make it, for tests of what its size costs.

#include <filesystem>

#include "kernel_templates/problem/problem.h"

namespace tunedgemm::internal::large_store {

constexpr int kTrialsOfAWinner = 20;

/// The problem with the number: 2 types, 100 layers and 250 counts of rows.
Problem problem(int number);

/// Adds the winners of the problems from 0 on, of sample::device() and sample::toolchain(), with
/// their trials. Precondition: the file was made by a store, and is empty.
void fill(const std::filesystem::path& path, int winners);

}  // namespace tunedgemm::internal::large_store
