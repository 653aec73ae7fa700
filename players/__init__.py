"""Who plays and who may call: games, players, keys, tokens and bans."""
