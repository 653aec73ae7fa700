"""Which players operators play as."""

from django.contrib import admin

from anticheat.models import OwnPlayer


@admin.register(OwnPlayer)
class OwnPlayerAdmin(admin.ModelAdmin):
    list_display = ["user", "player"]
    list_select_related = ["user", "player"]
    autocomplete_fields = ["user", "player"]
    search_fields = ["user__username"]
