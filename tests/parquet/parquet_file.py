"""Reads Parquet files for tests, from the format's specification and not from FADE's writer: flat tables, numbers and texts."""
import ctypes
import ctypes.util
import struct


def _decompress(data, size):
    library = ctypes.CDLL(ctypes.util.find_library("zstd"))
    library.ZSTD_decompress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(size or 1)
    got = library.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    assert got == size, (got, size)
    return out.raw[:size]


class Bytes:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, count):
        assert self.at + count <= len(self.data), "the bytes end too early"
        self.at += count
        return self.data[self.at - count:self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def zigzag(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    # Thrift's compact protocol: a struct is a dict by field number.
    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 8:
            return self.take(self.varint())
        if kind == 9:
            head = self.take(1)[0]
            count = head >> 4 if head >> 4 < 15 else self.varint()
            return [self.value(head & 15) for _ in range(count)]
        assert kind == 12, kind
        fields, last = {}, 0
        while True:
            head = self.take(1)[0]
            if head == 0:
                return fields
            last = last + (head >> 4) if head >> 4 else self.zigzag()
            fields[last] = self.value(head & 15)


def _unpack(data, bits, count):
    values = []
    for at in range(0, count, 8):  # eight take so many bytes as one takes bits
        whole = int.from_bytes(data[at // 8 * bits:(at // 8 + 1) * bits], "little")
        values += [whole >> (i * bits) & ((1 << bits) - 1) for i in range(8)]
    return values


def _hybrid(data, bits, count):
    values, bytes_ = [], Bytes(data)
    while len(values) < count:
        head = bytes_.varint()
        if head & 1:
            values += _unpack(bytes_.take((head >> 1) * bits), bits, (head >> 1) * 8)
        else:
            values += [int.from_bytes(bytes_.take((bits + 7) // 8), "little")] * (head >> 1)
    assert bytes_.at == len(data), "something is left"
    assert len(values) - count < 8
    return values[:count]


def _deltas(data, width):
    bytes_ = Bytes(data)
    block, parts, count, value = bytes_.varint(), bytes_.varint(), bytes_.varint(), bytes_.zigzag()
    assert block % 128 == 0 and block // parts % 32 == 0
    values = [value] if count else []
    while len(values) < count:
        least = bytes_.zigzag()
        widths = bytes_.take(parts)
        for bits in widths:
            if len(values) >= count:
                break
            assert bits <= width
            for delta in _unpack(bytes_.take(bits * (block // parts) // 8), bits, block // parts):
                if len(values) < count:
                    value = (values[-1] + least + delta + (1 << width - 1)) % (1 << width) - (1 << width - 1)
                    values.append(value)
    assert bytes_.at == len(data), "something is left"
    return values


class ParquetFile:
    """columns: names; rows: tuples; facts: key-value metadata; groups: rows of each row group."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        assert data[:4] == data[-4:] == b"PAR1"
        length, = struct.unpack("<I", data[-8:-4])
        footer = Bytes(data[-8 - length:-8])
        self.meta = footer.value(12)
        assert footer.at == length
        root, *schema = self.meta[2]
        assert root[5] == len(schema)
        self.columns = [x[4].decode() for x in schema]
        self.facts = {x[1].decode(): x[2].decode() for x in self.meta.get(5, [])}
        self.groups, self.rows = [], []
        for group in self.meta[4]:
            self.groups.append(group[3])
            columns = [self._chunk(data, column, chunk[3], group[3]) for column, chunk in zip(schema, group[1], strict=True)]
            assert group[6] == sum(x[3][7] for x in group[1]) and group[2] == sum(x[3][6] for x in group[1])
            self.rows += zip(*columns, strict=True)
        assert len(self.rows) == self.meta[3]

    @staticmethod
    def _page(data, at):
        bytes_ = Bytes(data, at)
        header = bytes_.value(12)
        return header, _decompress(bytes_.take(header[3]), header[2]), bytes_.at

    def _chunk(self, data, column, chunk, rows):
        assert chunk[4] == 6 and chunk[1] == column[1] and chunk[5] == rows
        dictionary, begin = None, chunk[9]
        if 11 in chunk:
            begin = chunk[11]
            header, page, end = self._page(data, begin)
            assert (header[1], header[7][2], end) == (2, 0, chunk[9])
            bytes_ = Bytes(page)
            dictionary = [bytes_.take(struct.unpack("<I", bytes_.take(4))[0]).decode() for _ in range(header[7][1])]
            assert bytes_.at == len(page)
        header, page, end = self._page(data, chunk[9])
        assert header[1] == 0 and header[5][1] == rows and end - begin == chunk[7]
        assert header[5][2] in chunk[2]
        levels = [1] * rows
        if column[3] == 1:
            length, = struct.unpack("<I", page[:4])
            levels = _hybrid(page[4:4 + length], 1, rows)
            page = page[4 + length:]
        if dictionary is None:
            assert header[5][2] == 5
            values = _deltas(page, 32 if column[1] == 1 else 64)
        else:
            assert header[5][2] == 8
            values = [dictionary[i] for i in _hybrid(page[1:], page[0], sum(levels))]
        assert len(values) == sum(levels)
        self._check_statistics(column, chunk[12], values, rows - sum(levels))
        rest = iter(values)
        return [next(rest) if level else None for level in levels]

    @staticmethod
    def _check_statistics(column, statistics, values, nulls):
        assert statistics[3] == nulls
        if not values:
            assert 5 not in statistics and 6 not in statistics
        elif column[1] == 6:
            assert 6 not in statistics or statistics[6].decode(errors="ignore") <= min(values)
            assert 5 not in statistics or statistics[5].decode() == max(values)
        else:
            width = 4 if column[1] == 1 else 8
            assert statistics[6] == min(values).to_bytes(width, "little", signed=True)
            assert statistics[5] == max(values).to_bytes(width, "little", signed=True)
