"""The admin answers addresses that make no sense."""

import pytest
from django.contrib.auth.models import User
from django.test import Client


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/admin/autocomplete/?app_label=players&model_name=ban&field_name=player&term=%00", 400),
        ("/admin/players/player/?q=%00", 400),
        ("/admin/players/ban/add/?player=abc", 200),
        ("/admin/players/ban/add/?player=99999999999999999999", 200),
        ("/admin/players/ban/add/?starts_at=zzz", 200),
    ],
)
def test_an_operators_odd_address_is_no_failure(client: Client, address: str, status: int) -> None:
    client.force_login(User.objects.create_superuser("operator"))
    assert client.get(address).status_code == status
