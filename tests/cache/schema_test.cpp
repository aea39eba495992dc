#include "cache/sqlite/schema.h"

#include "cache/tables/rows.h"
#include "kernel_templates/problem/problem_fields.h"
#include "tests/cache/support/sample.h"
#include "tests/support/catch.h"

using namespace tunedgemm::internal;

TEST_CASE("A new database has this library's id and version, and strict tables") {
  auto connection = sqlite::Connection::in_memory();
  create_schema(connection);
  CHECK(connection.integer("PRAGMA application_id") == kApplicationId);
  CHECK(connection.integer("PRAGMA user_version") == kSchemaVersion);
  CHECK(connection.integer("SELECT count(*) FROM pragma_table_list "
                           "WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND strict") == 10);
  CHECK(connection.integer("SELECT count(*) FROM pragma_table_list "
                           "WHERE type = 'table' AND name NOT LIKE 'sqlite_%'") == 10);
  CHECK(connection.integer("SELECT count(*) FROM pragma_table_list WHERE type = 'view'") == 9);
}

TEST_CASE("Every field of a problem has columns with its values") {
  auto connection = sqlite::Connection::in_memory();
  create_schema(connection);
  Problem problem = sample::problem(64);
  problem.activation = Activation::kSilu;
  problem_row(connection, canonical(problem));
  int columns = 0;
  for (const ProblemField& field : problem_fields()) {
    const auto values = field.values(problem);
    for (std::size_t index = 0; index < values.size(); ++index) {
      if (!field.columns[index].empty()) {
        const std::string column(field.columns[index]);
        INFO(column);
        const auto* word = std::get_if<std::string>(&values[index]);
        CHECK(connection.text("SELECT " + column + " FROM problem") ==
              (word != nullptr ? *word : std::to_string(std::get<std::int64_t>(values[index]))));
        CHECK(connection.text("SELECT typeof(" + column + ") FROM problem") ==
              (word != nullptr ? "text" : "integer"));
        ++columns;
      }
    }
  }
  CHECK(columns >= 29);
}

TEST_CASE("The details of a problem are its unusual properties") {
  Problem problem = sample::problem(64);
  CHECK(details_text(problem).empty());
  problem.a.leading_dimension = 1025;
  problem.a.alignment_bytes = 2;
  problem.b.alignment_bytes = 4;
  CHECK(details_text(problem) == "lda=1025 align_b=4");
  problem.launch_regime = LaunchRegime::kBackToBack;
  CHECK(details_text(problem) == "lda=1025 align_b=4 launches=back_to_back");
  problem.launch_regime = LaunchRegime::kIsolated;
  problem = sample::problem(64);
  problem.batch = 3;
  problem.a.batch_stride = 64 * 1024;
  problem.b.batch_stride = 0;
  problem.d.batch_stride = 64 * 4096;
  CHECK(details_text(problem) == "stride_b=0");
  problem.beta = ScalarClass::kOther;
  problem.c.leading_dimension = 5000;
  CHECK(details_text(problem) == "stride_b=0 ldc=5000 stride_c=0");
}
