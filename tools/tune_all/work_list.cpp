#include "tools/tune_all/work_list.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

#include "cache/store.h"
#include "tools/shared/shape_list.h"
#include "tools/shared/text.h"

namespace tunedgemm::internal {
namespace {

constexpr std::string_view kAuto = "auto";
constexpr std::int64_t kMostM = 8192, kMostMOfUser = std::int64_t{1} << 31;

void append(std::vector<NamedProblem>& shapes, std::vector<NamedProblem> more) {
  shapes.insert(shapes.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

void set(std::vector<Field>& fields, std::string_view name, std::int64_t value) {
  std::erase_if(fields, [&](const Field& field) { return field.name == name; });
  fields.push_back({std::string(name), std::to_string(value)});
}

// Gives a layer the extents that one of `devices` computes.
void divide(std::vector<Field>& layer, std::int64_t devices) {
  const Problem whole = to_named_problem(layer).problem;
  const std::string option = "--tensor-parallel " + std::to_string(devices);
  const std::string parallel = value_of(layer, "parallel");
  if (parallel.empty()) {
    throw std::invalid_argument(option +
                                " needs a column parallel that tells which extent it divides: "
                                "column (N), row (K) or none; add it to the list");
  }
  if (parallel == "none") {
    return;
  }
  if (const std::string heads = value_of(layer, "kv_heads");
      !heads.empty() && std::stoll(heads) % devices != 0) {
    throw std::invalid_argument("kv_heads is " + heads + ", which " + option +
                                " does not divide; programs that repeat heads compute other "
                                "extents: give a divisor, or list the extents of one device");
  }
  const bool is_column = parallel == "column";
  const std::string name = is_column ? "n" : "k";
  const std::int64_t extent = is_column ? whole.n : whole.k;
  if (extent % devices != 0) {
    throw std::invalid_argument(name + " is " + std::to_string(extent) + ", which " + option +
                                " does not divide; give a divisor, pad the extent in the list, or "
                                "set parallel to none");
  }
  set(layer, name, extent / devices);
}

std::int64_t most_m(const std::string& text) {
  const std::vector<std::int64_t> numbers = parse_number_list(text.substr(kAuto.size() + 1), 1);
  if (numbers.size() != 1) {
    throw std::invalid_argument("--m-ladder " + first_line(text, 60) +
                                ": give one number after auto:, the greatest M");
  }
  if (numbers.front() > kMostMOfUser) {
    throw std::invalid_argument("--m-ladder " + first_line(text, 60) +
                                ": the greatest M is at most " + std::to_string(kMostMOfUser));
  }
  return numbers.front();
}

// The fields that the command line gives to lines that leave them out.
class Defaults {
 public:
  explicit Defaults(const WorkRequest& request) {
    const auto add = [this](const std::string& name, const std::vector<std::string>& values) {
      if (!values.empty()) {
        fields_.push_back({name, values, false});
      }
    };
    add("types", request.types);
    add("layout", request.layouts);
    for (const Field& field : request.further_fields) {
      add(field.name, {field.value});
    }
  }

  // The line with each combination of the fields that it leaves out.
  std::vector<std::vector<Field>> fill(const std::vector<Field>& line) {
    std::vector<std::vector<Field>> lines{line};
    for (Default& one : fields_) {
      if (has_field(line, one.name) || has_field(line, "problem")) {
        continue;
      }
      one.is_used = true;
      std::vector<std::vector<Field>> filled;
      for (const std::string& value : one.values) {
        for (const std::vector<Field>& each : lines) {
          filled.push_back(each);
          filled.back().push_back({one.name, value});
        }
      }
      lines = std::move(filled);
    }
    return lines;
  }

  void check_used() const {
    for (const Default& one : fields_) {
      if (!one.is_used) {
        std::string option = one.name == "layout" ? "layouts" : one.name;
        std::ranges::replace(option, '_', '-');
        throw std::invalid_argument("--" + option + " " + one.values.front() +
                                    " changes nothing: each line of the lists has its own " +
                                    one.name + ", which the option does not replace; leave it out");
      }
    }
  }

 private:
  struct Default {
    std::string name;
    std::vector<std::string> values;
    bool is_used;
  };
  std::vector<Default> fields_;
};

// Reads the lists of a request.
class ListReader {
 public:
  ListReader(const WorkRequest& request, Defaults& defaults)
      : request_(request), defaults_(defaults) {
    const std::string& text = request.m_ladder;
    is_auto_ = text == kAuto || text.starts_with(std::string(kAuto) + ":");
    if (is_auto_) {
      most_m_ = text == kAuto ? kMostM : most_m(text);
      ladder_ = first_rungs(most_m_);
    } else if (!text.empty()) {
      ladder_ = parse_number_list(text, 1);
    }
  }

  WorkList read() {
    for (const std::string& list : request_.lists) {
      read_list(list, [this](const std::vector<Field>& line) {
        for (std::vector<Field>& filled : defaults_.fill(line)) {
          add(std::move(filled));
        }
      });
    }
    return std::move(work_);
  }

 private:
  void add(std::vector<Field> line) {
    const bool has_m = has_field(line, "m");
    if (!ladder_.empty() && !has_m) {
      set(line, "m", ladder_.front());
    }
    if (request_.tensor_parallel > 1) {
      divide(line, request_.tensor_parallel);
    }
    NamedProblem shape = to_named_problem(line);
    if (ladder_.empty()) {
      work_.shapes.push_back(std::move(shape));
    } else {
      // A column-major D is computed as its transpose, so N is the extent that may vary.
      const bool varies_n = swaps_operands(shape.problem);
      if (varies_n && !has_m) {
        throw std::invalid_argument(
            "D is column-major, so --m-ladder gives the values of n, and the shape needs an m");
      }
      add_layer(std::move(line), varies_n ? "n" : "m");
    }
  }

  void add_layer(std::vector<Field> layer, const std::string& varied) {
    // Compared at the smallest value: at the largest, a leading dimension in the list may equal it,
    // as if the matrix were packed.
    set(layer, varied, *std::min_element(ladder_.begin(), ladder_.end()));
    const std::string key = fingerprint(canonical(to_named_problem(layer).problem));
    if (const auto found = layers_.find(key); found != layers_.end()) {
      ++work_.duplicates;
      add_name(found->second, value_of(layer, "name"));
      return;
    }
    if (work_.shapes.size() + ladder_.size() > kMostNumbers) {
      throw std::invalid_argument("--m-ladder " + first_line(request_.m_ladder, 60) +
                                  " makes more than a million shapes; give fewer values of M");
    }
    const Layer added{.fields = std::move(layer), .varied = varied, .most_m = most_m_};
    std::vector<NamedProblem> rungs;
    for (const std::int64_t m : ladder_) {
      rungs.push_back(added.at(m));  // throws for a layer of which a rung cannot be computed
    }
    layers_.emplace(key, work_.shapes.size());
    append(work_.shapes, std::move(rungs));
    if (is_auto_) {
      work_.layers.push_back(added);
    }
  }

  // Adds the name of another line of a layer, whose first shape is given, to the layer's names.
  void add_name(std::size_t first_shape, const std::string& name) {
    for (std::size_t shape = first_shape; shape < first_shape + ladder_.size(); ++shape) {
      std::string& names = work_.shapes[shape].name;
      names = joined_names(std::move(names), name);
    }
    if (is_auto_) {
      std::vector<Field>& layer = work_.layers[first_shape / ladder_.size()].fields;
      const std::string names = work_.shapes[first_shape].name;
      std::erase_if(layer, [](const Field& field) { return field.name == "name"; });
      layer.push_back({"name", names});
    }
  }

  const WorkRequest& request_;
  Defaults& defaults_;
  bool is_auto_ = false;
  std::int64_t most_m_ = 0;                    // of an automatic ladder
  std::vector<std::int64_t> ladder_;           // empty: each line has its M
  std::map<std::string, std::size_t> layers_;  // fingerprints, and the first shape of each
  WorkList work_;
};

std::vector<NamedProblem> shapes_of_ranges(const WorkRequest& request) {
  if (request.m.empty() || request.n.empty() || request.k.empty()) {
    throw std::invalid_argument("--m, --n and --k must be given together");
  }
  const auto numbers_m = parse_number_list(request.m, 1);
  const auto numbers_n = parse_number_list(request.n, 1);
  const auto numbers_k = parse_number_list(request.k, 0);
  const auto or_default = [](const std::vector<std::string>& given, const char* otherwise) {
    return given.empty() ? std::vector<std::string>{otherwise} : given;
  };
  const std::vector<std::string> all_types = or_default(request.types, "f32");
  const std::vector<std::string> layouts = or_default(request.layouts, "nn");
  double combinations = 1;
  for (const std::size_t count :
       {all_types.size(), layouts.size(), numbers_m.size(), numbers_n.size(), numbers_k.size()}) {
    combinations *= static_cast<double>(count);
  }
  if (combinations > static_cast<double>(kMostNumbers)) {
    throw std::invalid_argument("--m, --n and --k make " + rounded_text(combinations) +
                                " shapes with their types and layouts, more than a million; give "
                                "larger steps, or run tune-all for one range at a time");
  }
  std::vector<NamedProblem> shapes;
  const auto add = [&](const std::string& types, const std::string& layout, std::int64_t m,
                       std::int64_t n, std::int64_t k) {
    std::vector<Field> fields{{"types", types},
                              {"layout", layout},
                              {"m", std::to_string(m)},
                              {"n", std::to_string(n)},
                              {"k", std::to_string(k)}};
    fields.insert(fields.end(), request.further_fields.begin(), request.further_fields.end());
    shapes.push_back(to_named_problem(fields));
  };
  for (const std::string& types : all_types) {
    for (const std::string& layout : layouts) {
      for (const std::int64_t m : numbers_m) {
        for (const std::int64_t n : numbers_n) {
          for (const std::int64_t k : numbers_k) {
            add(types, layout, m, n, k);
          }
        }
      }
    }
  }
  return shapes;
}

WorkList without_duplicates(std::vector<NamedProblem> shapes, std::size_t duplicates) {
  WorkList work{.shapes = {}, .duplicates = duplicates, .layers = {}};
  std::map<std::string, std::size_t> seen;
  for (NamedProblem& shape : shapes) {
    const auto [place, is_new] =
        seen.try_emplace(fingerprint(canonical(shape.problem)), work.shapes.size());
    if (is_new) {
      work.shapes.push_back(std::move(shape));
    } else {
      std::string& name = work.shapes[place->second].name;
      name = joined_names(std::move(name), shape.name);
      ++work.duplicates;
    }
  }
  return work;
}

}  // namespace

NamedProblem Layer::at(std::int64_t m) const {
  std::vector<Field> rung = fields;
  set(rung, varied, m);
  NamedProblem shape = to_named_problem(rung);
  shape.rung = (varied == "m" ? "M=" : "N=") + std::to_string(m);
  return shape;
}

std::vector<std::int64_t> first_rungs(std::int64_t most_m) {
  std::vector<std::int64_t> rungs;
  for (std::int64_t m = 1;; m *= 4) {
    rungs.push_back(m);
    if (m > most_m / 4) {
      break;
    }
  }
  return rungs;
}

WorkList make_work_list(const WorkRequest& request, std::span<const Request> requests) {
  if (request.lists.empty() && (!request.m_ladder.empty() || request.tensor_parallel > 1)) {
    throw std::invalid_argument(
        "--m-ladder and --tensor-parallel apply to the layers of a list; give a list");
  }
  Defaults defaults(request);
  auto [shapes, duplicates, layers] = ListReader(request, defaults).read();
  if (!request.m.empty() || !request.n.empty() || !request.k.empty()) {
    append(shapes, shapes_of_ranges(request));
  } else if (!request.lists.empty()) {
    defaults.check_used();
  }
  if (request.from_requests) {
    for (const Request& missed : requests) {
      shapes.push_back({missed.name, missed.problem});
    }
  }
  WorkList work = without_duplicates(std::move(shapes), duplicates);
  work.layers = std::move(layers);
  return work;
}

}  // namespace tunedgemm::internal
