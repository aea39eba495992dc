// tunedgemm order: shows the order in which a config computes the tiles of D, and the parts of A
// and B that each wave reads. In C++, because the order comes from the code that kernels include
// (tile_order.h); tools/plot draws its JSON.

#include <unistd.h>

#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernel_templates/cuda/geometry.h"
#include "kernel_templates/cuda/tile_order.h"
#include "tools/shared/options.h"
#include "tools/shared/results.h"
#include "tools/shared/table.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/measuring_options.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

struct OrderOptions {
  ContextChoice context;
  std::vector<Field> shape;
  PictureChoice picture;
  std::string config;
  std::int64_t at_a_time = 0;  ///< 0: the number of SMs
  bool compare = false;
  std::size_t width = line_width(STDOUT_FILENO);  // of tables
};

struct NamedOrder {
  std::string name;
  std::vector<TileCoordinate> tiles;
};

// A config's tile sizes and rasterization.
struct Tiles {
  std::string config;
  int block_m = 0, block_n = 0, block_k = 0;
  Rasterization rasterization;
};

// The limits of an H200, used with --config.
DeviceLimits usual_limits() {
  DeviceLimits limits;
  limits.backend = "cuda";
  limits.sm_count = 132;
  limits.l2_bytes = std::int64_t{60} << 20;
  return limits;
}

Config config_from(const std::string& text) {
  if (const auto candidate = parse_candidate(text)) {
    return candidate->config;
  }
  if (auto config = parse_config(text)) {
    return *std::move(config);
  }
  throw std::invalid_argument("--config \"" + text +
                              "\" is not a list of knob=value, like \"block_m=128 block_n=256 "
                              "block_k=64 group_m=8\", optionally after a family's name");
}

Tiles tiles_of(const Problem& problem, const Config& config, const std::string& text) {
  const auto knob = [&](const char* name, int fallback) {
    return config.find(name).value_or(fallback);
  };
  const int square = knob("tile", 0);  // tiled_shared
  Tiles tiles{.config = text,
              .block_m = knob("block_m", square),
              .block_n = knob("block_n", square),
              .block_k = knob("block_k", square),
              .rasterization = {}};
  if (tiles.block_m < 1 || tiles.block_n < 1 || tiles.block_k < 1) {
    throw std::invalid_argument("the config \"" + text +
                                "\" has no tiles: it needs block_m, block_n and block_k of at "
                                "least 1; set them with --config");
  }
  const Tiling tiling = tunedgemm::internal::tiling(problem, tiles.block_m, tiles.block_n);
  constexpr std::int64_t kMostTiles = 1'000'000;
  if (tiling.tiles_m > kMostTiles / tiling.tiles_n) {
    throw std::invalid_argument(std::to_string(tiling.tiles_m) + " x " +
                                std::to_string(tiling.tiles_n) +
                                " tiles are more than the limit of 1000000; make the tiles larger "
                                "or the problem smaller");
  }
  tiles.rasterization = {.tiles_m = static_cast<int>(tiling.tiles_m),
                         .tiles_n = static_cast<int>(tiling.tiles_n),
                         .group = std::max(1, knob("group_m", 1)),
                         .along_n = knob("raster_along_n", 0) != 0,
                         .cluster_m = std::max(1, knob("cluster_m", 1)),
                         .cluster_n = std::max(1, knob("cluster_n", 1))};
  return tiles;
}

// The winner, or the default candidate if there is none.
Candidate candidate_of(Context& context, const CanonicalProblem& problem) {
  Device& device = context.device();
  const auto hit =
      context.store().find({problem, device.identity(), device.toolchain()}, device.limits());
  return hit ? hit->winner.candidate : default_candidate(problem, device.limits()).candidate;
}

std::string rasterization_text(const Rasterization& rasterization) {
  std::string text = "groups of " + std::to_string(rasterization.group) +
                     (rasterization.along_n ? " columns" : " rows");
  if (rasterization.cluster_m * rasterization.cluster_n > 1) {
    text += ", clusters of " + std::to_string(rasterization.cluster_m) + " x " +
            std::to_string(rasterization.cluster_n);
  }
  return text;
}

std::string megabytes_text(double bytes) {
  return rounded_text(bytes * 1e-6) + " MB";
}

// Of A and B.
double bytes_read(const Wave& wave, const Problem& problem, const Tiles& tiles) {
  const double bytes_per_k = static_cast<double>(wave.rows * tiles.block_m) *
                                 static_cast<double>(size_bytes(problem.a.type)) +
                             static_cast<double>(wave.columns * tiles.block_n) *
                                 static_cast<double>(size_bytes(problem.b.type));
  return bytes_per_k * static_cast<double>(problem.k);
}

void print_table(const Problem& problem, const Tiles& tiles, const std::vector<NamedOrder>& orders,
                 std::int64_t at_a_time, const DeviceLimits& limits, std::size_t width) {
  const std::int64_t depth = ceil_divide(problem.k, tiles.block_k);
  Table table({{"order"},
               {"first wave reads"},
               {"bytes", Align::kRight},
               {"of L2", Align::kRight},
               {"bytes in all waves", Align::kRight},
               {"blocks", Align::kRight},
               {"blocks in all waves", Align::kRight}});
  for (const NamedOrder& order : orders) {
    const std::vector<Wave> all_waves = waves(order.tiles, at_a_time);
    std::int64_t all_blocks = 0;
    double all_bytes = 0;
    for (const Wave& wave : all_waves) {
      all_blocks += depth * (wave.rows + wave.columns);
      all_bytes += bytes_read(wave, problem, tiles);
    }
    const Wave& first = all_waves.front();
    const double bytes = bytes_read(first, problem, tiles);
    table.add({order.name,
               counted(static_cast<std::size_t>(first.rows), "row") + ", " +
                   counted(static_cast<std::size_t>(first.columns), "column"),
               megabytes_text(bytes), rounded_text(bytes / static_cast<double>(limits.l2_bytes)),
               megabytes_text(all_bytes), std::to_string(depth * (first.rows + first.columns)),
               std::to_string(all_blocks)});
  }
  table.print_fitting(std::cout, width);
}

// Prints each tile's number at its position in D, unless the numbers do not fit on the terminal.
void print_numbers(const NamedOrder& order, const Rasterization& rasterization) {
  constexpr std::int64_t kMostColumns = 24, kMostRows = 48;
  const auto width = static_cast<int>(std::to_string(order.tiles.size()).size()) + 1;
  const auto most_columns = static_cast<std::int64_t>(line_width(STDOUT_FILENO)) / width;
  if (rasterization.tiles_n > std::min(kMostColumns, most_columns) ||
      rasterization.tiles_m > kMostRows) {
    return;
  }
  std::vector<std::size_t> numbers(order.tiles.size());
  for (std::size_t index = 0; index < order.tiles.size(); ++index) {
    const TileCoordinate& tile = order.tiles[index];
    const std::int64_t position = std::int64_t{tile.tile_m} * rasterization.tiles_n + tile.tile_n;
    numbers[static_cast<std::size_t>(position)] = index;
  }
  std::cout << '\n' << order.name << '\n';
  for (std::size_t index = 0; index < numbers.size(); ++index) {
    const bool ends_row = (index + 1) % static_cast<std::size_t>(rasterization.tiles_n) == 0;
    std::cout << std::setw(width) << numbers[index] << (ends_row ? "\n" : "");
  }
}

// For plot_order.py.
Json to_json(const Tiles& tiles, const Problem& problem, const std::vector<NamedOrder>& orders,
             std::int64_t at_a_time) {
  Json document{
      {"title", std::to_string(problem.m) + " x " + std::to_string(problem.n) + " in tiles of " +
                    std::to_string(tiles.block_m) + " x " + std::to_string(tiles.block_n) + ", " +
                    std::to_string(at_a_time) + " at a time"},
      {"config", tiles.config},
      {"tiles_m", tiles.rasterization.tiles_m},
      {"tiles_n", tiles.rasterization.tiles_n},
      {"at_a_time", at_a_time},
      {"orders", Json::array()}};
  for (const NamedOrder& order : orders) {
    const Wave first = waves(order.tiles, at_a_time).front();
    Json coordinates = Json::array();
    for (const TileCoordinate& tile : order.tiles) {
      coordinates.push_back({tile.tile_m, tile.tile_n});
    }
    document["orders"].push_back({{"name", order.name},
                                  {"first_wave",
                                   {{"tiles", first.tiles},
                                    {"rows", first.rows},
                                    {"columns", first.columns},
                                    {"bytes", bytes_read(first, problem, tiles)}}},
                                  {"tiles", std::move(coordinates)}});
  }
  return document;
}

ExitStatus order(const OrderOptions& options) {
  const std::optional<Plotter> plotter = find_plotter(options.picture);
  Problem problem = canonical(shape_of_arguments(options.shape).problem);
  if (problem.m < 1 || problem.n < 1 || problem.k < 1) {
    throw std::invalid_argument("M, N and K must be at least 1: an empty problem has no tiles");
  }
  DeviceLimits limits = usual_limits();
  Tiles tiles;
  // With swap_ab the kernel computes tiles of D's transpose.
  bool swaps = false;
  const auto set_tiles = [&](const Config& config, const std::string& text) {
    swaps = config.find("swap_ab").value_or(0) != 0;
    problem = swaps ? transposed(problem) : problem;
    tiles = tiles_of(problem, config, text);
  };
  if (options.config.empty()) {
    const auto context = open_for_reading(options.context);
    if (!context->device().limits().is_gpu()) {
      throw std::invalid_argument(
          "there is no GPU to take a config from; set one with --config \"block_m=128 "
          "block_n=256 block_k=64 group_m=8\"");
    }
    limits = context->device().limits();
    const Candidate candidate = candidate_of(*context, canonical(problem));
    set_tiles(candidate.config, to_text(candidate));
  } else {
    set_tiles(config_from(options.config), options.config);
  }
  const Rasterization& rasterization = tiles.rasterization;
  const std::int64_t at_a_time = options.at_a_time > 0 ? options.at_a_time : limits.sm_count;

  std::vector<NamedOrder> orders{{rasterization_text(rasterization), grouped_order(rasterization)}};
  if (options.compare) {
    orders.push_back({"row-major", row_major_order(rasterization.tiles_m, rasterization.tiles_n)});
  }
  std::ostringstream head;
  head << tiles.config << '\n'
       << rasterization.tiles_m << " x " << rasterization.tiles_n << " tiles of " << tiles.block_m
       << " x " << tiles.block_n << (swaps ? " of D's transpose, each " : ", each ")
       << ceil_divide(problem.k, tiles.block_k) << " blocks deep; " << at_a_time
       << " at a time\n\n";
  std::cout << wrapped(head.str(), sentence_width(STDOUT_FILENO));
  print_table(problem, tiles, orders, at_a_time, limits, options.width);
  for (const NamedOrder& each : orders) {
    print_numbers(each, rasterization);
  }
  if (const std::string json = json_path(options.picture); !json.empty()) {
    write_file(json, json_text(to_json(tiles, problem, orders, at_a_time)) + "\n",
               IfThere::kReplaceResults);
    if (plotter) {
      plot(*plotter, {json}, options.picture.plot);
      std::cout << "\nDrawn in " << options.picture.plot << ".png and .svg\n";
    }
  }
  return ExitStatus::kGood;
}

}  // namespace

void add_order(CLI::App& app, ExitStatus& status) {
  auto* verb =
      app.add_subcommand("order", "print the order of tiles, and the bytes that each wave reads");
  const auto options = std::make_shared<OrderOptions>();
  add_shape_arguments(*verb, options->shape);
  add_context_options(*verb, options->context);
  verb->add_option(
      "--config", options->config,
      "knobs, optionally after a family's name; default the winner or the cost model's "
      "choice on this GPU");
  verb->add_option("--at-a-time", options->at_a_time,
                   "tiles in a wave; default the GPU's number of SMs, 132 with --config")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  add_wide_option(*verb, options->width);
  verb->add_flag("--compare", options->compare, "also show row-major order");
  add_picture_options(*verb, options->picture, "plot_order.py");
  verb->add_option_function<std::string>(
          "--svg",
          [options](const std::string& file) {
            options->picture.plot = std::filesystem::path(file).replace_extension().string();
          },
          "as --plot, given the name of the SVG file")
      ->type_name("FILE.svg")
      ->excludes("--plot");
  verb->footer(
      "The tiles of a wave run at the same time and share their reads in the L2 cache: the fewer "
      "block rows of A and block columns of B they cover, the fewer bytes the wave reads.");
  verb->callback([options, &status] { status = order(*options); });
}

}  // namespace tunedgemm::internal
