# frozen_string_literal: true

class RoomsController < ApplicationController
  skip_before_action :require_login, only: :seen

  def show
    @room = params[:id]
  end

  # Who has been in which rooms: not of a chat, but of an example that wants to be looked into.
  def seen
    render json: Visit.rooms_by_user
  end
end
