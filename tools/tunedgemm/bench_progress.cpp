#include "tools/tunedgemm/bench_progress.h"

#include <ostream>

#include "tools/shared/text.h"
#include "tools/tunedgemm/bench_table.h"

namespace tunedgemm::internal {

void BenchProgress::shape_begins(const Shape& shape) {
  out_ << ended_ + 1 << '/' << shapes_ << "  " << shape_text(shape) << ' '
       << types_text(shape.problem) << ' ' << layout_text(shape.problem) << ": " << std::flush;
}

void BenchProgress::shape_ends(const BenchRow& row) {
  ++ended_;
  out_ << result_text(row);
  if (ended_ < shapes_) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    const double seconds_a_shape = spent.count() / static_cast<double>(ended_);
    out_ << "  (" << duration_text(seconds_a_shape * static_cast<double>(shapes_ - ended_))
         << " left)";
  }
  out_ << '\n';
  for (const std::string& remark : row.remarks) {
    out_ << "    " << remark << '\n';
  }
  out_ << std::flush;
}

}  // namespace tunedgemm::internal
