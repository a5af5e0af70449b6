"""The settings of a Django project that has nothing but its channels."""

import os
import secrets

SECRET_KEY = os.environ.get("SECRET_KEY") or secrets.token_urlsafe()
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = ["channels"]
ROOT_URLCONF = "benchmark.urls"
ASGI_APPLICATION = "benchmark.asgi.application"

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": {
            "core": "channels_redis.core.RedisChannelLayer",
            "pubsub": "channels_redis.pubsub.RedisPubSubChannelLayer",
        }[os.environ.get("LAYER", "core")],
        "CONFIG": {"hosts": [f"unix://{os.environ.get('REDIS_SOCKET', '')}"], "capacity": 10_000},
    },
}
