#include "runtime/cuda/compile_process.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "kernel_templates/base/text.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/process/binary_file.h"
#include "runtime/process/caller.h"
#include "runtime/process/child_process.h"
#include "runtime/process/private_folder.h"
#include "runtime/start_thread.h"

namespace tunedgemm::internal::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCompiled = "compiled", kRejected = "rejected", kFailed = "failed",
                           kOther = "other";
constexpr std::string_view kExact = "exact", kCompatible = "compatible";

// The arguments of run_compiler().
enum Argument { kNvrtcPath, kNvrtcVersion, kArguments };
// The fields of a request, followed by the defines.
enum Field { kOutput, kFingerprint, kArchitecture, kExactness, kFile, kEntry, kDefines };

// Why a compile process ended.
CompileFailure failure_of(const ChildResult& result, const std::string& log) {
  using Cause = CompileFailure::Cause;
  // SIGKILL usually comes from the OOM killer, so blame the environment.
  const bool crashed = result.end == ChildResult::End::kSignalled && result.code != SIGKILL;
  return {"the compile process " + to_text(result) + "\n" + log + result.output,
          crashed ? Cause::kSource : Cause::kEnvironment};
}

CompileFailure time_limit_failure(std::chrono::milliseconds limit, const std::string& log) {
  return {"NVRTC took more than " + std::to_string(limit.count()) + " ms and was stopped\n" + log,
          CompileFailure::Cause::kTimeLimit};
}

}  // namespace

// Used by one thread at a time.
class CompileProcesses::Process {
 public:
  explicit Process(const std::vector<std::string>& command)
      : child_(command, {}, {"TMPDIR=" + folder_.path().string()}) {}

  bool has_folder() const { return folder_.is_there(); }
  bool has_ended() const { return child_.has_ended(); }
  /// Known after the first compile().
  bool is_other_version() const { return is_other_version_; }
  /// Tells the program to end.
  void close_input() { child_.close_input(); }

  /// After a CompileFailure of another cause than kSource the process may have ended.
  std::variant<Binary, CompileFailure> compile(const Source& source, int architecture,
                                               std::chrono::milliseconds limit) {
    const auto start = ChildProcess::Clock::now();
    const fs::path output = folder_.path() / "kernel.cubin";
    std::string request = output.string() + '\t' + fingerprint(source) + '\t' +
                          std::to_string(architecture) + '\t' +
                          std::string(source.needs_exact_architecture ? kExact : kCompatible) +
                          '\t' + std::string(source.file.name) + '\t' + source.entry;
    for (const auto& [name, value] : source.defines) {
      request.append("\t").append(name).append("=").append(value);
    }
    child_.send(request);
    const Answer answer = receive(start + limit);
    if (answer.word.empty()) {
      const auto now = ChildProcess::Clock::now();
      const bool in_time = now < start + limit;
      const ChildResult result = child_.finish(in_time ? now + ChildProcess::kExitTimeout : now);
      return in_time ? failure_of(result, answer.log) : time_limit_failure(limit, answer.log);
    }
    is_other_version_ = answer.word == kOther;
    if (answer.word != kCompiled) {
      using Cause = CompileFailure::Cause;
      return CompileFailure{answer.log,
                            answer.word == kRejected ? Cause::kSource : Cause::kEnvironment};
    }
    std::optional<Binary> binary = read_binary(output);
    if (!binary) {
      return CompileFailure{"the compile process wrote no machine code",
                            CompileFailure::Cause::kEnvironment};
    }
    const std::chrono::duration<double, std::milli> spent = ChildProcess::Clock::now() - start;
    binary->compile_ms = spent.count();
    return *std::move(binary);
  }

 private:
  struct Answer {
    std::string log;
    std::string word;  ///< empty if there was none
  };

  Answer receive(ChildProcess::Clock::time_point deadline) {
    Answer answer;
    std::string line;
    // Also while lines keep coming.
    while (ChildProcess::Clock::now() < deadline &&
           child_.receive(line, deadline) == ChildProcess::Received::kLine) {
      if (line == kCompiled || line == kRejected || line == kFailed || line == kOther) {
        answer.word = line;
        break;
      }
      if (answer.log.size() + line.size() < ChildResult::kMostOutput) {
        answer.log += line + '\n';
      }
    }
    return answer;
  }

  PrivateFolder folder_;
  ChildProcess child_;
  bool is_other_version_ = false;
};

CompileProcesses::CompileProcesses(std::vector<std::string> command, NvrtcLocation nvrtc,
                                   std::chrono::milliseconds most_idle)
    : command_([&] {
        command.insert(command.end(), {nvrtc.path, nvrtc.version});
        return std::move(command);
      }()),
      most_idle_(most_idle) {}

CompileProcesses::~CompileProcesses() {
  {
    const std::scoped_lock lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_all();
  if (ender_) {
    ender_->join();
  }
  end(idle_);
}

// They end at the same time, while each destructor waits for one.
void CompileProcesses::end(Processes& processes) {
  for (const auto& process : processes) {
    process->close_input();
  }
  processes.clear();
}

void CompileProcesses::end_idle_ones() {
  std::unique_lock lock(mutex_);
  while (!is_closing_ && !idle_.empty()) {
    const auto end_of_use = last_use_ + most_idle_;
    if (std::chrono::steady_clock::now() < end_of_use) {
      changed_.wait_until(lock, end_of_use);
      continue;
    }
    Processes unused = std::exchange(idle_, {});
    lock.unlock();
    end(unused);
    lock.lock();
  }
  has_ender_ = false;
}

// Without a thread for end_idle_ones() they end with this object.
void CompileProcesses::put_back(std::unique_ptr<Process> process) {
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(process));
  last_use_ = std::chrono::steady_clock::now();
  if (has_ender_) {
    return;
  }
  if (ender_) {
    ender_->join();  // it needs the lock no more
  }
  ender_ = start_thread([this] { end_idle_ones(); });
  has_ender_ = ender_.has_value();
}

std::variant<Binary, CompileFailure> CompileProcesses::compile(const Source& source,
                                                               int architecture,
                                                               std::chrono::milliseconds limit) {
  const auto deadline = ChildProcess::Clock::now() + limit;
  while (!is_other_version_) {
    std::unique_ptr<Process> process = take();
    auto compiled = process->compile(source, architecture, limit);
    const bool is_folder_lost =
        std::holds_alternative<CompileFailure>(compiled) && !process->has_folder();
    if (is_folder_lost && ChildProcess::Clock::now() < deadline) {
      continue;  // something has removed the folder meanwhile; another process has another folder
    }
    if (!process->is_other_version()) {
      put_back(std::move(process));
      return compiled;
    }
    is_other_version_ = true;
  }
  throw std::runtime_error("the program " + command_.front() + " is one of another version");
}

std::unique_ptr<CompileProcesses::Process> CompileProcesses::take() {
  std::unique_ptr<Process> taken;
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(
        idle_, [](const auto& process) { return process->has_ended() || !process->has_folder(); });
    if (!idle_.empty()) {
      taken = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  return taken ? std::move(taken) : std::make_unique<Process>(command_);
}

namespace {

Source parse_source(std::span<const std::string_view> fields) {
  Source source;
  source.file = embedded_file(fields[kFile]);
  source.includes = included_files(source.file);
  source.entry = fields[kEntry];
  source.needs_exact_architecture = fields[kExactness] == kExact;
  for (const std::string_view define : fields.subspan(kDefines)) {
    const std::size_t equals = define.find('=');
    source.defines.emplace_back(define.substr(0, equals),
                                equals == define.npos ? "" : define.substr(equals + 1));
  }
  return source;
}

// Answers a request: sends the log, and returns the last line.
std::string_view serve(const Caller& caller, const Nvrtc& nvrtc, const std::string& request) {
  const std::vector<std::string_view> fields = split(request, '\t');
  if (fields.size() < kDefines) {
    caller.send("the compile process does not understand the request");
    return kFailed;
  }
  const Source source = parse_source(fields);
  if (fingerprint(source) != fields[kFingerprint]) {
    return kOther;
  }
  const auto compiled = nvrtc.compile(source, whole_number<int>(fields[kArchitecture]).value_or(0));
  if (const auto* failure = std::get_if<CompileFailure>(&compiled)) {
    caller.send(failure->log);
    return failure->cause == CompileFailure::Cause::kSource ? kRejected : kFailed;
  }
  if (!write_binary(std::string(fields[kOutput]), std::get<Binary>(compiled))) {
    caller.send("cannot write " + std::string(fields[kOutput]));
    return kFailed;
  }
  return kCompiled;
}

}  // namespace

std::vector<std::string> compiler_installed_with(const fs::path& library) {
  fs::path folder = library.parent_path();
  for (int up = 0; up <= 2 && folder.is_absolute(); ++up, folder = folder.parent_path()) {
    const fs::path program = folder / "bin" / "tunedgemm";
    if (access(program.c_str(), X_OK) == 0) {
      return {program.string(), std::string(kCompilerFlag)};
    }
  }
  return {};
}

std::vector<std::string> installed_compiler() {
  Dl_info info;
  link_map* library = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&installed_compiler), &info,
              reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) == 0) {
    return {};
  }
  // The program itself, with this library linked in, has no name here. In Dl_info it has argv[0],
  // which whoever starts a set-user-ID program chooses.
  const fs::path path = *library->l_name == '\0' ? "/proc/self/exe" : library->l_name;
  std::error_code error;
  return path.is_absolute() ? compiler_installed_with(fs::canonical(path, error))
                            : std::vector<std::string>{};
}

int run_compiler(std::span<const char* const> arguments) {
  const Caller caller(std::chrono::milliseconds(0));
  if (arguments.size() != kArguments) {
    caller.send("the compile process needs the path and the version of NVRTC");
    return EXIT_FAILURE;
  }
  std::optional<Nvrtc> nvrtc;
  while (const auto request = caller.receive()) {
    std::string_view answer = kFailed;
    try {
      if (!nvrtc) {
        nvrtc.emplace(NvrtcLocation{arguments[kNvrtcPath], arguments[kNvrtcVersion]});
      }
      answer = serve(caller, *nvrtc, *request);
    } catch (const std::exception& error) {  // missing file, NVRTC or memory
      caller.send(error.what());
    }
    caller.send(std::string(answer));
  }
  return EXIT_SUCCESS;
}

}  // namespace tunedgemm::internal::cuda
