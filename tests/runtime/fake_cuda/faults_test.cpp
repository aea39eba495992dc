// Every call of the driver and of NVRTC may fail, once or permanently. The library's call must
// succeed or fail with a message, and leave nothing behind. After a temporary failure the next call
// must succeed. If a stored kernel computes the problem, the call must succeed.

#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "tests/runtime/fake_cuda/fake_gpu.h"
#include "tests/support/catch.h"
#include "tests/support/sql.h"
#include "tests/support/temporary_folder.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal::fake_cuda {
namespace {

constexpr cuda::CUresult kUnknown = 999, kIllegalAddress = 700;

// Opens a context and multiplies through the C interface, with a cache in memory or in a file.
class Program {
 public:
  explicit Program(tunedgemm_policy policy, std::string cache = "")
      : cache_(std::move(cache)), options_(c_options(policy)) {
    options_.cache_path = cache_.c_str();
  }
  ~Program() { tunedgemm_context_destroy(context_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Empty if the product is right, or if it is refused with a message and `may_be_refused`.
  std::string why_not(const SmallProduct& product, bool may_be_refused) {
    was_refused_ = false;
    product.erase();
    tunedgemm_status status = TUNEDGEMM_STATUS_OK;
    if (context_ == nullptr) {
      status = tunedgemm_context_create(&options_, &context_);
    }
    const tunedgemm_buffers buffers = product.buffers();
    if (status == TUNEDGEMM_STATUS_OK) {
      status = tunedgemm_matmul(context_, &product.problem(), &buffers, nullptr);
    }
    if (status == TUNEDGEMM_STATUS_OK) {
      return product.is_right() ? "" : "wrong without an error";
    }
    was_refused_ = true;
    const std::string sentence = tunedgemm_error_message();
    if (status == TUNEDGEMM_STATUS_INTERNAL || sentence.empty()) {
      return std::string(tunedgemm_status_name(status)) + ": " + sentence;
    }
    return may_be_refused ? "" : sentence;
  }
  bool was_refused() const { return was_refused_; }

 private:
  const std::string cache_;
  tunedgemm_context_options options_;
  tunedgemm_context* context_ = nullptr;
  bool was_refused_ = false;
};

std::map<std::string, int> calls_of(tunedgemm_policy policy, const std::string& cache = "") {
  const FakeGpu gpu;
  const SmallProduct product;
  const OnDevice other(1);
  const std::map<std::string, int> before = control().calls();
  Program program(policy, cache);
  REQUIRE(program.why_not(product, false) == "");
  std::map<std::string, int> calls = control().calls();
  for (const auto& [function, count] : before) {
    calls[function] -= count;
  }
  return calls;
}

struct Failure {
  cuda::CUresult error;
  Lasts lasts;
};
constexpr Failure kFailures[] = {{cuda::CUDA_ERROR_OUT_OF_MEMORY, Lasts::kOnce},
                                 {kUnknown, Lasts::kOnce},
                                 {kIllegalAddress, Lasts::kDeviceIsLost}};

// Makes the nth call of the function fail; returns the errors. The caller's thread uses another
// device, to detect calls that forget to make the context current.
std::string why_not_with(tunedgemm_policy policy, const std::string& function, int nth,
                         const Failure& failure) {
  const FakeGpu gpu;
  std::string wrong;
  {
    const SmallProduct product;
    const OnDevice other(1);
    Program program(policy);
    control().fail(function, nth, failure.error, failure.lasts);
    wrong = program.why_not(product, true);
    if (wrong.empty()) {
      wrong = program.why_not(product, failure.lasts == Lasts::kDeviceIsLost);
      wrong += wrong.empty() ? "" : " in the call after it";
    }
  }
  return wrong + FakeGpu::why_not_clean();
}

void fail_with(tunedgemm_policy policy, const std::string& function, int nth,
               const Failure& failure) {
  INFO("call " << nth << " of " << function << " fails with " << failure.error);
  CHECK(why_not_with(policy, function, nth, failure) == "");
}

// A cache with the winner of another problem, whose kernel computes SmallProduct() too.
class CacheWithNeighbour {
 public:
  CacheWithNeighbour() {
    const FakeGpu gpu;
    const SmallProduct neighbour(2 * SmallProduct::kK);
    Program program(TUNEDGEMM_POLICY_TUNE, original().string());
    REQUIRE(program.why_not(neighbour, false) == "");
  }

  /// Makes a new copy, so that no run sees the results of another.
  std::string copy() const {
    const auto path = folder_.path() / "copy.db";
    for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
      std::filesystem::remove(path.string() + suffix);
    }
    std::filesystem::copy_file(original(), path);
    return path.string();
  }
  static std::int64_t kernels(const std::string& path) {
    return sql_number(path, "SELECT count(*) FROM kernel");
  }

 private:
  std::filesystem::path original() const { return folder_.path() / "original.db"; }

  TemporaryFolder folder_;
};

// The effect of a failure on a call whose problem has a stored neighbour. The call may be refused
// only if every kernel needs the failing function.
struct Outcome {
  std::string wrong;
  bool was_refused = false;
};
Outcome outcome_beside_neighbour(const CacheWithNeighbour& cache, tunedgemm_policy policy,
                                 const std::string& function, const Failure& failure,
                                 bool is_needed) {
  const std::string path = cache.copy();
  const std::int64_t kernels = CacheWithNeighbour::kernels(path);
  Outcome outcome;
  {
    const FakeGpu gpu;
    {
      const SmallProduct product;
      const OnDevice other(1);
      Program program(policy, path);
      control().fail(function, 1, failure.error, failure.lasts);
      outcome.wrong = program.why_not(product, is_needed);
      outcome.was_refused = program.was_refused();
      if (outcome.wrong.empty()) {
        outcome.wrong = program.why_not(product, is_needed && failure.lasts != Lasts::kOnce);
        outcome.wrong += outcome.wrong.empty() ? "" : " in the call after it";
      }
    }
    control().fail("", 0, 0, Lasts::kOnce);
    outcome.wrong += FakeGpu::why_not_clean();
  }
  if (CacheWithNeighbour::kernels(path) < kernels) {
    outcome.wrong += " a stored kernel was deleted";
  }
  return outcome;
}

}  // namespace

TEST_CASE("A stored kernel computes a call if any function fails that it does not need") {
  constexpr Failure kPassing[] = {{cuda::CUDA_ERROR_OUT_OF_MEMORY, Lasts::kOnce},
                                  {cuda::CUDA_ERROR_OUT_OF_MEMORY, Lasts::kAlways},
                                  {kUnknown, Lasts::kOnce},
                                  {kUnknown, Lasts::kAlways}};
  const CacheWithNeighbour cache;
  const std::map<std::string, int> needed = calls_of(TUNEDGEMM_POLICY_STORED, cache.copy());
  const auto is_needed = [&](const std::string& function) {
    const auto calls = needed.find(function);
    return calls != needed.end() && calls->second > 0;
  };
  for (const tunedgemm_policy policy :
       {TUNEDGEMM_POLICY_STORED, TUNEDGEMM_POLICY_COMPILE, TUNEDGEMM_POLICY_TUNE}) {
    int functions = 0, computed = 0, refused = 0;
    for (const auto& [function, count] : calls_of(policy, cache.copy())) {
      if (count == 0) {
        continue;
      }
      ++functions;
      for (const Failure& failure : kPassing) {
        INFO(function << " fails with " << failure.error << ", lasts "
                      << static_cast<int>(failure.lasts) << ", policy " << policy);
        const Outcome outcome =
            outcome_beside_neighbour(cache, policy, function, failure, is_needed(function));
        CHECK(outcome.wrong == "");
        ++(outcome.was_refused ? refused : computed);
      }
    }
    std::cout << "policy " << policy << ": " << functions
              << " functions, each fails in 4 ways: " << computed << " calls computed, " << refused
              << " refused with a message\n";
  }
}

TEST_CASE("A first call survives the failure of any driver call") {
  for (const auto& [function, count] : calls_of(TUNEDGEMM_POLICY_COMPILE)) {
    for (int nth = 1; nth <= count; ++nth) {
      for (const Failure& failure : kFailures) {
        fail_with(TUNEDGEMM_POLICY_COMPILE, function, nth, failure);
      }
    }
  }
}

TEST_CASE("A tuning survives the failure of each driver function") {
  std::size_t turn = 0;
  for (const auto& [function, count] : calls_of(TUNEDGEMM_POLICY_TUNE)) {
    for (const int nth : {1, 1 + count / 3}) {
      fail_with(TUNEDGEMM_POLICY_TUNE, function, nth, kFailures[turn++ % std::size(kFailures)]);
    }
  }
}

TEST_CASE("A tuning survives the failure of most driver calls", "[slow]") {
  for (const auto& [function, count] : calls_of(TUNEDGEMM_POLICY_TUNE)) {
    for (int nth = 1; nth <= count; nth += 1 + nth / 8) {
      for (const Failure& failure : kFailures) {
        fail_with(TUNEDGEMM_POLICY_TUNE, function, nth, failure);
      }
    }
  }
}

}  // namespace tunedgemm::internal::fake_cuda
