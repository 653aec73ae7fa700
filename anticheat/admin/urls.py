"""Pages of trust that belong to no table."""

from django.contrib import admin
from django.urls import path

from anticheat.admin.acts import act
from anticheat.admin.dashboard import dashboard
from anticheat.admin.search import search

urlpatterns = [
    path("", admin.site.admin_view(dashboard), name="trust"),
    path("act", admin.site.admin_view(act), name="trust-act"),
    path("search", admin.site.admin_view(search), name="trust-search"),
]
