"""The admin of periodic tasks: django_celery_beat's own, with forms that refuse what cannot be a task or a schedule."""

from json import loads
from typing import Any

from celery import schedules
from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django_celery_beat.admin import CrontabScheduleAdmin, PeriodicTaskAdmin, PeriodicTaskForm
from django_celery_beat.models import CrontabSchedule, PeriodicTask

_CRONTAB = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")
_SHAPES: dict[str, type] = {"args": list, "kwargs": dict, "headers": dict}


class TaskForm(PeriodicTaskForm):
    def clean(self) -> Any:
        self.cleaned_data.setdefault("task", "")  # theirs asks for it where it was refused, too
        return super().clean()

    def clean_headers(self) -> Any:
        return self._clean_json("headers")

    def _clean_json(self, field: str) -> Any:
        value = self.cleaned_data[field] or ""
        try:
            found = loads(value) if value else _SHAPES[field]()
        except (ValueError, RecursionError):
            raise forms.ValidationError("This is no JSON.") from None
        if not isinstance(found, _SHAPES[field]):
            raise forms.ValidationError('Write a list, ["a", 1].' if field == "args" else 'Write an object, {"a": 1}.')
        return value


class TaskAdmin(PeriodicTaskAdmin):
    form = TaskForm

    @admin.action(description="Run selected tasks")
    def run_tasks(self, request: HttpRequest, queryset: QuerySet) -> None:
        """A task that does not take its arguments, a queue that cannot be, a broker that is away."""
        try:
            super().run_tasks(request, queryset)
        except Exception as error:  # noqa: BLE001 - whatever Celery says is for whoever asked
            self.message_user(request, f"Not run: {error}", level=messages.ERROR)


class CrontabForm(forms.ModelForm):
    class Meta:
        model = CrontabSchedule
        fields = [*_CRONTAB, "timezone"]

    def clean(self) -> Any:
        """Celery reads less than the fields' own validators do; a schedule that it cannot read would stop beat."""
        found = super().clean() or {}
        parts = {name: found[name] for name in _CRONTAB if name in found}
        try:
            schedules.crontab(**parts)
        except (ValueError, schedules.ParseException) as error:
            raise forms.ValidationError(f"Celery cannot read this: {error}") from None
        return found


class CrontabAdmin(CrontabScheduleAdmin):
    form = CrontabForm

    @admin.display(description="human readable")
    def human_readable(self, crontab: CrontabSchedule) -> str:
        """A form that was refused is shown with what it brought."""
        try:
            return str(crontab.human_readable)
        except Exception:  # noqa: BLE001 - three libraries read it, each with errors of its own
            return "–"


def register() -> None:
    """In place of theirs, once these are known."""
    for model, own in ((PeriodicTask, TaskAdmin), (CrontabSchedule, CrontabAdmin)):
        admin.site.unregister(model)
        admin.site.register(model, own)
