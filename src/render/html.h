// File: html.h
// Pieces of a page.
#pragma once

#include <string>
#include <string_view>

namespace attnscope::render {

// Untrusted text between tags or in a quoted attribute; what could harm a reader is visible as
// \xNN.
std::string html_text(std::string_view text);

// "−0.0123": three significant digits with a real minus sign, "–" for what is not there.
std::string html_number(double value);
// A p value with four decimals, or two digits where these are all 0; "≤" before the smallest that
// draws can give.
std::string html_p(double value, double smallest);
// html_number with a plus where there is no minus.
std::string html_signed(double value);

// The style sheet and the script of a report.
extern const char* const kReportStyle;
extern const char* const kReportScript;

}  // namespace attnscope::render
