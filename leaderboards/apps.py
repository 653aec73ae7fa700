from django.apps import AppConfig


class LeaderboardsApp(AppConfig):
    name = "leaderboards"
