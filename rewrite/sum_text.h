// Accesses that are added up where they happen (SUMMARIES in fade/message.h), as instructions.
//
// An access whose class is in the slot of its site takes one scalar load, a comparison, and two
// additions to memory. For others that are on a line, the class is looked for in the table; all
// else becomes a record, before the first of which the wave announces itself.
#pragma once

#include "rewrite/launch.h"
#include "rewrite/record_text.h"

namespace fade::rewrite {

class SumText : protected RecordText {
protected:
  SumText(const Dialect &dialect, CopiedCode copy, const codeobj::CodeObject &object,
          const codeobj::Kernel &kernel, bool adds_up, bool borrows)
      : RecordText(dialect, std::move(copy), kernel, adds_up, borrows),
        launch_(object, kernel, borrows), start_(launch_.withWorkgroup()), search_(copy_.label()) {}

  /// Finds the wave's table and counter, when it begins. The packed work-item is in s_.stride.
  void beginSums();
  /// A routine for accesses of which `how` is known: bits.
  void writeSums(CopiedCode::Label routine, uint32_t how);
  /// What all of these go on with.
  void writeSearch();
  void bringBackTable();

  /// The beginning of a wave's record but for who it is: stores what comes in registers.
  virtual void announceLate() = 0;

  const LaunchRegisters launch_;
  const LaunchRegisters::WithWorkgroup start_;
  /// Registers of the kernel that it leaves alone: they keep what waves need.
  bool keeps_table_ = false, keeps_counter_ = false, keeps_key_ = false, keeps_arguments_ = false;

private:
  void bringBackHomes(uint32_t how);
  void compareWithOwn(uint32_t how);
  void countAt(const std::string &place, bool is_lds);
  void countAccess();
  void chooseStride(CopiedCode::Label is_other);
  void checkLine(CopiedCode::Label is_other);
  void chooseKey();
  void tellPagesApart();
  void hashClass();
  void lookAtSlots(CopiedCode::Label found, CopiedCode::Label no_room);
  void setOnce(unsigned value, unsigned offset, CopiedCode::Label next);
  void describeClass();
  void recordUnsummed();

  // Registers of the search, in place of the own class and of the ring.
  unsigned key() const { return s_.own; }      ///< pair
  unsigned line() const { return s_.own + 2; } ///< pair
  unsigned slotMask() const { return s_.own + 6; }
  unsigned pageMask() const { return s_.own + 7; }
  unsigned hash() const { return s_.header; }
  unsigned probe() const { return s_.size; }
  unsigned place() const { return s_.position; } ///< from the table on

  CopiedCode::Label search_; ///< the next copy
};

} // namespace fade::rewrite
