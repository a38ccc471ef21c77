"""`drydock demo`: a scripted model mends a sample repository on a server of its own, and nothing of it stays.

    command.py   the demo from its start to its exit code
    story.toml   the sample repository, and what the model says in it
    model.py     plays the story over HTTP, in the wire form that OpenAI's and many other servers speak
    dock.py      a server for the purpose: its own port, its own data folder, none of the caller's settings

Scripted is the model alone. It stands where any model stands, behind the room of models and on a real socket; the
boxes, git, the agent, the gate and the commit are those of every run.
"""
