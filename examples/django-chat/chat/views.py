from django.contrib.auth.decorators import login_required
from django.http import JsonResponse
from django.shortcuts import render

from .consumers import lines_of, rooms_of


@login_required
def room(request, room_name):
    return render(request, "chat/room.html", {"room_name": room_name})


def seen(request):
    return JsonResponse(rooms_of)


def lines(request):
    return JsonResponse(lines_of)
