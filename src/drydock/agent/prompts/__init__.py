"""What is said to a model: data files, and the few lines that fill them in.

types/*.toml         one for each task type: what is asked beside the user's words, a worked example
strategies/*.toml    one for each strategy: its words, its focus, two worked examples
tools.toml           the tools
planning.md, system.md, kickoff.md, json.md    the messages; `$name` is filled in
notes.toml           what the model is told on the way: refusals, reminders, repairs
data.py              reads them
"""
