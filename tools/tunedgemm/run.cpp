// tunedgemm record, tunedgemm run: start a program with the libraries preloaded that record or
// answer its products.

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cache/store.h"
#include "kernel_templates/base/environment.h"
#include "runtime/process/child_process.h"
#include "tools/shared/options.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

struct RunChoice {
  std::string cache;
  std::vector<std::string> command;
  bool measures_times = false;
};

// The libraries that are installed with this program, joined by colons.
std::string front_libraries() {
  const std::filesystem::path bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::string searched;
  for (const std::filesystem::path& folder :
       {bin / ".." / TUNEDGEMM_LIBRARY_FOLDER, bin, bin / "../runtime"}) {
    if (std::filesystem::exists(folder / "libtunedgemm_cublas.so")) {
      const std::filesystem::path found = std::filesystem::canonical(folder);
      return (found / "libtunedgemm_cublas.so")
          .string()
          .append(":")
          .append(found / "libtunedgemm_blas.so");
    }
    searched.append(searched.empty() ? "" : ", ").append(folder.lexically_normal());
  }
  throw std::runtime_error("libtunedgemm_cublas.so is in none of these folders: " + searched);
}

// "60 winners, of which 34 are faster than cuBLASLt 13.1.0"
std::string winners_text(const Store& store) {
  std::size_t winners = 0;
  std::map<std::string, std::size_t> faster;
  for (const Record& record : store.winners()) {
    ++winners;
    if (record.vendor_us > 0) {
      faster[record.vendor] += record.vendor_us > record.measurement.median_us ? 1 : 0;
    }
  }
  std::string text = counted(winners, "winner");
  for (const auto& [vendor, number] : faster) {
    text += (&number == &faster.begin()->second ? ", of which " : " and ") +
            std::to_string(number) + " are faster than " + vendor;
  }
  return text + (faster.empty() ? ", none of them compared (tune-all --against)" : "");
}

// Replaces this program by the choice's. Returns only on failure.
ExitStatus become(const RunChoice& choice, const std::string& mode) {
  const std::string program = find_program(choice.command.front());
  if (program.empty()) {
    std::cerr << "tunedgemm: there is no program \"" << choice.command.front() << "\"\n";
    return ExitStatus::kWrongUse;
  }
  const std::string libraries = front_libraries();
  const auto store = open_store_for_reading(choice.cache);
  std::cerr << "tunedgemm: " << program << " with " << libraries << "; "
            << (mode == "serve" ? winners_text(*store) : "products are recorded") << " in "
            << store->path().string() << std::endl;
  const std::string others = environment("LD_PRELOAD");
  std::vector<std::string> variables{
      "LD_PRELOAD=" + libraries + (others.empty() ? "" : ":" + others),
      "TUNEDGEMM_FRONT=" + mode + (choice.measures_times ? ",time" : "")};
  if (!choice.cache.empty()) {
    variables.push_back("TUNEDGEMM_CACHE=" + std::filesystem::absolute(choice.cache).string());
  }
  replace_process(program, choice.command, variables);
  std::cerr << "tunedgemm: " << program << " cannot be started: " << std::strerror(errno) << '\n';
  return ExitStatus::kWrongUse;
}

CLI::App* add_run_verb(CLI::App& app, ExitStatus& status, const std::string& name,
                       const std::string& mode, const std::string& what) {
  auto* verb = app.add_subcommand(name, what);
  const auto choice = std::make_shared<RunChoice>();
  add_cache_option(*verb, choice->cache);
  verb->add_flag("--time", choice->measures_times,
                 "also measure the products' time on the GPU, with CUDA's events");
  verb->add_option("command", choice->command, "the program and its arguments, after --")
      ->required()
      ->type_name("-- PROGRAM ...");
  verb->callback([choice, mode, &status] { status = become(*choice, mode); });
  return verb;
}

}  // namespace

void add_record(CLI::App& app, ExitStatus& status) {
  add_run_verb(app, status, "record", "record",
               "start a program and record the products that it asks cuBLAS for")
      ->footer(
          "The program runs as without this command. Then tune-all --from-requests --against "
          "cublas tunes what was recorded, and tunedgemm run starts the program with the winners.");
}

void add_run(CLI::App& app, ExitStatus& status) {
  add_run_verb(app, status, "run", "serve",
               "start a program whose products are answered by the winners that are faster")
      ->footer(
          "A product is answered only by a winner that tune-all --against measured to be faster "
          "than the same version of the other library; all else is passed on to it. Nothing is "
          "tuned or compiled in the program. TUNEDGEMM_FRONT=off passes everything on.");
}

}  // namespace tunedgemm::internal
