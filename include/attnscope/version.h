// File: version.h
// The version of attnscope; CMakeLists.txt holds the same number and a test compares them.
#pragma once

#define ATTNSCOPE_VERSION "0.1.0"
