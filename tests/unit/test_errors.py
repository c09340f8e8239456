"""Errors tell a person what is wrong and what to do next."""

from huginn.errors import Refused


def test_a_refusal_names_the_field_and_the_next_step() -> None:
    assert str(Refused("top_k", "0 is too small", next_step="give 1 to 50")) == "top_k: 0 is too small; give 1 to 50"
