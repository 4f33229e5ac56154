"""--observe gpu and --observe pass: for kernels that have twins, both say the same, byte for byte and lane for lane.

The compiler may have made other accesses of the twin's, which is then said here: what differs, and why."""
import collections

import fade
from fade import example, program


class Allocations:
    """Where in the application's memory an address is; addresses are others in each run."""

    def __init__(self, objects):
        self.of = {}
        for each in objects:
            if each["type"] == "heatmap":
                self.of[each["dispatch_id"]] = [x for x in each["allocations"] if "address" in x]

    def find(self, dispatch, address):
        for one in self.of.get(dispatch, []):
            if one["address"] <= address < one["address"] + one["size"]:
                # Who allocated it is not looked up for all of them on a busy machine.
                return one["name"].split(" from ")[0], address - one["address"]
        return None  # the kernel's arguments, its packet, constants


# A byte that a lane touches is a number, because there are millions: lane, number of the place's name, offset in it.
LANE, PLACE = 56, 44
NAMES = []


def touched(objects):
    """(kernel, dispatch of it, workgroup, op, space) -> byte -> how often."""
    allocations = Allocations(objects)
    ordinal, numbers, found = collections.Counter(), {}, collections.defaultdict(list)
    for each in objects:
        if each["type"] != "access":
            continue
        key = (each["kernel"], each["dispatch_id"])
        if key not in numbers:
            ordinal[each["kernel"]] += 1
            numbers[key] = ordinal[each["kernel"]]
        bytes_of = found[(each["kernel"], numbers[key], tuple(each["workgroup"]), each["op"], each["space"])]
        for lane, address in zip(each["lanes"], each["addresses"]):
            place = ("lds", address) if each["space"] == "lds" else allocations.find(each["dispatch_id"], address)
            if place is None:
                continue
            name, offset = place
            if name not in NAMES:
                NAMES.append(name)
            first = (lane << LANE) + (NAMES.index(name) << PLACE) + offset
            bytes_of.extend(range(first, first + each["bytes"]))
    return {key: collections.Counter(bytes_of) for key, bytes_of in found.items() if bytes_of}


def described(key, byte):
    return (*key, byte >> LANE, NAMES[byte >> PLACE & (1 << LANE - PLACE) - 1], byte & (1 << PLACE) - 1)


def without_lanes_and_operations(found):
    merged = collections.defaultdict(set)
    for (kernel, number, workgroup, _, space), bytes_of in found.items():
        merged[kernel, number, workgroup, space] |= {byte & (1 << LANE) - 1 for byte in bytes_of}
    return {key: collections.Counter(bytes_of) for key, bytes_of in merged.items()}


class Tests(fade.Test):
    def accesses(self, who, app, options):
        result = self.probe(["-i", "--observe", who, "-a", "MessageLogger", "Heatmap", *options], app)
        self.assertEqual(result.code, 0, result.said)
        return touched(result.objects())

    def agree(self, app, *options, bytes_only=False):
        """`bytes_only`: whichever lanes touch them, and how often."""
        twin, observed = (self.accesses(who, app, options) for who in ("pass", "gpu"))
        self.assertGreater(sum(sum(bytes_of.values()) for bytes_of in twin.values()), 100)
        if bytes_only:
            twin, observed = map(without_lanes_and_operations, (twin, observed))
        differences = []
        for key in twin.keys() | observed.keys():
            ours, theirs = (found.get(key, collections.Counter()) for found in (twin, observed))
            if ours != theirs:
                differences += [(*described(key, byte), ours[byte], theirs[byte]) for byte in ours | theirs if ours[byte] != theirs[byte]]
        self.assertEqual(differences[:6], [])

    def test_vadd(self):
        self.agree([example("vadd")], "--workgroups", "x=0-1")

    def test_uncoalesced(self):
        self.agree([example("uncoalesced")], "--workgroups", "x=0-1")

    def test_transpose_with_lds(self):
        self.agree([example("transpose")], "--workgroups", "x=0-1,y=0-1")

    def test_matmul_with_lds(self):
        self.agree([example("matmul")], "--workgroups", "x=0-1,y=0-1")

    def test_histogram_with_atomics(self):
        self.agree([example("histogram")], "--workgroups", "x=0-1")

    def test_atomics_of_all_kinds(self):
        # One lane adds for the whole wave what its lanes would add to the same word; where the GPU has no such
        # atomic there is a loop of a load and a compare-and-swap; and the program's own loops turn as often as
        # lanes are in each other's way, which is never the same twice.
        self.agree([program("atomics")], "--workgroups", "x=0-0", bytes_only=True)

    def test_functions_that_are_called(self):
        self.agree([program("calls")], "--workgroups", "x=0-0")

    def test_workgroups_in_three_dimensions(self):
        self.agree([program("grid")])


if __name__ == "__main__":
    fade.main()
