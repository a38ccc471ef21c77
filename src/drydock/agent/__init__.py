"""Who thinks: a task and a repository in a box go in, a plan, work done in that box and an honest finish come out.

    desk.py      what an agent has of the run that it works in: events, steps done once, control, approvals
    site.py      where the work is: programs in a held box, and nothing of it outside one
    mind.py      the model behind a loop, as small as it can be
    agent.py     what an agent is: it plans, and it works until it has finished
    task.py      what was asked, and how much of it may be used up
    plan.py      a plan as free text, read into steps, files, validation commands and risks
    loop.py      an agent over any model: it decides, tools act, it sees what came of it
    talk.py      the conversation; context.py what is told of a repository, strategy.py how to go about it
    stories.py   what owners want done (prd.json); tracker.py marks it and writes progress.txt
    action.py    the tools' names and fields, and one decision of a model; answers.py reads its words into them
    bench.py     what a tool works with; ledger.py counts, budget.py asks for more, failed.py says why it ended
    hand.py      one request to the helper in the box (inside/)
    lines.py, paths.py, texts.py   what models write, made plain
    tools/       each tool: policy, approval, events, and what the model is told
    policy/      what a command is, before it runs
    gate/        the plan's own checks, on the change and on the untouched base
    prompts/     everything that is said to a model, as data

In: a task, the desk, the site, a mind. Out: events on the desk, changes at the site, a finish.
Never known here: databases, HTTP, who may do what, how a box is made, a provider's wire format, git outside the box.
Everything that a repository, a command or a model says is untrusted: it is bounded, marked as data where a model reads
it, and acted on only inside the box.
"""
