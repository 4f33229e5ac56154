"""read_back_test.py CASES: what the writer has written, read back by a reader of its own."""
import subprocess
import sys
import tempfile
import unittest

from parquet_file import ParquetFile

CASES = sys.argv.pop()


def mixed(i):
    mask = (1 << 64) - 1
    i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9 & mask
    i = (i ^ i >> 27) * 0x94d049bb133111eb & mask
    return i ^ i >> 31


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def row(i):
    return (i * 1000 + mixed(i) % 1000, None if i % 3 == 0 else signed(mixed(i), 64), signed(mixed(i), 32), f"text {mixed(i) % 5}",
            None if i // 100 % 2 == 0 else f"\u00e9{i // 1000}", None, (2**63 - 1 if i % 2 == 0 else -2**63) if i % 50 < 25 else None)


class ReadBack(unittest.TestCase):
    def test_what_was_written_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([CASES, folder], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, "/dev/full: No space left on device\n"), done.stderr)
            for rows in (0, 1, 7, 8, 9, 31, 32, 33, 128, 129, 130, 1000, 122_880, 122_881):
                file = ParquetFile(f"{folder}/{rows}.parquet")
                self.assertEqual(file.columns, ["steps", "any", "small", "few", "runs", "none", "ends"])
                self.assertEqual(file.facts, {"case": str(rows)})
                self.assertEqual(file.groups, [122_880] * (rows // 122_880) + ([rows % 122_880] if rows % 122_880 else []))
                self.assertEqual(len(file.rows), rows)
                for i, found in enumerate(file.rows):
                    if found != row(i):
                        self.fail(f"{rows} rows, row {i}: {found} instead of {row(i)}")


if __name__ == "__main__":
    unittest.main()
