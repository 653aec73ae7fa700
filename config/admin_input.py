"""What Django's own admin fails on: addresses and forms that no page of ours has, but that anybody on staff may send.

A failure would be a 500 for a caller's mistake. Each is answered as Django answers its siblings: a list with `e=1`, a
form without what cannot be read, or a plain 400.
"""

from typing import Any

from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.exceptions import BadRequest, FieldError, ValidationError
from django.db import DataError, NotSupportedError, ProgrammingError
from django.db.models import Model, QuerySet
from django.forms import Field
from django.http import HttpRequest

# what a filter in an address may end in once the query is compiled and run; Django looks only while it is built
_UNANSWERABLE = (
    *(ValueError, TypeError, LookupError, AttributeError),
    *(FieldError, DataError, NotSupportedError, ProgrammingError),
)


class SteadyAdmin(ModelAdmin):
    """Stands before the admin class of each model (config/audited.py)."""

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Model | None:
        """`_to_field=` names no field."""
        found: Model | None = super().get_object(request, object_id, from_field or None)
        return found

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """An address may fill in a form; values that its fields cannot read are left out."""
        found = super().get_changeform_initial_data(request)
        fields = self.get_form(request, None, change=False).base_fields if found else {}
        return {name: value for name, value in found.items() if name in fields and _is_readable(fields[name], value)}

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **named: Any) -> Any:
        if db_field.name in self.get_autocomplete_fields(request):
            named.setdefault("widget", _Autocomplete(db_field, self.admin_site, using=named.get("using")))
        return super().formfield_for_foreignkey(db_field, request, **named)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        try:
            return super().get_changelist_instance(request)
        except _UNANSWERABLE as error:
            if not request.GET:
                raise  # nobody asked for anything: the defect is ours
            raise IncorrectLookupParameters(error) from error

    def response_action(self, request: HttpRequest, queryset: QuerySet, *rest: Any, **named: Any) -> Any:
        for chosen in request.POST.getlist(ACTION_CHECKBOX_NAME):
            if not _is_key(self.opts.pk, chosen):
                raise BadRequest("What was chosen is no row of this list.")
        return super().response_action(request, queryset, *rest, **named)


class _Autocomplete(AutocompleteSelect):
    """A form that is refused is shown again with what was sent, and Django looks for the row that it names."""

    def optgroups(self, name: str, value: Any, attrs: Any = None) -> Any:
        key: Any = self.field.target_field
        return super().optgroups(name, [one for one in value if not one or _is_key(key, one)], attrs)


def _is_key(key: Any, value: Any) -> bool:
    try:
        key.to_python(value)
    except ValidationError:
        return False
    return True


def _is_readable(field: Field, value: Any) -> bool:
    try:
        field.clean(value)
    except ValidationError:
        return False
    return True
