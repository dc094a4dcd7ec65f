#include "attnscope/core/batch.h"

#include <algorithm>
#include <string>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

void expect_length(const TokenRow& row, std::size_t index, const std::vector<std::int64_t>& column,
                   const char* name) {
  if (column.empty() || column.size() == row.ids.size()) return;
  throw Error(ErrorKind::input, "CO41",
              {.where = "row " + std::to_string(index),
               .what = std::string(name) + " and ids differ in length",
               .expected = std::to_string(row.ids.size()),
               .got = std::to_string(column.size())});
}

void check_rows(const std::vector<TokenRow>& rows) {
  if (rows.empty()) throw Error(ErrorKind::input, "CO40", {.what = "an empty batch"});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].ids.empty()) {
      throw Error(ErrorKind::input, "CO40",
                  {.where = "row " + std::to_string(i), .what = "a prompt without tokens"});
    }
    expect_length(rows[i], i, rows[i].token_types, "token types");
    expect_length(rows[i], i, rows[i].position_ids, "position ids");
  }
}

}  // namespace

Batch make_batch(const std::vector<TokenRow>& rows, PadSide side) {
  check_rows(rows);
  const auto longest = static_cast<std::int64_t>(
      std::max_element(rows.begin(), rows.end(), [](const TokenRow& a, const TokenRow& b) {
        return a.ids.size() < b.ids.size();
      })->ids.size());
  const auto size = static_cast<std::int64_t>(rows.size());
  const bool types = std::any_of(rows.begin(), rows.end(),
                                 [](const TokenRow& r) { return !r.token_types.empty(); });
  Batch batch;
  batch.ids = at::zeros({size, longest}, at::kLong);
  batch.position_ids = at::zeros({size, longest}, at::kLong);
  if (types) batch.token_types = at::zeros({size, longest}, at::kLong);
  at::Tensor real = at::zeros({size, longest}, at::kBool);
  bool padded = false;
  for (std::int64_t b = 0; b < size; ++b) {
    const TokenRow& row = rows[static_cast<std::size_t>(b)];
    const auto length = static_cast<std::int64_t>(row.ids.size());
    const std::int64_t start = side == PadSide::left ? longest - length : 0;
    padded = padded || length < longest;
    for (std::int64_t i = 0; i < length; ++i) {
      const auto from = static_cast<std::size_t>(i);
      const std::int64_t to = b * longest + start + i;
      batch.ids.mutable_data_ptr<std::int64_t>()[to] = row.ids[from];
      batch.position_ids.mutable_data_ptr<std::int64_t>()[to] =
          row.position_ids.empty() ? i : row.position_ids[from];
      real.mutable_data_ptr<bool>()[to] = true;
      if (!row.token_types.empty()) {
        batch.token_types.mutable_data_ptr<std::int64_t>()[to] = row.token_types[from];
      }
    }
    batch.rows.push_back({static_cast<int>(start), static_cast<int>(length)});
  }
  if (padded) batch.real = real;
  return batch;
}

at::Tensor unpadded(const at::Tensor& value, const Batch& batch, int row) {
  const RowSpan span = batch.rows.at(static_cast<std::size_t>(row));
  const at::Tensor part = value.select(0, row);
  // A classifier's output has one position for the whole row.
  if (part.size(0) != batch.padded_length()) return part;
  return part.narrow(0, span.start, span.length);
}

at::Tensor unpadded_map(const at::Tensor& value, const Batch& batch, int row) {
  const RowSpan span = batch.rows.at(static_cast<std::size_t>(row));
  at::Tensor part = value.select(0, row);
  if (part.size(1) == batch.padded_length()) part = part.narrow(1, span.start, span.length);
  if (part.size(2) == batch.padded_length()) part = part.narrow(2, span.start, span.length);
  return part;
}

}  // namespace attnscope
