"""The one way out of a box: a relay on one of the box's doors, that does only what was granted.

    grants.py    what a box may reach, and how much of it: packages of an index, the public web by https
    relay.py     one relay for one box: connections, bounds, the record of what was refused
    head.py      the request of a hostile program, read strictly
    reply.py     what goes back to it
    url.py       one spelling of a URL; all others are refused
    address.py   what kind of address a host turned out to have, and who may reach which kind
    dial.py      resolve once, check every address, connect to exactly the one that was checked
    upstream.py  one exchange on such a connection, redirects, a body within bounds
    answer.py    what the other side sends, read strictly
    meter.py     what the box may still use
    packages.py  the grant `packages`: index pages, and the files that they link to
    pages/       index pages parsed and written anew, so that their links come back through the relay
    web.py       the grant `web`
    denial.py    a refusal, in words that the program or agent inside can act on

In: grants with credentials, connections that a program in a box made. Out: bytes to that program, denials to us.
Never known here: boxes, runs, models, what a package is for. Nothing that the program sends leaves this room but a
package's name, a byte range, an entity tag, and for `web` the URL.
"""
