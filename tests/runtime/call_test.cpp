// Calls as keys, plans as a table, and what is said of buffers that cannot be used.

#include <bit>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/launch.h"
#include "runtime/plan_cache.h"
#include "tests/support/catch.h"

using namespace tunedgemm;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Call {
  tunedgemm_problem problem;
  tunedgemm_buffers buffers;
  Call(std::int64_t m, std::int64_t n, std::int64_t k, tunedgemm_type type = TUNEDGEMM_F32) {
    tunedgemm_problem_init(&problem, m, n, k, type, type, type);
    tunedgemm_buffers_init(&buffers);
  }
  CallKey key() const { return call_key(problem, buffers); }
};

template <class Integer>
void* address(Integer number) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
}

// Numbers whose low bits are those of `good`, and some that are just behind the enumeration.
template <class Enum>
void check_refused(const Call& good, Enum tunedgemm_problem::*member) {
  const auto known = std::bit_cast<std::int32_t>(good.problem.*member);
  for (const std::int32_t wrong :
       {known ^ 0x80, known ^ 0x100, known ^ 0x10000, known ^ INT32_MIN, 9, 0xff, 0xffff, -2}) {
    Call call = good;
    std::memcpy(&(call.problem.*member), &wrong, sizeof wrong);
    INFO(wrong);
    CHECK_FALSE(call.key() == good.key());
    CHECK_FALSE(why_not(to_problem(call.key())).empty());
  }
}

}  // namespace

TEST_CASE("A call's key describes its problem") {
  Call call(3, 5, 7, TUNEDGEMM_F16);
  call.problem.order_b = TUNEDGEMM_COLUMN_MAJOR;
  call.problem.ldd = 8;
  call.problem.activation = TUNEDGEMM_SILU;
  call.buffers.a = address(0x1000);
  call.buffers.b = address(0x2002);
  call.buffers.d = address(0x3000);
  call.buffers.alpha = 0.5;
  const Problem problem = to_problem(call.key());
  CHECK(problem.m == 3);
  CHECK(problem.b.order == Order::kColumnMajor);
  CHECK(problem.b.leading_dimension == 7);
  CHECK(problem.d.leading_dimension == 8);
  CHECK(problem.d.alignment_bytes == 16);
  CHECK(problem.b.alignment_bytes == 2);
  CHECK(problem.activation == Activation::kSilu);
  CHECK(problem.numerics == Numerics::kIeee);
  CHECK(problem.beta == ScalarClass::kZero);
  CHECK(why_not(problem).empty());
}

TEST_CASE("Every member of the caller's problem reaches the problem") {
  Call call(6, 8, 4);
  call.problem.batch = 3;
  call.problem.type_a = TUNEDGEMM_E4M3;
  call.problem.type_b = TUNEDGEMM_E5M2;
  call.problem.type_d = TUNEDGEMM_BF16;
  call.problem.order_a = call.problem.order_c = TUNEDGEMM_COLUMN_MAJOR;
  call.problem.lda = 10;
  call.problem.ldb = 11;
  call.problem.ldc = 12;
  call.problem.ldd = 14;
  call.problem.batch_stride_a = 100;
  call.problem.batch_stride_b = 200;
  call.problem.batch_stride_c = 300;
  call.problem.batch_stride_d = 400;
  call.problem.activation = TUNEDGEMM_TANH;
  call.problem.bias = TUNEDGEMM_BIAS_PER_COLUMN;
  call.problem.numerics = TUNEDGEMM_PROMOTED;
  call.buffers.a = address(0x1000);
  call.buffers.b = address(0x2008);
  call.buffers.c = call.buffers.d = address(0x3002);
  call.buffers.beta = 2;
  CHECK(to_text(to_problem(call.key())) ==
        "m=6 n=8 k=4 batch=3 a=e4m3,col,10,100,2 b=e5m2,row,11,200,1 c=bf16,col,12,300,2 "
        "d=bf16,row,14,400,2 c_is_d=1 alpha=one beta=other activation=tanh bias=col "
        "numerics=promoted regime=cold");
}

TEST_CASE("A number that is none of its enumeration is no other one's key, and is refused") {
  const Call good(8, 8, 8);
  for (auto member : {&tunedgemm_problem::order_a, &tunedgemm_problem::order_b,
                      &tunedgemm_problem::order_c, &tunedgemm_problem::order_d}) {
    check_refused(good, member);
  }
  check_refused(good, &tunedgemm_problem::type_a);
  check_refused(good, &tunedgemm_problem::type_b);
  check_refused(good, &tunedgemm_problem::type_d);
  check_refused(good, &tunedgemm_problem::activation);
  check_refused(good, &tunedgemm_problem::bias);
  check_refused(good, &tunedgemm_problem::numerics);
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

TEST_CASE("A packed batch that cannot be counted is refused") {
  Call call(std::int64_t{1} << 40, std::int64_t{1} << 40, 1);
  call.problem.batch = 2;
  CHECK_FALSE(why_not(to_problem(call.key())).empty());
}

TEST_CASE("Every field of a call changes its key and its hash") {
  const Call call(64, 64, 64);
  std::vector<CallKey> keys{call.key()};
  const auto change = [&](auto apply) {
    Call other = call;
    apply(other);
    keys.push_back(other.key());
  };
  change([](Call& c) { c.problem.m = 65; });
  change([](Call& c) { c.problem.batch = 2; });
  change([](Call& c) { c.problem.lda = 80; });
  change([](Call& c) { c.problem.type_d = TUNEDGEMM_F16; });
  change([](Call& c) { c.problem.numerics = TUNEDGEMM_TF32; });
  change([](Call& c) { c.problem.order_d = TUNEDGEMM_COLUMN_MAJOR; });
  change([](Call& c) { c.problem.bias = TUNEDGEMM_BIAS_PER_ROW; });
  change([](Call& c) { c.buffers.a = address(4); });
  change([](Call& c) { c.buffers.alpha = 0; });
  change([](Call& c) { c.buffers.beta = 1; });
  for (std::size_t left = 0; left < keys.size(); ++left) {
    for (std::size_t right = 0; right < left; ++right) {
      INFO(left << " and " << right);
      CHECK_FALSE(keys[left] == keys[right]);
      CHECK(hash(keys[left]) != hash(keys[right]));
    }
  }
}

TEST_CASE("The plan cache forgets nothing while another thread adds") {
  PlanCache cache;
  constexpr int kPlans = 3000;
  const auto key_of = [](int index) { return Call(index + 1, 8, 8).key(); };
  const auto plan_of = [&](int index) {
    const CallKey key = key_of(index);
    return std::make_unique<Plan>(key, canonical(to_problem(key)));
  };
  std::atomic<int> added{0};
  std::atomic<int> lost{0};
  std::thread reader([&] {
    for (int seen = 0; seen < kPlans; seen = added.load()) {
      for (int index = 0; index < seen; index += 17) {
        const Plan* plan = cache.find(key_of(index));
        lost += plan == nullptr || plan->problem.m != index + 1;
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

std::string reason_for(const Call& call, const Call& planned) {
  const CallKey key = planned.key();
  Plan plan(key, canonical(to_problem(key)));
  // Any kernel will do: why_not_buffers only asks whether there is one.
  struct Kernel : CompiledKernel {
    int run(const Launch&, const Arguments&, StreamHandle) const noexcept override { return 0; }
  };
  plan.kernel = std::make_shared<Kernel>();
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

TEST_CASE("C is asked for only where it is read") {
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
  call.buffers.d = address(0x1010);  // columns 4 to 7 of the rows whose columns 0 to 3 are A
  CHECK(reason_for(call, call).empty());
  call.buffers.d = address(0x100c);
  CHECK_THAT(reason_for(call, call), ContainsSubstring("overlaps A"));
}
