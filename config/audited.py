"""What is changed in the admin is in the audit: of every model, whoever registers it (config/admin.py)."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from config import audit
from config.admin_input import SteadyAdmin

_NOUNS = {"apikey": "key", "setaside": "batch", "periodictask": "task"}
_WITHOUT_SERVICES = {"django_celery_beat", "auth"}  # nothing but the admin knows what their actions do
_WHY = ("why", "reason")


class AuditedAdmin(SteadyAdmin):
    """Stands before the admin class of each model. One whose service records says what it leaves to it:
    `recorded_by_service = {"add"}`.
    """

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        for one in _inline_forms(formsets, deleted=True):
            _deleted(request, one.instance)
        written = [(one, "add" if one.instance._state.adding else "change") for one in _inline_forms(formsets)]  # noqa: SLF001
        super().save_related(request, form, formsets, change)
        act = "change" if change else "add"
        if act not in getattr(self, "recorded_by_service", ()):
            _saved(request, form, act)
        for one, done in written:
            _saved(request, one, done)

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        _deleted(request, obj)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet) -> None:
        with transaction.atomic():
            for one in queryset:
                _deleted(request, one)
            super().delete_queryset(request, queryset)

    def get_actions(self, request: HttpRequest) -> Any:
        actions: Any = super().get_actions(request)
        if self.opts.app_label not in _WITHOUT_SERVICES:
            return actions
        return {
            name: (act if name == "delete_selected" else _recorded(name, act), name, description)
            for name, (act, _, description) in actions.items()
        }

    def user_change_password(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Of Django's admin of users, which tells it to `log_change` alone."""
        with transaction.atomic():
            return super().user_change_password(request, *args, **kwargs)  # type: ignore[misc]

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        if request.resolver_match and request.resolver_match.url_name == "auth_user_password_change":
            audit.record(verb="user.password", who=audit.by_request(request), about=obj)
        return super().log_change(request, obj, message)


def _inline_forms(formsets: Iterable[Any], *, deleted: bool = False) -> list[Any]:
    return [
        form
        for formset in formsets
        for form in formset.forms
        if form.has_changed() and (form in formset.deleted_forms) == deleted and (form.instance.pk or not deleted)
    ]


def _saved(request: HttpRequest, form: Any, act: str) -> None:
    after = {name: form.cleaned_data[name] for name in form.changed_data if name in form.cleaned_data}
    if act == "change":  # a form also tells of what it cannot compare
        after = {name: value for name, value in after.items() if value != form.initial.get(name)}
        if not after:
            return
    audit.record(
        verb=_verb(form.instance, act),
        who=audit.by_request(request),
        about=form.instance,
        before={name: form.initial.get(name) for name in after} if act == "change" else {},
        after=after,
        why=next((str(after[name]) for name in _WHY if after.get(name)), ""),
    )


def _deleted(request: HttpRequest, gone: Model) -> None:
    before = {field.name: field.value_from_object(gone) for field in gone._meta.concrete_fields}  # noqa: SLF001
    audit.record(verb=_verb(gone, "delete"), who=audit.by_request(request), about=gone, before=before)


def _recorded(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(act)
    def recorded(model_admin: Any, request: HttpRequest, queryset: QuerySet) -> Any:
        with transaction.atomic():
            concerned = list(queryset)
            answer = act(model_admin, request, queryset)
            for one in concerned:
                audit.record(verb=_verb(one, name), who=audit.by_request(request), about=one)
        return answer

    return recorded


def _verb(about: Model, act: str) -> str:
    name = about._meta.model_name or ""  # noqa: SLF001 - Django's own way to ask a model for its name
    return f"{_NOUNS.get(name, name)}.{act}"
