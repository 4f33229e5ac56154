// SHA-256 of many messages at once, against published digests and against the host.
#include "../check.h"

#include <array>

struct Digest {
  uint32_t word[8];
};

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
__constant__ uint32_t round_constants[64];

static std::array<uint32_t, 64> make_constants() {
  std::array<uint32_t, 64> k{};
  int found = 0;
  for (int n = 2; found < 64; ++n) {
    bool prime = true;
    for (int d = 2; d * d <= n; ++d) prime = prime && n % d;
    if (!prime) continue;
    // floor(cbrt(n) * 2^32), by bisection in integers
    unsigned __int128 low = 0, high = static_cast<unsigned __int128>(7) << 32;
    while (high - low > 1) {
      auto middle = (low + high) / 2;
      if (middle * middle * middle <= static_cast<unsigned __int128>(n) << 96)
        low = middle;
      else
        high = middle;
    }
    k[found++] = static_cast<uint32_t>(low);
  }
  return k;
}

__host__ __device__ inline uint32_t rotate(uint32_t x, int by) { return x >> by | x << (32 - by); }

__host__ __device__ inline void block(Digest &d, const uint32_t *message, const uint32_t *k) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) w[i] = message[i];
  for (int i = 16; i < 64; ++i) {
    uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint32_t v[8];
  for (int i = 0; i < 8; ++i) v[i] = d.word[i];
  for (int i = 0; i < 64; ++i) {
    uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
    uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
    uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
    uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
    for (int j = 7; j > 0; --j) v[j] = v[j - 1];
    v[4] += t1;
    v[0] = t1 + t2;
  }
  for (int i = 0; i < 8; ++i) d.word[i] += v[i];
}

__host__ __device__ inline Digest hash(const uint8_t *text, uint32_t size, const uint32_t *k) {
  Digest d = {{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
               0x5be0cd19}};
  const uint32_t blocks = (size + 9 + 63) / 64;
  for (uint32_t b = 0; b < blocks; ++b) {
    uint32_t words[16] = {};
    for (uint32_t i = 0; i < 64; ++i) {
      uint32_t at = b * 64 + i;
      uint32_t byte = at < size ? text[at] : at == size ? 0x80 : 0;
      words[i / 4] |= byte << (24 - i % 4 * 8);
    }
    if (b + 1 == blocks) words[15] = size * 8;
    block(d, words, k);
  }
  return d;
}

__global__ void hash_all(const uint8_t *texts, const uint32_t *offset, Digest *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = hash(texts + offset[i], offset[i + 1] - offset[i], round_constants);
}

static std::string hex(const Digest &d) {
  char text[65];
  for (int i = 0; i < 8; ++i) std::snprintf(text + 8 * i, 9, "%08x", d.word[i]);
  return text;
}

int main() {
  const auto k = make_constants();
  EXPECT_EQ(k[0], 0x428a2f98u);
  EXPECT_EQ(k[63], 0xc67178f2u);
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(round_constants), k.data(), sizeof round_constants));

  std::vector<std::string> texts = {"", "abc",
                                    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"};
  check::Random random(4);
  while (texts.size() < 500) {
    std::string text(random.below(200), ' ');
    for (char &c : text) c = static_cast<char>(random.below(256));
    texts.push_back(text);
  }
  std::vector<uint8_t> bytes;
  std::vector<uint32_t> offsets{0};
  for (auto &t : texts) {
    bytes.insert(bytes.end(), t.begin(), t.end());
    offsets.push_back(static_cast<uint32_t>(bytes.size()));
  }
  check::Device<uint8_t> device_bytes(bytes);
  check::Device<uint32_t> device_offsets(offsets);
  check::Device<Digest> digests(texts.size());
  LAUNCH(hash_all, 5, 100, device_bytes.get(), device_offsets.get(), digests.get(),
         static_cast<int>(texts.size()));
  const auto got = digests.read();
  EXPECT_EQ(hex(got[0]), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(got[1]), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(got[2]), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(hex(got[i]), hex(hash(bytes.data() + offsets[i],
                                    static_cast<uint32_t>(texts[i].size()), k.data())));
  return check::result();
}
