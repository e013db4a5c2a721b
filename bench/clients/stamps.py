"""Reads files of stamps (README.md: the format) and compares what a client says with what the server did."""
import json
import struct
from dataclasses import dataclass, field
from pathlib import Path

ARRIVAL, EVENT, DONE, NAME, SEND, RECEIVED, FINISHED = 1, 2, 3, 4, 16, 17, 18
RECORD = struct.Struct("<qIIHHI")
WALK = struct.Struct("<qIIHHI")


@dataclass
class Request:
    """One request on one side, times in ns of CLOCK_MONOTONIC."""
    start: int = 0  # arrival (server), send (client)
    events: list = field(default_factory=list)
    done: int = 0
    name: str = ""
    connection: int = 0
    flags: int = 0

    @property
    def ttft_ms(self):
        return (self.events[0] - self.start) / 1e6 if self.events else None

    @property
    def gaps_ms(self):
        return [(b - a) / 1e6 for a, b in zip(self.events, self.events[1:])]


def read(path):
    """(what the program says of its run, {request number: Request}) of a file of stamps."""
    data = Path(path).read_bytes()
    if data[:8] != b"PAWLSTMP":
        raise ValueError(f"{path}: not a file of stamps")
    version, length = struct.unpack_from("<II", data, 8)
    if version != 1:
        raise ValueError(f"{path}: version {version} of the format is unknown")
    meta = json.loads(data[16:16 + length])
    requests, at = {}, 16 + length
    end = at + (len(data) - at) // RECORD.size * RECORD.size
    records = RECORD.iter_unpack(memoryview(data)[at:end])
    for at_ns, number, event, kind, flags, value in records:
        request = requests.get(number)
        if request is None:
            request = requests[number] = Request()
        if kind in (EVENT, RECEIVED):
            if event != len(request.events):
                raise ValueError(f"{path}: request {number}: event {event} follows {len(request.events)}")
            request.events.append(at_ns)
            request.flags |= flags
        elif kind in (ARRIVAL, SEND):
            request.start, request.connection = at_ns, value
        elif kind in (DONE, FINISHED):
            request.done = at_ns
        elif kind == NAME:
            raw = b"".join(WALK.pack(*next(records)) for _ in range((value + RECORD.size - 1) // RECORD.size))
            request.name = raw[:value].decode("utf-8", "replace")
        else:
            raise ValueError(f"{path}: unknown kind {kind} of record")
    return meta, requests


def quantile(values, p):
    """NumPy's default: linear between the two nearest ranks; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    position = (len(ordered) - 1) * p
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def mean(values):
    return sum(values) / len(values) if values else None


@dataclass
class Said:
    """What a client says of one request. `key` finds its truth: ("name", x-request-id), ("text", number in the first token)."""
    key: tuple
    ttft_ms: float
    gaps_ms: list | None = None


def load_delivered(truth, streams):
    """Time-weighted mean of the answers in work at the server ÷ streams, from the arrival of request number `streams` (the
    opening is over) to the last arrival: what the client lost by refilling late."""
    arrivals = sorted(r.start for r in truth.values())
    if len(arrivals) <= streams:
        return None
    begin, end = arrivals[streams - 1], arrivals[-1]
    busy = sum(max(0, min(r.done or end, end) - max(r.start, begin)) for r in truth.values())
    return busy / (end - begin) / streams if end > begin else None


def compare(truth, said, streams):
    """Errors of a client in ms against the truth, request by request."""
    by_name = {r.name: n for n, r in truth.items() if r.name}
    rows, unmatched = [], 0
    for request in said:
        how, key = request.key
        number = by_name.get(key) if how == "name" else key
        if number not in truth or not truth[number].events:
            unmatched += 1
            continue
        rows.append((truth[number].start, truth[number], request))
    rows.sort(key=lambda row: row[0])
    errors = [request.ttft_ms - t.ttft_ms for _, t, request in rows]
    late = errors[streams:]
    gap_errors = []
    odd = 0
    for _, t, request in rows:
        if request.gaps_ms is None:
            continue
        true_gaps = t.gaps_ms
        if len(true_gaps) != len(request.gaps_ms):
            odd += 1  # several tokens in one read, given as one event: gaps cannot be paired
            continue
        gap_errors += [abs(a - b) for a, b in zip(request.gaps_ms, true_gaps)]
    return {
        "joined": len(rows), "unmatched": unmatched, "gap_lists_of_other_length": odd,
        "true_ttft_mean_ms": mean([t.ttft_ms for _, t, _ in rows]),
        "ttft_error_mean_ms": mean(errors), "ttft_error_p99_ms": quantile([abs(e) for e in errors], 0.99),
        "ttft_error_after_mean_ms": mean(late), "ttft_error_after_p99_ms": quantile([abs(e) for e in late], 0.99),
        "gap_error_p50_ms": quantile(gap_errors, 0.5), "gap_error_p99_ms": quantile(gap_errors, 0.99),
    }


def compare_printed(truth, printed):
    """For a client that gives no records: its printed mean and p99 less those of the truth. No view without the opening."""
    true = [r.ttft_ms for r in truth.values() if r.events]
    return {
        "joined": 0, "true_ttft_mean_ms": mean(true),
        "ttft_error_mean_ms": printed["mean"] - mean(true), "ttft_error_p99_ms": printed["p99"] - quantile(true, 0.99),
        "printed_only": True,
    }
