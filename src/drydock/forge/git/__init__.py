"""One run's repository. Git runs in a box of its own, which no tenant enters and which reaches one repository at most.

source.py      what may be cloned: an address or a folder, checked before anything starts
refs.py        names of branches and commits, checked the same way
credential.py  who we are to the forge; it never enters a box
grant.py       what one command of git's may do to the remote
asked.py       a request of git's, read strictly
courier.py     the door of git's box: passes three kinds of request on, with the credential, and nothing else
exchange.py    one request of the courier's to the forge, and its answer
box.py         git's box: commands in it, bounded, and what becomes of their errors
remote.py      fetching, asking and pushing, through the courier
local.py       a repository in a folder of this machine, read without following anything
repository.py  all of it together, for one run

names.py       what a path in a repository may be called
scan.py        a tenant's folder, listed without following anything
ignores.py     which of it git would leave out
taking.py      what is in it: hashed, and what is new handed to git
tree.py        a folder becomes a tree object, a tree object a folder
diff.py        what lies between two trees
"""
