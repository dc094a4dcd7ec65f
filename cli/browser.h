// File: browser.h
// Opening the user's browser, without a shell.
#pragma once

#include <string>

namespace attnscope::cli {

// Why none can be opened here, in a few words; empty if one can. $BROWSER, else the desktop's.
std::string why_no_browser();

// Starts it with `address` as a process of its own, and does not wait for it.
void open_browser(const std::string& address);

}  // namespace attnscope::cli
