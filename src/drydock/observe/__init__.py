"""What the server tells about itself: log lines and numbers.

    log.py      structured lines on stderr, known secrets cut out
    metrics.py  counters, gauges and histograms, rendered as Prometheus text

In: names and plain values. Out: text. Must never be known here: headers, bodies, environments, code.
"""
