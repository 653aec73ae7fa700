"""Operators of each role, signed in."""

from django.contrib.auth.models import Group, User
from django.test import Client


def make_operator(role: str, name: str = "") -> User:
    user = User.objects.create(username=name or role, is_staff=True, is_superuser=role == "superuser")
    if role != "superuser":
        user.groups.add(Group.objects.get(name=role))
    return user


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client
