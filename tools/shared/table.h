#pragma once

// Table: rows of text in aligned columns.

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace tunedgemm::internal {

enum class Align { kLeft, kRight };
/// Where print_fitting() shows a column whose rows all have the same text.
enum class Constant { kColumn, kHeading };
/// The treatment of a column that is too wide for print_fitting().
enum class TooWide { kOmit, kWrap };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  Constant constant = Constant::kColumn;
  TooWide too_wide = TooWide::kOmit;  ///< kWrap: only the last column, aligned left
};

/// What a user wants to see of a table. Columns are named as in the titles; neither case counts nor
/// what is no letter or digit: "vs default", vs_default.
struct TableChoice {
  std::string sort = {};  ///< a column; "-time": from the largest value
  std::size_t limit = 0;  ///< rows; 0: all
  /// In this order, whatever the width; none: those that fit.
  std::vector<std::string> columns = {};
  bool shows_all = false;  ///< columns, also those that are constant
  bool is_markdown = false;
};

/// A plain value, used by one thread.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One text per column. Control characters and line breaks are escaped.
  void add(std::vector<std::string> row);
  std::size_t size() const { return rows_.size(); }

  /// The titles, then the rows; titles are bold and states coloured if the stream has colours.
  /// Columns are two spaces apart and as wide as their widest text; columns that are empty or
  /// "-" in every row are omitted.
  void print(std::ostream& out) const;
  /// The same in lines of at most `width` characters. The columns must be in the order of their
  /// importance: each is omitted if it does not fit behind the columns before it. A last column of
  /// kind kWrap is never omitted: the others leave it half of the width if it needs as much, and
  /// its longer texts go on below. Constant columns of kind kHeading are in lines "title: text;
  /// ..." above the table.
  void print_fitting(std::ostream& out, std::size_t width) const;
  /// The same, as the user wants it. Throws std::invalid_argument if there is no such column.
  void print_chosen(std::ostream& out, std::size_t width, const TableChoice& choice) const;
  void print_markdown(std::ostream& out) const;
  /// A table element, below the constant columns of kind kHeading. Cells that begin with a number
  /// have it in microseconds, or in their own unit, as data-number.
  void print_html(std::ostream& out) const;

 private:
  std::size_t column_named(std::string_view name) const;
  void sort(const std::string& by);
  /// "title: text; ..." for the columns that are headings.
  std::string heading() const;
  bool is_heading(std::size_t column) const;
  std::vector<std::size_t> columns_with_text() const;
  /// 0 if every row is empty or "-".
  std::size_t width_of(std::size_t column) const;
  /// Texts of the last of the columns are wrapped at `last_width`.
  void print_columns(std::ostream& out, const std::vector<std::size_t>& columns,
                     std::size_t last_width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tunedgemm::internal
