"""The description keeps what it says: schemathesis asks by it, rightly and wrongly, with and without token."""

import warnings

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from corml.service.openapi import description
from corml.service.operations import PUBLIC, TABLE
from corml.service.problems import STATUSES
from serving import TOKEN

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        negative_data_rejection,
        positive_data_acceptance,
        response_schema_conformance,
        status_code_conformance,
    )

SCHEMA = schemathesis.openapi.from_dict(description())
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
    positive_data_acceptance,
]
CANNOT = STATUSES[422]
OPERATIONS = [one for one in TABLE if one.name != "metrics"]


def send(inside, case, token):
    """A made-up request, as it is, but for the token."""
    how = case.as_transport_kwargs(base_url="http://testserver")
    given_ = {name: how[name] for name in ("method", "url", "params", "json") if how.get(name) is not None}
    if isinstance(how.get("data"), bytes | str):
        given_["content"] = how["data"]
    ours = ("host", "authorization")
    headers = {name: value for name, value in (how.get("headers") or {}).items() if name.lower() not in ours}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    return inside.http.request(headers=headers, **given_)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
@pytest.mark.parametrize("token", [TOKEN, None], ids=["with token", "without"])
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
def test_answers_are_as_described(make_inside, request, operation, token, mode):
    if operation.request is None and mode is GenerationMode.NEGATIVE:
        pytest.skip("there is nothing to say wrong")
    inside = make_inside(token=TOKEN)
    described = SCHEMA[operation.path][operation.method]
    long = request.config.getoption("--long")
    count = (1000 if long else 12) if token else 3
    codes = set()

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=described.as_strategy(generation_mode=mode, headers={"Authorization": f"Bearer {TOKEN}"}))
    def check(case):
        response = send(inside, case, token)
        codes.add(response.status_code)
        # also refused: what is too large, and what this model cannot answer; no schema can say either
        valid = response.status_code == 413 or (response.status_code == 422 and response.json()["title"] == CANNOT)
        case.validate_response(response, checks=CHECKS if token and not valid else CHECKS[:4])

    check()
    if operation.access == PUBLIC:
        assert codes == {200}
    elif token is None:
        assert codes <= {401, 413, 429}
    else:
        nothing_to_fit_on = {403} if operation.name == "fit" else set()
        assert codes <= {200, 400, 404, 413, 415, 422} | nothing_to_fit_on
