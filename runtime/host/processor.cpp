#include "runtime/host/processor.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "kernel_templates/base/environment.h"
#include "kernel_templates/base/sha256.h"
#include "runtime/available_cpus.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace tunedgemm::internal {
namespace {

const std::string kFirstCpu = "/sys/devices/system/cpu/cpu0/";

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The number at the start of the text; 0 if there is none.
std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "1024K", "32M".
std::int64_t bytes_in(const std::string& text) {
  const std::int64_t number = number_in(text);
  return text.ends_with('K') ? number << 10 : text.ends_with('M') ? number << 20 : number;
}

// The lines "key   : value" in the first paragraph of /proc/cpuinfo.
std::map<std::string, std::string> fields_of_first_cpu() {
  std::map<std::string, std::string> fields;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || colon == 0) {
      continue;
    }
    const std::size_t key_end = line.find_last_not_of(" \t", colon - 1) + 1;
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    if (value != std::string::npos) {
      fields.emplace(line.substr(0, key_end), line.substr(value));
    }
  }
  return fields;
}

// The model name of /proc/cpuinfo, read from CPUID if there is no /proc.
std::string name_by_cpuid() {
#if defined(__x86_64__) || defined(__i386__)
  std::array<unsigned, 12> words{};
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    if (__get_cpuid(0x80000002U + leaf, &words[4 * leaf], &words[4 * leaf + 1],
                    &words[4 * leaf + 2], &words[4 * leaf + 3]) == 0) {
      return "";
    }
  }
  std::string text(reinterpret_cast<const char*>(words.data()), sizeof words);
  text.resize(std::min(text.find('\0'), text.size()));
  std::istringstream parts(text);
  std::string name;
  for (std::string part; parts >> part;) {
    name += (name.empty() ? "" : " ") + part;
  }
  return name;
#else
  return "";
#endif
}

// The features that simd_of uses, by their names in /proc/cpuinfo.
std::string simd_features_by_cpuid() {
  std::string features;
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  features += __builtin_cpu_supports("sse2") ? " sse2" : "";
  features += __builtin_cpu_supports("avx") ? " avx" : "";
  features += __builtin_cpu_supports("avx2") ? " avx2 f16c" : "";  // every CPU with avx2 has f16c
  features += __builtin_cpu_supports("fma") ? " fma" : "";
  features += __builtin_cpu_supports("avx512f") ? " avx512f" : "";
  features += __builtin_cpu_supports("avx512vl") ? " avx512vl" : "";
  features += __builtin_cpu_supports("avx512dq") ? " avx512dq" : "";
  features += __builtin_cpu_supports("avx512bw") ? " avx512bw" : "";
#elif defined(__aarch64__)
  features = "asimd";
#endif
  return features;
}

std::int64_t memory_field(std::string_view key) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) {
      return number_in(std::string_view(line).substr(line.find_first_of("0123456789"))) << 10;
    }
  }
  return 0;
}

std::int64_t cache_bytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string cache = kFirstCpu + "cache/index" + std::to_string(index) + "/";
    if (number_in(first_line(cache + "level")) == level &&
        first_line(cache + "type") != "Instruction") {
      return bytes_in(first_line(cache + "size"));
    }
  }
  return 0;
}

struct Simd {
  std::string name;
  int bits;
  std::vector<std::string> features;  // by their names in /proc/cpuinfo, which the -m flags share
};

Simd simd_of(const std::string& features) {
  static const Simd widest_first[] = {
      {"avx512", 512, {"avx512f", "avx512vl", "avx512dq", "avx512bw", "avx2", "fma", "f16c"}},
      {"avx2", 256, {"avx2", "fma", "f16c"}},
      {"avx", 256, {"avx"}},
      {"neon", 128, {"asimd"}},
      {"sse2", 128, {"sse2"}}};
  std::istringstream words(features);
  const std::set<std::string> known{std::istream_iterator<std::string>(words), {}};
  for (const Simd& simd : widest_first) {
    if (std::ranges::all_of(simd.features,
                            [&](const std::string& feature) { return known.contains(feature); })) {
      return simd;
    }
  }
  return {"scalar", 128, {}};
}

}  // namespace

int available_threads() {
  if (const std::int64_t wanted = number_in(environment("TUNEDGEMM_THREADS")); wanted > 0) {
    return static_cast<int>(std::min<std::int64_t>(wanted, 1024));
  }
  return available_cpus();
}

Processor this_processor() {
  const std::map<std::string, std::string> fields = fields_of_first_cpu();
  const auto cpu_field = [&](const std::string& key) {
    const auto found = fields.find(key);
    return found == fields.end() ? "" : found->second;
  };
  Processor processor;
  processor.name = cpu_field("model name");
  std::string features = cpu_field("flags");
  if (features.empty()) {
    features = cpu_field("Features");  // ARM
  }
  if (processor.name.empty() && features.empty()) {
    processor.name = name_by_cpuid();
    features = simd_features_by_cpuid();
  }
  if (processor.name.empty()) {
    utsname system{};
    uname(&system);
    processor.name = std::string(system.machine) + " " + cpu_field("CPU implementer") + "/" +
                     cpu_field("CPU part");
  }
  const Simd simd = simd_of(features);
  processor.simd_name = simd.name;
  processor.simd_bits = simd.bits;
#if defined(__aarch64__)
  processor.features = sha256_hex(processor.name + "|" + cpu_field("CPU part") + "|" + features, 8);
  processor.compiler_flags = {"-mcpu=native"};
#elif defined(__x86_64__) || defined(__i386__)
  for (const std::string& feature : simd.features) {
    processor.features += (processor.features.empty() ? "" : "+") + feature;
    processor.compiler_flags.push_back("-m" + feature);
  }
  processor.compiler_flags.emplace_back("-mtune=native");
#endif
  processor.l1_bytes = cache_bytes(1);
  processor.l2_bytes = cache_bytes(2);
  processor.l3_bytes = cache_bytes(3);
  processor.maximum_mhz =
      static_cast<int>(number_in(first_line(kFirstCpu + "cpufreq/cpuinfo_max_freq")) / 1000);
  processor.memory_bytes = memory_field("MemTotal");
  if (processor.memory_bytes == 0) {
    struct sysinfo system {};
    sysinfo(&system);
    processor.memory_bytes = static_cast<std::int64_t>(system.totalram) * system.mem_unit;
  }
  return processor;
}

DeviceIdentity identity_of(const Processor& processor, int threads) {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  return {.backend = "host",
          .name = processor.name + " (" + processor.simd_name + ", " + std::to_string(threads) +
                  (threads == 1 ? " thread)" : " threads)"),
          .units = threads,
          .memory_bytes = (processor.memory_bytes + kGiB / 2) / kGiB * kGiB,
          .l2_bytes = processor.l2_bytes,
          .clock_mhz = processor.maximum_mhz};
}

DeviceLimits limits_of(const Processor& processor, int threads) {
  constexpr double kUsualGhz = 3.5;
  constexpr double kThreadGbPerS = 15;  // of each thread, until the memory channels are full
  constexpr double kSocketGbPerS = 200;
  DeviceLimits limits;
  limits.backend = "host";
  limits.threads = threads;
  limits.simd_bits = processor.simd_bits;
  limits.l1_bytes = processor.l1_bytes > 0 ? processor.l1_bytes : 32 << 10;
  limits.l2_bytes = processor.l2_bytes > 0 ? processor.l2_bytes : 512 << 10;
  limits.l3_bytes = processor.l3_bytes;
  limits.memory_bytes = processor.memory_bytes;
  limits.clock_ghz = processor.maximum_mhz > 0 ? processor.maximum_mhz / 1e3 : kUsualGhz;
  limits.memory_gb_per_s = std::min(kThreadGbPerS * threads, kSocketGbPerS);
  return limits;
}

int current_mhz() {
  return static_cast<int>(number_in(first_line(kFirstCpu + "cpufreq/scaling_cur_freq")) / 1000);
}

std::int64_t available_memory_bytes() {
  if (const std::int64_t available = memory_field("MemAvailable"); available > 0) {
    return available;
  }
  struct sysinfo system {};
  sysinfo(&system);
  return static_cast<std::int64_t>(system.freeram) * system.mem_unit;
}

}  // namespace tunedgemm::internal
