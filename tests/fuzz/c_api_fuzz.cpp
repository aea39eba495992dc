// Calls the C interface with arbitrary bytes in every struct, on the host and without a compiler.
// Each call must either be refused with a message or compute the right result. Matrices, bias and
// scales have exactly the memory that the problem needs, so the address sanitizer detects every
// access out of bounds.

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "tests/fuzz/input.h"
#include "tunedgemm/tunedgemm.h"

using tunedgemm::internal::Input;
using tunedgemm::internal::must_hold;

namespace {

using Wide = __int128;

struct ContextEnd {
  void operator()(tunedgemm_context* context) const { tunedgemm_context_destroy(context); }
};
using ContextPtr = std::unique_ptr<tunedgemm_context, ContextEnd>;

ContextPtr& current_context() {
  static ContextPtr current;
  return current;
}

tunedgemm_context* context() {
  return current_context().get();
}

// Replaces the context after many inputs, since its plans accumulate.
void begin_input() {
  static int inputs = 0;
  if (inputs++ % 4096 == 0) {
    const tunedgemm_context_options options{.backend = TUNEDGEMM_BACKEND_HOST,
                                            .host_threads = 1,
                                            .cache_path = "",
                                            .policy = TUNEDGEMM_POLICY_STORED};
    tunedgemm_context* made = nullptr;
    must_hold(tunedgemm_context_create(&options, &made) == TUNEDGEMM_STATUS_OK);
    current_context().reset(made);
  }
}

// Changes some bytes of the struct.
template <class Struct>
void damage(Input& input, Struct& object) {
  if (input.below(8) == 0) {
    input.read(object);
    return;
  }
  auto* bytes = reinterpret_cast<unsigned char*>(&object);
  for (std::size_t changes = input.below(4); changes > 0; --changes) {
    const std::size_t at = input.below(sizeof object / 4) * 4;
    const auto value = input.take<std::uint32_t>();
    std::memcpy(bytes + at, &value, sizeof value);
  }
}

void check_refusal(tunedgemm_status status) {
  must_hold(status != TUNEDGEMM_STATUS_INTERNAL && status != TUNEDGEMM_STATUS_DEVICE_FAILED);
  must_hold(status == TUNEDGEMM_STATUS_OK || *tunedgemm_error_message() != '\0');
}

bool is_within(Wide number, int least, int greatest) {
  return number >= least && number <= greatest;
}

// Whether every enumeration has a valid value. Uses no code of the library.
bool has_known_numbers(const tunedgemm_problem& problem) {
  const auto types = {problem.type_a, problem.type_b, problem.type_d};
  const auto orders = {problem.order_a, problem.order_b, problem.order_c, problem.order_d};
  return std::all_of(types.begin(), types.end(), [](int type) { return is_within(type, 1, 8); }) &&
         std::all_of(orders.begin(), orders.end(),
                     [](int order) { return is_within(order, 0, 1); }) &&
         is_within(problem.activation, 0, 8) && is_within(problem.bias, 0, 2) &&
         is_within(problem.numerics, -1, 4) && is_within(problem.scaling_a, 0, 3) &&
         is_within(problem.scaling_b, 0, 3) && is_within(problem.group_kind, 0, 4);
}

int element_bytes(tunedgemm_type type) {
  constexpr std::array<int, 9> kBytes{0, 8, 4, 2, 2, 1, 1, 1, 4};
  return kBytes[static_cast<std::size_t>(type)];
}

// The bytes from the first to the last element.
Wide span_bytes(tunedgemm_type type, tunedgemm_order order, std::int64_t rows, std::int64_t columns,
                std::int64_t leading_dimension, std::int64_t batch, std::int64_t batch_stride) {
  const bool row_major = order == TUNEDGEMM_ORDER_ROW_MAJOR;
  const Wide lines = row_major ? rows : columns;
  const Wide length = row_major ? columns : rows;
  if (lines <= 0 || length <= 0 || batch <= 0) {
    return 0;
  }
  const Wide pitch = leading_dimension == 0 ? length : leading_dimension;
  const Wide stride = batch_stride == 0                     ? lines * pitch
                      : batch_stride == TUNEDGEMM_BROADCAST ? Wide{0}
                                                            : Wide{batch_stride};
  return ((lines - 1) * pitch + (batch - 1) * stride + length) * element_bytes(type);
}

class Bytes {
 public:
  explicit Bytes(Wide size)
      : data_(std::calloc(static_cast<std::size_t>(size > 0 ? size : 1), 1)) {}
  ~Bytes() { std::free(data_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  void* data() const { return data_; }

 private:
  void* data_;
};

// Runs the plan in memory of exactly the right size, if the problem is small.
void multiply(Input& input, const tunedgemm_problem& problem, tunedgemm_buffers buffers,
              const tunedgemm_plan* plan) {
  constexpr Wide kMost = 1 << 14;
  const auto& p = problem;
  const bool are_ranges = p.group_kind == TUNEDGEMM_GROUP_KIND_RANGES;
  const bool shares_rows = p.group_kind == TUNEDGEMM_GROUP_KIND_ROWS || are_ranges;
  const bool shares_k = p.group_kind == TUNEDGEMM_GROUP_KIND_K;
  const auto copies = [&](bool is_shared) { return is_shared ? std::int64_t{1} : p.batch; };
  const std::int64_t of_a = copies(shares_rows || shares_k), of_b = copies(shares_k);
  const std::int64_t of_d = copies(shares_rows);
  const std::array<Wide, 4> spans{
      span_bytes(p.type_a, p.order_a, p.m, p.k, p.lda, of_a, p.batch_stride_a),
      span_bytes(p.type_b, p.order_b, p.k, p.n, p.ldb, of_b, p.batch_stride_b),
      span_bytes(p.type_d, p.order_c, p.m, p.n, p.ldc, of_d, p.batch_stride_c),
      span_bytes(p.type_d, p.order_d, p.m, p.n, p.ldd, of_d, p.batch_stride_d)};
  const bool has_elements = p.m > 0 && p.n > 0 && p.batch > 0;
  const Wide work = has_elements ? Wide{p.m} * p.n * p.batch * (p.k > 0 ? p.k : 1) : 0;
  if (std::any_of(spans.begin(), spans.end(), [](Wide span) { return span > kMost; }) ||
      work > kMost) {
    return;
  }
  const Bytes a(spans[0]), b(spans[1]), c(spans[2]), d(spans[3]);
  const bool has_one_bias = p.group_kind == TUNEDGEMM_GROUP_KIND_NONE ||
                            (shares_rows && p.bias == TUNEDGEMM_BIAS_PER_ROW);
  const Bytes bias(has_elements ? Wide{p.bias == TUNEDGEMM_BIAS_PER_ROW ? p.m : p.n} *
                                      copies(has_one_bias) * element_bytes(p.type_d)
                                : Wide{0});
  // Scales are packed or two elements apart.
  const Wide distance = input.below(2) == 0 ? 1 : 2;
  const auto blocks = [](tunedgemm_scaling scaling, std::int64_t k) {
    return scaling < TUNEDGEMM_SCALING_BLOCK_1X128 ? 1 : (k + 127) / 128;
  };
  const auto scale_bytes = [&](tunedgemm_scaling scaling, std::int64_t rows, bool is_shared) {
    const Wide groups = scaling == TUNEDGEMM_SCALING_BLOCK_128X128 ? (rows + 127) / 128 : rows;
    const bool one = scaling == TUNEDGEMM_SCALING_TENSOR || !has_elements || p.k <= 0;
    const Wide scales = one ? Wide{1} : groups * blocks(scaling, p.k) * copies(is_shared);
    return Wide{sizeof(float)} * ((scales - 1) * distance + 1);
  };
  const auto stride = [&](Wide scales) {
    return distance == 1 ? 0 : static_cast<std::int64_t>(distance * scales);
  };
  buffers.scale_stride_a = stride(blocks(p.scaling_a, p.k));
  buffers.scale_stride_b = stride(blocks(p.scaling_b, p.k));
  buffers.scale_k_stride_a = buffers.scale_k_stride_b = stride(1);
  buffers.scale_batch_stride_a = buffers.scale_batch_stride_b = 0;
  const auto shares_blocks = [&](tunedgemm_scaling scaling) {
    return shares_k && scaling >= TUNEDGEMM_SCALING_BLOCK_1X128;
  };
  const Bytes scale_a(scale_bytes(p.scaling_a, p.m, shares_rows || shares_blocks(p.scaling_a)));
  const Bytes scale_b(scale_bytes(p.scaling_b, p.n, shares_blocks(p.scaling_b)));
  // Any numbers will do.
  const std::int64_t numbers = has_elements ? p.batch * (are_ranges ? 2 : 1) : 0;
  const Bytes groups(Wide{sizeof(std::int32_t)} * numbers);
  for (std::int64_t at = 0; at < numbers; ++at) {
    static_cast<std::int32_t*>(groups.data())[at] =
        input.below(4) == 0 ? input.take<std::int32_t>()
                            : static_cast<std::int32_t>(input.below(16));
  }
  // A matrix usually has its own memory. Sometimes it is null, or shares the memory of another
  // matrix if that memory is large enough.
  const std::array<void*, 4> places{a.data(), b.data(), c.data(), d.data()};
  const bool mixed = input.below(8) == 0;
  const auto place = [&](std::size_t usual) -> void* {
    const std::size_t other = mixed ? input.below(places.size() + 1) : usual;
    if (other == places.size()) {
      return nullptr;
    }
    return spans[other] >= spans[usual] ? places[other] : places[usual];
  };
  buffers.a = place(0);
  buffers.b = place(1);
  buffers.c = place(2);
  buffers.d = place(3);
  buffers.bias = bias.data();
  buffers.groups = input.below(16) == 0 ? nullptr : static_cast<std::int32_t*>(groups.data());
  buffers.scale_a = input.below(2) == 0 ? nullptr : static_cast<const float*>(scale_a.data());
  buffers.scale_b = input.below(2) == 0 ? nullptr : static_cast<const float*>(scale_b.data());
  buffers.workspace = nullptr;
  buffers.struct_size = sizeof buffers;
  int stream = 0;
  void* const on = input.below(16) == 0 ? &stream : nullptr;
  tunedgemm_status status = tunedgemm_matmul(context(), &problem, &buffers, on);
  check_refusal(status);
  must_hold(on == nullptr || status == TUNEDGEMM_STATUS_INVALID_ARGUMENT);
  status = tunedgemm_run(plan, &buffers, nullptr);
  check_refusal(status);

  // The same problem with one invalid number must be refused.
  tunedgemm_problem other = problem;
  auto* bytes = reinterpret_cast<unsigned char*>(&other);
  constexpr std::array kNumbers{
      offsetof(tunedgemm_problem, type_a),    offsetof(tunedgemm_problem, type_b),
      offsetof(tunedgemm_problem, type_d),    offsetof(tunedgemm_problem, order_a),
      offsetof(tunedgemm_problem, order_b),   offsetof(tunedgemm_problem, order_c),
      offsetof(tunedgemm_problem, order_d),   offsetof(tunedgemm_problem, activation),
      offsetof(tunedgemm_problem, bias),      offsetof(tunedgemm_problem, numerics),
      offsetof(tunedgemm_problem, scaling_a), offsetof(tunedgemm_problem, scaling_b),
      offsetof(tunedgemm_problem, group_kind)};
  const std::size_t at = kNumbers[input.below(kNumbers.size())];
  bytes[at + 1 + input.below(3)] ^= static_cast<unsigned char>(1 + input.below(255));
  must_hold(tunedgemm_matmul(context(), &other, &buffers, nullptr) ==
            TUNEDGEMM_STATUS_INVALID_ARGUMENT);
}

// Asks with a struct_size of any value. The library writes as many bytes as it reports, or none.
void ask_for_info(Input& input, const tunedgemm_plan* plan) {
  std::array<unsigned char, sizeof(tunedgemm_plan_info)> untouched;
  untouched.fill(0xa5);
  tunedgemm_plan_info info;
  std::memcpy(&info, untouched.data(), sizeof info);
  info.struct_size = input.below(2) == 0 ? sizeof info : input.below(2 * sizeof info);
  const std::size_t size = info.struct_size;
  const tunedgemm_status status = tunedgemm_plan_get_info(plan, &info);
  check_refusal(status);
  must_hold(info.struct_size == size);
  const std::size_t written = status == TUNEDGEMM_STATUS_OK ? size : sizeof size;
  must_hold(written <= sizeof info && std::memcmp(reinterpret_cast<unsigned char*>(&info) + written,
                                                  untouched.data(), sizeof info - written) == 0);
  must_hold(status != TUNEDGEMM_STATUS_OK || size < sizeof info ||
            info.workspace_bytes == tunedgemm_plan_workspace_bytes(plan));
}

// A list of the problem and a damaged copy of it, with the results that single plans have.
void prepare(Input& input, const tunedgemm_problem& problem,
             const tunedgemm_plan_options& options) {
  std::array list{problem, problem, problem};
  damage(input, list[1]);
  std::vector<tunedgemm_status> results;
  const auto note = [](void* seen, const tunedgemm_progress* progress) -> std::int32_t {
    auto& statuses = *static_cast<std::vector<tunedgemm_status>*>(seen);
    must_hold(progress->index == statuses.size() && progress->count == 3);
    must_hold((progress->plan != nullptr) == (progress->status == TUNEDGEMM_STATUS_OK));
    must_hold((*progress->message == '\0') == (progress->status == TUNEDGEMM_STATUS_OK));
    statuses.push_back(progress->status);
    return 0;
  };
  const tunedgemm_status status =
      tunedgemm_prepare(context(), list.data(), list.size(), &options, note, &results);
  check_refusal(status);
  must_hold(results.empty() ? status == TUNEDGEMM_STATUS_INVALID_ARGUMENT
                            : results.size() == 3 && results[0] == results[2]);
}

void multiplications(Input& input) {
  constexpr std::array kTypes{std::pair{TUNEDGEMM_TYPE_F32, TUNEDGEMM_TYPE_F32},
                              std::pair{TUNEDGEMM_TYPE_F64, TUNEDGEMM_TYPE_F64},
                              std::pair{TUNEDGEMM_TYPE_F16, TUNEDGEMM_TYPE_F32},
                              std::pair{TUNEDGEMM_TYPE_BF16, TUNEDGEMM_TYPE_BF16},
                              std::pair{TUNEDGEMM_TYPE_E4M3, TUNEDGEMM_TYPE_F16},
                              std::pair{TUNEDGEMM_TYPE_S8, TUNEDGEMM_TYPE_S32},
                              std::pair{TUNEDGEMM_TYPE_E5M2, TUNEDGEMM_TYPE_BF16},
                              std::pair{TUNEDGEMM_TYPE_F32, TUNEDGEMM_TYPE_F16}};
  const auto [inputs, output] = kTypes[input.below(kTypes.size())];
  tunedgemm_problem problem;
  tunedgemm_problem_init(&problem, static_cast<std::int64_t>(input.below(12)),
                         static_cast<std::int64_t>(input.below(12)),
                         static_cast<std::int64_t>(input.below(12)), inputs, inputs, output);
  tunedgemm_buffers buffers;
  damage(input, problem);
  damage(input, buffers);
  tunedgemm_plan_options options;
  damage(input, options);
  // Forbid compilation, and use valid pointers for the texts.
  if (options.policy == TUNEDGEMM_POLICY_TUNE || options.policy == TUNEDGEMM_POLICY_COMPILE ||
      options.policy == TUNEDGEMM_POLICY_TUNE_IN_BACKGROUND) {
    options.policy = TUNEDGEMM_POLICY_STORED;
  }
  options.name = input.below(2) == 0 ? nullptr : "a layer";

  const tunedgemm_plan* plan = nullptr;
  const tunedgemm_status status =
      tunedgemm_plan_create(context(), &problem, &buffers, &options, &plan);
  check_refusal(status);
  must_hold((plan != nullptr) == (status == TUNEDGEMM_STATUS_OK));
  must_hold(*tunedgemm_plan_description(plan) != '\0' || plan == nullptr);
  ask_for_info(input, plan);
  if (plan == nullptr) {
    check_refusal(tunedgemm_run(plan, &buffers, nullptr));
    return;
  }
  must_hold(problem.struct_size % 8 == 0 && problem.struct_size <= sizeof problem);
  if (problem.struct_size == sizeof problem) {
    must_hold(has_known_numbers(problem));
    if (input.below(16) == 0) {
      prepare(input, problem, options);
    }
    multiply(input, problem, buffers, plan);
  }
}

void contexts(Input& input) {
  tunedgemm_context_options options;
  damage(input, options);
  options.cache_path = "";
  options.host_threads = options.host_threads > 4 ? 4 : options.host_threads;
  tunedgemm_context* made = nullptr;
  const tunedgemm_status status = tunedgemm_context_create(&options, &made);
  check_refusal(status);
  must_hold((made != nullptr) == (status == TUNEDGEMM_STATUS_OK));
  must_hold(made == nullptr || options.struct_size < sizeof options ||
            (is_within(options.backend, 0, 2) && is_within(options.policy, 0, 5)));
  tunedgemm_context_destroy(made);
}

void texts(Input& input) {
  must_hold(*tunedgemm_status_name(input.take<tunedgemm_status>()) != '\0');
  std::vector<char> text(input.below(64) + 1);
  must_hold(tunedgemm_context_report(context(), text.data(), text.size() - 1) > 0);
  tunedgemm_problem problem;
  damage(input, problem);
  check_refusal(tunedgemm_problem_parse(std::string(input.rest()).c_str(), &problem));
  const std::size_t length = tunedgemm_problem_text(&problem, text.data(), text.size());
  if (length > 0 && length < text.size()) {
    must_hold(tunedgemm_problem_parse(text.data(), &problem) == TUNEDGEMM_STATUS_OK);
    must_hold(tunedgemm_problem_text(&problem, nullptr, 0) == length);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  begin_input();
  Input input(data, size);
  const std::size_t kind = input.below(64);
  if (kind == 0) {
    contexts(input);
  } else if (kind == 1) {
    texts(input);
  } else {
    for (int calls = 0; calls < 4 && !input.empty(); ++calls) {
      multiplications(input);
    }
  }
  return 0;
}
