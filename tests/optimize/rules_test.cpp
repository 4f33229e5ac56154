// What rules make of sources, and where they make nothing.
#include "optimize/rules.h"

#include <gtest/gtest.h>

namespace fade::cli {
namespace {

using Json = nlohmann::ordered_json;

/// With conflicts, scattered accesses, and one capture of k.
Json requestFor(const std::string &kernel = "k(float const*, float*)",
                std::array<uint64_t, 3> workgroup = {32, 32, 1}) {
  return {{"counts", {{"conflicts", 100}}},
          {"may_bound_launches", true},
          {"kernels", Json::array({{{"kernel", kernel}, {"workgroup", workgroup}}})},
          {"accesses",
           Json::array({{{"global", Json::array({{{"lines_used", 64}, {"lines_needed", 2}}})}}})}};
}

/// The texts that a rule offers.
std::vector<std::string> offersOf(const std::string &rule, const std::string &source,
                                  const Json &request = requestFor()) {
  std::vector<std::string> offers;
  const SourceText text(source);
  for (const Rule &each : allRules())
    if (each.name == rule)
      for (const RuleEdit &edit : each.edits(text, request))
        offers.push_back(edit.edits.applyTo(source));
  return offers;
}
using Offers = std::vector<std::string>;

TEST(Rules, RowsOfArraysInLdsGetLonger) {
  const auto padded = [](const std::string &declaration) {
    const auto offers = offersOf("pad", "__shared__ " + declaration + ";\n");
    return offers.empty() ? "" : offers[0].substr(11, offers[0].size() - 13);
  };
  EXPECT_EQ(padded("float a[32][32]"), "float a[32][32 + 1]");
  EXPECT_EQ(padded("unsigned char a[ 8 ][N]"), "unsigned char a[ 8 ][N + 4]");
  EXPECT_EQ(padded("_Float16 a[2][8][32]"), "_Float16 a[2][8][32 + 2]");
  EXPECT_EQ(padded("float a[32][N << 1]"), "float a[32][(N << 1) + 1]");
  EXPECT_EQ(padded("std::pair<int, int> a[1'024][4]"), ""); // the comma: not understood
  EXPECT_EQ(padded("float a[32]"), "");
  EXPECT_EQ(padded("float a[][32]"), "");
  EXPECT_EQ(padded("float a"), "");
}

TEST(Rules, RowsOfArraysOfOneDimensionGetLongerWhereAllUsesAreRows) {
  const auto padded = [](const std::string &length, const std::string &uses) {
    const std::string begin = "__global__ void k() { __shared__ float a[";
    const auto offers = offersOf("pad", begin + length + "]; " + uses + " }");
    return offers.empty() ? ""
                          : offers[0].substr(begin.size(), offers[0].size() - begin.size() - 2);
  };
  EXPECT_EQ(padded("32 * 32", "a[y * 32 + x] = 1; f(a[x * 32 + y]);"),
            "32 * (32 + 1)]; a[y * (32 + 1) + x] = 1; f(a[x * (32 + 1) + y]);");
  EXPECT_EQ(padded("W * H", "a[x + (y + 1) * W] = a[y * W];"),
            "(W + 1) * H]; a[x + (y + 1) * (W + 1)] = a[y * (W + 1)];");
  EXPECT_EQ(padded("1024", "a[y * 32 + x] = a[x * 32 + y];"),
            "1024 + 32]; a[y * (32 + 1) + x] = a[x * (32 + 1) + y];");
  for (const char *uses :
       {"a[y * 32 + x] = a[i];", "a[y * 32 + x] = f(a);", "a[y * 32 + x] = a[x * 32 - y];",
        "a[y * 32 + x] = a[32];", "a[y * 32 + x] = a[2 * y * 32 + x];", "a[y * 32 + x] = 1;",
        "a[y * 32 + x] = a[(x * 32 + y) & 1023];", "a[y * 32 + x] = a[y * 32 + x * 32];",
        "a[y * 32 + x] = a[x * 32 + y & 1023];"})
    EXPECT_EQ(padded("32 * 32", uses), "") << uses;
  EXPECT_EQ(padded("1000", "a[y * 32 + x] = a[x * 32 + y];"), "");
  EXPECT_EQ(padded("N", "a[y * 32 + x] = a[x * 32 + y];"), "");
}

TEST(Rules, ArraysOfOtherKernelsAreLeftAlone) {
  const std::string helper = "__device__ void h() { __shared__ float a[8][8]; }\n",
                    other = "__global__ void o() { __shared__ float b[8][8]; }\n",
                    mine = "__global__ void k() { __shared__ float c[8][8]; }\n";
  const auto longer = [](std::string text) { return text.replace(text.find("]["), 4, "][8 + 1]"); };
  EXPECT_EQ(offersOf("pad", helper + other + mine),
            (Offers{helper + other + longer(mine), longer(helper) + other + mine}))
      << "what surely matters comes first";
  EXPECT_EQ(offersOf("swap indices", other), Offers{});
}

TEST(Rules, NothingIsFoundInCommentsTextsAndMacros) {
  for (const char *source :
       {"// __shared__ float a[32][32];\n", "/* __shared__ float a[32][32];\n*/",
        "const char *t = \"__shared__ float a[32][32];\";\n",
        "#define A \\\n  __shared__ float a[32][32];\n",
        "const char *t = R\"x(\n__shared__ float a[32][32];\n)x\";\n",
        "// goes on \\\n__shared__ float a[32][32];\n", "extern __shared__ float a[][32];\n"})
    EXPECT_EQ(offersOf("pad", source), Offers()) << source;
  EXPECT_EQ(offersOf("pad", "int n = 1'000; __shared__ float a[4][4];").size(), 1u);
  EXPECT_EQ(offersOf("pad", "char c = '\\''; char d = '\"'; __shared__ float a[4][4];").size(), 1u);
  Json calm = requestFor();
  calm["counts"]["conflicts"] = 0;
  EXPECT_EQ(offersOf("pad", "__shared__ float a[4][4];", calm), Offers());
}

TEST(Rules, ASquareArrayLiesTheOtherWayRound) {
  EXPECT_EQ(offersOf("swap indices", "void f() {\n  __shared__ float a[N][N];\n  a[x + 1][y] = "
                                     "1;\n  g = a[i[0]][j];\n}\nvoid h() { a[1][2] = 3; }\n"),
            Offers{"void f() {\n  __shared__ float a[N][N];\n  a[y][x + 1] = 1;\n  g = "
                   "a[j][i[0]];\n}\nvoid h() { a[1][2] = 3; }\n"});
  for (const char *use : {"f(a);", "a[x] = b;", "p = &a[0];", "a[a[0][1]][1] = 1;", "a[x][] = 1;"})
    EXPECT_EQ(offersOf("swap indices", std::string("{ __shared__ float a[N][N]; ") + use + " }"),
              Offers())
        << use;
  EXPECT_EQ(offersOf("swap indices", "{ __shared__ float a[N][M]; a[x][y] = 1; }"), Offers());
}

constexpr const char *kCopy = "__global__ void k(const float *in, float *out) {\n"
                              "  __shared__ float tile[32][32];\n"
                              "  const int x = threadIdx.x, y = threadIdx.y;\n"
                              "  const int n = 5 * 2;\n"
                              "  int at = blockIdx.x * 32 + x;\n"
                              "  const float value = in[at];\n"
                              "  tile[x][y] = value;\n"
                              "  __syncthreads();\n"
                              "  out[at * n + threadIdx.y] = tile[x][y];\n"
                              "}\n";

TEST(Rules, ThreadsChangePlacesBehindABarrier) {
  const auto offers = offersOf("swap threads", kCopy);
  ASSERT_EQ(offers.size(), 1u);
  EXPECT_EQ(offers[0], std::string(kCopy)
                               .replace(std::string(kCopy).find("  out[at"), std::string::npos, "")
                               .append("")
                               .replace(std::string(kCopy).find("__syncthreads();\n") + 16, 1,
                                        " {\n  const int x = threadIdx.y, y = threadIdx.x;\n"
                                        "  int at = blockIdx.x * 32 + x;\n") +
                           "  out[at * n + threadIdx.x] = tile[x][y];\n}\n}\n");
}

TEST(Rules, ThreadsStayWhereTheyAreIfWhatTheyKnowIsTheirOwn) {
  const auto changed = [](const std::string &what, const std::string &by) {
    std::string text = kCopy;
    return text.replace(text.find(what), what.size(), by);
  };
  for (const std::string &source :
       {changed("= tile[x][y];\n}", "= tile[x][y] + value;\n}"), // a register of the thread
        changed("  tile[x]", "  at += 1;\n  tile[x]"), changed("  tile[x]", "  at++;\n  tile[x]"),
        changed("int at = blockIdx.x * 32 + x;", "int at = in[x];"),
        changed("int at = blockIdx.x * 32 + x;", "int at = f(x);"),
        changed("int at = blockIdx.x * 32 + x;", "float w = in[x]; int at = w * 2;"),
        changed("__syncthreads();", "if (n) { __syncthreads(); }"),
        changed("__syncthreads();", "__syncthreads(); __syncthreads();"),
        changed("__syncthreads();", "")})
    EXPECT_EQ(offersOf("swap threads", source), Offers()) << source;
  EXPECT_EQ(offersOf("swap threads", kCopy, requestFor("k(int)", {32, 8, 1})), Offers());
  EXPECT_EQ(offersOf("swap threads", kCopy, requestFor("other(int)")), Offers());
  Json calm = requestFor();
  calm["accesses"] = Json::array();
  EXPECT_EQ(offersOf("swap threads", kCopy, calm), Offers());
}

TEST(Rules, PointersAreApart) {
  const auto parameters = [](const std::string &text, const std::string &kernel = "k(int)") {
    const auto offers =
        offersOf("restrict", "template <typename T>\n__global__ void k(" + text + ") {}",
                 requestFor(kernel));
    return offers.empty() ? "" : offers[0].substr(40, offers[0].size() - 44);
  };
  EXPECT_EQ(parameters("const T *in, T* const out,\tint n"),
            "const T *__restrict__ in, T* const __restrict__ out,\tint n");
  EXPECT_EQ(
      parameters("T *a, T *b", "void ns::(anonymous namespace)::k<float, (int)3>(float*, float*)"),
      "T *__restrict__ a, T *__restrict__ b");
  EXPECT_EQ(parameters("T *a, int b"), "");
  EXPECT_EQ(parameters("T *__restrict__ a, T *b"), "");
  EXPECT_EQ(parameters("T *a, T *b", "other(int)"), "");
  // Two of the same name: nobody knows which one is meant.
  EXPECT_EQ(
      offersOf("restrict",
               "__global__ void k(int *a, int *b) {}\n__global__ void k(float *a, float *b) {}"),
      Offers());
  // A declaration is none.
  EXPECT_EQ(offersOf("restrict",
                     "__global__ void k(int *a, int *b);\n__global__ void k(int *a, int *b) {}")
                .size(),
            1u);
}

TEST(Rules, PointersThatAreOnlyReadAreConstWhereThatChangesNoName) {
  const std::string head = "extern \"C\" __global__ void k(float *a, unsigned char *b) ";
  const auto made = [&](const std::string &body, bool in_block = false) {
    const std::string source =
        in_block ? "extern \"C\" {\n" + head.substr(11) + body + "\n}" : head + body;
    const auto offers = offersOf("restrict", source);
    EXPECT_FALSE(offers.empty()) << source;
    return offers.empty() ? "" : offers[0].substr(0, offers[0].find(')'));
  };
  const std::string
      both = "extern \"C\" __global__ void k(float *__restrict__ a, unsigned char *__restrict__ b",
      read = "extern \"C\" __global__ void k(float *__restrict__ a, const unsigned char "
             "*__restrict__ b";
  EXPECT_EQ(made("{ a[0] = 2 * b[i] + (b[1] == 3) + (b[2] <= b[3]); }"), read);
  EXPECT_EQ(made("{ a[0] = b[i]; }", true), "extern \"C\" {\n" + read.substr(11));
  for (const char *body :
       {"{ a[0] = 1; b[i] = 2; }", "{ a[0] = 1; b[i] <<= 2; }", "{ a[0] = 1; ++b[i]; }",
        "{ a[0] = 1; b[i]--; }", "{ a[0] = 1; f(&b[i]); }", "{ a[0] = 1; f(b); }",
        "{ a[0] = 1; b[i].x = 1; }", "{ a[0] = 1; *b = 1; }", "{ a[0] = 1; b[i] |= 1; }"})
    EXPECT_EQ(made(body), both) << body;
  EXPECT_EQ(offersOf("restrict", "__global__ void k(float *a, float *b) { a[0] = b[0]; }").size(),
            1u)
      << "the name has the types of parameters";
  EXPECT_EQ(
      offersOf("restrict",
               "extern \"C\" { int n; }\n__global__ void k(float *a, float *b) { a[0] = b[0]; }")
          .size(),
      1u);
}

TEST(Rules, LoopsOfTheWholeGridTakeNeighborsAtOnce) {
  const auto kernel = [](const std::string &loop, const std::string &type = "float") {
    return "__global__ void k(" + type +
           " *o, int n) {\n  int id = threadIdx.x + blockIdx.x * blockDim.x;\n"
           "  unsigned all = gridDim.x * (unsigned)blockDim.x;\n  " +
           loop + "\n}\n";
  };
  EXPECT_EQ(offersOf("widen", kernel("for (int i = id; i < n + 1; i += all) o[i] = 2 * o[i];")),
            Offers{kernel(
                "for (int i_wide = id; i_wide < (n + 1) / 4; i_wide += all) {\n"
                "  #pragma unroll\n"
                "    for (int i_part = 0; i_part < 4; ++i_part) {\n"
                "      const int i = 4 * i_wide + i_part;\n"
                "      o[i] = 2 * o[i];\n"
                "    }\n"
                "  }\n"
                "  for (int i = (n + 1) / 4 * 4 + (id); i < n + 1; i += all) o[i] = 2 * o[i];")});
  const auto offers = [&](const std::string &loop, const std::string &type = "float") {
    return offersOf("widen", kernel(loop, type)).size();
  };
  const std::string head = "for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += "
                           "gridDim.x * blockDim.x) ";
  EXPECT_EQ(offers(head + "{ float x = o[i]; x += 1; o[i] = x; if (x < 0) continue; s += x; }"),
            1u);
  EXPECT_EQ(offers(head + "o[i] = 1;", "double"), 1u);
  EXPECT_EQ(offers(head + "o[i] = o[i];", "float4"), 0u);
  for (const char *body :
       {"{ o[i] = 1; break; }", "{ o[i] = id; }", "{ o[i] = threadIdx.x; }",
        "{ o[i] = __shfl(x, 1); }", "{ o[i] = 1; ++i; }", "{ o[0] = 1; }",
        "{ o[i] = 1; last = i; }", "{ __syncthreads(); o[i] = 1; }", "{ for (;;) o[i] = 1; }",
        "{ o[i] = 1; return; }", "if (n) { o[i] = 1; return; }", "{ atomicAdd(&o[i], 1); }",
        "{\n#if X\n o[i] = 1;\n#endif\n}", "o[i] = 1"})
    EXPECT_EQ(offers(head + body), 0u) << body;
  for (const char *loop :
       {"for (int i = id; i <= n; i += all) o[i] = 1;",
        "for (int i = id; i < n; i += 64) o[i] = 1;", "for (int i = 0; i < n; i += all) o[i] = 1;",
        "for (i = id; i < n; i += all) o[i] = 1;", "for (int i = id; i < n; ++i) o[i] = 1;",
        "for (float i = id; i < n; i += all) o[i] = 1;",
        "id = 0; for (int i = id; i < n; i += all) o[i] = 1;",
        "for (int i = id; i < n; i -= all) o[i] = 1;",
        "int i_wide; for (int i = id; i < n; i += all) o[i] = 1;",
        "#pragma unroll 2\n  for (int i = id; i < n; i += all) o[i] = 1;",
        "for (int i = id; i < n; i += all", "for (int i = id; i < n", "for (int i ="})
    EXPECT_EQ(offers(loop), 0u) << loop;
}

TEST(Rules, LaunchesAreBoundOnlyIfTheUserSaysSo) {
  const std::string source = "__global__ void k(int *a) {}";
  const Json request = requestFor("k(int*)", {64, 2, 1});
  EXPECT_EQ(
      offersOf("bound", source, request),
      Offers{"__global__ void __attribute__((amdgpu_flat_work_group_size(1, 128))) k(int *a) {}"});
  EXPECT_EQ(
      offersOf("bound", "#include <hip/hip_runtime.h>\n" + source, request),
      Offers{"#include <hip/hip_runtime.h>\n__global__ void __launch_bounds__(128) k(int *a) {}"});
  EXPECT_EQ(offersOf("bound", "__global__ void __launch_bounds__(256) k(int *a) {}", request),
            Offers());
  EXPECT_EQ(
      offersOf("bound",
               "__global__ __attribute__((amdgpu_flat_work_group_size(1, 512))) void k(int *a) {}",
               request),
      Offers());
  EXPECT_EQ(offersOf("bound", source, requestFor("k(int*)", {1024, 1, 1})), Offers());
  Json silent = request;
  silent["may_bound_launches"] = false;
  EXPECT_EQ(offersOf("bound", source, silent), Offers());
}

TEST(Rules, InnermostLoopsAreUnrolled) {
  EXPECT_EQ(offersOf("unroll", "__global__ void k(int *a) {\n\tfor (int i = 0; i < 4; "
                               "++i)\n\t\tfor (;;) { a[i]++; }\n}\n"),
            Offers{"__global__ void k(int *a) {\n\tfor (int i = 0; i < 4; ++i)\n\t\t#pragma unroll "
                   "4\n\t\tfor (;;) { a[i]++; }\n}\n"});
  EXPECT_EQ(
      offersOf("unroll", "__global__ void k(int *a) {\r\n  for (;;) a[0]++;\r\n}\r\n"),
      Offers{"__global__ void k(int *a) {\r\n  #pragma unroll 4\r\n  for (;;) a[0]++;\r\n}\r\n"});
  for (const char *loop : {"  #pragma unroll\n  for (;;) a[0]++;", "  if (a) for (;;) a[0]++;",
                           "  for (;;) while (a) a[0]++;", "  // for (;;)", "  for (;;"})
    EXPECT_EQ(offersOf("unroll", std::string("__global__ void k(int *a) {\n") + loop + "\n}\n"),
              Offers())
        << loop;
  EXPECT_EQ(offersOf("unroll", "void k(int *a) {\n  for (;;) a[0]++;\n}\n"), Offers());
}

TEST(Rules, NamesOfKernelsArePlain) {
  EXPECT_EQ(plainNameOf("void ns::add<int>(int*, int)"), "add");
  EXPECT_EQ(plainNameOf("add"), "add");
  EXPECT_EQ(plainNameOf("(anonymous namespace)::k(int)"), "k");
  EXPECT_EQ(plainNameOf("void a::b<(c)1, d<e> >(f)"), "b");
  EXPECT_EQ(plainNameOf(""), "");
}

/// Whatever is cut off or mixed up: an offer or none, and no other edit than that of the rule.
TEST(Rules, NoSourceIsTooStrange) {
  std::string all = kCopy;
  all += "template <typename T> __global__ void __launch_bounds__(64) other(T *a, T *b) {\n"
         "  __shared__ T s[4][4];\n  for (int i = 0; i < 4; ++i)\n    s[i][0] = R\"(x)\" + "
         "a[1'0];\n}\n";
  for (std::size_t length = 0; length <= all.size(); length += 5)
    for (const std::string &source :
         {all.substr(0, length), all.substr(length), all.substr(length) + all.substr(0, length)}) {
      const SourceText text(source);
      for (const Rule &rule : allRules())
        for (const RuleEdit &edit : rule.edits(text, requestFor()))
          EXPECT_GE(edit.edits.applyTo(source).size(), source.size());
    }
  const std::string deep(20000, '{'), nested = std::string(10000, '(') + std::string(10000, ')');
  for (const std::string &source :
       {deep, nested, "__global__ void k" + nested, std::string(20000, '"'), "__global__ " + deep})
    for (const Rule &rule : allRules())
      EXPECT_TRUE(rule.edits(SourceText(source), requestFor()).empty());
  EXPECT_TRUE(offersOf("pad", "", Json::object()).empty());
}

} // namespace
} // namespace fade::cli
