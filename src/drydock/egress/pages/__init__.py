"""Index pages: parsed into what an installer needs to know, and written anew with other links.

    simple.py  PyPI's pages as HTML (PEP 503) and JSON (PEP 691): one form in between
    anchors.py the links of an HTML page, found in time linear to its size
    npm.py     npm's packuments
    bad_page.py  why a page is refused

Here no page is trusted: what is not of the expected form is left out or the page is refused (BadPage).
"""
