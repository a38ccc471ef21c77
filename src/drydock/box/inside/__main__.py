from _drydock.zygote import main

main()
