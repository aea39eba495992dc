#include "tools/tune_all/command_line.h"

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "tools/shared/number_list.h"
#include "tools/shared/shape_options.h"

namespace tunedgemm::internal {

void add_options(CLI::App& app, CommandLine& line) {
  app.description(
      "Tunes a list of shapes, so that programs find the winners in the cache.\n"
      "Shapes that the cache answers already are skipped: the same command goes on where an\n"
      "earlier run ended.");
  app.footer(
      "A list is CSV (types,layout,m,n,k[,batch], or with a header that names the fields) or an\n"
      "array of objects in a .json file. Number lists are 512 or 512,1024 or 128:4096:128.\n"
      "Exit status: 0 every shape has a winner; 1 some have none; 2 the command line or a list is\n"
      "wrong; 3 no device, or no cache that can be written; 4 winners or the table could not be\n"
      "written; 130 interrupted.");
  app.add_option("lists", line.work.lists, "files with shapes")->type_name("LIST");
  app.add_option("--m", line.work.m, "numbers for M: every combination of m, n and k is a shape");
  app.add_option("--n", line.work.n, "numbers for N");
  app.add_option("--k", line.work.k, "numbers for K");
  line.work.types = {"f32"};
  app.add_option("--types", line.work.types, "element types for --m --n --k, joined by commas")
      ->delimiter(',')
      ->capture_default_str();
  line.work.layouts = {"nn"};
  app.add_option("--layouts", line.work.layouts, "layouts for --m --n --k, joined by commas")
      ->delimiter(',')
      ->capture_default_str();
  app.add_flag(
      "--from-requests", line.work.from_requests,
      "the shapes that programs asked for on this device and the cache did not know: policies "
      "background, stored and never note them (never may compile a kernel, but never tunes)");

  add_context_options(app, line.context);
  const std::map<std::string, Rigor> rigors{
      {"quick", Rigor::kQuick}, {"normal", Rigor::kNormal}, {"exhaustive", Rigor::kExhaustive}};
  app.add_option("--rigor", line.session.shape.rigor, "quick, normal or exhaustive; default normal")
      ->transform(CLI::CheckedTransformer(rigors))
      ->type_name("RIGOR");
  app.add_option("--budget-seconds", line.session.shape.budget.seconds, "for each shape")
      ->check(why_not_finite)
      ->check(CLI::PositiveNumber);
  app.add_option("--candidates", line.session.shape.budget.candidates,
                 "tried at most for each shape")
      ->check(CLI::PositiveNumber);
  app.add_option("--total-seconds", line.session.total_seconds, "for all shapes together")
      ->check(why_not_finite)
      ->check(CLI::PositiveNumber);
  app.add_option("--candidate-seconds", line.session.shape.candidate_seconds,
                 "after which a candidate has hung and its process is ended, beside what it is "
                 "expected to take; default 30")
      ->check(why_not_finite)
      ->check(CLI::PositiveNumber);
  app.add_flag("--in-process", line.in_process,
               "run candidates in this process, for debuggers and profilers: one that crashes or "
               "hangs takes the run with it");
  app.add_flag("--dry-run", line.dry_run,
               "only say what would be tuned and how long it would take");
  app.add_flag("--json", line.json, "print the outcomes as JSON instead of a table");

  using namespace std::string_view_literals;
  constexpr std::array kElsewhere{"m"sv, "n"sv, "k"sv, "types"sv, "layout"sv, "name"sv};
  auto* fields = app.add_option_group("Fields of the shapes of --m --n --k");
  add_shape_options(*fields, kElsewhere, line.work.further_fields);
}

}  // namespace tunedgemm::internal
