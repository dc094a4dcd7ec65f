// File: architecture_drawing.h
// A model's architecture as text: boxes from the tokens down to the head.
#pragma once

#include <string>

#include "attnscope/checkpoint/describe.h"

namespace attnscope::cli {

std::string draw_architecture(const ModelConfig& config, const ArchitectureDescription& about);
// Parameters, bytes, memory, and what the files hold beside.
std::string describe_sizes(const ArchitectureDescription& about, const MemoryFigures& memory);
// The template's text, never run; empty when there is none.
std::string show_template(const std::string& chat_template);

}  // namespace attnscope::cli
