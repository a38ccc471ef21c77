"""The tools: each a function of a bench and an action, giving what the model is told. All act inside the box.

run.py         one program from start to end as a durable step: its record, its output as events
commands.py    run_command, run_parallel: policy, approval, budget, events
scripts.py     run_script
files.py       read_file, read_files, search, write_file, edit_file
processes.py   start_process, send_input, read_output, stop_process
table.py       which function belongs to which name
"""
