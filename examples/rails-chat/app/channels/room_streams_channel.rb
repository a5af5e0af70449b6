# frozen_string_literal: true

# A stream for each room, as Turbo has it: the page carries the stream's signed name, so that only those who were shown the page can
# subscribe, and what is broadcast is HTML. With the turbo-rails gem, it would be `include Turbo::Streams::StreamName` instead
# of the two methods below, and `turbo_stream_from` in the page.
class RoomStreamsChannel < ApplicationCable::Channel
  class << self
    def signed_stream_name(stream_name)
      verifier.generate stream_name
    end

    def verified_stream_name(signed_stream_name)
      verifier.verified signed_stream_name
    end

    private

    def verifier
      key = Rails.application.key_generator.generate_key("turbo/signed_stream_verifier_key")
      @verifier ||= ActiveSupport::MessageVerifier.new(key, digest: "SHA256", serializer: JSON)
    end
  end

  def subscribed
    if (@stream_name = self.class.verified_stream_name(params[:signed_stream_name]))
      Visit.record current_user, @stream_name
      stream_from @stream_name
    else
      reject
    end
  end

  def speak(data)
    Line.record @stream_name
    line = { from: current_user.id, body: data["body"] }
    html = ApplicationController.render(partial: "rooms/line", formats: :html, locals: line)
    ActionCable.server.broadcast @stream_name, html
  end
end
