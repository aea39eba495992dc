#include "tests/cache/support/processes.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

namespace tunedgemm::internal {
namespace {

constexpr const char* kComplaint = "complaint: ";

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) {
      throw std::runtime_error("no pipe");
    }
    reading = ends[0];
    writing = ends[1];
  }
  int reading = -1, writing = -1;
};

// Short enough to be written atomically: pipe(7), "PIPE_BUF".
void write_line(int end, const std::string& line) {
  std::string text = line.substr(0, 4000);
  std::replace(text.begin(), text.end(), '\n', ' ');
  text += '\n';
  if (write(end, text.data(), text.size()) < 0) {
    _exit(1);
  }
}

}  // namespace

Processes::Processes(int count, const std::function<std::string(int, const Say&)>& body) {
  const Pipe start, lines;
  lines_ = lines.reading;
  for (int number = 0; number < count; ++number) {
    const pid_t child = fork();
    if (child < 0) {
      throw std::runtime_error("no process");
    }
    if (child > 0) {
      children_.push_back(child);
      continue;
    }
    close(start.writing);
    char nothing = 0;
    (void)!read(start.reading, &nothing, 1);  // returns when the parent closes its end
    const std::string complaint =
        body(number, [&](const std::string& line) { write_line(lines.writing, line); });
    if (!complaint.empty()) {
      write_line(lines.writing, kComplaint + complaint);
    }
    _exit(0);
  }
  close(start.reading);
  close(start.writing);
  close(lines.writing);
}

Processes::~Processes() {
  for (const pid_t child : children_) {
    ::kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  close(lines_);
}

void Processes::kill(int number) {
  ::kill(children_.at(static_cast<std::size_t>(number)), SIGKILL);
}

bool Processes::read_some() {
  std::array<char, 4096> bytes{};
  const ssize_t count = read(lines_, bytes.data(), bytes.size());
  text_.append(bytes.data(), static_cast<std::size_t>(std::max(count, ssize_t{0})));
  return count > 0;
}

void Processes::wait_for_a_line() {
  read_some();
}

std::vector<std::string> Processes::wait() {
  while (read_some()) {
  }
  for (const pid_t child : children_) {
    int status = 0;
    waitpid(child, &status, 0);
    const bool fine = WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0;
    if (!fine) {
      complaints_.push_back("process " + std::to_string(child) + " ended with status " +
                            std::to_string(status));
    }
  }
  children_.clear();
  std::vector<std::string> lines;
  std::istringstream stream(text_);
  for (std::string line; std::getline(stream, line);) {
    (line.starts_with(kComplaint) ? complaints_ : lines).push_back(line);
  }
  return lines;
}

}  // namespace tunedgemm::internal
