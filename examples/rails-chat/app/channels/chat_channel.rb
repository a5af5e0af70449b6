# frozen_string_literal: true

# A stream for each room, as data: { room: 3 } subscribes to it.
class ChatChannel < ApplicationCable::Channel
  def subscribed
    reject and return if params[:room].blank?

    Visit.record current_user, params[:room].to_s
    stream_from stream_name
  end

  def speak(data)
    Line.record params[:room].to_s
    ActionCable.server.broadcast stream_name, { from: current_user.id, body: data["body"] }
  end

  private

  def stream_name
    "chat_#{params[:room]}"
  end
end
