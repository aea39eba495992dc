#pragma once

// The kernels of the host: LoadedKernel is compiled and loaded, and BuiltInKernel is linked into
// the library.

#include <memory>

#include "runtime/device.h"
#include "runtime/host/built_in.h"
#include "runtime/host/loaded_object.h"
#include "runtime/host/thread_team.h"

namespace tunedgemm::internal {

/// The team must outlive it.
class LoadedKernel final : public CompiledKernel {
 public:
  using Entry = void (*)(const Arguments& arguments, const Team& team);

  LoadedKernel(std::unique_ptr<LoadedObject> object, Entry entry, ThreadTeam& team)
      : object_(std::move(object)), entry_(entry), team_(team) {}

  int run(const Launch& launch, const Arguments& arguments, StreamHandle) const noexcept override {
    const auto call = [](const void* kernel, const Arguments& given, const Team& team) {
      (*static_cast<const Entry*>(kernel))(given, team);
    };
    return team_.run({call, &entry_}, launch.swaps_operands ? transposed(arguments) : arguments,
                     static_cast<int>(launch.grid[0]), launch.shared_bytes);
  }

 private:
  std::unique_ptr<LoadedObject> object_;
  Entry entry_;
  ThreadTeam& team_;
};

/// The team must outlive it.
class BuiltInKernel final : public CompiledKernel {
 public:
  BuiltInKernel(const ProblemClass& problem_class, ThreadTeam& team)
      : problem_class_(problem_class), team_(team) {}

  int run(const Launch&, const Arguments& arguments, StreamHandle) const noexcept override {
    return team_.run(built_in_work(problem_class_), arguments, team_.size(),
                     built_in_scratch_bytes());
  }
  bool is_built_in() const noexcept override { return true; }

 private:
  ProblemClass problem_class_;
  ThreadTeam& team_;
};

}  // namespace tunedgemm::internal
