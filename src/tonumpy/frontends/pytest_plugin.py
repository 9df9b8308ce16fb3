"""The former place of the pytest plugin."""

from tonumpy.integrations.pytest_plugin import *  # noqa: F403
