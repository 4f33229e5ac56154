// fadeprobe rewrite: finished code objects, instrumented without their compiler.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace fade::cli {

struct RewriteOptions {
  std::string input, output, instrument = "counts", kernels;
};

CLI::App *addRewriteCommand(CLI::App &app, RewriteOptions &options);
/// 0 something was written, 1 nothing could be rewritten, 2 another error. Does not return if
/// fade-rewrite was started.
int runRewrite(const RewriteOptions &options);

} // namespace fade::cli
