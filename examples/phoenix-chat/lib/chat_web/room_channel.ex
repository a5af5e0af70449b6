defmodule ChatWeb.RoomChannel do
  @moduledoc "A room: who is there, and what they say to the others."

  use Phoenix.Channel

  alias ChatWeb.Presence

  @impl true
  def join("room:" <> _room, params, socket) do
    send(self(), :after_join)
    {:ok, assign(socket, :status, params["status"])}
  end

  # Those who are there are told who has come, and who has come is told who is there.
  @impl true
  def handle_info(:after_join, socket) do
    {:ok, _ref} = Presence.track(socket, socket.assigns.name, %{status: socket.assigns.status})
    push(socket, "presence_state", Presence.list(socket))
    {:noreply, socket}
  end

  @impl true
  def handle_in("say", %{"text" => text}, socket) do
    Chat.Lines.add()
    broadcast_from!(socket, "line", %{from: socket.assigns.name, text: text})
    {:reply, :ok, socket}
  end
end
