"""What the verbs of the Makefile run. Nothing here is part of the product.

setup.sh      packages of the system, the virtual environment, locked dependencies
lock.sh       resolve the locks again
run_tests.py  the tests in phases, one closing line
check.py      every check, one line each
rules.py      the rules of this repository that a program can check
reference.py  the pages of docs/reference that are generated
"""
