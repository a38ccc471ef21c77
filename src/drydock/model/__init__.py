"""Models: a conversation and tools in, one answer out, whoever gives it.

    models.py        ask one by its name: tries, waits, fallbacks, and the error when none answers
    catalog.py       `[models]` of drydock.toml: aliases, addresses, prices, fallbacks
    name.py          `provider:name`
    keys.py          where a provider's key comes from
    conversation.py  what is said, in our own plain values
    usage.py         tokens and money of one call
    prices.py        what tokens cost
    provider.py      the libraries that speak to providers, each imported on its first use
    wire.py          our values to theirs and back
    failure.py       their errors, read
    patience.py      which failures are tried again, and when

In: names, conversations, settings. Out: answers with usage, errors of the tree. Must never be known here: runs, boxes,
what a tool does, HTTP of our own. Keys go to their provider's address and nowhere else: into no log, error or answer.
"""
