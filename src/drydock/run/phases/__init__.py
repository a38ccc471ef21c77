"""What happens in each phase of a run: the parts of run/parts.py, over real repositories, boxes and models.

    prepare.py   the repository in the workspace
    agency.py    the agent, made from the run's record
    gate.py      its checks; grounds.py the clean folders that they run in
    deliver.py   stories, diff, commit, push; and what is saved of a run that was ended early
    checkout.py  the trusted git directory of a run, put up again wherever the run is taken up
    earlier.py   what a run leaves to the one that follows it
    change.py    what the work has changed, as it is recorded
    makes.py     all of them for one play of a run

Everything that a part does it does through the desk, so that whoever plays the run again finds it done.
"""
