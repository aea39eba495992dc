// The keys of calls, the plan cache, and the errors for wrong buffers.

#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/calls/arguments.h"
#include "runtime/calls/launch.h"
#include "runtime/context/add_only_map.h"
#include "tests/support/catch.h"

using namespace tunedgemm::internal;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Call {
  tunedgemm_problem problem;
  tunedgemm_buffers buffers;
  Call(std::int64_t m, std::int64_t n, std::int64_t k, tunedgemm_type type = TUNEDGEMM_TYPE_F32) {
    problem = {.m = m, .n = n, .k = k, .type_a = type, .type_b = type, .type_d = type};
  }
  CallKey key() const { return call_key(problem, buffers); }
};

template <class Integer>
void* address(Integer number) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
}

std::string reason_against(const CallKey& key) {
  try {
    checked_call(key);
    return "";
  } catch (const CallError& error) {
    return error.what();
  }
}

// Checks that wrong numbers are refused: numbers that share low bits with the valid number of
// `good`, and numbers outside the enumeration.
template <class Enum>
void check_refused(const Call& good, Enum tunedgemm_problem::*member, const std::string& name) {
  const auto known = static_cast<std::int32_t>(good.problem.*member);
  for (const std::int32_t wrong :
       {known ^ 0x80, known ^ 0x100, known ^ 0x10000, known ^ INT32_MIN, 9, 0xff, 0xffff, -2}) {
    Call call = good;
    call.problem.*member = static_cast<Enum>(wrong);
    INFO(wrong);
    CHECK_FALSE(call.key() == good.key());
    CHECK_THAT(reason_against(call.key()),
               ContainsSubstring(name + " of the problem is " + std::to_string(wrong) + "; use "));
  }
}

}  // namespace

TEST_CASE("Every member of the caller's problem sets the problem") {
  Call call(6, 8, 4);
  call.problem.batch = 3;
  call.problem.type_a = TUNEDGEMM_TYPE_E4M3;
  call.problem.type_b = TUNEDGEMM_TYPE_E5M2;
  call.problem.type_d = TUNEDGEMM_TYPE_BF16;
  call.problem.order_a = call.problem.order_c = TUNEDGEMM_ORDER_COLUMN_MAJOR;
  call.problem.lda = 10;
  call.problem.ldb = 11;
  call.problem.ldc = 12;
  call.problem.ldd = 14;
  call.problem.batch_stride_a = 100;
  call.problem.batch_stride_b = 200;
  call.problem.batch_stride_c = 300;
  call.problem.batch_stride_d = 400;
  call.problem.activation = TUNEDGEMM_ACTIVATION_TANH;
  call.problem.bias = TUNEDGEMM_BIAS_PER_COLUMN;
  call.problem.numerics = TUNEDGEMM_NUMERICS_PROMOTED;
  call.buffers.a = address(0x1000);
  call.buffers.b = address(0x2008);
  call.buffers.c = call.buffers.d = address(0x3002);
  call.buffers.beta = 2;
  CHECK(to_text(to_problem(call.key())) ==
        "m=6 n=8 k=4 batch=3 a=e4m3,col,10,100,2 b=e5m2,row,11,200,1 c=bf16,col,12,300,2 "
        "d=bf16,row,14,400,2 c_is_d=1 alpha=one beta=other activation=tanh bias=col "
        "numerics=promoted regime=cold");
}

TEST_CASE("A number outside its enumeration is refused, and shares no key with a valid one") {
  const Call good(8, 8, 8);
  check_refused(good, &tunedgemm_problem::order_a, "order_a");
  check_refused(good, &tunedgemm_problem::order_b, "order_b");
  check_refused(good, &tunedgemm_problem::order_c, "order_c");
  check_refused(good, &tunedgemm_problem::order_d, "order_d");
  check_refused(good, &tunedgemm_problem::type_a, "type_a");
  check_refused(good, &tunedgemm_problem::type_b, "type_b");
  check_refused(good, &tunedgemm_problem::type_d, "type_d");
  check_refused(good, &tunedgemm_problem::activation, "activation");
  check_refused(good, &tunedgemm_problem::bias, "bias");
  check_refused(good, &tunedgemm_problem::numerics, "numerics");
  CallKey key = good.key();
  key.launch_regime = 2;
  CHECK(reason_against(key) ==
        "launch regime of the plan is 2; use 0 (isolated) or 1 (back_to_back)");
  Call numerics = good;
  numerics.problem.numerics = static_cast<tunedgemm_numerics>(5);
  CHECK_THAT(
      reason_against(numerics.key()),
      ContainsSubstring("use -1 (default), 0 (ieee), 1 (tf32), 2 (emulated), 3 (fast) or 4"));
}

TEST_CASE("Leading dimensions and batch strides near 2^63 are refused, however few the rows") {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t huge : {kHuge, kHuge - 7, kHuge / 2, kHuge / 4, kHuge / 64}) {
    for (const std::int64_t extent : {0, 1, 8}) {
      for (auto member : {&tunedgemm_problem::lda, &tunedgemm_problem::ldb, &tunedgemm_problem::ldc,
                          &tunedgemm_problem::ldd, &tunedgemm_problem::batch_stride_a,
                          &tunedgemm_problem::batch_stride_b, &tunedgemm_problem::batch_stride_c,
                          &tunedgemm_problem::batch_stride_d}) {
        Call call(extent, extent, extent);
        call.problem.batch = 2;
        call.buffers.beta = 1;
        call.problem.*member = huge;
        INFO(huge << ", extent " << extent);
        CHECK_THAT(reason_against(call.key()), ContainsSubstring("2^56 bytes"));
      }
    }
  }
  for (auto extent : {&tunedgemm_problem::m, &tunedgemm_problem::n, &tunedgemm_problem::k,
                      &tunedgemm_problem::batch}) {
    Call call(8, 8, 8);
    call.problem.*extent = kHuge;
    CHECK_THAT(reason_against(call.key()), ContainsSubstring("2^56 bytes"));
    call.problem.*extent = -kHuge - 1;
    CHECK_THAT(reason_against(call.key()), ContainsSubstring("sizes must be 0 or more"));
  }
  Call packed(std::int64_t{1} << 40, std::int64_t{1} << 40, 1);
  packed.problem.batch = 2;
  CHECK_THAT(reason_against(packed.key()), ContainsSubstring("2^56 bytes"));
}

TEST_CASE("C that is D has D's layout") {
  Call call(8, 8, 8);
  call.problem.batch = 2;
  call.buffers.beta = 1;
  call.buffers.c = call.buffers.d = address(0x1000);
  CHECK(reason_against(call.key()).empty());
  for (auto member : {&tunedgemm_problem::ldc, &tunedgemm_problem::batch_stride_c}) {
    Call other = call;
    other.problem.*member = 80;
    CHECK_THAT(reason_against(other.key()), ContainsSubstring("C and D are the same memory"));
  }
  call.problem.order_c = TUNEDGEMM_ORDER_COLUMN_MAJOR;
  CHECK_THAT(reason_against(call.key()), ContainsSubstring("C and D are the same memory"));
}

TEST_CASE("Batch strides are packed, given, or broadcast") {
  Call call(4, 6, 8);
  call.problem.batch = 5;
  CHECK(to_problem(call.key()).a.batch_stride == 32);
  call.problem.batch_stride_a = 100;
  call.problem.batch_stride_b = TUNEDGEMM_BROADCAST;
  const Problem problem = to_problem(call.key());
  CHECK(problem.a.batch_stride == 100);
  CHECK(problem.b.batch_stride == 0);
  CHECK(problem.d.batch_stride == 24);
}

TEST_CASE("Every field of a call changes its key and its hash") {
  const Call call(64, 64, 64);
  std::vector<CallKey> keys{call.key()};
  const auto change = [&](auto apply) {
    Call other = call;
    apply(other);
    keys.push_back(other.key());
  };
  for (auto member : {&tunedgemm_problem::m, &tunedgemm_problem::n, &tunedgemm_problem::k,
                      &tunedgemm_problem::batch, &tunedgemm_problem::lda, &tunedgemm_problem::ldb,
                      &tunedgemm_problem::ldc, &tunedgemm_problem::ldd,
                      &tunedgemm_problem::batch_stride_a, &tunedgemm_problem::batch_stride_b,
                      &tunedgemm_problem::batch_stride_c, &tunedgemm_problem::batch_stride_d}) {
    change([&](Call& c) { c.problem.*member = 80; });
  }
  for (auto member :
       {&tunedgemm_problem::type_a, &tunedgemm_problem::type_b, &tunedgemm_problem::type_d}) {
    change([&](Call& c) { c.problem.*member = TUNEDGEMM_TYPE_F16; });
  }
  for (auto member : {&tunedgemm_problem::order_a, &tunedgemm_problem::order_b,
                      &tunedgemm_problem::order_c, &tunedgemm_problem::order_d}) {
    change([&](Call& c) { c.problem.*member = TUNEDGEMM_ORDER_COLUMN_MAJOR; });
  }
  change([](Call& c) { c.problem.activation = TUNEDGEMM_ACTIVATION_RELU; });
  change([](Call& c) { c.problem.numerics = TUNEDGEMM_NUMERICS_TF32; });
  change([](Call& c) { c.problem.bias = TUNEDGEMM_BIAS_PER_ROW; });
  change([](Call& c) { c.buffers.a = address(4); });
  change([](Call& c) { c.buffers.b = address(4); });
  change([](Call& c) { c.buffers.d = address(4); });
  change([](Call& c) { c.buffers.alpha = 0; });
  change([](Call& c) { c.buffers.beta = 1; });  // C is D: both are null
  change([](Call& c) {
    c.buffers.beta = 1;
    c.buffers.c = address(16);
  });
  change([](Call& c) {
    c.buffers.beta = 1;
    c.buffers.c = address(4);
  });
  for (std::size_t left = 0; left < keys.size(); ++left) {
    for (std::size_t right = 0; right < left; ++right) {
      INFO(left << " and " << right);
      CHECK_FALSE(keys[left] == keys[right]);
      CHECK(hash(keys[left]) != hash(keys[right]));
    }
  }
}

TEST_CASE("The plan cache forgets nothing while another thread adds") {
  AddOnlyMap<Plan> cache;
  constexpr int kPlans = 3000;
  const auto key_of = [](int index) { return Call(index + 1, 8, 8).key(); };
  const auto plan_of = [&](int index) {
    return std::make_unique<Plan>(call_of_plan(key_of(index)));
  };
  std::atomic<int> added{0};
  std::atomic<int> lost{0};
  std::thread reader([&] {
    for (int seen = 0; seen < kPlans; seen = added.load()) {
      for (int index = 0; index < seen; index += 17) {
        const Plan* plan = cache.find(key_of(index));
        lost += plan == nullptr || plan->problem->m != index + 1;
      }
    }
  });
  for (int index = 0; index < kPlans; ++index) {
    cache.add(plan_of(index));
    added = index + 1;
  }
  reader.join();
  CHECK(lost == 0);
  CHECK(cache.find(key_of(kPlans)) == nullptr);
}

namespace {

constexpr std::int64_t kWorkspaceBytes = 0x200;

std::string reason_for(const Call& call, const Call& planned) {
  Plan plan(call_of_plan(planned.key()));
  // why_not_buffers needs a kernel, but does not run it.
  struct Kernel : CompiledKernel {
    int run(const Launch&, const Arguments&, StreamHandle) const noexcept override { return 0; }
  };
  plan.kernel = std::make_shared<Kernel>();
  plan.launch.workspace_bytes = kWorkspaceBytes;
  const std::string reason = why_not_buffers(plan, call.buffers);
  if (plainly_usable(plan, call.buffers)) {
    CHECK(reason.empty());
  }
  return reason;
}

Call call_with_buffers() {
  Call call(4, 4, 4);
  call.buffers.a = address(0x1000);
  call.buffers.b = address(0x2000);
  call.buffers.d = address(0x3000);
  return call;
}

}  // namespace

TEST_CASE("Buffers that cannot be used are named") {
  const Call good = call_with_buffers();
  CHECK(reason_for(good, good).empty());
  const auto reason = [&](auto change) {
    Call call = good;
    change(call);
    return reason_for(call, good);
  };
  CHECK_THAT(reason([](Call& c) { c.buffers.a = nullptr; }), ContainsSubstring("pointer a"));
  CHECK_THAT(reason([](Call& c) { c.buffers.b = nullptr; }), ContainsSubstring("pointer b"));
  CHECK_THAT(reason([](Call& c) { c.buffers.d = nullptr; }), ContainsSubstring("pointer d"));
  CHECK_THAT(reason([](Call& c) { c.buffers.a = address(0x1004); }), ContainsSubstring("aligned"));
  CHECK_THAT(reason([](Call& c) { c.buffers.beta = 1; }), ContainsSubstring("class"));
  CHECK_THAT(reason([](Call& c) { c.buffers.workspace = address(0x10); }),
             ContainsSubstring("0x10 is not 256-byte aligned"));
  CHECK_THAT(reason([](Call& c) { c.buffers.scale_a = static_cast<float*>(address(0x11)); }),
             ContainsSubstring("scale at 0x11"));
  CHECK_THAT(reason([](Call& c) { c.buffers.d = address(0x1030); }),
             ContainsSubstring("D at 0x1030 overlaps A at 0x1000"));
  CHECK(reason([](Call& c) { c.buffers.d = address(0x1040); }).empty());
}

TEST_CASE("Scales of rows that cannot be used are named") {
  for (const bool transposes_d : {false, true}) {
    Call call = call_with_buffers();
    call.problem.type_a = call.problem.type_b = TUNEDGEMM_TYPE_E4M3;
    call.problem.order_d = transposes_d ? TUNEDGEMM_ORDER_COLUMN_MAJOR : TUNEDGEMM_ORDER_ROW_MAJOR;
    call.problem.batch = 2;
    call.problem.scaling_b = TUNEDGEMM_SCALING_ROW;
    const auto scale = [](int at) { return static_cast<const float*>(address(at)); };
    call.buffers.scale_b = scale(0x4000);
    const auto reason = [&](auto change) {
      Call other = call;
      change(other);
      return reason_for(other, call);
    };
    CHECK(reason_for(call, call).empty());
    CHECK(reason([&](Call& c) { c.buffers.scale_a = scale(0x4004); }).empty());
    CHECK_THAT(reason([&](Call& c) { c.buffers.scale_a = scale(0x303c); }),
               ContainsSubstring("overlaps scale_a"));
    CHECK_THAT(reason([](Call& c) { c.buffers.scale_b = nullptr; }),
               ContainsSubstring("pointer scale_b is null, but scaling_b is row"));
    CHECK_THAT(reason([](Call& c) { c.buffers.scale_stride_b = -2; }),
               ContainsSubstring("the stride of scale_b is -2 elements"));
    CHECK_THAT(reason([](Call& c) { c.buffers.scale_batch_stride_b = std::int64_t{1} << 55; }),
               ContainsSubstring("the batch stride of scale_b is 36028797018963968 elements"));
    // D of f16 is 2 x 4 x 4 elements, 64 bytes at 0x3000; the scales are 2 x 4, and may be apart.
    CHECK(reason([&](Call& c) { c.buffers.scale_b = scale(0x2fe0); }).empty());
    CHECK_THAT(reason([&](Call& c) { c.buffers.scale_b = scale(0x2fe4); }),
               ContainsSubstring("overlaps scale_b"));
    CHECK_THAT(reason([&](Call& c) {
                 c.buffers.scale_b = scale(0x2fe0);
                 c.buffers.scale_stride_b = 2;
               }),
               ContainsSubstring("overlaps scale_b"));
    CHECK(reason([&](Call& c) {
            c.buffers.scale_b = scale(0x2ff0);
            c.buffers.scale_batch_stride_b = TUNEDGEMM_BROADCAST;
          }).empty());
  }
}

TEST_CASE("Scales of blocks have a place along K") {
  Call call(300, 200, 260, TUNEDGEMM_TYPE_E4M3);
  call.problem.type_d = TUNEDGEMM_TYPE_F32;
  call.problem.scaling_a = TUNEDGEMM_SCALING_BLOCK_1X128;
  call.problem.scaling_b = TUNEDGEMM_SCALING_BLOCK_128X128;
  const auto scale = [](int at) { return static_cast<const float*>(address(at)); };
  call.buffers.a = address(0x100000);
  call.buffers.b = address(0x200000);
  call.buffers.d = address(0x300000);
  call.buffers.scale_a = scale(0x400000);
  call.buffers.scale_b = scale(0x500000);
  const auto reason = [&](auto change) {
    Call other = call;
    change(other);
    return reason_for(other, call);
  };
  CHECK(reason_for(call, call).empty());
  CHECK_THAT(reason([](Call& c) { c.buffers.scale_a = nullptr; }),
             ContainsSubstring("pointer scale_a is null, but scaling_a is block_1x128"));
  CHECK_THAT(reason([](Call& c) { c.buffers.scale_k_stride_b = -2; }),
             ContainsSubstring("the stride along K of scale_b is -2 elements"));
  // 300 x 3 and 2 x 3 scales before D, packed or with the blocks of a column of B 10 apart.
  CHECK(reason([&](Call& c) { c.buffers.scale_a = scale(0x300000 - 4 * 900); }).empty());
  CHECK_THAT(reason([&](Call& c) { c.buffers.scale_a = scale(0x300004 - 4 * 900); }),
             ContainsSubstring("overlaps scale_a"));
  CHECK(reason([&](Call& c) { c.buffers.scale_b = scale(0x300000 - 4 * 6); }).empty());
  const auto columns_of_scales = [&](int at) {
    return reason([&](Call& c) {
      c.buffers.scale_b = scale(at);
      c.buffers.scale_stride_b = 1;
      c.buffers.scale_k_stride_b = 10;
    });
  };
  CHECK(columns_of_scales(0x300000 - 4 * 22).empty());
  CHECK_THAT(columns_of_scales(0x300004 - 4 * 22), ContainsSubstring("overlaps scale_b"));
}

TEST_CASE("C is required only if it is read") {
  Call with_c = call_with_buffers();
  with_c.buffers.beta = 2;
  CHECK_THAT(reason_for(with_c, with_c), ContainsSubstring("pointer c"));
  with_c.buffers.c = address(0x3010);
  CHECK_THAT(reason_for(with_c, with_c), ContainsSubstring("overlaps C"));
  with_c.buffers.c = with_c.buffers.d;
  CHECK(reason_for(with_c, with_c).empty());
}

TEST_CASE("Columns of one larger matrix do not overlap") {
  Call call = call_with_buffers();
  call.problem.lda = call.problem.ldd = 8;
  call.buffers.d = address(0x1010);  // columns 4 to 7 of the rows; A has columns 0 to 3
  CHECK(reason_for(call, call).empty());
  call.buffers.d = address(0x100c);
  CHECK_THAT(reason_for(call, call), ContainsSubstring("overlaps A"));
  SECTION("with elements of one byte, if one more would reach into the next row") {
    Call bytes(4, 4, 4, TUNEDGEMM_TYPE_S8);
    bytes.problem.type_d = TUNEDGEMM_TYPE_S32;
    bytes.problem.lda = 40;
    bytes.problem.ldd = 10;
    bytes.buffers.b = address(0x2000);
    bytes.buffers.d = address(0x1000);
    bytes.buffers.a = address(0x1010);
    CHECK(reason_for(bytes, bytes).empty());
    bytes.buffers.a = address(0x1024);  // the last 4 bytes of a row of 40
    CHECK(reason_for(bytes, bytes).empty());
    bytes.buffers.a = address(0x1025);
    CHECK_THAT(reason_for(bytes, bytes), ContainsSubstring("overlaps A"));
  }
  SECTION("whichever begins first, even if 2^64 is no multiple of the pitch") {
    call.problem.lda = call.problem.ldd = 9;
    for (const int columns : {4, 5}) {
      call.buffers.a = address(0x1000 + 4 * columns);
      call.buffers.d = address(0x1000);
      CHECK(reason_for(call, call).empty());
      call.buffers.d = address(0x1000 + 4 * columns);
      call.buffers.a = address(0x1000);
      CHECK(reason_for(call, call).empty());
    }
    for (const int columns : {1, 3, 6, 8}) {
      call.buffers.a = address(0x1000 + 4 * columns);
      call.buffers.d = address(0x1000);
      CHECK_THAT(reason_for(call, call), ContainsSubstring("overlaps A"));
      call.buffers.a = address(0x1000);
      call.buffers.d = address(0x1000 + 4 * columns);
      CHECK_THAT(reason_for(call, call), ContainsSubstring("overlaps A"));
    }
  }
  SECTION("but those of a batch do if its matrices begin in other columns") {
    call.problem.batch = 2;
    call.buffers.d = address(0x1010);
    call.problem.batch_stride_a = call.problem.batch_stride_d = 32;
    CHECK(reason_for(call, call).empty());
    call.problem.batch_stride_d = 36;
    CHECK_THAT(reason_for(call, call), ContainsSubstring("overlaps A"));
  }
}

TEST_CASE("D and the workspace may not overlap anything that is read") {
  Call call = call_with_buffers();  // D is 64 bytes at 0x3000
  call.problem.bias = TUNEDGEMM_BIAS_PER_ROW;
  call.buffers.bias = address(0x4000);
  CHECK(reason_for(call, call).empty());
  const auto reason = [&](auto change) {
    Call other = call;
    change(other);
    return reason_for(other, call);
  };
  const auto scale = [](int at) { return static_cast<const float*>(address(at)); };
  CHECK_THAT(reason([](Call& c) { c.buffers.d = address(0x2030); }),
             ContainsSubstring("D at 0x2030 overlaps B at 0x2000"));
  CHECK_THAT(reason([](Call& c) { c.buffers.bias = address(0x2ff4); }),
             ContainsSubstring("overlaps the bias at 0x2ff4"));
  CHECK_THAT(reason([](Call& c) { c.buffers.bias = address(0x303c); }),
             ContainsSubstring("overlaps the bias"));
  CHECK(reason([](Call& c) { c.buffers.bias = address(0x2ff0); }).empty());
  CHECK(reason([](Call& c) { c.buffers.bias = address(0x3040); }).empty());
  CHECK_THAT(reason([&](Call& c) { c.buffers.scale_a = scale(0x3000); }),
             ContainsSubstring("overlaps scale_a"));
  CHECK_THAT(reason([&](Call& c) { c.buffers.scale_b = scale(0x303c); }),
             ContainsSubstring("overlaps scale_b"));
  CHECK(reason([&](Call& c) { c.buffers.scale_b = scale(0x3040); }).empty());
  for (const auto& [place, name] :
       {std::pair(0xf00, "A"), {0x2000, "B"}, {0x2f00, "D"}, {0x3f00, "the bias"}}) {
    INFO(name);
    CHECK_THAT(reason([place = place](Call& c) {
                 c.buffers.workspace = address(place);
                 c.buffers.workspace_bytes = kWorkspaceBytes;
               }),
               ContainsSubstring("the workspace at") &&
                   ContainsSubstring(std::string("overlaps ") + name));
    // A workspace that is too small is not used.
    CHECK(reason([place = place](Call& c) {
            c.buffers.workspace = address(place);
            c.buffers.workspace_bytes = kWorkspaceBytes - 1;
          }).empty());
  }
}

TEST_CASE("The layout of C is ignored if C is not read") {
  Call call = call_with_buffers();
  call.problem.ldc = std::numeric_limits<std::int64_t>::min();
  call.problem.batch_stride_c = std::numeric_limits<std::int64_t>::max();
  call.buffers.scale_a = static_cast<const float*>(address(0x4000));  // forces the full check
  CHECK(reason_against(call.key()).empty());
  CHECK(reason_for(call, call).empty());
}

TEST_CASE("The padding of D may hold a bias and scales") {
  Call call = call_with_buffers();
  call.problem.ldd = 16;
  call.problem.bias = TUNEDGEMM_BIAS_PER_COLUMN;
  call.buffers.bias = address(0x3010);
  call.buffers.scale_a = static_cast<const float*>(address(0x3020));
  CHECK(reason_for(call, call).empty());
  call.buffers.scale_a = static_cast<const float*>(address(0x3040));
  CHECK_THAT(reason_for(call, call), ContainsSubstring("overlaps scale_a"));
}
