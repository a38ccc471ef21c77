"""As a person does it: the verbs of the Makefile, the installed command, a real server on a real port."""
