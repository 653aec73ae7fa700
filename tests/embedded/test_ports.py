import socket

from config.embedded.ports import HIGHEST, LOWEST, free_port


def test_a_remembered_port_is_taken_again_only_while_it_is_free() -> None:
    remembered = free_port()
    assert LOWEST <= remembered < HIGHEST, "below the ports of outgoing connections"
    assert free_port(remembered) == remembered
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", remembered))
        squatter.listen()
        assert free_port(remembered) != remembered
