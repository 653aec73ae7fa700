"""All addresses. Probes are answered before this, in the middleware."""

from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularSwaggerSplitView

from config.entrance import enter
from config.openapi import openapi_json
from config.pages import icon

api_docs = SpectacularSwaggerSplitView.as_view(url_name="openapi")  # templates/drf_spectacular/: nothing inline

urlpatterns = [
    path("", include("leaderboards.pages.urls")),
    path("favicon.ico", icon),
    path("admin/enter", enter, name="enter"),
    path("admin/trust/", include("anticheat.admin.urls")),
    path("admin/", admin.site.urls),
    path("v1/openapi.json", openapi_json, name="openapi"),
    path("v1/docs", api_docs, name="docs"),
    path("v1/", include("players.urls")),
    path("v1/", include("leaderboards.api.urls")),
    path("v1/", include("anticheat.urls")),
]
handler400 = "config.pages.bad_request"
handler403 = "config.pages.forbidden"
handler404 = "config.pages.not_found"
handler500 = "config.pages.server_error"
