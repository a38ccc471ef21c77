"""Contract `code`: a snippet in, its output out, in one reply.

request.py       the body, checked in the contract's order
environments.py  /code/envs: named environments
files.py         input files' base64
reply.py         the reply's fields, in their order
shape.py         errors and the plain texts of 404 and 405
health.py        /code/health and /code/ready
doors.py         the routes, at /code or at the root
"""
