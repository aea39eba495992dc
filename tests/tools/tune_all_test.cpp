// tune-all: arguments in, text and exit status out.

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/context/context.h"
#include "tests/support/catch.h"
#include "tests/support/skip.h"
#include "tests/tools/support/shell.h"
#include "tools/baselines/baseline.h"

namespace tunedgemm::internal {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kTuneAll = TUNE_ALL " --device host ";
const std::string kQuick = kTuneAll + "--rigor quick --candidates 3 --budget-seconds 100 ";

TEST_CASE("tune-all reports a wrong command line and exits with 2") {
  const Shell shell;
  const auto fails_with = [&](const std::string& arguments, const std::string& sentence) {
    require_wrong_use(shell, kTuneAll + arguments, sentence);
  };
  fails_with("", "nothing to tune");
  fails_with("--m 5", "--m, --n and --k must be given together");
  fails_with("--m 5 --n 5:x:1 --k 5", "\"x\" in \"5:x:1\"");
  fails_with("--m 5 --n 5 --k 5 --types f17", "types is \"f17\"");
  fails_with("--m 5 --n 5 --k 5 --rigor lazy",
             "--rigor: \"lazy\" is not a rigor; expected quick, normal or exhaustive");
  fails_with("--m 5 --n 5 --k 5 --rigor model", "\"model\" is not a rigor");
  fails_with("--colour", "tune-all: --colour is not an option\nSee tune-all --help.");
  fails_with("--buget-seconds=3",
             "--buget-seconds is not an option; did you mean --budget-seconds?");
  fails_with("64 64 64",
             "the shape list 64 cannot be read: No such file or directory; for one shape use --m, "
             "--n and --k");
  fails_with("--ativation relu", "did you mean --activation?");
  fails_with("--m 1:2000:1 --n 1:2000:1 --k 1:2000:1", "make 8000000000 shapes");
  for (const std::string seconds : {"nan", "-nan", "inf", "1e400", "x", "10s", "0", "-1"}) {
    for (const char* option : {"budget", "total", "candidate"}) {
      std::string arguments = "--m 5 --n 5 --k 5 --";
      arguments.append(option).append("-seconds ").append(seconds);
      fails_with(arguments, "is not a positive number");
    }
  }
  fails_with("--m 5 --n 5 --k 5 --types $(printf '\\033[31m\\377')", "\"\\u001b[31m\\xff\"");
  fails_with("absent.csv", "absent.csv cannot be read");
  fails_with("--types f32,f64 absent.csv", "absent.csv cannot be read");
  std::ofstream(shell.folder() / "list.csv") << "f16,nn,1,2,3\nf16,nx,1,2,3\n";
  fails_with("list.csv", "list.csv: line 2: layout is \"nx\"; expected nn, nt, tn or tt");
  std::ofstream(shell.folder() / "layers.csv") << "types,layout,n,k\nf32,nt,24,16\n";
  fails_with("layers.csv", "layers.csv: line 2: the shape has no m");
  fails_with("layers.csv --m-ladder automatic", "\"automatic\" is not a whole number");
  fails_with("layers.csv --m-ladder auto:", "is not a whole number");
  fails_with("layers.csv --m-ladder auto:1,2", "give one number after auto:");
  fails_with("layers.csv --m-ladder auto --ladder-loss 0", "--ladder-loss");
  fails_with("layers.csv --m-ladder 1 --tensor-parallel 2", "needs a column parallel");
  fails_with("layers.csv --m-ladder 1 --tensor-parallel 0",
             "--tensor-parallel: \"0\" is not a positive number");
  fails_with("--m 5 --n 5 --k 5 --m-ladder 1", "apply to the layers of a list");
  fails_with("--m 5 --n 5 --k 5 --tensor-parallel 2", "apply to the layers of a list");
  fails_with("--m 5 --n 5 --k 5 --against mkl", "--against: mkl not in {cublas,openblas}");
  REQUIRE_FALSE(std::filesystem::exists(shell.cache()));
}

TEST_CASE("tune-all refuses a list of devices that are no GPUs, or the same one twice") {
  const Shell shell;
  const auto fails_with = [&](const std::string& arguments, const std::string& sentence) {
    require_wrong_use(shell, std::string(TUNE_ALL " --m 5 --n 5 --k 5 ") + arguments, sentence);
  };
  fails_with("--devices host", "\"host\" is not a GPU; expected all, or a list such as");
  fails_with("--devices cuda:0,cuda", "\"cuda\" is not a GPU");
  fails_with("--devices all,cuda:0", "\"all\" is not a GPU");
  fails_with("--devices cuda:-1", "\"cuda:-1\" is not a GPU");
  fails_with("--devices cuda:0,cuda:1,cuda:0", "cuda:0 stands twice in the list");
  fails_with("--devices cuda:0,cuda:00", "cuda:0 stands twice in the list");
  fails_with("--devices all --device cuda:0", "--device excludes --devices");
  const ProgramResult piped =
      shell.run("echo half,nn,1,2,3 | " TUNE_ALL " - --dry-run --device host");
  CAPTURE(piped.errors);
  CHECK_THAT(piped.output, ContainsSubstring("f16"));
  fails_with("--devices host list.csv", "list.csv cannot be read");  // which is no device
  REQUIRE_FALSE(std::filesystem::exists(shell.cache()));
}

TEST_CASE("tune-all prints its help") {
  const Shell shell;
  const ProgramResult result = shell.run(kTuneAll + "--help");
  REQUIRE(result.status == 0);
  REQUIRE_THAT(result.output, ContainsSubstring("Exit status: 0"));
}

TEST_CASE("tune-all exits with 3 without the device or a writable cache") {
  const Shell shell;
  const std::string shape = " --m 8 --n 8 --k 8 ";
  const ProgramResult device = shell.run(TUNE_ALL " --device cuda:99" + shape);
  CAPTURE(device.errors);
  REQUIRE(device.status == 3);
  REQUIRE_FALSE(device.errors.empty());
  const ProgramResult cache = shell.run(kTuneAll + shape + "--cache /proc/nowhere/cache.db");
  CAPTURE(cache.errors);
  REQUIRE(cache.status == 3);
  REQUIRE_THAT(cache.errors, ContainsSubstring("/proc/nowhere/cache.db cannot be written"));
}

TEST_CASE("A run whose winners cannot be stored ends soon") {
  const TunedShell shell;
  // As on a disk with space for a few more winners at most.
  const auto bytes = std::filesystem::file_size(shell.cache()) + 5000;
  const ProgramResult result = shell.run("prlimit --fsize=" + std::to_string(bytes) + " " + kQuick +
                                         "--m 1:10:1 --n 24 --k 16 --cache full.db");
  CAPTURE(result.output, result.errors);
  CHECK(result.status == 4);
  CHECK_THAT(result.output, ContainsSubstring("not tried: winners could not be stored."));
  CHECK_THAT(result.errors, ContainsSubstring("3 winners could not be stored in "));
}

TEST_CASE("The requests of a cache are a list for tune-all, after a query with sqlite3") {
  const Shell shell;
  {
    ContextOptions options;
    options.backend = &host_backend();
    options.store.path = shell.cache();
    const auto context = Context::create(options);
    Problem problem = make_problem(24, 40, 17, DataType::kF32, DataType::kF32, DataType::kF32);
    problem.a.leading_dimension = 19;
    problem.a.alignment_bytes = 4;
    problem.bias = Bias::kPerRow;
    context->store().note_request(canonical(problem), context->device().identity(), 3, "up");
  }
  const ProgramResult list = shell.run(
      "sqlite3 -readonly -csv -header cache.db 'SELECT problem_text AS problem, name FROM missing "
      "ORDER BY calls DESC' > requests.csv");
  CAPTURE(list.errors);
  REQUIRE(list.status == 0);
  const ProgramResult tuned = shell.run(kQuick + "requests.csv");
  CAPTURE(tuned.output, tuned.errors);
  REQUIRE(tuned.status == 0);
  REQUIRE_THAT(tuned.output, ContainsSubstring("up") && ContainsSubstring("1 tuned"));
  const ProgramResult left = shell.run("sqlite3 -readonly cache.db 'SELECT count(*) FROM missing'");
  REQUIRE(left.output == "0\n");
}

TEST_CASE("tune-all --watch tunes what is requested while it waits, until it is interrupted") {
  const Shell shell;
  const std::string watch = kQuick + "--from-requests --watch";
  REQUIRE(shell.run("(" + watch + " > out 2> err & echo $! > pid; wait $!; echo $? > status) &")
              .status == 0);
  for (const std::int64_t m : {24, 25}) {
    ContextOptions options;
    options.backend = &host_backend();
    options.store.path = shell.cache();
    const auto context = Context::create(options);
    const CanonicalProblem problem =
        canonical(make_problem(m, 40, 17, DataType::kF32, DataType::kF32, DataType::kF32));
    const DeviceIdentity& device = context->device().identity();
    context->store().note_request(problem, device, 3);
    context->store().flush();
    const ProgramResult tuned = shell.run(
        "for i in $(seq 600); do test \"$(sqlite3 -readonly cache.db 'SELECT count(*) FROM best "
        "WHERE "
        "m = " +
        std::to_string(m) + "')\" = 1 && exit; sleep 0.1; done; cat out err; exit 1");
    CAPTURE(m, tuned.output);
    REQUIRE(tuned.status == 0);
  }
  const ProgramResult ended = shell.run(
      "kill -TERM $(cat pid); for i in $(seq 300); do test -s status && break; sleep 0.1; done; "
      "cat status out");
  CAPTURE(ended.output, ended.errors);
  CHECK(ended.output.starts_with("130\n"));
  CHECK_THAT(ended.output, ContainsSubstring("24x40x17") && ContainsSubstring("25x40x17"));
  require_wrong_use(shell, kQuick + "--watch", "requires --from-requests");
}

TEST_CASE("tune-all --against another device's library fails before tuning") {
  const Shell shell;
  const ProgramResult result = shell.run(kQuick + "--m 8 --n 8 --k 8 --against cublas");
  CHECK(result.status == 2);
  CHECK_THAT(result.errors, ContainsSubstring("--against cublas: the library of the device ") &&
                                ContainsSubstring(" is openblas"));
  CHECK(shell.run("sqlite3 -readonly cache.db 'SELECT count(*) FROM winner'").output == "0\n");
}

TEST_CASE("tune-all --against stores the vendor's time with each winner, once") {
  std::string why_not;
  if (!open_openblas(1, &why_not)) {
    TUNEDGEMM_SKIP(why_not);
  }
  const Shell shell;
  const std::string command = kQuick + "--m 24 --n 16 --k 8 --types f32,f16 --against openblas";
  const auto in_best = [&](const std::string& columns) {
    return shell.run("sqlite3 -readonly cache.db 'SELECT " + columns + " FROM best'").output;
  };
  const ProgramResult first = shell.run(command);
  CAPTURE(first.output, first.errors);
  REQUIRE(first.status == 0);
  CHECK_THAT(first.output, ContainsSubstring("vs vendor"));
  CHECK_THAT(first.output, ContainsSubstring(" of 1 compared winners are faster than OpenBLAS "));
  CHECK_THAT(first.output, ContainsSubstring("; 1 not compared: OpenBLAS takes no part: "));
  CHECK_THAT(first.errors, ContainsSubstring("racing 2 winners against OpenBLAS "));
  CHECK(in_best("type_a, vs_vendor > 0.01, vs_vendor < 100, vendor LIKE \"OpenBLAS _%\"") ==
        "f16|||0\nf32|1|1|1\n");
  const std::string stored = in_best("vs_vendor");

  const ProgramResult second = shell.run(command + " --json");
  CHECK_THAT(second.errors, ContainsSubstring("racing 1 winner against "));  // f16 again
  CHECK(in_best("vs_vendor") == stored);
  const auto record = nlohmann::json::parse(second.output)[0]["record"];
  CHECK(record["vendor_us"].get<double>() > 0);
  CHECK_THAT(record["vendor"].get<std::string>(), ContainsSubstring("OpenBLAS "));

  for (const char* option : {"", " --force"}) {
    shell.run("sqlite3 cache.db \"UPDATE winner SET vendor_us = 1e9, vendor = 'OpenBLAS 0.0'\"");
    const ProgramResult again = shell.run(command + option);
    CAPTURE(option, again.output, again.errors);
    CHECK_THAT(again.errors, ContainsSubstring("racing 2 winners against "));
    CHECK_THAT(in_best("type_a, vs_vendor < 100"), ContainsSubstring("f32|1\n"));
  }
  CHECK_THAT(shell.run(TUNEDGEMM " explain 24 16 8 --types f32 --device host").output,
             ContainsSubstring("as OpenBLAS "));
  shell.run(command + " --results results");
  CHECK(shell.run("sqlite3 -readonly results/*.db 'SELECT count(*) FROM best WHERE vs_vendor > 0'")
            .output == "1\n");
}

TEST_CASE("A dry run estimates and stores no winners") {
  const Shell shell;
  const ProgramResult result =
      shell.run(kTuneAll + "--dry-run --types f32,f64 --m 64 --n 32,64 --k 8");
  CAPTURE(result.errors);
  REQUIRE(result.status == 0);
  REQUIRE_THAT(result.output, ContainsSubstring("4 shapes on "));
  REQUIRE_THAT(result.output, ContainsSubstring("0 in the cache, 4 to tune in about "));
  REQUIRE_THAT(result.output, ContainsSubstring("this was a dry run"));
}

TEST_CASE("A dry run of a long list ranks no candidates") {
  const Shell shell;
  // The limit is ten times the time needed. Ranking all candidates would take a minute.
  const ProgramResult result =
      shell.run("ulimit -t 10; " + kTuneAll + "--dry-run --m 1:40000:1 --n 64 --k 64");
  CAPTURE(result.errors);
  REQUIRE(result.status == 0);
  REQUIRE_THAT(result.output, ContainsSubstring("40000 shapes on "));
}

TEST_CASE("An interrupted dry run ends at once and prints the shapes that it has estimated") {
  const Shell shell;
  // With this rigor all legal candidates are counted, which takes much longer than 5 s.
  const ProgramResult result =
      shell.run("timeout --foreground --preserve-status --signal INT -k 3 5 " + kTuneAll +
                "--dry-run --rigor exhaustive --m 1:20000:1 --n 4096 --k 4096");
  CAPTURE(result.errors);
  REQUIRE(result.status == 130);
  REQUIRE_THAT(result.output, ContainsSubstring("1x4096x4096"));
  REQUIRE_THAT(result.output, ContainsSubstring("Interrupted: the estimate lacks the last "));
  REQUIRE_THAT(result.output, ContainsSubstring("this was a dry run"));
}

TEST_CASE("A dry run writes nothing and says that the cache does not exist") {
  const Shell shell;
  const ProgramResult result =
      shell.run(kTuneAll + "--dry-run --m 64 --n 64 --k 64 --cache typo/dir/x.db");
  CAPTURE(result.errors);
  REQUIRE(result.status == 0);
  REQUIRE_THAT(result.errors,
               Catch::Matches("tunedgemm: the cache /.*typo/dir/x.db does not exist yet\n"));
  REQUIRE_FALSE(std::filesystem::exists(shell.folder() / "typo"));
}

TEST_CASE("tune-all tunes each shape once and finds it in the cache afterwards") {
  const Shell shell;
  std::ofstream(shell.folder() / "list.csv") << "name,types,m,n,k\n"
                                             << "first,f32,40,24,16\n"
                                             << "again,f32,40,24,16\n";
  const ProgramResult first = shell.run(kQuick + "list.csv");
  CAPTURE(first.output, first.errors);
  REQUIRE(first.status == 0);
  REQUIRE_THAT(first.errors, ContainsSubstring("1 line skipped: the shape is already in the list"));
  REQUIRE_THAT(first.errors, ContainsSubstring("1/1  first, again f32→f32 ieee nn  tuned: "));
  REQUIRE_THAT(first.output, ContainsSubstring("1 shape on "));
  REQUIRE_THAT(first.output, ContainsSubstring("1 tuned in "));

  const ProgramResult second = shell.run(kQuick + "list.csv");
  REQUIRE(second.status == 0);
  REQUIRE_THAT(second.output, ContainsSubstring("0 tuned in 0 s, 1 already in the cache"));
  REQUIRE_THAT(second.output, ContainsSubstring("Nothing was tuned"));

  const ProgramResult json = shell.run(kQuick + "--json list.csv");
  const auto outcomes = nlohmann::json::parse(json.output);
  REQUIRE(outcomes.size() == 1);
  REQUIRE(outcomes[0]["outcome"] == "cached");
  REQUIRE(outcomes[0]["record"]["m"] == 40);
  REQUIRE(outcomes[0]["record"]["median_us"] > 0);
}

TEST_CASE("tune-all keeps the names of a list with the winners, tuned now or earlier") {
  const TunedShell shell;
  REQUIRE_THAT(shell.run(TUNEDGEMM " best").output, !ContainsSubstring("name"));
  std::ofstream(shell.folder() / "list.csv") << "name,types,m,n,k\n"
                                             << "encoder.up,f32,40,24,16\n"
                                             << "encoder.down,f32,48,24,16\n";
  REQUIRE(shell.run(kQuick + "list.csv").status == 0);
  const auto names_in = [&](const std::string& command) {
    const auto winners = nlohmann::json::parse(shell.run(command).output);
    REQUIRE(winners.size() == 2);
    return winners[0]["name"].get<std::string>() + "; " + winners[1]["name"].get<std::string>();
  };
  const std::string names = "encoder.up; encoder.down";
  REQUIRE(names_in(TUNEDGEMM " best --json") == names);
  REQUIRE(names_in(TUNEDGEMM " export - --json") == names);
  for (const char* verb : {"best", "best --wide", "export - --csv"}) {
    REQUIRE_THAT(shell.run(std::string(TUNEDGEMM " ") + verb).output,
                 ContainsSubstring("encoder.up") && ContainsSubstring("encoder.down"));
  }
  REQUIRE(shell.run(TUNEDGEMM " export copy.db").status == 0);
  REQUIRE(names_in(TUNEDGEMM " best --json --cache copy.db") == names);
  REQUIRE(shell.run(TUNEDGEMM " merge copy.db --cache merged.db").status == 0);
  REQUIRE(names_in(TUNEDGEMM " best --json --cache merged.db") == names);
}

TEST_CASE("tune-all tunes the winners that another cache has exported as a list") {
  const TunedShell shell;
  std::ofstream(shell.folder() / "list.csv")
      << "name,types,layout,m,n,k,batch,lda,bias,activation,beta\n"
      << "up,tf32,nt,8,24,16,2,17,col,relu,other\n";
  REQUIRE(shell.run(kQuick + "list.csv").status == 0);
  const auto problems_in = [&](const std::string& cache) {
    const ProgramResult best = shell.run(TUNEDGEMM " best --json --cache " + cache);
    std::vector<std::string> problems;
    for (const auto& winner : nlohmann::json::parse(best.output)) {
      problems.push_back(winner["name"].get<std::string>() + " " +
                         winner["problem"].get<std::string>());
    }
    std::sort(problems.begin(), problems.end());
    return problems;
  };
  const auto expected = problems_in("cache.db");
  REQUIRE(expected.size() == 2);
  for (const std::string form : {"csv", "json"}) {
    const std::string file = "winners." + form, cache = form + ".db";
    REQUIRE(shell.run(TUNEDGEMM " export " + file + " --" + form).status == 0);
    const ProgramResult tuned = shell.run(kQuick + file + " --cache " + cache);
    CAPTURE(form, tuned.errors);
    REQUIRE(tuned.status == 0);
    REQUIRE(problems_in(cache) == expected);
  }
  REQUIRE(shell.run("sed 's/,40,24,16,/,41,24,16,/' winners.csv > changed.csv").status == 0);
  const ProgramResult changed = shell.run(kQuick + "changed.csv");
  REQUIRE(changed.status == 2);
  REQUIRE_THAT(changed.errors, ContainsSubstring("m is \"41\", which the field problem does not"));
  REQUIRE(shell.run("sed 's/median_us/median/' winners.csv > wrong.csv").status == 0);
  REQUIRE_THAT(shell.run(kQuick + "wrong.csv").errors,
               ContainsSubstring("the header has a column \"median\""));
}

TEST_CASE("The summary counts the shapes that kept the default, by reason") {
  const Shell shell;
  const std::string one = kTuneAll + "--rigor quick --candidates 1 --m 40,48 --n 24 --k 16";
  REQUIRE(shell.run(one).status == 0);
  if (shell.run("command -v sqlite3").status != 0) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  const std::string noise =
      "kept: default, noise hides the difference (another measured 1.02x, +-3.0 %); busy machine";
  REQUIRE(shell.run("sqlite3 cache.db \"UPDATE winner SET remark = '" + noise + "'\"").status == 0);
  const std::string no_time =
      "remark = 'kept: default, no time to try another' WHERE problem = (SELECT id FROM problem "
      "WHERE m = 48)";
  REQUIRE(shell.run("sqlite3 cache.db \"UPDATE winner SET " + no_time + "\"").status == 0);
  const std::string again = shell.run(one).output;
  CAPTURE(again);
  CHECK_THAT(again, ContainsSubstring("1 kept the default: noise hides the difference.\n"));
  CHECK_THAT(again, ContainsSubstring("1 kept the default: no time to try another.\n"));
  const auto json = nlohmann::json::parse(shell.run(one + " --json").output);
  CHECK(json[0]["kept_default"] == "noise hides the difference");
  CHECK(again.find("busy machine") == std::string::npos);
  CHECK_THAT(shell.run(one + " --wide").output, ContainsSubstring("busy machine"));
}

TEST_CASE("tune-all tunes each layer of a list without M at every M of a ladder") {
  const Shell shell;
  std::ofstream(shell.folder() / "layers.csv") << "name,types,layout,n,k,parallel\n"
                                               << "up,f32,nt,48,16,column\n"
                                               << "down,f32,nt,16,48,row\n";
  const std::string ladder = kQuick + "layers.csv --m-ladder 1,8,64 --tensor-parallel 2";
  const ProgramResult first = shell.run(ladder);
  CAPTURE(first.output, first.errors);
  REQUIRE(first.status == 0);
  REQUIRE_THAT(first.errors, ContainsSubstring("1/6  up M=64 f32→f32 ieee nt  tuned: "));
  REQUIRE_THAT(first.errors, ContainsSubstring("4/6  down M=8 f32→f32 ieee nt  tuned: "));
  REQUIRE_THAT(first.output, ContainsSubstring("8x24x16"));
  REQUIRE_THAT(first.output, ContainsSubstring("64x16x24"));
  REQUIRE_THAT(first.output, ContainsSubstring("6 tuned in "));
  REQUIRE_THAT(shell.run(ladder).output, ContainsSubstring("6 already in the cache"));
}

TEST_CASE("An automatic ladder adds values of M until little is expected to be lost") {
  const Shell shell;
  std::ofstream(shell.folder() / "layers.csv") << "name,types,layout,n,k\nup,f32,nt,48,16\n";
  const std::string ladder = kQuick + "layers.csv --m-ladder auto:64 --ladder-loss ";
  const ProgramResult first = shell.run(ladder + "0.5");
  CAPTURE(first.output, first.errors);
  REQUIRE(first.status == 0);
  for (const char* m : {"M=1 ", "M=4 ", "M=16 ", "M=64 "}) {
    REQUIRE_THAT(first.errors, ContainsSubstring(std::string("up ") + m));
  }
  REQUIRE_THAT(first.output, ContainsSubstring("Ladder of up: "));
  REQUIRE_THAT(first.output, ContainsSubstring("expected to take at most 50.0 % longer"));
  const ProgramResult second = shell.run(ladder + "0.5");
  CAPTURE(second.output, second.errors);
  REQUIRE_THAT(second.output, ContainsSubstring("Nothing was tuned"));
  REQUIRE_THAT(second.output, ContainsSubstring("0 values of M added"));
}

TEST_CASE("Shapes after the end of --total-seconds have no winner, and the exit status is 1") {
  const Shell shell;
  const ProgramResult result = shell.run(kQuick + "--total-seconds 0.000001 --m 8 --n 8 --k 8");
  CAPTURE(result.output, result.errors);
  REQUIRE(result.status == 1);
  REQUIRE_THAT(result.output, ContainsSubstring("not tried: --total-seconds is over"));
  REQUIRE_THAT(result.output, ContainsSubstring("1 without a winner"));
}

TEST_CASE("tune-all reports a budget that is too small before tuning") {
  const Shell shell;
  const std::string two = "--dry-run --m 64 --n 32,64 --k 8 ";
  REQUIRE_THAT(shell.run(kTuneAll + two + "--budget-seconds 0.01").errors,
               ContainsSubstring("2 of 2 shapes: a budget of 0.01 s is too small to compare two"));
  REQUIRE_THAT(shell.run(kTuneAll + two + "--candidates 1").errors,
               ContainsSubstring("2 of 2 shapes: a budget of 1 candidate tries the default alone"));
  REQUIRE_THAT(shell.run(kTuneAll + two + "--total-seconds 1").errors,
               ContainsSubstring("more than the 1 s of --total-seconds"));
  const ProgramResult real = shell.run(kQuick + "--total-seconds 1e-6 --m 8 --n 8 --k 8");
  REQUIRE(shell.run(kTuneAll + two).errors.empty());
  REQUIRE_THAT(real.errors, ContainsSubstring("of --total-seconds: the last ones may not be"));
}

TEST_CASE("Ctrl-C ends tune-all soon and keeps results, and the same command continues") {
  const Shell shell;
  std::ofstream(shell.folder() / "list.csv") << "f32,nn,40,24,16\nf32,nn,512,512,512\n";
  REQUIRE(shell.run(kQuick + "--m 40 --n 24 --k 16").status == 0);
  const auto begin = std::chrono::steady_clock::now();
  const ProgramResult stopped = shell.run("timeout --foreground --preserve-status --signal INT 3 " +
                                          kTuneAll + "--rigor exhaustive list.csv");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  CAPTURE(stopped.output, stopped.errors, seconds.count());
  REQUIRE(stopped.status == 130);
  REQUIRE_THAT(stopped.output, ContainsSubstring("Interrupted: finished results are kept"));
  REQUIRE(seconds.count() < 30);

  const ProgramResult resumed = shell.run(kQuick + "--m 40 --n 24 --k 16");
  REQUIRE_THAT(resumed.output, ContainsSubstring("Nothing was tuned"));
}

TEST_CASE("tune-all --force tunes a shape again and replaces even a more rigorous winner") {
  const TunedShell shell;
  if (shell.run("command -v sqlite3").status != 0) {
    TUNEDGEMM_SKIP("no sqlite3 command; install the package sqlite3");
  }
  REQUIRE(
      shell.run("sqlite3 cache.db \"UPDATE winner SET rigor = 3, complete = 1, remark = 'old'\"")
          .status == 0);
  const std::string place = GENERATE(as<std::string>(), "", "--in-process ");
  const std::string again =
      kTuneAll + "--rigor quick --candidates 3 --budget-seconds 100 --m 40 --n 24 --k 16 " + place;
  REQUIRE_THAT(shell.run(again).output, ContainsSubstring("Nothing was tuned"));
  REQUIRE_THAT(shell.run(again + "--force --dry-run").output,
               ContainsSubstring("0 in the cache, 1 to tune"));
  const ProgramResult forced = shell.run(again + "--force --json");
  CAPTURE(forced.output, forced.errors);
  REQUIRE(forced.status == 0);
  const auto outcomes = nlohmann::json::parse(forced.output);
  CHECK(outcomes[0]["outcome"] == "tuned");
  CHECK(outcomes[0]["record"]["rigor"] == "quick");
  CHECK(outcomes[0]["record"]["remark"] != "old");
  CHECK(
      shell.run("sqlite3 cache.db \"SELECT count(*), rigor, remark = 'old' FROM winner\"").output ==
      "1|1|0\n");
}

TEST_CASE("A forced tuning that is interrupted leaves the winner as it was") {
  const Shell shell;
  const std::string shape = "--m 512 --n 512 --k 512 ";
  REQUIRE(shell.run(kTuneAll + "--rigor quick --candidates 2 " + shape).status == 0);
  const std::string before = shell.run(TUNEDGEMM " best --json").output;
  const ProgramResult stopped = shell.run("timeout --foreground --preserve-status --signal INT 3 " +
                                          kTuneAll + "--force " + "--rigor exhaustive " + shape);
  CAPTURE(stopped.output, stopped.errors);
  REQUIRE(stopped.status == 130);
  CHECK_THAT(stopped.output, ContainsSubstring("cancelled before the tuning was complete"));
  CHECK(shell.run(TUNEDGEMM " best --json").output == before);
}

TEST_CASE("On a terminal Ctrl-C is answered at once, and a short report follows") {
  const Shell shell;
  const auto [status, output, errors] = shell.run_on_terminal(
      kTuneAll + "--rigor exhaustive --m 512 --n 512,528,544 --k 512", 80, "1/3  1 s");
  CAPTURE(output);
  CHECK(status == 130);
  const std::size_t typed = output.find("^C");
  REQUIRE(typed != std::string::npos);
  // The next line that is written says so.
  CHECK(output.find("stopping after this candidate; Ctrl-C again") <
        output.find("\x1b[2K", output.find("\x1b[2K", typed) + 1));
  CHECK_THAT(output, ContainsSubstring("2 shapes not tried: interrupted.") &&
                         ContainsSubstring("3 shapes on ") && ContainsSubstring("Interrupted: ") &&
                         ContainsSubstring("Cache: " + shell.cache().string()));
  CHECK(output.find("512x528x512") == std::string::npos);
}

TEST_CASE("A dry run prints its estimate as JSON") {
  const TunedShell shell;
  const ProgramResult result =
      shell.run(kTuneAll + "--dry-run --json --rigor quick --candidates 3 --m 40,48 --n 24 --k 16");
  CAPTURE(result.output, result.errors);
  const auto json = nlohmann::json::parse(result.output);
  REQUIRE(json["shapes"].size() == 2);
  CHECK(json["shapes"][0]["in_cache"] == true);
  CHECK(json["shapes"][1]["m"] == 48);
  CHECK(json["shapes"][1]["in_cache"] == false);
  CHECK(json["shapes"][1]["seconds"] == json["seconds"]);
}

TEST_CASE("A tune-all that loses its terminal or its reader leaves no lease and no folder") {
  const Shell shell;
  std::filesystem::create_directory(shell.folder() / "temporary");
  const std::string with_folder = "env TMPDIR=$PWD/temporary ";
  const auto leaves_nothing = [&] {
    REQUIRE(std::filesystem::is_empty(shell.folder() / "temporary"));
    REQUIRE(shell.run("sqlite3 cache.db 'SELECT count(*) FROM lease'").output == "0\n");
  };
  const ProgramResult hung_up =
      shell.run("timeout --foreground --preserve-status --signal HUP 2 " + with_folder + kTuneAll +
                "--rigor exhaustive --m 512 --n 512 --k 512");
  CAPTURE(hung_up.output, hung_up.errors);
  REQUIRE(hung_up.status == 130);
  leaves_nothing();
  // The reader has already ended when the second shape's line is written.
  const ProgramResult unread = shell.run("(" + with_folder + kQuick +
                                         "--m 8:48:8 --n 24 --k 16; echo $? > status) 2>&1 | "
                                         "head -n 1");
  CAPTURE(unread.output, unread.errors);
  REQUIRE(shell.run("cat status").output == "130\n");
  REQUIRE(shell.run("sqlite3 cache.db 'SELECT count(*) < 6 FROM winner'").output == "1\n");
  leaves_nothing();
}

}  // namespace
}  // namespace tunedgemm::internal
