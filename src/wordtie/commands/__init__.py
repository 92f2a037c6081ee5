"""One thin file per subcommand: `HELP` with worked examples, and `main(argv)`."""
