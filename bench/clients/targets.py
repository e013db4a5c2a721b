"""What our client is held to, checked against the rows of a measurement (medians, see run.py)."""

# The best rival of each kind; the fixed bounds are in ms, MB and s.
PYTHON = ("vllm-python", "sglang")
ACCURACY = (("ttft_error_mean_ms", 0.05, "TTFT error, mean"), ("ttft_error_p99_ms", 0.1, "TTFT error, p99"),
            ("ttft_error_after_mean_ms", 0.01, "TTFT error after the opening burst, mean"),
            ("gap_error_p50_ms", 0.005, "gap error, p50"), ("gap_error_p99_ms", 0.05, "gap error, p99"))
RSS_MB = {64: 30, 256: 30, 1000: 30, 4000: 60}
GATHERED = {"A": 0.7, "C": 0.5, "D": 0.5, "E": 0.5}


def check(rows):
    """[(holds or None when it cannot be said, text)] of rows of one setting (plain or TLS), as median_rows gives them."""
    by = {(r["regime"], r["client"]): r for r in rows}
    out = []

    def ratio(regime, client, to, key, bound, what, below=True):
        ours, other = by.get((regime, client)), by.get((regime, to))
        if not ours or not other or not ours.get(key) or not other.get(key):
            return
        got = ours[key] / other[key] if below else other[key] / ours[key]
        holds = got <= bound if below else got >= bound
        out.append((holds, f"{regime}: {what}: {got:.2f} ({'at most' if below else 'at least'} {bound})"))

    for (regime, client), row in by.items():
        if client == "pawl":
            for key, bound, what in ACCURACY:
                value = row.get(key)
                if value is None:
                    out.append((None, f"{regime}: {what}: not measured"))
                elif row.get("printed_only") and "p99" in key:
                    out.append((None, f"{regime}: {what}: printed only, p99 less p99 is {value:.3f} ms"))
                else:
                    out.append((abs(value) <= bound, f"{regime}: {what}: {value:.4f} ms (at most {bound})"))
            out.append((row["rss_mb"] <= RSS_MB[row["streams"]], f"{regime}: RSS {row['rss_mb']:.0f} MB at {row['streams']:.0f} streams (at most {RSS_MB[row['streams']]})"))
    key = "cpu_s_per_million_in_load"
    ours = "pawl-no-records" if any(c == "pawl-no-records" for _, c in by) else "pawl"
    for regime in sorted({r for r, _ in by}):
        ratio(regime, "pawl-ungathered", "floor-kernel", key, 1.15, "CPU without gathering ÷ the bare loop's")
        if regime in GATHERED:
            ratio(regime, ours, "vllm-rs", key, GATHERED[regime], "CPU with gathering ÷ vllm-rs's")
    best = min((by[("C", p)] for p in PYTHON if ("C", p) in by), key=lambda r: r[key] or 1e9, default=None)
    if best:
        ratio("C", ours, best["client"], key, 5, f"CPU of {best['client']}, the best in Python, ÷ ours", below=False)
    for rival in ("aiperf", "guidellm"):
        ratio("A", ours, rival, key, 10, f"CPU of {rival} ÷ ours", below=False)
    return out
