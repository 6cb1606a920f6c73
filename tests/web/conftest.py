"""Fixtures for the tests of web pages."""

import pytest
from chromium import Browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()
