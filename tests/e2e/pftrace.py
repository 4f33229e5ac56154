"""Reads traces in Perfetto's own format, by its documentation and without a protobuf library: a second opinion on what FADE writes.

Numbers of fields are those of protos/perfetto/trace in Perfetto's repository."""
import struct


def fields(data):
    """(number, value) of a message: integers, 8 bytes as integers, and bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, struct.unpack_from("<Q", data, at)[0]
            at += 8
        elif key & 7 == 2:
            size = varint()
            if at + size > len(data):
                raise ValueError("a field is longer than its message")
            yield key >> 3, data[at:at + size]
            at += size
        else:
            raise ValueError(f"wire type {key & 7}")


def first(data, number, default=None):
    return next((value for field, value in fields(data) if field == number), default)


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Trace:
    """Slices with their tracks and arguments, counters, and what arrows connect."""

    def __init__(self, data):
        self.tracks, self.slices, self.counters, self.marks, self.pieces = {}, [], [], [], 0
        self.flows = {}  # by id: slices
        texts, open_slices, events = {}, {}, []
        for number, packet in fields(data):
            if number != 1:
                raise ValueError(f"field {number} of a trace")
            flags = first(packet, 13, 0)
            if first(packet, 10) != 1:
                raise ValueError("a packet without its sequence")
            if flags & 1:
                self.pieces += 1
                texts = {}
            if interned := first(packet, 12):
                for table, entry in fields(interned):
                    key = (table, first(entry, 1))
                    if key in texts:
                        raise ValueError(f"number {key} is given twice")
                    texts[key] = first(entry, 2).decode()
            if track := first(packet, 60):
                self.add_track(track)
            if event := first(packet, 11):
                if not flags & 2:
                    raise ValueError("an event that does not need its texts")
                events.append((first(packet, 8), self.event(event, texts)))
        # As Perfetto does it: by time, and what has the same time as it comes.
        for time, event in sorted(events, key=lambda x: x[0]):
            track = event["track"]
            if event["type"] == 1:
                event.update(start=time, depth=len(open_slices.setdefault(track, [])))
                open_slices[track].append(event)
                self.slices.append(event)
                for flow in event["flows"]:
                    self.flows.setdefault(flow, []).append(event)
            elif event["type"] == 2:
                open_slices[track].pop()["end"] = time
            elif event["type"] == 3:
                self.marks.append(event["name"])
            else:
                self.counters.append((self.tracks[track]["name"], self.tracks[track]["parent"], time, event["value"]))
        if left := [x for x in open_slices.values() if x]:
            raise ValueError(f"slices without an end: {left}")

    def add_track(self, message):
        uuid = first(message, 1)
        if uuid in self.tracks:
            raise ValueError(f"track {uuid} is described twice")
        process, thread = first(message, 3), first(message, 4)
        track = {"name": (first(message, 2) or b"").decode(), "parent": first(message, 5), "is_counter": first(message, 8) is not None}
        if process is not None:
            track.update(pid=first(process, 1), name=first(process, 6).decode())
        if thread is not None:
            track.update(pid=first(thread, 1), tid=first(thread, 2), name=first(thread, 5).decode())
        self.tracks[uuid] = track

    def event(self, message, texts):
        event = {"type": first(message, 9), "track": first(message, 11), "flows": [], "args": {}}
        if event["track"] not in self.tracks:
            raise ValueError(f"nobody has described track {event['track']}")
        for number, value in fields(message):
            if number == 3:
                event["category"] = texts[(1, value)]
            elif number == 10:
                event["name"] = texts[(2, value)]
            elif number in (47, 48):
                event["flows"].append(value)
            elif number == 30:
                event["value"] = signed(value)
            elif number == 4:
                event["args"].update([self.annotation(value, texts)])
        return event

    def annotation(self, message, texts):
        name, value, entries, elements = None, None, {}, []
        for number, what in fields(message):
            if number == 1:
                name = texts[(3, what)]
            elif number == 2:
                value = bool(what)
            elif number == 3:
                value = what
            elif number == 4:
                value = signed(what)
            elif number == 5:
                value = struct.unpack("<d", struct.pack("<Q", what))[0]
            elif number == 7:
                value = f"{what:#x}"
            elif number == 17:
                value = texts[(29, what)]
            elif number == 11:
                entries.update([self.annotation(what, texts)])
                value = entries
            elif number == 12:
                elements.append(self.annotation(what, texts)[1])
                value = elements
            else:
                raise ValueError(f"field {number} of an annotation")
        return name, value
