"""The admin site of Rung."""

from django.contrib.admin import AdminSite


class RungAdmin(AdminSite):
    site_header = "Rung"
    site_title = "Rung"
    index_title = "What there is"
    enable_nav_sidebar = True
