from django.contrib.auth.views import LoginView
from django.urls import path

from chat import views

urlpatterns = [
    path("accounts/login/", LoginView.as_view()),
    path("chat/<slug:room_name>/", views.room),
    path("seen/", views.seen),
    path("lines/", views.lines),
]
