// set_uid_test.cpp runs this as a set-user-ID program. It multiplies with all defaults and prints a
// line for each setting and result.

#include <sys/auxv.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernel_templates/base/environment.h"
#include "runtime/process/private_folder.h"
#include "tunedgemm/tunedgemm.h"

int main() {
  std::printf("secure %lu\n", getauxval(AT_SECURE));
  for (const char* name : {"TUNEDGEMM_CXX", "TUNEDGEMM_CACHE", "PATH", "HOME"}) {
    std::printf("%s=%s\n", name, tunedgemm::internal::environment(name).c_str());
  }
  std::printf("temporary files in %s\n", tunedgemm::internal::temporary_places().front().c_str());
  for (const std::string& entry : tunedgemm::internal::environment_of_children()) {
    std::printf("children get %s\n", entry.c_str());
  }

  const tunedgemm_context_options options{.backend = TUNEDGEMM_BACKEND_HOST, .tune_candidates = 2};
  tunedgemm_context* context = nullptr;
  tunedgemm_status status = tunedgemm_context_create(&options, &context);
  const std::vector<float> a(64, 1.0F);
  const std::vector<float> b(64, 2.0F);
  std::vector<float> d(64);
  const tunedgemm_problem problem{.m = 8, .n = 8, .k = 8};
  const tunedgemm_buffers buffers{.a = a.data(), .b = b.data(), .d = d.data()};
  if (status == TUNEDGEMM_STATUS_OK) {
    status = tunedgemm_matmul(context, &problem, &buffers, nullptr);
  }
  std::printf("%s %s, d is %.0f\n", tunedgemm_status_name(status), tunedgemm_error_message(),
              static_cast<double>(d[63]));
  std::vector<char> report(tunedgemm_context_report(context, nullptr, 0) + 1);
  tunedgemm_context_report(context, report.data(), report.size());
  std::printf("%s", report.data());
  tunedgemm_context_destroy(context);
  std::fflush(stdout);
  std::_Exit(0);  // skips the leak check, which needs rights that the program lacks
}
