"""Says that the server is there."""

from django.http import HttpResponse
from django.urls import path


async def root(request):
    return HttpResponse()


urlpatterns = [path("", root)]
