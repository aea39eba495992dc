#include "runtime/python/torch_ops.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/python/call.h"
#include "runtime/python/context.h"
#include "runtime/python/element_types.h"
#include "runtime/python/names.h"
#include "runtime/python/per_process.h"
#include "runtime/python/torch_ops_abi.h"

namespace tunedgemm::python {
namespace {

using torch::fail;
using torch::StackValue;
using torch::take_optional;
using torch::Tensor;
using torch::the_torch;

constexpr std::int64_t kMostDimensions = 64;                   // of a tensor of PyTorch
constexpr StackValue kAsInputs = ~StackValue{0};               // the element type of a product
constexpr const char* kFile = "runtime/python/torch_ops.cpp";  // the source that errors name

void check_torch(torch::Status status, std::string_view doing) {
  if (status != 0) {
    const auto what = the_torch.torch_exception_get_what_without_backtrace;
    fail("PyTorch failed when it was " + std::string(doing) +
         (what != nullptr ? std::string(": ") + what() : "; it may be out of memory"));
  }
}

struct Extents {
  std::int64_t dimensions = 0;
  std::array<std::int64_t, kMostDimensions> sizes;
};

std::string text_of(const std::int64_t* sizes, std::int64_t dimensions) {
  return shape_text({sizes, static_cast<std::size_t>(dimensions)});
}

struct Device {
  std::int32_t type = 0, index = 0;

  bool operator==(const Device&) const = default;
};

// The last two dimensions of a transposed tensor change places in memory.
Tensor new_tensor(const std::int64_t* sizes, std::int64_t dimensions, std::int32_t dtype,
                  const Device& device, bool is_transposed = false) {
  std::array<std::int64_t, kMostDimensions> strides;
  std::int64_t stride = 1;
  for (std::int64_t i = dimensions - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(sizes[i], 1);
  }
  if (is_transposed) {
    strides[dimensions - 2] = 1;
    strides[dimensions - 1] = std::max<std::int64_t>(sizes[dimensions - 2], 1);
  }
  torch::TensorObject* made = nullptr;
  check_torch(the_torch.aoti_torch_empty_strided(dimensions, sizes, strides.data(), dtype,
                                                 device.type, device.index, &made),
              "allocating a tensor");
  return Tensor(made);
}

/// A tensor argument with its properties, which live as long as the tensor.
class Operand {
 public:
  const char* name;
  Tensor tensor;
  std::int64_t dimensions = 0;
  std::int64_t *sizes = nullptr, *strides = nullptr;
  std::int32_t dtype = 0;
  Device device;

  /// Only owns the argument: a kernel must own all arguments before it may fail.
  Operand(const char* argument, StackValue value) : name(argument), tensor(value) {}

  void read() {
    torch::TensorObject* const object = tensor.get();
    const torch::Status status = the_torch.aoti_torch_get_dim(object, &dimensions) |
                                 the_torch.aoti_torch_get_sizes(object, &sizes) |
                                 the_torch.aoti_torch_get_strides(object, &strides) |
                                 the_torch.aoti_torch_get_dtype(object, &dtype) |
                                 the_torch.aoti_torch_get_device_type(object, &device.type) |
                                 the_torch.aoti_torch_get_device_index(object, &device.index);
    check_torch(status, "describing a tensor");
  }

  std::string shape() const { return text_of(sizes, dimensions); }

  tunedgemm_type type() const {
    for (const ElementType& type : kElementTypes) {
      if (the_torch.dtypes[type.type] == dtype) {
        return type.type;
      }
    }
    fail(std::string(name) + " has an element type that is not supported; " + supported_types());
  }

  void* data() const {
    const void* data = nullptr;
    check_torch(the_torch.torch_get_const_data_ptr(tensor.get(), &data), "reading a tensor");
    return const_cast<void*>(data);  // only the output is written
  }

  /// The ordinal of a GPU, or kHost.
  int ordinal() const { return device.type == the_torch.cuda ? device.index : kHost; }

  void become_contiguous(std::int32_t new_dtype) {
    Tensor copy = new_tensor(sizes, dimensions, new_dtype, device);
    check_torch(the_torch.aoti_torch_copy_(copy.get(), tensor.get(), 0), "copying a tensor");
    tensor = std::move(copy);
    read();
  }

  void check_dimensions(std::int64_t expected) const {
    if (dimensions != expected) {
      fail(std::string(name) + " has the shape " + shape() + "; it must have " +
           std::to_string(expected) + " dimensions");
    }
  }
};

// The ways to see a tensor as matrices. Each returns none if it cannot without a copy.
using Viewer = std::optional<View> (*)(const Operand& operand);

std::optional<View> as_it_is(const Operand& x) {
  if (x.dimensions > View::kMostDimensions) {
    fail(std::string(x.name) + " has " + std::to_string(x.dimensions) +
         " dimensions; it may have " + std::to_string(View::kMostDimensions));
  }
  View view{.name = x.name,
            .data = x.data(),
            .dimensions = static_cast<int>(x.dimensions),
            .type = x.type(),
            .device = x.ordinal()};
  std::copy_n(x.sizes, x.dimensions, view.sizes.begin());
  std::copy_n(x.strides, x.dimensions, view.strides.begin());
  return view;
}

void swap_last_two(View& view) {
  const auto last = static_cast<std::size_t>(view.dimensions - 1);
  std::swap(view.sizes[last - 1], view.sizes[last]);
  std::swap(view.strides[last - 1], view.strides[last]);
}

std::optional<View> as_transposed(const Operand& x) {
  std::optional<View> view = as_it_is(x);
  swap_last_two(*view);
  return view;
}

// A vector of scales, or a batch of them, as those of rows or of columns. The vectors of groups
// along K are behind each other.
View as_vectors(const Operand& scales, const Grouping& grouping, bool are_columns) {
  View view = *as_it_is(scales);
  if (grouping.kind == TUNEDGEMM_GROUP_KIND_K && view.dimensions == 1 && grouping.count > 0 &&
      view.size(0) % grouping.count == 0) {
    view.dimensions = 2;
    view.strides[1] =
        std::exchange(view.strides[0], view.size(0) / grouping.count * view.stride(0));
    view.sizes[1] = std::exchange(view.sizes[0], grouping.count) / grouping.count;
  }
  if (view.dimensions == 1 || view.dimensions == 2) {
    const auto end = static_cast<std::size_t>(view.dimensions++);
    view.sizes[end] = view.strides[end] = 1;
    if (are_columns) {
      swap_last_two(view);
    }
  }
  return view;
}

// All dimensions but the last count rows.
std::optional<View> as_rows(const Operand& x) {
  const std::int64_t last = x.dimensions - 1;
  std::int64_t rows = 1, row_stride = 0;
  bool is_one_stride = true;
  for (std::int64_t i = last - 1; i >= 0; --i) {
    if (x.sizes[i] == 1) {
      continue;
    }
    if (rows == 1) {
      row_stride = x.strides[i];
    } else {
      is_one_stride = is_one_stride && x.strides[i] == rows * row_stride;
    }
    rows *= x.sizes[i];
  }
  if (!is_one_stride && rows != 0 && x.sizes[last] != 0) {
    return std::nullopt;
  }
  return View{.name = x.name,
              .data = x.data(),
              .dimensions = 2,
              .sizes = {rows, x.sizes[last]},
              .strides = {row_stride, x.strides[last]},
              .type = x.type(),
              .device = x.ordinal()};
}

// None if the C interface cannot describe the matrices.
std::optional<View> placed_in(const Operand& operand, Viewer viewer) {
  std::optional<View> view = viewer(operand);
  return view && layout_of(*view) ? view : std::nullopt;
}

// As torch.mm does, copies a tensor whose strides are no layout of a matrix.
View placed(Operand& operand, Viewer viewer) {
  std::optional<View> view = placed_in(operand, viewer);
  if (!view) {
    operand.become_contiguous(operand.dtype);
    view = placed_in(operand, viewer);
  }
  return *view;
}

std::shared_ptr<tunedgemm_context> context_of(const Device& device) {
  try {
    return default_context(device.type == the_torch.cuda ? device.index : kHost);
  } catch (const std::exception& error) {  // one of Python's, which must not reach PyTorch
    fail(error.what());
  }
}

void* current_stream(const Device& device) {
  void* stream = nullptr;
  if (device.type == the_torch.cuda) {
    check_torch(the_torch.aoti_torch_get_current_cuda_stream(device.index, &stream),
                "asked for its stream");
  }
  return stream;
}

/// Where a product goes: the caller's tensor, or a new one.
struct Target {
  Operand out;
  StackValue dtype = kAsInputs;  ///< of a new one

  static Target given(StackValue out) { return {Operand("out", out)}; }
  static Target made(StackValue optional_dtype) {
    return {Operand("out", 0), take_optional(optional_dtype, kAsInputs)};
  }
};

// policy_of() compares with all names, so the usual one is found first.
tunedgemm_policy policy_of_name(std::string_view name) {
  return name == "fail" ? TUNEDGEMM_POLICY_FAIL : policy_of(name);
}

/// Remembers which problems have a kernel. A problem without one is looked up again after 1 s, then
/// 2, 4, ... 64 s. Threads may share it. Keeps the answers of kMostAnswers problems, since the
/// number of rows may vary without end.
class Answers {
 public:
  bool of(tunedgemm_context* context, const Call& call, tunedgemm_policy policy) {
    const Key key = key_of(context, call, policy);
    Answer answer;
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = answers_.find(key); found != answers_.end()) {
        answer = found->second;
      }
    }
    if (answer.has_kernel || Clock::now() < answer.ask_again) {
      return answer.has_kernel;
    }
    answer.has_kernel = ask(context, call, policy);
    answer.wait = std::min(2 * answer.wait, kLongestWait);
    answer.ask_again = Clock::now() + answer.wait;
    const std::scoped_lock lock(mutex_);
    if (answers_.size() == kMostAnswers && !answers_.contains(key)) {
      answers_.clear();
    }
    answers_[key] = answer;
    return answer.has_kernel;
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Key {
    tunedgemm_context* context;
    tunedgemm_problem problem;
    std::uint64_t policy_and_alignments;

    bool operator<(const Key& other) const { return std::memcmp(this, &other, sizeof other) < 0; }
  };
  static_assert(std::has_unique_object_representations_v<Key>, "keys are compared as bytes");

  static constexpr std::size_t kMostAnswers = 10000;  // of about 300 bytes
  static constexpr std::chrono::milliseconds kFirstWait{1000}, kLongestWait{64000};

  struct Answer {
    bool has_kernel = false;
    Clock::time_point ask_again = Clock::time_point::min();
    std::chrono::milliseconds wait = kFirstWait / 2;
  };

  static Key key_of(tunedgemm_context* context, const Call& call, tunedgemm_policy policy) {
    const auto alignment = [](const void* pointer) {
      return reinterpret_cast<std::uintptr_t>(pointer) % 256;
    };
    const tunedgemm_buffers& buffers = call.buffers;
    return {context, call.problem,
            static_cast<std::uint64_t>(policy) << 32 | alignment(buffers.a) << 24 |
                alignment(buffers.b) << 16 | alignment(buffers.d) << 8 | alignment(buffers.bias)};
  }

  static bool ask(tunedgemm_context* context, const Call& call, tunedgemm_policy policy) {
    tunedgemm_plan_options options;
    tunedgemm_plan_options_init(&options);
    options.policy = policy;
    const tunedgemm_plan* plan = nullptr;
    return tunedgemm_plan_create(context, &call.problem, &call.buffers, &options, &plan) ==
           TUNEDGEMM_STATUS_OK;
  }

  std::shared_mutex mutex_;
  std::map<Key, Answer> answers_;
};

std::atomic<TorchFields> torch_fields;

/// The call of an operator. The operands must outlive it.
class TorchCall {
 public:
  TorchCall(Operand& a, Viewer viewer_of_a, Operand& b, Viewer viewer_of_b)
      : device_(a.device), a_(placed(a, viewer_of_a)), b_(placed(b, viewer_of_b)) {
    check_factors(a_, b_);
    m_ = a_.rows(), n_ = b_.columns();
    const TorchFields fields = torch_fields;
    scalars_.invariant = fields.invariant, scalars_.sm_limit = fields.sm_limit;
  }

  std::int64_t m() const { return m_; }
  std::int64_t n() const { return n_; }

  void set_activation(const torch::String& name) {
    scalars_.activation = activation_of(name.text());
  }
  void set_numerics(tunedgemm_numerics numerics) { scalars_.numerics = numerics; }

  /// Must precede set_output().
  void set_ends(Operand& ends) {
    ends.read();
    if (ends.dtype != the_torch.dtypes[TUNEDGEMM_TYPE_S32]) {
      fail("offs must have elements of int32; pass offs.to(torch.int32)");
    }
    grouping_ = grouping_of(a_, b_, *as_it_is(ends), TUNEDGEMM_GROUP_KIND_ROWS);
    if (ends.sizes[0] != grouping_.count) {  // in the gradients it would be a group
      fail("offs has " + std::to_string(ends.sizes[0]) + " numbers, but there are " +
           std::to_string(grouping_.count) + " groups; leave out the leading 0");
    }
  }
  std::int64_t groups() const { return grouping_.count; }

  /// Must precede the functions below.
  void set_output(const Extents& extents, Viewer viewer, Target& target) {
    out_ = &target.out;
    if (out_->tensor) {
      out_->read();
      check_given(*out_, extents);
    } else {
      const std::int32_t dtype = target.dtype == kAsInputs
                                     ? the_torch.dtypes[result_type(a_.type)]
                                     : static_cast<std::int32_t>(target.dtype);
      out_->tensor = new_tensor(extents.sizes.data(), extents.dimensions, dtype, device_,
                                viewer == as_transposed);
      out_->read();
    }
    std::optional<View> found = placed_in(*out_, viewer);
    if (!found) {  // run() copies the product
      scratch_.tensor = new_tensor(extents.sizes.data(), extents.dimensions, out_->dtype, device_);
      scratch_.read();
      found = placed_in(scratch_, viewer);
    }
    d_ = *found;
    check_torch(the_torch.torch_get_mutable_data_ptr(written().tensor.get(), &d_.data),
                "writing a tensor");
  }

  void set_bias(Operand& bias) {
    read_addend(bias);
    View view = *as_it_is(bias);
    if (!bias_of(view, m_, n_, grouping_)) {
      bias.become_contiguous(bias.dtype);
      view = *as_it_is(bias);
    }
    bias_ = view;
  }

  /// Adds beta * input, which is broadcast as torch.addmm does.
  void add(Operand& input, double alpha, double beta) {
    scalars_.alpha = alpha;
    read_addend(input);
    const View view = *as_it_is(input);
    check_device(view, a_);
    check_type(view, d_);
    const std::int64_t rows = view.dimensions > 1 ? view.rows() : 1;
    const std::int64_t columns = view.dimensions > 0 ? view.columns() : 1;
    if (view.dimensions > 2 || (rows != 1 && rows != m_) || (columns != 1 && columns != n_)) {
      fail(std::string(view.name) + " of shape " + view.shape() +
           " cannot be broadcast to the product's shape (" + std::to_string(m_) + ", " +
           std::to_string(n_) + ")");
    }
    if (beta == 0 || m_ == 0 || n_ == 0) {
      return;
    }
    if (beta == 1 && bias_of(view, m_, n_)) {
      bias_ = view;
      return;
    }
    scalars_.beta = beta;
    if (view.dimensions == 2 && rows == m_ && columns == n_ && layout_of(view)) {
      c_ = view;
    } else {  // broadcast, or strided otherwise: the product is added to a copy
      copy(input, written());
    }
  }

  void set_scales(Operand& scale_a, Operand& scale_b) {
    scale_a.read(), scale_b.read();
    scale_a_ = as_it_is(scale_a), scale_b_ = as_it_is(scale_b);
  }
  void set_vectors_of_scales(Operand& of_rows, Operand& of_columns) {
    of_rows.read(), of_columns.read();
    scale_a_ = as_vectors(of_rows, grouping_, false);
    scale_b_ = as_vectors(of_columns, grouping_, true);
  }

  /// Whether a kernel is ready under the policy, as found when it was first asked.
  bool is_served(std::string_view policy) {
    const std::shared_ptr<tunedgemm_context> context = context_of(device_);
    return PerProcess<Answers>::get().of(context.get(), ready_call(), policy_of_name(policy));
  }

  /// Multiplies on the current stream, and gives the output to the caller.
  Tensor run() {
    const Call& ready = ready_call();
    const std::shared_ptr<tunedgemm_context> context = context_of(device_);
    if (tunedgemm_matmul(context.get(), &ready.problem, &ready.buffers, current_stream(device_)) !=
        TUNEDGEMM_STATUS_OK) {
      fail(tunedgemm_error_message());
    }
    if (scratch_.tensor) {
      copy(scratch_, *out_);
    }
    return std::move(out_->tensor);
  }

 private:
  // After the last set function.
  const Call& ready_call() {
    if (!call_) {
      call_ = call_of({.a = &a_,
                       .b = &b_,
                       .d = &d_,
                       .c = pointer_to(c_),
                       .bias = pointer_to(bias_),
                       .scale_a = pointer_to(scale_a_),
                       .scale_b = pointer_to(scale_b_),
                       .grouping = grouping_},
                      scalars_);
    }
    return *call_;
  }

  static void copy(const Operand& from, const Operand& to) {
    check_torch(the_torch.aoti_torch_copy_(to.tensor.get(), from.tensor.get(), 0),
                "copying a tensor");
  }

  const Operand& written() const { return scratch_.tensor ? scratch_ : *out_; }

  static void check_given(const Operand& out, const Extents& extents) {
    if (out.dimensions != extents.dimensions ||
        !std::equal(out.sizes, out.sizes + out.dimensions, extents.sizes.begin())) {
      fail("out has the shape " + out.shape() + ", but the product has the shape " +
           text_of(extents.sizes.data(), extents.dimensions));
    }
  }

  // One of the inputs' type is converted.
  void read_addend(Operand& addend) const {
    addend.read();
    if (addend.dtype != out_->dtype && addend.dtype == the_torch.dtypes[a_.type]) {
      addend.become_contiguous(out_->dtype);
    }
  }

  Device device_;
  Scalars scalars_;
  View a_, b_, d_;
  std::optional<View> c_, bias_, scale_a_, scale_b_;
  Grouping grouping_;
  std::optional<Call> call_;
  std::int64_t m_ = 0, n_ = 0;
  Operand scratch_{"out", 0};
  Operand* out_ = nullptr;
};

// The matrices a and b, read and found to have as many dimensions as they must.
void read_matrices(Operand& a, Operand& b, std::int64_t dimensions) {
  a.read(), b.read();
  a.check_dimensions(dimensions), b.check_dimensions(dimensions);
}

Tensor mm(Operand a, Operand b, Target target) {
  read_matrices(a, b, 2);
  TorchCall call(a, as_it_is, b, as_it_is);
  call.set_output({2, {call.m(), call.n()}}, as_it_is, target);
  return call.run();
}

Tensor bmm(Operand a, Operand b, Target target) {
  read_matrices(a, b, 3);
  if (a.sizes[0] != b.sizes[0]) {
    fail("a has " + std::to_string(a.sizes[0]) + " matrices, but b has " +
         std::to_string(b.sizes[0]));
  }
  TorchCall call(a, as_it_is, b, as_it_is);
  call.set_output({3, {a.sizes[0], call.m(), call.n()}}, as_it_is, target);
  return call.run();
}

Tensor addmm(Operand input, Operand a, Operand b, StackValue beta, StackValue alpha,
             torch::String activation, Target target) {
  read_matrices(a, b, 2);
  TorchCall call(a, as_it_is, b, as_it_is);
  call.set_activation(activation);
  call.set_output({2, {call.m(), call.n()}}, as_it_is, target);
  call.add(input, std::bit_cast<double>(alpha), std::bit_cast<double>(beta));
  return call.run();
}

// input @ weight.T + bias; the output has the dimensions of the input.
TorchCall linear_call(Operand& input, Operand& weight, Operand& bias, Target& target) {
  input.read(), weight.read();
  weight.check_dimensions(2);
  if (input.dimensions == 0) {
    fail("input is a scalar; it must have at least one dimension");
  }
  if (input.sizes[input.dimensions - 1] != weight.sizes[1]) {
    fail("input of shape " + input.shape() + " and weight of shape " + weight.shape() +
         " cannot be multiplied");
  }
  TorchCall call(input, as_rows, weight, as_transposed);
  Extents extents{input.dimensions, {}};
  std::copy_n(input.sizes, input.dimensions, extents.sizes.begin());
  extents.sizes[static_cast<std::size_t>(input.dimensions - 1)] = call.n();
  call.set_output(extents, as_rows, target);
  if (bias.tensor) {
    call.set_bias(bias);
  }
  return call;
}

Tensor linear(Operand input, Operand weight, Operand bias, torch::String activation,
              Target target) {
  TorchCall call = linear_call(input, weight, bias, target);
  call.set_activation(activation);
  return call.run();
}

StackValue optional_of(Tensor tensor) {
  return std::bit_cast<StackValue>(std::make_unique<StackValue>(tensor.release()).release());
}

Tensor aten_linear(Operand& input, Operand& weight, Operand& bias) {
  StackValue stack[] = {input.tensor.release(), weight.tensor.release(), 0};
  if (bias.tensor) {
    stack[2] = optional_of(std::move(bias.tensor));
  }
  check_torch(the_torch.torch_call_dispatcher("aten::linear", "", stack, torch::kVersion),
              "computing aten::linear");
  return Tensor(stack[0]);
}

// Whether a linear layer may have a kernel. PyTorch computes others, or refuses them.
bool is_layer(Operand& input, Operand& weight, Operand& bias) {
  constexpr tunedgemm_type kTypes[] = {TUNEDGEMM_TYPE_F64, TUNEDGEMM_TYPE_F32, TUNEDGEMM_TYPE_F16,
                                       TUNEDGEMM_TYPE_BF16};
  input.read(), weight.read();
  const auto is_like_input = [&](const Operand& other) {
    return other.dtype == input.dtype && other.device == input.device;
  };
  const bool are_matrices =
      input.dimensions > 0 && weight.dimensions == 2 && is_like_input(weight) &&
      input.sizes[input.dimensions - 1] == weight.sizes[1] &&
      std::any_of(std::begin(kTypes), std::end(kTypes),
                  [&](auto type) { return the_torch.dtypes[type] == input.dtype; });
  if (!are_matrices || !bias.tensor) {
    return are_matrices;
  }
  bias.read();
  return bias.dimensions == 1 && bias.sizes[0] == weight.sizes[0] && is_like_input(bias);
}

// Nothing if there is no kernel for it, or no memory: then PyTorch computes it or says so itself.
Tensor served_linear(Operand& input, Operand& weight, Operand& bias, std::string_view policy) {
  if (!is_layer(input, weight, bias)) {
    policy_of_name(policy);
    return Tensor();
  }
  Target target{Operand("out", 0)};
  std::optional<TorchCall> call;
  try {
    call.emplace(linear_call(input, weight, bias, target));
  } catch (const std::exception&) {
    return Tensor();
  }
  return call->is_served(policy) ? call->run() : Tensor();
}

/// In its scope PyTorch records no gradient.
class NoGradient {
 public:
  [[nodiscard]] NoGradient() : was_enabled_(the_torch.aoti_torch_grad_mode_is_enabled()) {
    the_torch.aoti_torch_grad_mode_set_enabled(false);
  }
  ~NoGradient() { the_torch.aoti_torch_grad_mode_set_enabled(was_enabled_); }
  NoGradient(const NoGradient&) = delete;
  NoGradient& operator=(const NoGradient&) = delete;

 private:
  bool was_enabled_;
};

Tensor tuned_linear(Operand input, Operand weight, Operand bias, torch::String policy) {
  const NoGradient guard;  // the product of a kernel has none either
  Tensor served = served_linear(input, weight, bias, policy.text());
  return served ? std::move(served) : aten_linear(input, weight, bias);
}

Tensor scaled_mm(Operand a, Operand b, Operand scale_a, Operand scale_b, Operand bias,
                 StackValue is_fast, Target target) {
  read_matrices(a, b, 2);
  TorchCall call(a, as_it_is, b, as_it_is);
  // The default is fast, unless scales of blocks do not allow it.
  call.set_numerics((is_fast & 1) != 0 ? TUNEDGEMM_NUMERICS_DEFAULT : TUNEDGEMM_NUMERICS_PROMOTED);
  call.set_output({2, {call.m(), call.n()}}, as_it_is, target);
  call.set_scales(scale_a, scale_b);
  if (bias.tensor) {
    call.set_bias(bias);
  }
  return call.run();
}

// A batch and a matrix are multiplied as their transposes: then the ends divide rows. Either both
// scales are null or none.
Tensor grouped_mm(Operand a, Operand b, Operand ends, Operand bias, Operand* scale_a,
                  Operand* scale_b, tunedgemm_numerics numerics, Target target) {
  a.read(), b.read();
  for (const Operand* one : {&a, &b}) {
    if (one->dimensions != 2 && one->dimensions != 3) {
      fail(std::string(one->name) + " has the shape " + one->shape() +
           "; it must have 2 or 3 dimensions");
    }
  }
  const bool are_batches = a.dimensions == 3 && b.dimensions == 3;
  if (are_batches == static_cast<bool>(ends.tensor)) {
    fail(are_batches ? "offs is given, but a and b have 3 dimensions: their batches are the groups"
                     : "offs is None; give the end of each group, because a or b has 2 dimensions");
  }
  if (bias.tensor && a.dimensions == 3) {
    fail("bias is given, but only an a of 2 dimensions may have one; add it to the product");
  }
  const bool is_transposed = a.dimensions == 3 && !are_batches;
  if (is_transposed) {
    std::swap(a, b), std::swap(scale_a, scale_b);
  }
  const Viewer viewer = is_transposed ? as_transposed : as_it_is;
  TorchCall call(a, viewer, b, viewer);
  call.set_numerics(numerics);
  if (!are_batches) {
    call.set_ends(ends);
  } else if (a.sizes[0] != b.sizes[0]) {
    fail("a has " + std::to_string(a.sizes[0]) + " matrices, but b has " +
         std::to_string(b.sizes[0]));
  }
  const Extents extents = is_transposed       ? Extents{2, {call.n(), call.m()}}
                          : are_batches       ? Extents{3, {a.sizes[0], call.m(), call.n()}}
                          : b.dimensions == 2 ? Extents{3, {call.groups(), call.m(), call.n()}}
                                              : Extents{2, {call.m(), call.n()}};
  call.set_output(extents, viewer, target);
  if (scale_a != nullptr) {
    call.set_vectors_of_scales(*scale_a, *scale_b);
  }
  if (bias.tensor) {
    call.set_bias(bias);
  }
  return call.run();
}

Operand optional_operand(const char* name, StackValue value) {
  return {name, take_optional(value, 0)};
}

// Each kernel owns its arguments from the start, and puts its result in the first place of the
// stack. The overloads with `out` have no result, because torch.compile traces none that is an
// argument.
void mm_kernel(StackValue* s, std::uint64_t, std::uint64_t) {
  s[0] = mm({"a", s[0]}, {"b", s[1]}, Target::made(s[2])).release();
}

void mm_out_kernel(StackValue* s, std::uint64_t, std::uint64_t) {
  mm({"a", s[0]}, {"b", s[1]}, Target::given(s[2]));
}

void bmm_kernel(StackValue* s, std::uint64_t, std::uint64_t) {
  s[0] = bmm({"a", s[0]}, {"b", s[1]}, Target::made(s[2])).release();
}

void bmm_out_kernel(StackValue* s, std::uint64_t, std::uint64_t) {
  bmm({"a", s[0]}, {"b", s[1]}, Target::given(s[2]));
}

void addmm_kernel(StackValue* s, std::uint64_t, std::uint64_t) {
  s[0] = addmm({"input", s[0]}, {"a", s[1]}, {"b", s[2]}, s[3], s[4], torch::String(s[5]),
               Target::made(s[6]))
             .release();
}

void addmm_out_kernel(StackValue* s, std::uint64_t, std::uint64_t) {
  addmm({"input", s[0]}, {"a", s[1]}, {"b", s[2]}, s[3], s[4], torch::String(s[5]),
        Target::given(s[6]));
}

void linear_kernel(StackValue* s, std::uint64_t, std::uint64_t) {
  s[0] = linear({"input", s[0]}, {"weight", s[1]}, optional_operand("bias", s[2]),
                torch::String(s[3]), Target::made(s[4]))
             .release();
}

void linear_out_kernel(StackValue* s, std::uint64_t, std::uint64_t) {
  linear({"input", s[0]}, {"weight", s[1]}, optional_operand("bias", s[2]), torch::String(s[3]),
         Target::given(s[4]));
}

void tuned_linear_kernel(StackValue* s, std::uint64_t, std::uint64_t) {
  s[0] = tuned_linear({"input", s[0]}, {"weight", s[1]}, optional_operand("bias", s[2]),
                      torch::String(s[3]))
             .release();
}

void if_served_kernel(StackValue* s, std::uint64_t, std::uint64_t) {
  Operand input("input", s[0]), weight("weight", s[1]), bias = optional_operand("bias", s[2]);
  const torch::String policy(s[3]);
  Tensor served = served_linear(input, weight, bias, policy.text());
  s[0] = served ? optional_of(std::move(served)) : 0;
}

void nothing_kernel(StackValue* s, std::uint64_t, std::uint64_t) {
  const Tensor input(s[0]), weight(s[1]), bias(take_optional(s[2], 0));
  const torch::String policy(s[3]);
  s[0] = 0;
}

void scaled_mm_kernel(StackValue* s, std::uint64_t, std::uint64_t) {
  s[0] = scaled_mm({"a", s[0]}, {"b", s[1]}, {"scale_a", s[2]}, {"scale_b", s[3]},
                   optional_operand("bias", s[4]), s[6], Target::made(s[5]))
             .release();
}

void scaled_mm_out_kernel(StackValue* s, std::uint64_t, std::uint64_t) {
  scaled_mm({"a", s[0]}, {"b", s[1]}, {"scale_a", s[2]}, {"scale_b", s[3]},
            optional_operand("bias", s[4]), s[5], Target::given(s[6]));
}

void grouped_mm_kernel(StackValue* s, std::uint64_t, std::uint64_t) {
  s[0] = grouped_mm({"a", s[0]}, {"b", s[1]}, optional_operand("offs", s[2]),
                    optional_operand("bias", s[3]), nullptr, nullptr, TUNEDGEMM_NUMERICS_DEFAULT,
                    Target::made(s[4]))
             .release();
}

void scaled_grouped_mm_kernel(StackValue* s, std::uint64_t, std::uint64_t) {
  Operand scale_a("scale_a", s[2]), scale_b("scale_b", s[3]);
  s[0] = grouped_mm({"a", s[0]}, {"b", s[1]}, optional_operand("offs", s[4]),
                    optional_operand("bias", s[5]), &scale_a, &scale_b,
                    (s[7] & 1) != 0 ? TUNEDGEMM_NUMERICS_DEFAULT : TUNEDGEMM_NUMERICS_PROMOTED,
                    Target::made(s[6]))
             .release();
}

struct Operator {
  std::string name;
  torch::Kernel* kernel;
  std::string arguments;  ///< and results
};

// Adds an operator, and its overload no_grad: the same kernel, for which Python registers no
// gradient, because that costs each call a detour through Python.
void add(std::vector<Operator>& operators, const std::string& name, torch::Kernel* kernel,
         const std::string& arguments) {
  operators.push_back({name, kernel, arguments + " -> Tensor"});
  operators.push_back({name + ".no_grad", kernel, arguments + " -> Tensor"});
}

constexpr const char* kLayer =
    "(Tensor input, Tensor weight, Tensor? bias=None, str policy=\"fail\") -> Tensor";

// The layers of a patched model call it first. It gives the product without a gradient, or None
// where the layer is PyTorch's; `nothing_kernel` is registered where tensors or modes of PyTorch
// must see its own operators.
Operator if_served_operator() {
  return {"tuned_linear.if_served", if_served_kernel, std::string(kLayer) + "?"};
}

// The dispatch keys whose tensors and modes are PyTorch's. "Python" has subclasses, fake tensors
// and modes, and Python registers it. Autograd, whose derivatives the layer adds, is none of them.
constexpr const char* kKeysOfPyTorch[] = {"CompositeImplicitAutograd",
                                          "FuncTorchDynamicLayerFrontMode",
                                          "PreDispatch",
                                          "Tracer",
                                          "AutocastCPU",
                                          "AutocastCUDA",
                                          "Conjugate",
                                          "Negative",
                                          "ZeroTensor",
                                          "Functionalize"};

std::vector<Operator> all_operators() {
  const std::string dtype = "ScalarType? out_dtype=None)", out = "Tensor(a!) out) -> ()";
  const std::string matrices = "(Tensor a, Tensor b, *, ";
  const std::string sum =
      "(Tensor input, Tensor a, Tensor b, *, float beta=1, float alpha=1, str "
      "activation=\"none\", ";
  const std::string layer =
      "(Tensor input, Tensor weight, Tensor? bias=None, str activation=\"none\", *, ";
  const std::string scaled =
      "(Tensor a, Tensor b, Tensor scale_a, Tensor scale_b, Tensor? bias=None, ";
  std::vector<Operator> operators;
  add(operators, "mm", mm_kernel, matrices + dtype);
  add(operators, "bmm", bmm_kernel, matrices + dtype);
  add(operators, "addmm", addmm_kernel, sum + dtype);
  add(operators, "linear", linear_kernel, layer + dtype);
  operators.push_back({"tuned_linear", tuned_linear_kernel, kLayer});
  operators.push_back({"tuned_linear.no_grad", tuned_linear_kernel, kLayer});
  operators.push_back(if_served_operator());
  const std::string groups = "Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None";
  add(operators, "grouped_mm", grouped_mm_kernel, "(Tensor a, Tensor b, " + groups + ")");
  operators.push_back({"scaled_grouped_mm", scaled_grouped_mm_kernel,
                       "(Tensor a, Tensor b, Tensor scale_a, Tensor scale_b, " + groups +
                           ", bool use_fast_accum=False) -> Tensor"});
  // A call that names no overload tries them in this order, and each miss takes microseconds.
  operators.insert(
      operators.end(),
      {{"scaled_mm", scaled_mm_kernel,
        scaled + "ScalarType? out_dtype=None, bool use_fast_accum=True) -> Tensor"},
       {"mm.out", mm_out_kernel, matrices + out},
       {"bmm.out", bmm_out_kernel, matrices + out},
       {"addmm.out", addmm_out_kernel, sum + out},
       {"linear.out", linear_out_kernel, layer + out},
       {"scaled_mm.out", scaled_mm_out_kernel, scaled + "bool use_fast_accum=True, *, " + out}});
  return operators;
}

void check_registered(torch::Status status, const std::string& name) {
  if (status != 0) {
    fail("PyTorch refused the operator tunedgemm::" + name);
  }
}

void define(const std::vector<Operator>& operators) {
  torch::LibraryObject* library = nullptr;  // ends with the process
  check_registered(the_torch.aoti_torch_library_init_def("tunedgemm", kFile, 0, &library), "*");
  for (const Operator& one : operators) {
    const std::string schema = one.name + one.arguments;
    check_registered(the_torch.aoti_torch_library_def(library, schema.c_str()), one.name);
  }
}

void implement(const std::vector<Operator>& operators, const char* dispatch_key) {
  torch::LibraryObject* library = nullptr;
  check_registered(
      the_torch.aoti_torch_library_init_impl("tunedgemm", dispatch_key, kFile, 0, &library),
      dispatch_key);
  for (const Operator& one : operators) {
    check_registered(
        the_torch.torch_library_impl(library, one.name.c_str(), one.kernel, torch::kVersion),
        one.name);
  }
}

}  // namespace

void set_torch_fields(TorchFields fields) {
  torch_fields = fields;
}

void register_torch_operators(const std::string& folder) {
  static bool is_registered = false;
  if (is_registered) {
    return;
  }
  torch::find_torch(folder);
  const std::vector<Operator> operators = all_operators();
  define(operators);
  implement(operators, "CPU");
  implement(operators, "CUDA");
  Operator nothing = if_served_operator();
  nothing.kernel = nothing_kernel;
  for (const char* key : kKeysOfPyTorch) {
    implement({nothing}, key);
  }
  is_registered = true;
}

}  // namespace tunedgemm::python
