// Each function of a real driver, and of NVRTC, fails, once or permanently. Beside a stored kernel
// that computes the problem, a call may be refused only if every kernel needs the function. A
// refused call names the reason. No stored kernel is lost. (fake_cuda/faults_test.cpp fails every
// single call.)

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/driver.h"
#include "tests/runtime/support/breaking_nvrtc.h"
#include "tests/runtime/support/c_program.h"
#include "tests/runtime/support/cache_with_neighbour.h"
#include "tests/runtime/support/f16_integers.h"
#include "tests/support/catch.h"
#include "tests/support/device_fixture.h"
#include "tests/support/seed.h"
#include "tests/support/skip.h"

namespace tunedgemm::internal {
namespace {

struct Fault {
  cuda::CUresult error = cuda::CUDA_SUCCESS;
  bool is_permanent = false;
};

// Counts the library's calls of each function, and makes those of one function fail.
class Faults {
 public:
  /// While it lives, the test itself calls the driver.
  class Pause {
   public:
    explicit Pause(Faults& faults) : faults_(faults), was_watching_(faults.set_watching(false)) {}
    ~Pause() { faults_.set_watching(was_watching_); }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Faults& faults_;
    bool was_watching_;
  };

  void watch(const std::string& failing, const Fault& fault) {
    const std::scoped_lock lock(mutex_);
    is_watching_ = true;
    failing_ = failing;
    fault_ = fault;
    calls_.clear();
  }
  std::map<std::string, int> stop() {
    const std::scoped_lock lock(mutex_);
    is_watching_ = false;
    return calls_;
  }
  /// The result of a call of the function; CUDA_SUCCESS: the driver is called.
  cuda::CUresult error_of(const char* function) {
    const std::scoped_lock lock(mutex_);
    if (!is_watching_) {
      return cuda::CUDA_SUCCESS;
    }
    const bool is_first = ++calls_[function] == 1;
    return function == failing_ && (is_first || fault_.is_permanent) ? fault_.error
                                                                     : cuda::CUDA_SUCCESS;
  }

 private:
  bool set_watching(bool is_watching) {
    const std::scoped_lock lock(mutex_);
    return std::exchange(is_watching_, is_watching);
  }

  std::mutex mutex_;
  bool is_watching_ = false;
  std::string failing_;
  Fault fault_;
  std::map<std::string, int> calls_;
};
Faults faults;
cuda::Driver real_driver;

// A function with the type of the member, which calls the driver unless it is to fail.
template <auto kMember>
struct Wrapper;
template <typename... Arguments, cuda::CUresult (*cuda::Driver::*kMember)(Arguments...)>
struct Wrapper<kMember> {
  static inline const char* name = "";
  static cuda::CUresult call(Arguments... arguments) {
    const cuda::CUresult error = faults.error_of(name);
    return error != cuda::CUDA_SUCCESS ? error : (real_driver.*kMember)(arguments...);
  }
};

class WrappedDriver {
 public:
  explicit WrappedDriver(cuda::Driver& driver) : driver_(driver) {
    real_driver = driver;
#define TUNEDGEMM_WRAP(function, symbol, parameters)  \
  if (driver.function != nullptr) {                   \
    using Wrapped = Wrapper<&cuda::Driver::function>; \
    Wrapped::name = #function;                        \
    driver.function = Wrapped::call;                  \
  }
    TUNEDGEMM_DRIVER_FUNCTIONS(TUNEDGEMM_WRAP)
    TUNEDGEMM_DRIVER_FUNCTIONS_OF_12_3(TUNEDGEMM_WRAP)
#undef TUNEDGEMM_WRAP
  }
  ~WrappedDriver() {
    driver_ = real_driver;
  }
  WrappedDriver(const WrappedDriver&) = delete;
  WrappedDriver& operator=(const WrappedDriver&) = delete;

 private:
  cuda::Driver& driver_;
};

// A of kSize x k times B of k x kSize, in f16.
class Product {
 public:
  static constexpr std::int64_t kSize = 256;

  Product(Device& device, std::int64_t k)
      : device_(device), k_(k), memory_(device.allocate(2 * (2 * kSize * k + kSize * kSize))) {
    problem_ = {.m = kSize,
                .n = kSize,
                .k = k,
                .type_a = TUNEDGEMM_TYPE_F16,
                .type_b = TUNEDGEMM_TYPE_F16,
                .type_d = TUNEDGEMM_TYPE_F16};
    const F16Integers inputs =
        random_f16_integers(static_cast<std::size_t>(2 * kSize * k), test_seed());
    const auto value = [&](std::int64_t index) {
      return integer_of(inputs[static_cast<std::size_t>(index)]);
    };
    device.copy_to_device(memory_->data(), inputs.data(), 4 * kSize * k);
    for (std::int64_t row = 0; row < kSize; ++row) {
      for (std::int64_t column = 0; column < kSize; ++column) {
        int sum = 0;
        for (std::int64_t inner = 0; inner < k; ++inner) {
          sum += value(row * k + inner) * value(kSize * k + inner * kSize + column);
        }
        expected_.push_back(sum);
      }
    }
  }

  const tunedgemm_problem& problem() const { return problem_; }
  tunedgemm_buffers buffers() const {
    return {.a = memory_->data(), .b = at(kSize * k_), .d = at(2 * kSize * k_)};
  }
  void erase() const {
    const Faults::Pause pause(faults);
    device_.set_bytes(at(2 * kSize * k_), 0xff, 2 * kSize * kSize);  // NaN
  }
  bool is_right() const {
    const Faults::Pause pause(faults);
    device_.synchronize(nullptr);
    F16Integers result(kSize * kSize);
    device_.copy_to_host(result.data(), at(2 * kSize * k_), 2 * kSize * kSize);
    for (std::size_t index = 0; index < result.size(); ++index) {
      if (!is_equal(result, index, expected_[index])) {
        return false;
      }
    }
    return true;
  }

 private:
  void* at(std::int64_t element) const {
    return static_cast<std::uint16_t*>(memory_->data()) + element;
  }

  Device& device_;
  std::int64_t k_;
  std::unique_ptr<DeviceMemory> memory_;
  tunedgemm_problem problem_;
  std::vector<int> expected_;
};

struct Outcome {
  std::string wrong;
  bool was_refused = false;
  std::map<std::string, int> calls;
};
Outcome call_with(const Product& product, tunedgemm_policy policy, const std::string& cache,
                  const std::string& failing, const Fault& fault) {
  Outcome outcome;
  CProgram program(c_options(policy), cache);
  faults.watch(failing, fault);
  outcome.wrong = program.why_not(product, true);
  outcome.calls = faults.stop();
  ::unsetenv("TUNEDGEMM_TEST_FAIL");
  outcome.was_refused = program.was_refused();
  if (outcome.wrong.empty()) {
    outcome.wrong = program.why_not(product, false);
    outcome.wrong += outcome.wrong.empty() ? "" : " in the call after it";
  }
  return outcome;
}

class Tally {
 public:
  void add(const Outcome& outcome) { ++(outcome.was_refused ? refused_ : computed_); }
  void print(const std::string& calls) const {
    std::cout << calls << ": " << computed_ << " computed, " << refused_
              << " refused with a message" << std::endl;
  }

 private:
  int computed_ = 0, refused_ = 0;
};

class Bench {
 public:
  explicit Bench(Device& device)
      // The library keeps its functions in an object that is not const.
      : wrapped_(const_cast<cuda::Driver&>(*std::get<0>(cuda::Driver::open()))),
        cache_(Product(device, 2 * Product::kSize)),
        product_(device, Product::kSize) {}

  void fail_each_function(tunedgemm_policy policy, const std::vector<Fault>& ways) const {
    const std::map<std::string, int> needed = calls_of(TUNEDGEMM_POLICY_STORED, cache_.copy());
    Tally tally;
    for (const auto& [function, count] : calls_of(policy, cache_.copy())) {
      for (const Fault& fault : ways) {
        INFO(function << " fails with " << fault.error << (fault.is_permanent ? ", always" : ""));
        const std::string path = cache_.copy();
        const Outcome outcome = call_with(product_, policy, path, function, fault);
        CHECK(outcome.wrong == "");
        CHECK((!outcome.was_refused || needed.contains(function)));
        CHECK_FALSE(call_with(product_, TUNEDGEMM_POLICY_STORED, path, "", {}).was_refused);
        tally.add(outcome);
      }
    }
    tally.print("policy " + std::to_string(policy) + ", a stored neighbour");
  }

  void fail_each_function_of_a_first_call(const std::vector<Fault>& ways) const {
    Tally tally;
    for (const auto& [function, count] : calls_of(TUNEDGEMM_POLICY_COMPILE, "")) {
      for (const Fault& fault : ways) {
        INFO(function << " fails with " << fault.error << (fault.is_permanent ? ", always" : ""));
        const Outcome outcome = call_with(product_, TUNEDGEMM_POLICY_COMPILE, "", function, fault);
        CHECK(outcome.wrong == "");
        tally.add(outcome);
      }
    }
    tally.print("policy compile, an empty cache");
  }

  void fail_each_nvrtc_function(bool has_neighbour) const {
    Tally tally;
    for (const char* function :
         {"nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs", "nvrtcCreateProgram",
          "nvrtcCompileProgram", "nvrtcGetProgramLogSize", "nvrtcGetProgramLog",
          "nvrtcGetCUBINSize", "nvrtcGetCUBIN", "nvrtcDestroyProgram"}) {
      for (const char* lasts : {" once", " always"}) {
        INFO(function << " fails" << lasts << ", neighbour: " << has_neighbour);
        const std::string path = has_neighbour ? cache_.copy() : "";
        ::setenv("TUNEDGEMM_TEST_FAIL", (std::string(function) + lasts).c_str(), 1);
        const Outcome outcome = call_with(product_, TUNEDGEMM_POLICY_COMPILE, path, "", {});
        CHECK(outcome.wrong == "");
        CHECK_FALSE((has_neighbour && outcome.was_refused));
        tally.add(outcome);
      }
    }
    tally.print(std::string("NVRTC, ") + (has_neighbour ? "a stored neighbour" : "an empty cache"));
  }

 private:
  std::map<std::string, int> calls_of(tunedgemm_policy policy, const std::string& cache) const {
    const Outcome outcome = call_with(product_, policy, cache, "", {});
    REQUIRE(outcome.wrong == "");
    REQUIRE_FALSE(outcome.was_refused);
    return outcome.calls;
  }

  const WrappedDriver wrapped_;
  const CacheWithNeighbour cache_;  // of another K
  const Product product_;
};

constexpr cuda::CUresult kUnknown = 999;
const std::vector<Fault> kAllWays{{cuda::CUDA_ERROR_OUT_OF_MEMORY, false},
                                  {cuda::CUDA_ERROR_OUT_OF_MEMORY, true},
                                  {kUnknown, false},
                                  {kUnknown, true}};
const std::vector<Fault> kTwoWays{{cuda::CUDA_ERROR_OUT_OF_MEMORY, false}, {kUnknown, true}};

}  // namespace

TEST_CASE("A GPU's stored kernel computes a call if any function fails that it does not need",
          "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  const Bench bench(*device);
  bench.fail_each_function(TUNEDGEMM_POLICY_STORED, kAllWays);
  bench.fail_each_function(TUNEDGEMM_POLICY_COMPILE, kAllWays);
}
TEST_CASE("A first call on a GPU survives the failure of any function", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  Bench(*device).fail_each_function_of_a_first_call(kTwoWays);
}
TEST_CASE("A tuning on a GPU survives the failure of any function", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  Bench(*device).fail_each_function(TUNEDGEMM_POLICY_TUNE, kTwoWays);
}
TEST_CASE("A call on a GPU survives the failure of any function of NVRTC", "[gpu]") {
  TUNEDGEMM_OPEN_TEST_GPU(device);
  if (!cuda::find_nvrtc()) {
    TUNEDGEMM_SKIP("no NVRTC");
  }
  const BreakingNvrtc breaking;
  const Bench bench(*device);
  bench.fail_each_nvrtc_function(true);
  bench.fail_each_nvrtc_function(false);
}

}  // namespace tunedgemm::internal
