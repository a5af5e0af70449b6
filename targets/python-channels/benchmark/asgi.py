"""What Daphne serves: plain requests by Django, WebSockets by the consumer."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application
from django.urls import path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmark.settings")
django = get_asgi_application()  # Before anything that needs the settings.

from benchmark.consumers import BenchmarkConsumer

application = ProtocolTypeRouter(
    {
        "http": django,
        "websocket": URLRouter([path("ws", BenchmarkConsumer.as_asgi())]),
    }
)
