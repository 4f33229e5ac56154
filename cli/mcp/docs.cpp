#include "mcp/docs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fade::mcp {

namespace fs = std::filesystem;

std::vector<DocPage> docPages() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return docPagesIn((program.parent_path().parent_path() / "share/fade/docs").string());
}

std::vector<DocPage> docPagesIn(const std::string &folder) {
  std::vector<DocPage> pages;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() != ".md") continue;
    DocPage page{at->path().lexically_relative(folder).replace_extension().string(), "",
                 at->path().string(), 0};
    std::error_code size_error;
    page.bytes = at->file_size(size_error);
    if (size_error) continue;
    std::ifstream in(page.path);
    std::string line;
    std::getline(in, line);
    page.title = line.starts_with("# ") ? line.substr(2) : page.name;
    pages.push_back(std::move(page));
  }
  std::ranges::sort(pages, {}, &DocPage::name);
  return pages;
}

std::optional<std::string> textOf(const DocPage &page) {
  std::ifstream in(page.path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

} // namespace fade::mcp
