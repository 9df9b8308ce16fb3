"""The former place of the flake8 plugin."""

from tonumpy.integrations.flake8_plugin import Plugin  # noqa: F401
