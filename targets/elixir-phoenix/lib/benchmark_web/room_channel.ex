defmodule BenchmarkWeb.RoomChannel do
  @moduledoc "websocket-bench's channel: an echo comes back as the reply, a broadcast goes to everyone in the room."

  use Phoenix.Channel

  @impl true
  def join("room:" <> _room, _params, socket), do: {:ok, socket}

  @impl true
  def handle_in("echo", %{"body" => body}, socket) do
    {:reply, {:ok, %{type: "echo", body: body}}, socket}
  end

  def handle_in("echo", {:binary, payload}, socket), do: {:reply, {:ok, {:binary, payload}}, socket}

  def handle_in("broadcast", %{"body" => body}, socket) do
    broadcast!(socket, "broadcast", %{type: "broadcast", body: body})
    {:reply, {:ok, %{type: "broadcastResult", body: body}}, socket}
  end

  def handle_in("broadcast", {:binary, payload}, socket) do
    broadcast!(socket, "broadcast", {:binary, payload})
    {:reply, {:ok, {:binary, payload}}, socket}
  end
end
