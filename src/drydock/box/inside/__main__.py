import sys

if sys.argv[1:] == ["guest"]:
    from _drydock.guest import main  # type: ignore[import-not-found]
else:
    from _drydock.zygote import main  # type: ignore[import-not-found]

main()
