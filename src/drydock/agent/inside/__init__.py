"""What runs at the site on behalf of our tools. Nothing here is imported by the server: its source is handed over.

hand.py    reads, writes, edits, searches and surveys a repository, for one request, and answers in JSON
"""
