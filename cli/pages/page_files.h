// The files of page/, put into the program by the build.
#pragma once

#include <string_view>

namespace fade::report {

extern const std::string_view kPageHtml, kPageStyle, kPageScript;
extern const std::string_view kRunPageScript; ///< of a run of many processes

} // namespace fade::report
