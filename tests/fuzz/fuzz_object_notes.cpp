// Code objects with any number of notes of any kind. The input is the notes: a byte that chooses
// the kind, the length in two bytes, the content.
#include "../codeobj/note_object.h"
#include "codeobj/code_object.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace fade::codeobj;
  static constexpr testing::NoteParts kinds[] = {
      {"AMDGPU", 32, {}}, {"AMD", 10, {}}, {"AMD", 11, {}}, {"GNU", 3, {}}};
  std::vector<testing::NoteParts> notes;
  while (size >= 3 && notes.size() < 8) {
    testing::NoteParts note = kinds[data[0] % std::size(kinds)];
    const std::size_t length = std::min<std::size_t>(data[1] | data[2] << 8, size - 3);
    note.content = {reinterpret_cast<const char *>(data + 3), length};
    notes.push_back(note);
    data += 3 + length;
    size -= 3 + length;
  }
  const auto object = CodeObject::open(Blob::own(testing::objectWithNotes(notes), "input"));
  if (!object) return 0;
  for (std::size_t i = 0; i < (*object)->kernelCount(); ++i) {
    (void)(*object)->kernel(i).ok();
    const KernelName name = (*object)->kernelName(i);
    const auto found = (*object)->findKernel(name.symbol);
    if (!found || (*object)->kernelName(*found).symbol != name.symbol) __builtin_trap();
  }
  return 0;
}
