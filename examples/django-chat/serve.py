"""Makes the database with the people of users.csv, and becomes daphne, at $PORT."""

import csv
import os
import sys
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mysite.settings")

import django  # noqa: E402

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connections, transaction  # noqa: E402

Path(settings.DATABASES["default"]["NAME"]).parent.mkdir(exist_ok=True)
call_command("migrate", verbosity=0)
with open(Path(__file__).parent / "users.csv", newline="") as people, transaction.atomic():
    for row in csv.DictReader(people):
        if not User.objects.filter(username=row["name"]).exists():
            User.objects.create_user(row["name"], password=row["password"])
connections.close_all()

port = os.environ.get("PORT", "3338")
daphne = [sys.executable, "-m", "daphne", "-v", "0", "-b", "127.0.0.1", "-p", port, "mysite.asgi:application"]
os.execv(sys.executable, daphne)
