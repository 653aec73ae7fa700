"""The web server: uvicorn's protocols with clocks, bounds and shares, so that no connection costs much or for long.

`connections` knows every connection of this process; `http` and `websocket` tell it what happens on theirs.
Nothing here knows of games. `config.web` starts it.
"""
