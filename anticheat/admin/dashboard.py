"""What is going on, at the head of the admin and on a page of its own."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from anticheat.admin.access import need


@require_safe
def dashboard(request: HttpRequest) -> HttpResponse:
    need(request, "anticheat.view_case")
    return TemplateResponse(
        request, "admin/anticheat/dashboard.html", admin.site.each_context(request) | {"title": "What is going on"}
    )
