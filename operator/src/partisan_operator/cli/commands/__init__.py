"""One module for each command; each has `run(context, arguments) -> exit status`."""
