"""Friends and guilds: a floor above `leaderboards`, still empty. Its rooms are built when they are needed."""
