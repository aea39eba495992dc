// host_gemm: f32 multiplications on the CPU, ours beside OpenBLAS, in one run with the same number
// of threads.
//
//   host_gemm [--threads 2] [--seconds 2] [--shape 2048x2048x2048] [--core HASWELL] ...
//
// OpenBLAS is opened at run time and reads OPENBLAS_CORETYPE while it is loaded, so the program
// starts itself once for every core type: first as installed, with what it picks on this CPU, then
// with each kernel it can be asked for. In each of these runs the two take turns, a few calls each,
// on the same matrices; the figures are medians. Ours is tuned in the first run, and found in the
// cache by the others.

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tunedgemm/tunedgemm.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct Shape {
  int m = 0, n = 0, k = 0;

  std::string text() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  }
  double gflop() const { return 2e-9 * m * n * k; }
};

struct Settings {
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  double seconds = 2;  // for each shape and core type
  std::vector<Shape> shapes;
  std::vector<std::string> cores;
  bool is_child = false;
};

Shape parse_shape(const std::string& text) {
  Shape shape;
  if (std::sscanf(text.c_str(), "%dx%dx%d", &shape.m, &shape.n, &shape.k) != 3 || shape.m < 1 ||
      shape.n < 1 || shape.k < 1) {
    throw std::invalid_argument("the shape \"" + text + "\" is not MxNxK, as in 512x512x256");
  }
  return shape;
}

Settings parse(int count, char** words) {
  Settings settings;
  for (int word = 1; word < count; ++word) {
    const std::string option = words[word];
    if (option == "--child") {
      settings.is_child = true;
      continue;
    }
    if (word + 1 == count) {
      throw std::invalid_argument(option + " needs a value, or is unknown");
    }
    const std::string value = words[++word];
    if (option == "--threads") {
      settings.threads = std::stoi(value);
    } else if (option == "--seconds") {
      settings.seconds = std::stod(value);
    } else if (option == "--shape") {
      settings.shapes.push_back(parse_shape(value));
    } else if (option == "--core") {
      settings.cores.push_back(value);
    } else {
      throw std::invalid_argument("unknown option " + option);
    }
  }
  if (settings.shapes.empty()) {
    settings.shapes = {{2048, 2048, 2048}, {512, 512, 256}, {333, 777, 555}, {64, 4096, 4096}};
  }
  if (settings.cores.empty()) {
    settings.cores = {"HASWELL", "ZEN", "SKYLAKEX", "COOPERLAKE", "SAPPHIRERAPIDS"};
  }
  return settings;
}

// OpenBLAS's threads wait for the next call in a loop, as ours do, but for 2^28 cycles: all the
// while that we are timed, on the cores we need. 2^16 cycles are our 30 microseconds.
void* open_library() {
  constexpr int kUnlessSet = 0;
  setenv("OPENBLAS_THREAD_TIMEOUT", "16", kUnlessSet);
  return dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
}

class OpenBlas {
 public:
  explicit OpenBlas(int threads) : library_(open_library()) {
    if (library_ == nullptr) {
      throw std::runtime_error(std::string(dlerror()) + "; install libopenblas0-pthread");
    }
    sgemm_ = symbol<Sgemm>("cblas_sgemm");
    symbol<void (*)(int)>("openblas_set_num_threads")(threads);
  }

  std::string core() const { return symbol<char* (*)()>("openblas_get_corename")(); }

  void multiply(const Shape& shape, const float* a, const float* b, float* d) const {
    constexpr int kRowMajor = 101, kAsItIs = 111;
    sgemm_(kRowMajor, kAsItIs, kAsItIs, shape.m, shape.n, shape.k, 1, a, shape.k, b, shape.n, 0, d,
           shape.n);
  }

 private:
  using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                         float, float*, int);

  template <class Function>
  Function symbol(const char* name) const {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }

  void* library_;
  Sgemm sgemm_ = nullptr;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

std::vector<float> random_matrix(int rows, int columns) {
  std::mt19937 random(20261121);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> matrix(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  std::generate(matrix.begin(), matrix.end(), [&] { return uniform(random); });
  return matrix;
}

// The first call of a turn wakes the threads, and lets those of the other side fall asleep: it is
// not counted.
template <class Call>
void take_turn(Call call, std::vector<double>& seconds) {
  constexpr int kCalls = 3;
  call();
  for (int call_number = 0; call_number < kCalls; ++call_number) {
    const auto start = Clock::now();
    call();
    seconds.push_back(seconds_since(start));
  }
}

// Times both on one shape and writes a line "core shape ours theirs" in GFLOP/s.
void race(const Shape& shape, const OpenBlas& blas, tunedgemm::Context& context, double seconds) {
  const std::vector<float> a = random_matrix(shape.m, shape.k);
  const std::vector<float> b = random_matrix(shape.k, shape.n);
  const std::size_t elements =
      static_cast<std::size_t>(shape.m) * static_cast<std::size_t>(shape.n);
  std::vector<float> ours(elements), theirs(elements);
  const tunedgemm::Buffers buffers{.a = a.data(), .b = b.data(), .d = ours.data()};
  const tunedgemm::Plan plan = context.plan({.m = shape.m, .n = shape.n, .k = shape.k}, buffers);
  std::cerr << "  " << plan.description() << "\n";

  std::vector<double> our_seconds, their_seconds;
  const auto begin = Clock::now();
  constexpr int kLeastRounds = 5;
  for (int round = 0; round < kLeastRounds || seconds_since(begin) < seconds; ++round) {
    take_turn([&] { plan.run(buffers); }, our_seconds);
    take_turn([&] { blas.multiply(shape, a.data(), b.data(), theirs.data()); }, their_seconds);
  }
  for (std::size_t element = 0; element < elements; ++element) {
    if (!(std::abs(ours[element] - theirs[element]) <= 1e-3F)) {
      throw std::runtime_error("the results differ at element " + std::to_string(element));
    }
  }
  std::cout << blas.core() << ' ' << shape.text() << ' ' << shape.gflop() / median(our_seconds)
            << ' ' << shape.gflop() / median(their_seconds) << std::endl;
}

void run_child(const Settings& settings) {
  const OpenBlas blas(settings.threads);
  tunedgemm::Context context({.backend = TUNEDGEMM_BACKEND_HOST, .host_threads = settings.threads});
  for (const Shape& shape : settings.shapes) {
    race(shape, blas, context, settings.seconds);
  }
}

struct Figures {
  double ours = 0, theirs = 0;
  double ratio() const { return ours / theirs; }
};

// What the program says when it is started for one core type.
std::map<std::string, Figures> figures_with(const std::string& core, const Settings& settings,
                                            std::string& picked) {
  if (core.empty()) {
    unsetenv("OPENBLAS_CORETYPE");
  } else {
    setenv("OPENBLAS_CORETYPE", core.c_str(), 1);
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  std::string command = "'" + self + "' --child --threads " + std::to_string(settings.threads) +
                        " --seconds " + std::to_string(settings.seconds);
  for (const Shape& shape : settings.shapes) {
    command += " --shape " + shape.text();
  }
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), &pclose);
  std::map<std::string, Figures> figures;
  char line[256];
  while (output && std::fgets(line, sizeof line, output.get()) != nullptr) {
    std::istringstream words(line);
    std::string shape;
    Figures both;
    words >> picked >> shape >> both.ours >> both.theirs;
    figures[shape] = both;
  }
  return figures;
}

void compare(const Settings& settings) {
  // A cache of its own: the figures are those of a fresh tuning.
  const std::string cache =
      std::filesystem::temp_directory_path() / ("host_gemm-" + std::to_string(getpid()) + ".db");
  setenv("TUNEDGEMM_CACHE", cache.c_str(), 1);
  std::map<std::string, Figures> best;  // of OpenBLAS: the least ratio
  std::vector<std::string> cores{""};
  cores.insert(cores.end(), settings.cores.begin(), settings.cores.end());
  std::printf("%d threads, f32, GFLOP/s, medians\n", settings.threads);
  std::printf("%-16s %-16s %10s %10s %8s\n", "shape", "OpenBLAS core", "ours", "OpenBLAS", "ratio");
  for (const std::string& core : cores) {
    std::string picked;
    for (const auto& [shape, both] : figures_with(core, settings, picked)) {
      const std::string label = core.empty() ? "installed:" + picked : core;
      std::printf("%-16s %-16s %10.1f %10.1f %8.3f\n", shape.c_str(), label.c_str(), both.ours,
                  both.theirs, both.ratio());
      std::fflush(stdout);
      const auto known = best.find(shape);
      if (known == best.end() || both.ratio() < known->second.ratio()) {
        best[shape] = both;
      }
    }
  }
  std::printf("\nAgainst OpenBLAS's best core type for each shape:\n");
  for (const auto& [shape, both] : best) {
    std::printf("%-16s %-16s %10.1f %10.1f %8.3f\n", shape.c_str(), "best", both.ours, both.theirs,
                both.ratio());
  }
  std::filesystem::remove(cache);
}

}  // namespace

int main(int count, char** words) {
  try {
    const Settings settings = parse(count, words);
    if (settings.is_child) {
      run_child(settings);
    } else {
      compare(settings);
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "host_gemm: " << error.what() << "\n";
    return 1;
  }
}
