// tunedgemm show: prints a view of the cache (cache/README.md) as a table.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tools/shared/options.h"
#include "tools/shared/results.h"
#include "tools/shared/table.h"
#include "tools/shared/terminal.h"
#include "tools/shared/text.h"
#include "tools/tunedgemm/tables.h"
#include "tools/tunedgemm/verbs.h"

namespace tunedgemm::internal {
namespace {

struct ShowOptions {
  std::string cache, view;
  std::vector<std::string> filters;
  TableChoice table;
  bool json = false;
  std::size_t width = line_width(STDOUT_FILENO);  // of the table
};

template <class Named>
std::string listed(const std::vector<Named>& all) {
  std::string names;
  for (const Named& one : all) {
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  }
  return names;
}

template <class Named>
auto find_named(const std::vector<Named>& all, std::string_view name) {
  return std::ranges::find(all, name, &Named::name);
}

std::string why_no_view(const std::string& name) {
  const std::vector<CacheView> views = views_for_people();
  return find_named(views, name) != views.end()
             ? ""
             : '"' + name + "\" is not a view; expected one of " + listed(views);
}

// "m=512" as a pair. Throws std::invalid_argument if the view has no such column.
std::pair<std::string, std::string> parse_filter(const CacheView& view, const std::string& text) {
  const std::size_t sign = text.find('=');
  const std::string column = text.substr(0, sign);
  if (sign == text.npos || find_named(view.columns, column) == view.columns.end()) {
    throw std::invalid_argument('"' + text + "\" is not COLUMN=VALUE with a column of " +
                                std::string(view.name) + ": " + listed(view.columns));
  }
  return {column, text.substr(sign + 1)};
}

std::string number_text(double number, std::string_view unit) {
  if (unit == "us" || unit == "ms" || unit == "s") {
    return time_text(number * (unit == "us" ? 1 : unit == "ms" ? 1e3 : 1e6));
  }
  return rounded_text(number) + (unit == "percent" ? " %" : unit == "times" ? "x" : "");
}

std::string text_of(const Cell& cell, std::string_view unit) {
  if (const auto* number = std::get_if<double>(&cell)) {
    return number_text(*number, unit);
  }
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    return std::to_string(*integer);
  }
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? "" : *text;
}

Json to_json(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
          return nullptr;
        } else {
          return value;
        }
      },
      cell);
}

// "median" for median_us: the cells have units.
std::string title_of(const ViewColumn& column) {
  std::string title(column.name);
  const std::string ending = "_" + std::string(column.unit);
  if (title.ends_with(ending)) {
    title.resize(title.size() - ending.size());
  }
  std::ranges::replace(title, '_', ' ');
  return title;
}

}  // namespace

Table view_table(const CacheView& view, const std::vector<ViewRow>& rows) {
  constexpr std::array<std::string_view, 5> kHeadings{"device", "batch", "types", "layout",
                                                      "epilogue"};
  constexpr std::size_t kShort = 20;
  std::vector<std::size_t> order(view.columns.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<Column> columns;
  std::size_t wrapped_column = order.size();
  for (const std::size_t column : order) {
    const ViewColumn& described = view.columns[column];
    const bool is_heading = std::ranges::find(kHeadings, described.name) != kHeadings.end();
    Align align = Align::kRight;
    for (const ViewRow& row : rows) {
      if (const auto* text = std::get_if<std::string>(&row[column])) {
        align = Align::kLeft;
        if (text->size() > kShort && !is_heading) {
          wrapped_column = std::min(wrapped_column, column);
        }
      }
    }
    columns.push_back({title_of(described), align,
                       is_heading ? Constant::kHeading : Constant::kColumn, TooWide::kOmit});
  }
  if (wrapped_column < order.size()) {
    const auto move_last = [&](auto& all) {
      const auto moved = all.begin() + static_cast<std::ptrdiff_t>(wrapped_column);
      std::rotate(moved, moved + 1, all.end());
    };
    columns[wrapped_column].too_wide = TooWide::kWrap;
    move_last(columns);
    move_last(order);
  }
  Table table(std::move(columns));
  for (const ViewRow& row : rows) {
    std::vector<std::string> cells;
    cells.reserve(order.size());
    for (const std::size_t column : order) {
      cells.push_back(text_of(row[column], view.columns[column].unit));
    }
    table.add(std::move(cells));
  }
  return table;
}

namespace {

void print_json(const CacheView& view, const std::vector<ViewRow>& rows) {
  Json array = Json::array();
  for (const ViewRow& row : rows) {
    Json& object = array.emplace_back(Json::object());
    for (std::size_t column = 0; column < view.columns.size(); ++column) {
      object[std::string(view.columns[column].name)] = to_json(row[column]);
    }
  }
  std::cout << json_text(array, 2) << '\n';
}

ExitStatus show(const ShowOptions& options) {
  const std::vector<CacheView> views = views_for_people();
  const CacheView& view = *find_named(views, options.view);
  Store::Equal equal;
  for (const std::string& filter : options.filters) {
    equal.push_back(parse_filter(view, filter));
  }
  const auto store = open_store_for_reading(options.cache);
  const std::vector<ViewRow> rows = store->rows_of(view, equal);
  if (options.json) {
    print_json(view, rows);
  } else if (!rows.empty()) {
    view_table(view, rows).print_chosen(std::cout, options.width, options.table);
  }
  if (rows.empty()) {
    std::cerr << "the view " << view.name << " of " << store->health().path.string() << " has no "
              << (equal.empty() ? "rows" : "such rows") << '\n';
    return ExitStatus::kNoResult;
  }
  return ExitStatus::kGood;
}

std::string help_text() {
  std::string text = "A row is:\n";
  for (const CacheView& view : views_for_people()) {
    text += "  " + std::string(view.name) + std::string(12 - view.name.size(), ' ') +
            std::string(view.row) + '\n';
  }
  return text +
         "`tunedgemm show help view=stale` explains the columns of stale, and their units in JSON.";
}

// Adds everything but the name of the view.
void add_choice_of_rows(CLI::App& verb, const std::shared_ptr<ShowOptions>& options,
                        ExitStatus& status) {
  verb.add_option("filters", options->filters, "only rows with these values: m=512 state=stale")
      ->type_name("COLUMN=VALUE");
  add_cache_option(verb, options->cache);
  add_table_options(verb, options->table, options->json);
  add_wide_option(verb, options->width);
  verb.callback([options, &status] { status = show(*options); });
}

}  // namespace

void add_missing(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand("missing", "print what programs asked for and was never tuned");
  const auto options = std::make_shared<ShowOptions>();
  options->view = "missing";
  add_choice_of_rows(*verb, options, status);
  verb->footer("`tune-all --from-requests` tunes these problems. Exit status 1: there are none.");
}

void add_show(CLI::App& app, ExitStatus& status) {
  auto* verb = app.add_subcommand("show", "print a view of the cache as a table");
  const auto options = std::make_shared<ShowOptions>();
  verb->add_option("view", options->view, "the view")
      ->required()
      ->check(CLI::Validator(why_no_view, ""))
      ->type_name("VIEW");
  add_choice_of_rows(*verb, options, status);
  verb->footer(help_text());
}

}  // namespace tunedgemm::internal
