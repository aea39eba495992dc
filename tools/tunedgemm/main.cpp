// tunedgemm: inspects a cache and this machine, and measures kernels. One file per verb, see
// verbs.h.

#include "tools/tunedgemm/verbs.h"

using namespace tunedgemm::internal;

namespace {

struct Verb {
  void (*add)(CLI::App& app, ExitStatus& status);
  std::string_view example;
};
// In the order of the help text.
constexpr Verb kVerbs[] = {
    {add_best, "best --types bf16 --sort -time --limit 10"},
    {add_explain, "explain 4096x4096x4096 nt --types bf16"},
    {add_trials, "trials 512 512 512 --sort time"},
    {add_missing, "missing --sort -calls"},
    {add_show, "show trials m=512 status=rejected"},
    {add_report, "report -o report.html --list llama-3-8b"},
    {add_top, "top /tmp/calls"},
    {add_bench, "bench --list tools/shapes/layers.csv --rounds 5"},
    {add_sweep, "sweep 1024 1024 1024 --family blocked --top 10"},
    {add_ladder, "ladder 512 512 512 --device host"},
    {add_order, "order 4096 4096 4096 --types f16 --config \"block_m=128 block_n=256 block_k=64\""},
    {add_record, "record -- python3 serve.py"},
    {add_run, "run -- python3 serve.py"},
    {add_doctor, "doctor"},
    {add_diff, "diff before.db after.db"},
    {add_export, "export model.db --list llama-3-8b"},
    {add_merge, "merge results/"},
    {add_forget, "forget 512 512 512 --types f16"},
    {add_gc, "gc --dry-run"},
    {add_verify, "verify model.db"},
};

}  // namespace

// Throws only if the options are declared wrongly.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  CLI::App app("Inspects and measures the kernels that libtunedgemm has tuned.", "tunedgemm");
  app.footer(
      "Exit status: 0 success; 1 nothing was found, doctor found an obstacle to tuning, a "
      "winner does not hold, or diff found differences; 2 the command line is wrong; 3 no such "
      "device; 4 the standard output or the cache could not be written; 130 interrupted.");
  app.require_subcommand(1);
  ExitStatus status = ExitStatus::kGood;
  for (const auto& [add_verb, example] : kVerbs) {
    add_verb(app, status);
    CLI::App& verb = *app.get_subcommands({}).back();
    const std::string footer = verb.get_footer();
    verb.footer(footer + (footer.empty() ? "" : "\n") + "Example: tunedgemm " +
                std::string(example) +
                (footer.find("xit status") == footer.npos
                     ? "\nExit status: 0, or as tunedgemm --help explains."
                     : ""));
  }
  return run_program(app, argc, argv, [&] { return status; });
}
