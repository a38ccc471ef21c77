from _drydock.zygote import main  # type: ignore[import-not-found]

main()
