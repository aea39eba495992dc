#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/evaluation/verifier.h"
#include "runtime/start_thread.h"

namespace tunedgemm::internal {
namespace {

using Range = std::function<void(std::int64_t begin, std::int64_t end)>;

// Splits [0, count) among at most `threads` threads. If there are several, each gets at least
// `least` indices. The calling thread also does the work of threads that cannot be started.
// Rethrows an exception of the work.
void in_parallel(int threads, std::int64_t count, std::int64_t least, const Range& work) {
  const std::int64_t parts =
      std::clamp<std::int64_t>(count / std::max<std::int64_t>(least, 1), 1, threads);
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(parts));
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(parts));
  const auto run = [&](std::size_t part, std::int64_t begin, std::int64_t end) {
    try {
      work(begin, end);
    } catch (...) {
      thrown[part] = std::current_exception();
    }
  };
  std::int64_t begin = 0;
  for (std::int64_t part = 1; part < parts; ++part) {
    const std::int64_t end = count * part / parts;
    auto started =
        start_thread([&run, part, begin, end] { run(static_cast<std::size_t>(part), begin, end); });
    if (!started) {
      break;
    }
    others.push_back(std::move(*started));
    begin = end;
  }
  run(0, begin, count);
  for (std::thread& thread : others) {
    thread.join();
  }
  for (const std::exception_ptr& exception : thrown) {
    if (exception) {
      std::rethrow_exception(exception);
    }
  }
}

constexpr std::int64_t kLeastElements = 1 << 14;

class HostVerifier final : public Verifier {
 public:
  explicit HostVerifier(int threads) : threads_(threads) {}

  void fill(const reference::FillTask& task) override {
    const bool along_rows = task.strides.column <= task.strides.row;
    const std::int64_t length = along_rows ? task.columns : task.rows;
    const std::int64_t lines = along_rows ? task.rows : task.columns;
    if (length == 0 || lines == 0) {
      return;
    }
    in_parallel(threads_, lines * task.batch, kLeastElements / length,
                [&](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t line = begin; line < end; ++line) {
                    fill_line(task, along_rows, line / lines, line % lines, length);
                  }
                });
    copy_matrix(task);
  }

  void compute(const reference::GemmTask& task) override {
    // Each thread takes some columns. It computes each value of B once for a panel of up to
    // kMostRows rows with the same batch index.
    in_parallel(threads_, task.sampling.columns, 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = 0; row < task.sampling.rows;) {
        const std::int64_t batch = reference::sampled_element(task, row, 0).batch;
        std::int64_t last = row + 1;
        while (last < task.sampling.rows && last - row < kMostRows &&
               reference::sampled_element(task, last, 0).batch == batch) {
          ++last;
        }
        compute_panel(task, row, last, begin, end);
        row = last;
      }
    });
  }

  reference::ComparisonResult compare(reference::CompareTask task) override {
    reference::ComparisonResult result{0, 0, ~reference::u64{0}};
    double worst = 0;
    std::mutex mutex;
    const std::int64_t rows = task.rows;
    in_parallel(threads_, rows, kLeastElements / std::max<std::int64_t>(task.n, 1),
                [&](std::int64_t begin, std::int64_t end) {
                  const ComparedRows compared = compare_rows(task, begin, end);
                  const std::lock_guard<std::mutex> lock(mutex);
                  result.wrong += compared.wrong;
                  result.first_wrong = std::min(result.first_wrong, compared.first_wrong);
                  worst = std::max(worst, compared.worst);
                });
    result.worst = __builtin_bit_cast(reference::u64, worst);
    return result;
  }

  void erase(const reference::EraseTask& task) override {
    auto* d = static_cast<std::byte*>(task.d);
    for (std::int64_t row = 0; row < task.rows; ++row) {
      const std::int64_t start =
          reference::offset_of(task.strides, row / task.m, row % task.m, 0) * task.element_bytes;
      std::fill_n(d + start, task.n * task.element_bytes, std::byte{0xff});
    }
  }

  OutOfBoundsWrites find_out_of_bounds_writes(reference::OutOfBoundsTask task) override {
    OutOfBoundsWrites found;
    for (std::int64_t index = 0; index < task.count; ++index) {
      if (task.begin[index] != ~reference::u64{0}) {
        if (found.count++ == 0) {
          found.first_byte = index * static_cast<std::int64_t>(sizeof(reference::u64));
        }
      }
    }
    return found;
  }

  double mhz_since_last_call() override { return 0; }

  double reference_multiply_adds() const override { return 2e7 * threads_; }

 private:
  static constexpr std::int64_t kMostRows = 64;

  struct ComparedRows {
    reference::u64 wrong = 0;
    reference::u64 first_wrong = ~reference::u64{0};
    double worst = 0;
  };

  static void fill_line(const reference::FillTask& task, bool along_rows, std::int64_t batch,
                        std::int64_t line, std::int64_t length) {
    for (std::int64_t at = 0; at < length; ++at) {
      const long long offset =
          reference::offset_of(task.strides, batch, along_rows ? line : at, along_rows ? at : line);
      reference::store(task.format, task.matrix, offset,
                       reference::random_value(task.format, task.distribution, task.seed, offset));
    }
  }

  // Copies the whole range of the matrix, with the poison between its rows.
  void copy_matrix(const reference::FillTask& task) const {
    const long long last =
        reference::offset_of(task.strides, task.batch - 1, task.rows - 1, task.columns - 1);
    const auto bytes = static_cast<std::size_t>((last + 1) * (task.format.bits / 8));
    in_parallel(threads_, task.copies - 1, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t copy = begin + 1; copy < end + 1; ++copy) {
        std::memcpy(static_cast<std::byte*>(task.matrix) + copy * task.copy_bytes, task.matrix,
                    bytes);
      }
    });
  }

  // Precondition: all rows have the same batch index.
  static void compute_panel(const reference::GemmTask& task, std::int64_t first_row,
                            std::int64_t last_row, std::int64_t first_column,
                            std::int64_t last_column) {
    const std::size_t columns = static_cast<std::size_t>(last_column - first_column);
    const std::size_t rows = static_cast<std::size_t>(last_row - first_row);
    std::vector<double> b(columns);
    std::vector<double> accumulators(rows * columns, 0.0);
    const auto position = [&](std::size_t row, std::size_t column) {
      return reference::sampled_element(task, first_row + static_cast<std::int64_t>(row),
                                        first_column + static_cast<std::int64_t>(column));
    };
    const long long batch = position(0, 0).batch;
    const GroupRange depth = reference::depth_of(task, batch);
    for (long long k = depth.begin; k < depth.end; ++k) {
      for (std::size_t column = 0; column < columns; ++column) {
        b[column] = reference::value_of_b(task, batch, k, position(0, column).n);
      }
      for (std::size_t row = 0; row < rows; ++row) {
        const double a = reference::value_of_a(task, batch, position(row, 0).m, k);
        double* accumulator = &accumulators[row * columns];
        for (std::size_t column = 0; column < columns; ++column) {
          accumulator[column] += a * b[column];
        }
      }
    }
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        const reference::Element at = position(row, column);
        task.expected[(first_row + static_cast<std::int64_t>(row)) * task.sampling.columns +
                      first_column + static_cast<std::int64_t>(column)] =
            reference::expected_value(task, accumulators[row * columns + column], at);
      }
    }
  }

  static ComparedRows compare_rows(const reference::CompareTask& task, std::int64_t begin,
                                   std::int64_t end) {
    ComparedRows compared;
    for (std::int64_t row = begin; row < end; ++row) {
      const reference::ComparedRow of_row = reference::compared_row(task, row);
      for (std::int64_t column = 0; column < task.n; ++column) {
        const double error = reference::relative_error(task, of_row, column);
        compared.worst = std::max(compared.worst, error);
        if (!(error <= 1)) {
          const auto index = static_cast<reference::u64>(row * task.n + column);
          compared.first_wrong = std::min(compared.first_wrong, index);
          ++compared.wrong;
        }
      }
    }
    return compared;
  }

  int threads_;
};

}  // namespace

std::unique_ptr<Verifier> make_host_verifier(int threads) {
  return std::make_unique<HostVerifier>(threads);
}

}  // namespace tunedgemm::internal
