"""The settings of a Django project that has nothing but its channels."""

import os
import secrets

SECRET_KEY = os.environ.get("SECRET_KEY") or secrets.token_urlsafe()
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = ["channels"]
ROOT_URLCONF = "benchmark.urls"
ASGI_APPLICATION = "benchmark.asgi.application"

# Who arrives is added to a group over a connection to Redis; redis-py would open no more than a hundred at a time.
REDIS = {"address": f"unix://{os.environ.get('REDIS_SOCKET', '')}", "max_connections": 4096}

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": {
            "core": "channels_redis.core.RedisChannelLayer",
            "pubsub": "channels_redis.pubsub.RedisPubSubChannelLayer",
        }[os.environ.get("LAYER", "core")],
        "CONFIG": {"hosts": [REDIS], "capacity": 10_000},
    },
}
