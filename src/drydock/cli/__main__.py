from drydock.cli.main import main

main()
