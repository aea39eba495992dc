#pragma once

// Options shared by the commands: the device, the cache file, the fields of a shape (--types,
// --layout, --batch, --activation, ...), and sweeps of square shapes.

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/context/context.h"
#include "tools/shared/named_problem.h"
#include "tools/shared/table.h"

namespace tunedgemm::internal {

// The variables that these functions register must outlive the parsing.

struct ContextChoice {
  std::string device = "auto";
  std::string cache;
};
/// Adds --device auto|host|cuda[:n] and --cache PATH.
void add_context_options(CLI::App& app, ContextChoice& choice);
/// Adds --device alone.
void add_device_option(CLI::App& app, std::string& device);
/// Adds --cache PATH.
void add_cache_option(CLI::App& app, std::string& cache);

/// Adds --sort, --limit, --columns and --markdown, or --json in their place.
void add_table_options(CLI::App& app, TableChoice& choice, bool& json);
/// Adds --wide, which makes `width`, the width of tables, unlimited.
void add_wide_option(CLI::App& app, std::size_t& width);

/// Adds --device TEXT and --list LIST, which select winners by is_named() and by LayerList.
void add_winner_filters(CLI::App& app, std::string& device, std::vector<std::string>& lists);

/// The names of the devices in a list of --devices, for ContextChoice: "cuda:0", ... The list is
/// "all", which means all GPUs, or has different names with numbers. Throws std::invalid_argument,
/// or DeviceError if "all" finds no GPU.
std::vector<std::string> device_names_of(const std::vector<std::string>& list);

/// Precondition: CLI11 has parsed and checked the choice. Throws std::invalid_argument if an
/// environment variable has a value that the library refuses.
ContextOptions to_context_options(const ContextChoice& choice);
/// A context, or a store, for commands that only read: it never stores anything in the cache.
std::unique_ptr<Context> open_for_reading(const ContextChoice& choice);
std::unique_ptr<Store> open_store_for_reading(const std::string& cache);

/// Adds an option (--order-c for order_c) for every field of a shape except those in `left_out` and
/// those that only lists have. The parser appends the user's values to `fields`.
void add_shape_options(CLI::App& app, std::span<const std::string_view> left_out,
                       std::vector<Field>& fields);
enum class Extents { kRequired, kOptional };
/// Adds M, N and K as arguments and the other fields as options. M may also be all three as tables
/// show them, 64x512x256, with the layout after it; or the name of a winner, if they are required.
void add_shape_arguments(CLI::App& app, std::vector<Field>& fields,
                         Extents extents = Extents::kRequired);

/// The shape of the arguments "M N K" and its options; types default to f32. Throws as
/// to_named_problem().
NamedProblem shape_of_arguments(std::vector<Field> fields);
/// The same; or the problem of the winners in the cache whose name stands for M, which the other
/// fields must not contradict. Throws std::invalid_argument if there is none, or are several.
NamedProblem shape_of_arguments(std::vector<Field> fields, const std::string& cache);

/// Whether the field is M, N or K.
bool is_extent(const Field& field);
/// The shapes of a list, or without one the shape of the arguments. Throws std::invalid_argument if
/// both are given, and as read_shape_list() and shape_of_arguments().
std::vector<NamedProblem> shapes_of(const std::vector<Field>& fields, const std::string& list);

/// The sizes of the sweep "squares": 128 * i for i = 2 .. 32.
inline constexpr std::string_view kSquares = "256:4096:128";
/// A shape with M = N = K for every size in the list (parse_number_list), with the given fields;
/// types default to f16. Throws std::invalid_argument.
std::vector<NamedProblem> square_shapes(const std::vector<Field>& fields, std::string_view sizes);

}  // namespace tunedgemm::internal
