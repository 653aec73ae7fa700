"""The admin of games, keys, players and bans."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.module_loading import import_string

from config import clock
from config.admin import BoundedPaginator
from config.audit import by_request
from players.countries import flag
from players.models import ApiKey, Ban, Game, Player
from players.scopes import Scope
from players.services import key_create, key_revoke, player_add, player_edit, player_revoke_tokens

_SCOPES = {
    Scope.SUBMIT: "submit: send scores",
    Scope.READ: "read: see everything in the game",
    Scope.MANAGE: "manage: change modes and players, erase players",
    Scope.MODERATE: "moderate: ban and judge",
}


@admin.register(Game)
class GameAdmin(admin.ModelAdmin):
    list_display = ["slug", "title", "public", "created_at"]
    search_fields = ["slug", "title"]
    fields = ["slug", "title", "public", "limits"]

    def get_readonly_fields(self, request: HttpRequest, obj: Game | None = None) -> list[str]:
        return ["slug"] if obj else []  # addresses and tokens name it

    def has_delete_permission(self, request: HttpRequest, obj: Game | None = None) -> bool:
        return False  # it would take every score with it; make it private instead


class KeyForm(forms.ModelForm):
    scopes = forms.MultipleChoiceField(
        choices=[(scope.value, words) for scope, words in _SCOPES.items()], widget=forms.CheckboxSelectMultiple
    )

    class Meta:
        model = ApiKey
        fields = ["game", "label", "scopes", "expires_at"]


@admin.register(ApiKey)
class ApiKeyAdmin(admin.ModelAdmin):
    form = KeyForm
    list_display = ["__str__", "state", "game", "label", "may", "last_used_at", "expires_at"]
    list_filter = ["game"]
    list_select_related = ["game"]
    search_fields = ["prefix", "label"]
    actions = ["revoke"]
    recorded_by_service = {"add"}

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        asked = ["game", "label", "scopes", "expires_at"]
        return ["__str__", "state", *asked, "created_at", "last_used_at", "revoked_at"] if obj else asked

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> list[str]:
        """A key stays in its game: whoever holds it must not find itself in another."""
        return ["__str__", "state", "game", "created_at", "last_used_at", "revoked_at"] if obj else []

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
            return
        scopes = [Scope(scope) for scope in obj.scopes]
        made, text = key_create(
            game=obj.game, scopes=scopes, label=obj.label, expires_at=obj.expires_at, who=by_request(request)
        )
        obj.pk, obj.prefix = made.pk, made.prefix
        shown = format_html("The new key, shown only now; copy it to where it is used:<br><code>{}</code>", text)
        messages.warning(request, shown)

    def has_delete_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        return False  # what a key did stays traceable to it; revoking is enough

    @admin.display(description="state")
    def state(self, key: ApiKey) -> str:
        if key.revoked_at:
            return "revoked"
        return "works" if key.valid_at(clock.now()) else "expired"

    @admin.display(description="may")
    def may(self, key: ApiKey) -> str:
        return ", ".join(key.scopes)

    @admin.action(description="Revoke the selected keys, at once and for good", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        for key in queryset:
            key_revoke(key=key, at=clock.now(), who=by_request(request))
        self.message_user(request, "Revoked. Requests with these keys are refused from now on.")


def _may_ban(request: HttpRequest, player: int | None) -> bool:
    """Without anybody else, and without a ruling: that depends on what a higher floor says."""
    allowed: bool = import_string(settings.BANS_BY_HAND)(request.user, player)
    return allowed


class BanInline(admin.StackedInline):
    model = Ban
    extra = 0
    fields = ["kind", "mode", "starts_at", "ends_at", "reason", "made_by"]
    readonly_fields = ["made_by"]

    def get_fields(self, request: HttpRequest, obj: Player | None = None) -> Any:
        """Which modes there are is known once it is known of which game the player is."""
        return [name for name in self.fields or () if obj or name != "mode"]

    def get_formset(self, request: HttpRequest, obj: Player | None = None, **kwargs: Any) -> Any:
        formset = super().get_formset(request, obj, **kwargs)
        _offer_modes(formset.form, obj)
        return formset


def _offer_modes(form: Any, player: Player | None) -> None:
    """Those of the player's game, where there is a choice."""
    field = form.base_fields.get("mode")
    if field is not None:
        modes = field.queryset.select_related("game")
        field.queryset = modes.filter(game=player.game_id) if player else modes


@admin.register(Player)
class PlayerAdmin(admin.ModelAdmin):
    list_display = ["player_id", "display_name", "place", "region", "game", "last_seen_at"]
    list_display_links = ["player_id", "display_name"]
    list_select_related = ["game"]
    list_filter = ["game"]
    search_fields = ["player_id__startswith", "display_name__istartswith"]
    search_help_text = "How the id or the name begins."
    autocomplete_fields = ["game"]
    fieldsets = [
        (None, {"fields": ["game", "player_id", "display_name", "country", "region", "avatar_url"]}),
        ("What happened", {"fields": ["created_at", "last_seen_at", "tokens_valid_from", "erased_at"]}),
    ]
    readonly_fields = ["created_at", "last_seen_at", "tokens_valid_from", "erased_at"]
    actions = ["revoke_tokens"]
    show_full_result_count = False
    paginator = BoundedPaginator
    show_facets = admin.ShowFacets.NEVER  # they count everything
    ordering = ["-pk"]
    formfield_overrides = {models.URLField: {"assume_scheme": "https"}}

    def get_readonly_fields(self, request: HttpRequest, obj: Player | None = None) -> list[str]:
        return [*self.readonly_fields, "game", "player_id"] if obj else list(self.readonly_fields)

    def get_inlines(self, request: HttpRequest, obj: Player | None) -> Any:
        return [] if (obj and obj.erased_at) or not _may_ban(request, obj.pk if obj else None) else [BanInline]

    def has_change_permission(self, request: HttpRequest, obj: Player | None = None) -> bool:
        """Whoever was erased gets no new name."""
        return super().has_change_permission(request, obj) and not (obj and obj.erased_at)

    def has_delete_permission(self, request: HttpRequest, obj: Player | None = None) -> bool:
        return False  # erasing is an act of its own: DELETE /v1/games/{game}/players/{player_id}

    def save_model(self, request: HttpRequest, obj: Player, form: Any, change: bool) -> None:
        if change:
            player_edit(player=obj, fields={name: form.cleaned_data[name] for name in form.changed_data})
        else:
            player_add(player=obj, at=clock.now())

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        for ban in formset.save(commit=False):
            if ban.made_by_id is None and ban.pk is None:
                ban.made_by = request.user
        super().save_formset(request, form, formset, change)

    @admin.display(description="country", ordering="country")
    def place(self, player: Player) -> str:
        return f"{flag(player.country)} {player.country}" if player.country else "–"

    @admin.action(
        description="Sign the selected players out: refuse every token made until now", permissions=["change"]
    )
    def revoke_tokens(self, request: HttpRequest, queryset: QuerySet[Player]) -> None:
        for player in queryset:
            player_revoke_tokens(player=player, at=clock.now(), who=by_request(request))
        self.message_user(request, "Signed out. They need new tokens.")


@admin.register(Ban)
class BanAdmin(admin.ModelAdmin):
    list_display = ["player", "kind", "mode", "starts_at", "ends_at", "reason", "made_by"]
    list_filter = ["kind"]
    list_select_related = ["player", "mode__game", "made_by"]
    autocomplete_fields = ["player"]
    search_fields = ["player__player_id"]
    fields = ["player", "kind", "mode", "starts_at", "ends_at", "reason", "made_by"]
    readonly_fields = ["made_by"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and _may_ban(request, None)

    def has_change_permission(self, request: HttpRequest, obj: Ban | None = None) -> bool:
        return super().has_change_permission(request, obj) and _may_ban(request, obj.player_id if obj else None)

    def has_delete_permission(self, request: HttpRequest, obj: Ban | None = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_ban(request, obj.player_id if obj else None)

    def get_form(self, request: HttpRequest, obj: Ban | None = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        _offer_modes(form, obj.player if obj else None)
        return form

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, str | list[str]]:
        """An address may name the player to ban, and nothing else: Django fails on what it cannot read."""
        player = request.GET.get("player", "")
        return {"player": player} if player.isascii() and player.isdigit() and len(player) < 19 else {}  # noqa: PLR2004

    def save_model(self, request: HttpRequest, obj: Ban, form: Any, change: bool) -> None:
        if not _may_ban(request, obj.player_id):
            raise PermissionDenied
        if not change and request.user.is_authenticated:
            obj.made_by = request.user
        super().save_model(request, obj, form, change)
