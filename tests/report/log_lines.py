"""JSON lines of runs that never happened, with numbers that can be told in advance."""
import json

HOSTILE = "evil</script><script>window.broken=1</script><!--\u2028&\"'>(int*)"
NAIVE, TILED = "void naive<float>(float*, float const*, int)", "tiled(float*)"


def dispatch(number, kernel, start, length, queue=0, **more):
    return {"type": "dispatch", "version": 1, "kernel": kernel, "dispatch_id": number, "agent": 1, "queue": queue,
            "start_ns": start, "end_ns": start + length, "grid": [1024, 2, 1], "workgroup": [256, 1, 1], "lds": 0, "instrumented": True,
            "variant": "instrumented", "complete": True, "records": 10 * number, "bytes": 400 * number, "dropped": 0, **more}


def access(file, line, column, op, **more):
    return {"file": file, "line": line, "column": column, "op": op, "bytes": 4, "function": "f", "via": "", "executions": 100, "lanes": 6400,
            "total_bytes": 25600, "same_address": 0, "strides": [{"stride": 4, "executions": 100}], "other_strides": 0, "irregular": 0, "advice": "", **more}


def memory(number, kernel, global_accesses, lds=()):
    return {"type": "memory", "version": 1, "kernel": kernel, "dispatch_id": number, "line_size": 128, "banks": 32, "global": list(global_accesses), "lds": list(lds)}


def lines(used, needed=200):
    return {"lines_needed": needed, "lines_used": used, "lines_wasted": used - needed, "efficiency": needed / used}


def pattern(kernel, file, line, column, op, which, addresses, **more):
    mask = (1 << len(addresses)) - 1
    return {"type": "pattern", "version": 1, "kernel": kernel, "symbol": "k", "target": "gfx90a", "dispatch_id": 1, "which": which, "file": file, "line": line,
            "column": column, "op": op, "bytes": 4, "space": "global", "wave_size": 64, "workgroup": [3, 0, 0], "work_item": 0, "line_size": 128, "banks": 32,
            "lane_bytes": 4, "mask": hex(mask), "addresses": addresses, **more}


BASE = 1_800_000_000_000_000_000  # beyond the whole numbers that a script can hold


def small(source):
    """Three dispatches of two kernels and one with a name that would like to be markup. `source` is a file with at least five lines."""
    first = BASE + 17
    out = [dispatch(1, NAIVE, first, 5000), dispatch(2, NAIVE, first + 6000, 7000),
           dispatch(3, TILED, first + 2000, 9000, queue=1, grid=[64, 1, 1]), dispatch(4, HOSTILE, first + 20000, 1001, records=0, bytes=0, instrumented=False, variant="original")]
    strided = dict(lines(3200), advice="Neighboring lanes are 512 bytes apart; swap the indices.")
    for number in (1, 2):
        out.append(memory(number, NAIVE, [access(source, 2, 5, "store", **strided), access(source, 2, 9, "load", **lines(200))]))
    out.append(memory(3, TILED, [access(source, 4, 3, "load", **lines(250))],
                      [access(source, 5, 7, "load", conflicts=700, advice="Pad each row by one element.")]))
    out.append({"type": "heatmap", "version": 1, "kernel": NAIVE, "dispatch_id": 1, "page_size": 4096,
                "pages": [{"address": 0x10000, "reads": 5, "writes": 1, "atomics": 0}, {"address": 0x11000, "reads": 7, "writes": 0, "atomics": 2}],
                "allocations": [{"number": 1, "name": "#1, 8 KiB of agent 1", "agent": 1, "host": False, "address": 0x10000, "size": 8192,
                                 "reads": 12, "writes": 1, "atomics": 2, "pages_touched": 2}]})
    out.append({"type": "blocks", "version": 1, "kernel": NAIVE, "dispatch_id": 1, "wave_size": 64, "blocks": [
        {"block": 0, "function": "naive", "file": source, "line": 1, "column": 1, "lines": [1, 2], "executions": 40, "lanes": 2560, "lane_share": 1},
        {"block": 1, "function": "naive", "file": source, "line": 3, "column": 1, "lines": [3], "executions": 30, "lanes": 480, "lane_share": 0.25, "divergent": 30, "splits": 2}],
        "lines": [{"file": source, "line": 2, "executions": 40, "lanes": 2560, "lane_share": 1}, {"file": source, "line": 3, "executions": 30, "lanes": 480, "lane_share": 0.25}]})
    out.append({"type": "flow", "version": 1, "kernel": NAIVE, "symbol": "k", "target": "gfx90a",
                "blocks": [{"block": 0, "lines": [{"file": source, "line": 1}, {"file": source, "line": 2}]}, {"block": 1, "lines": [{"file": source, "line": 3}]},
                           {"block": 2, "lines": [{"file": source, "line": 4}]}],
                "edges": [{"from": None, "to": 0, "executions": 40, "lanes": 2560}, {"from": 0, "to": 1, "executions": 30, "lanes": 480}, {"from": 1, "to": 1, "executions": 3, "lanes": 9}]})
    far = 0xffff_8000_0000_0000  # its last digits are lost in a double
    out.append(pattern(NAIVE, source, 2, 5, "store", "first", [far + 512 * i for i in range(64)], lines_needed=2, lines_used=64))
    out.append(pattern(NAIVE, source, 2, 5, "store", "worst", [far + 4 + 512 * i for i in range(64)], lines_needed=2, lines_used=64))
    out.append(pattern(TILED, source, 5, 7, "load", "worst", [128 * i for i in range(32)], space="lds", conflicts=31, symbol="tiled"))
    out.append({"type": "summary", "version": 1, "records": 60, "bytes": 2400, "dropped": 0, "dispatches": 4, "instrumented": 3, "incomplete": 0, "durations": [],
                "notes": ["Accesses and blocks are those of 6 of 24 workgroups (one in 4)"], "hint": "compile with <fadeprobe cc>",
                "skipped": [{"kernel": HOSTILE, "reason": "it has no instrumented twin", "count": 1}]})
    return out


RUN = {"type": "run", "version": 1, "fade": "9.8.7", "runtime": "1.14", "hip": "5.2.21153", "command": "./app 'a b'", "date": "2026-11-16T15:20:00Z", "pid": 7,
       "options": ["--kernels naive"], "gpus": [{"agent": 1, "target": "gfx90a", "name": "", "software": True}]}


def software(source):
    """small(), as the software GPU runs it: instructions in place of times, arguments, what a handler says, where waves ran, and what killed the run."""
    out = [RUN]
    for one in small(source):
        if one["type"] == "dispatch":
            one.update(software=True, wave_instructions=1000 * one["dispatch_id"], lane_instructions=64000 * one["dispatch_id"], arguments=[
                {"name": "out", "argument_type": "float*", "offset": 0, "bytes": 8, "value": 0xffff_8000_0000_0004, "allocation": 1},
                {"offset": 8, "bytes": 4, "value": 40 + one["dispatch_id"]}])
        if one["type"] == "blocks":
            one["blocks"][0]["clocks"] = 77777
        if one["type"] == "summary":
            one.update(dropped=3, incomplete=1)
        out.append(one)
    out[1].update(dropped=3, complete=False)
    out += [{"type": "table", "version": 1, "title": "My <b>table</b>", "columns": ["who", "how often"], "rows": [["a|b", "12"], ["c,d", "7"]]},
            {"type": "text", "version": 1, "text": "a line of a handler"},
            {"type": "placement", "version": 1, "kernel": NAIVE, "target": "gfx90a", "units": [{"xcc": 0, "engine": e, "array": 0, "unit": u, "waves": 1 + u} for e in (0, 2) for u in range(4)]},
            {"type": "death", "version": 1, "kind": "memory fault", "target": "gfx90a", "address": 0xffff_8000_0000_1000, "reasons": ["page not present"],
             "pc": {"address": 1, "function": NAIVE, "offset": 4, "file": source, "line": 2, "column": 5},
             "memory": [{"allocation": 5, "address": 1, "size": 4096, "freed": False, "relation": "beyond", "bytes": 12, "allocated_by": [{"function": "main", "library": "app", "offset": 1, "file": "/x/app.cpp", "line": 41}]}],
             "in_flight": 1, "dispatches": [{"dispatch": 1, "kernel": NAIVE}]}]
    return out


LONG = "void sort::kernel<" + ", ".join(f"policy<{i}, value<float, {i}>>" for i in range(330)) + ", last_{}>(float*, wrapper<" + "x" * 2000 + ">)"


def long(source, count):
    """20,000 findings and so many dispatches of 20 kernels whose names have 10,000 characters and differ at the end only."""
    out = [dict(RUN, gpus=[{"agent": 1, "target": "gfx90a", "name": "AMD Instinct MI210", "software": False}])]
    names = [LONG.replace("{}", str(i)) for i in range(20)]
    out += [dispatch(i + 1, names[i % 20], BASE + 1000 * i, 100 + (i * 7919) % 5000) for i in range(count)]
    for i, name in enumerate(names):
        out.append(memory(i + 1, name, [access(source, 1 + j % 5, 1 + j, "load", advice="Read it in another order.", **lines(201 + j)) for j in range(1000)]))
    out.append({"type": "summary", "version": 1, "records": 0, "bytes": 0, "dropped": 0, "dispatches": count, "instrumented": count, "incomplete": 0, "durations": [],
                "skipped": [{"kernel": name, "reason": "it has no instrumented twin", "count": 2} for name in names]})
    return out


def many(count):
    """So many dispatches, of 50 kernels on 4 queues; every 10th has a memory line."""
    out = []
    for i in range(count):
        kernel = f"kernel_{i % 50}(float*)"
        out.append(dispatch(i + 1, kernel, BASE + 1000 * i, 100 + (i * 7919) % 5000, queue=i % 4))
    for kernel in range(50):
        out.append(memory(kernel + 1, f"kernel_{kernel}(float*)", [access("none.hip", line, 1, "load", **lines(200 + line)) for line in range(1, 41)]))
    out.append({"type": "summary", "version": 1, "records": 0, "bytes": 0, "dropped": 0, "dispatches": count, "instrumented": count, "incomplete": 0, "durations": [], "skipped": []})
    return out


def host(count):
    """The host side of a program that launches so many kernels in two threads, within markers, and copies something; one call fails."""
    at, calls, operations, markers = 5_000_000_000, [], [], []
    def call(function, start, length, thread, **more):
        calls.append({"type": "call", "version": 1, "function": function, "args": {}, "result": "hipSuccess", "start_ns": start, "end_ns": start + length,
                      "thread": thread, "pid": 40, "id": len(calls) + 1, **more})
        return calls[-1]["id"]
    for i in range(count):
        start, thread = at + 1000 * i, 41 + i % 2
        markers.append({"type": "marker", "version": 1, "text": f"{'aten::mul' if i % 3 else HOSTILE}, seq = {i}, op_id = 1, sizes = [[{i % 3}]], input_op_ids = []",
                        "start_ns": start, "end_ns": start + 800, "thread": thread, "pid": 40})
        cause = call("hipLaunchKernel", start + 100, 300, thread, kernel=f"kernel_{i % 4}(float*)")
        operations.append({"type": "operation", "version": 1, "kind": "kernel", "kernel": f"kernel_{i % 4}(float*)", "agent": 1, "gpu": 0, "queue": i % 2, "packet": i,
                           "submitted_ns": start + 150, "start_ns": start + 500, "end_ns": start + 900 + i % 7, "pid": 40, "id": i + 1, "call": cause})
    cause = call("hipMemcpy", at + 1000 * count, 2000, 41)
    operations.append({"type": "operation", "version": 1, "kind": "copy", "agent": 1, "gpu": 0, "direction": "host_to_device", "bytes": 4096, "submitted_ns": at,
                       "start_ns": at + 1000 * count + 100, "end_ns": at + 1000 * count + 600, "pid": 40, "id": count + 1, "call": cause})
    call("hipMalloc", at + 1000 * count + 3000, 50, 41, result="hipErrorOutOfMemory")
    markers.append({"type": "marker", "version": 1, "text": "epoch", "start_ns": at + 50, "end_ns": at + 900 * count, "thread": 41, "pid": 40, "overlaps": True})
    head = [{"type": "trace", "version": 1, "calls": len(calls), "operations": len(operations), "lost": 0},
            {"type": "process", "version": 1, "pid": 40, "parent": 1, "program": "/usr/bin/train", "hip": "/usr/lib/libamdhip64.so.5"}]
    return head + calls + operations + markers


def write(path, objects):
    with open(path, "w", encoding="utf-8") as out:
        for one in objects:
            out.write(json.dumps(one) + "\n")
